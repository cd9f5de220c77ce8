"""Options of simulated robots, given by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.argument_types import check_takes
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import DCMotor
from robot_dynamics_ros.simulation.coordinates import Values
from robot_dynamics_ros.simulation.effects.contact import GroundContact
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.effects.gears import GearSprings
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, RigidStops
from robot_dynamics_ros.simulation.effects.springs import JointPD
from robot_dynamics_ros.simulation.integrators.methods import DEFAULT_INTEGRATOR, Integrator

UserEffort = Callable[[float, Array, Array], Array]


@dataclass(frozen=True, eq=False)
class CommonOptions:
    """Options of every engine.

    Attributes:
        substeps: integrator steps per control period; ``None``: as many as the engine needs.
        friction: ``True`` takes viscous and Coulomb friction from the model (URDF ``<dynamics>``),
            ``False`` or ``None`` switches friction off, a
            :class:`~robot_dynamics_ros.simulation.effects.friction.JointFriction` sets it.
        limiter: apply effort saturation and the position and velocity rules of ros2_control's joint
            limiter to commands.
        user_effort: ``callable(t, q, v) -> (nv,)`` effort added, N m or N.
        brake_effort: breakaway effort of the holding brakes, N m or N: a number, (nv,) numbers, or
            a mapping of joint names (the others have no brake); infinite holds anything.
        q0, v0: (nq,), (nv,) initial state; the model's initial configuration (brought within the
            limits) and rest if not given.
        max_speed: a joint faster than this counts as diverged, rad/s or m/s.
        constraints: closed loops.
        stops: what happens at the position limits: ``"rigid"`` (default, no rebound), or ``None``
            for none.
        gears: a :class:`~robot_dynamics_ros.simulation.effects.gears.GearSprings`: springs and play
            between motors and links; ``None``: rigid gears.  The rotors of these joints are then
            not part of ``plant.model``; not together with ``constraints``.
    """

    substeps: int | None = None
    friction: JointFriction | bool | None = True
    limiter: bool = True
    user_effort: UserEffort | None = None
    brake_effort: Values = math.inf
    q0: ArrayLike | None = None
    v0: ArrayLike | None = None
    max_speed: float = 1e5
    constraints: Constraints | None = None
    stops: RigidStops | CompliantStops | str | None = "rigid"
    gears: GearSprings | None = None

    def __post_init__(self) -> None:
        if self.user_effort is not None and callable(self.user_effort):
            check_takes(self.user_effort, ("t", "q", "v"), "user_effort")
        if self.substeps is not None and (int(self.substeps) != self.substeps or self.substeps < 1):
            raise ArgumentError(
                "must be a whole number of at least 1", where="substeps", got=self.substeps
            )
        if not (self.gears is None or isinstance(self.gears, GearSprings)):
            raise ArgumentError("expected GearSprings or None", where="gears", got=self.gears)
        if self.gears is not None and self.constraints is not None:
            problem = "robots with closed loops have rigid gears"
            remedy = "Leave gears or constraints out."
            raise ArgumentError(problem, where="gears", remedy=remedy)


@dataclass(frozen=True, eq=False)
class PlantOptions(CommonOptions):
    """Options of :class:`~robot_dynamics_ros.simulation.plant.Plant`, beside those of every engine.

    Attributes:
        integrator: name (see
            :data:`~robot_dynamics_ros.simulation.integrators.methods.INTEGRATORS`) or an integrator
            object. ``"semi_implicit_euler"`` (first order) and ``"moreau"`` (second) treat
            friction, rigid stops, damping and springs implicitly and are stable for any stiffness;
            all others locate every stick, slip and impact inside the step and keep their order.
        stops: also :class:`~robot_dynamics_ros.simulation.effects.limits.RigidStops` or
            :class:`~robot_dynamics_ros.simulation.effects.limits.CompliantStops`.
        motors: joint name → :class:`~robot_dynamics_ros.model.motors.DCMotor`; that joint's command
            is then a voltage, and its rotor is part of ``plant.model``.
        springs: a :class:`~robot_dynamics_ros.simulation.effects.springs.JointPD`: springs, or
            proportional and derivative control with offsets, at every joint.
        contacts: :class:`~robot_dynamics_ros.simulation.effects.contact.GroundContact` objects.
        compiled: run whole steps of time stepping in machine code, if a compiler is installed;
            otherwise Python runs the same statements, with the same results except for rounding.
    """

    integrator: str | Integrator = DEFAULT_INTEGRATOR
    motors: Mapping[str, DCMotor] | None = None
    springs: JointPD | None = None
    contacts: Sequence[GroundContact] = ()
    compiled: bool = True
