"""The simulated robot: rigid bodies with everything a bare model leaves out.

    M(q) q̈ + b(q, v) = τ_motor + τ_springs + τ_user − d v − τ_Coulomb + τ_stops + Σ Jᵀ w

:class:`Plant` holds the state (t, q, v and the motor currents) and advances it by one control period at a time, under
an effort held constant over that period, which is what a digital controller does to a real robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Plant"]


class Plant:
    """A robot that moves.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        integrator: name (see :data:`~robot_dynamics_ros.simulation.integrators.INTEGRATORS`) or an integrator object.
            ``"semi_implicit_euler"`` steps friction, rigid stops, damping and springs implicitly and never fails on
            stiffness; all others locate every stick, slip and impact inside the step and keep their order.
        substeps: integrator steps per control period.
        friction: ``True`` takes viscous and Coulomb friction from the model (URDF ``<dynamics>``), ``False`` or
            ``None`` switches friction off, a :class:`~robot_dynamics_ros.simulation.friction.JointFriction` sets it.
        stops: what happens at the position limits: ``"rigid"`` (default, no rebound),
            a :class:`~robot_dynamics_ros.simulation.limits.RigidStops` or
            :class:`~robot_dynamics_ros.simulation.limits.CompliantStops`, or ``None`` for none.
        limiter: apply effort saturation and the position and velocity rules of ros2_control's joint limiter to
            commands.
        motors: joint name → :class:`~robot_dynamics_ros.simulation.actuators.DCMotor`; that joint's command is then a
            voltage.
        springs: a :class:`~robot_dynamics_ros.simulation.springs.JointPD`: springs, or proportional and derivative
            control with offsets, at every joint.
        contacts: :class:`~robot_dynamics_ros.simulation.contact.GroundContact` objects.
        user_effort: ``callable(t, q, v) -> (nv,)`` effort added at every evaluation.
        brake_effort: breakaway effort of the holding brakes, scalar or (nv,), N m or N; infinite holds anything.
        q, v: initial state; the model's initial configuration and rest if not given.

    Attributes:
        t: time, s.
        q: (nq,) configuration.  v: (nv,) velocity.  Views of the state: copy them if they are to be kept.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.
        currents: (number of motors,) motor currents, A.
        brakes: whether the holding brakes are on; settable.
        events: how many stick, slip and impact events have been located since the last reset.
    """

    def __init__(
        self,
        model: RobotModel,
        dt: float = 1e-3,
        *,
        integrator: Any = "semi_implicit_euler",
        substeps: int = 1,
        friction: Any = True,
        stops: Any = "rigid",
        limiter: bool = True,
        motors: Mapping[str, Any] | None = None,
        springs: Any = None,
        contacts: Sequence[Any] = (),
        user_effort: Callable[[float, Array, Array], Array] | None = None,
        brake_effort: float | Array = math.inf,
        q: Array | None = None,
        v: Array | None = None,
    ) -> None:
        raise NotImplementedError

    t: float
    q: Array
    v: Array
    tau: Array
    brakes: bool

    def reset(self, q: Array | None = None, v: Array | None = None, t: float = 0.0) -> None:
        """Set the state; ``None`` means the configuration and velocity the plant was made with.

        Motor currents go to zero, brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the joint limits.
            SimulationError: the step is too large for the stiffness of springs, stops or damping.
        """
        raise NotImplementedError

    def step(
        self,
        command: Array,
        external: Mapping[str, Array] | None = None,
        external_world: Mapping[str, Array] | None = None,
    ) -> None:
        """Advance by ``dt`` under a constant command.

        Args:
            command: (nv,) motor efforts, N m or N (volts at joints with a motor).
            external: link name → (6,) wrench [moment; force] the environment exerts on that link, about the link's
                origin, in the link's frame (turning with it).
            external_world: the same, but expressed in world axes, constant over the step.

        Raises:
            ArgumentError: a wrong length or a value that is not finite; the state is then unchanged.
            UnknownNameError: an external wrench names no link.
            SimulationError: the simulation diverges or cannot be resolved; the state stays at the last good one.
        """
        raise NotImplementedError

    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and external wrenches."""
        raise NotImplementedError

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints now: motor less friction plus springs and stops; what the links feel."""
        raise NotImplementedError

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) true joint wrenches [moment; force] now.

        Their component along the joint axis is :meth:`joint_effort`.  An impact's impulse is not in them.
        """
        raise NotImplementedError

    def energy(self) -> tuple[float, float]:
        """Kinetic energy and potential energy (gravity and springs), J."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """A copy of everything :meth:`restore` needs to continue bit for bit."""
        raise NotImplementedError

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state`."""
        raise NotImplementedError
