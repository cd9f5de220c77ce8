"""The whole controller without ROS: a node only translates messages into these calls, a script calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one clock, the clock of the
joint states' stamps.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from robot_dynamics_ros.control.guards import GuardSettings
from robot_dynamics_ros.control.laws import Law
from robot_dynamics_ros.control.payload import Payload
from robot_dynamics_ros.control.result import Goal
from robot_dynamics_ros.control.tolerances import Tolerances
from robot_dynamics_ros.control.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["ControllerOptions", "JointController", "Mode"]


class Mode(enum.Enum):
    """What the controller is doing."""

    INACTIVE = "inactive"
    HOLD = "hold"
    TRAJECTORY = "trajectory"
    STREAM = "stream"
    SAFE = "safe"  # the safe command is out: state stale, or a fault


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Settings that do not change while the controller runs.

    Attributes:
        joints: the joints to command, by name; ``None``: all of the model's.  The others get zero effort, their
            reference follows their measured state.
        allow_partial_joints_goal: accept trajectories for some of ``joints`` only; the others go on as they were.
        allow_nonzero_velocity_at_trajectory_end: accept a last point with a velocity (the arm still stops there).
        gravity_compensated_by: "controller", or "robot" when the hardware adds g(q) on its own: exactly g(q) of the
            robot without payload is then taken off the command.
        safe_command: "zero" or "gravity" (hold against gravity at the last known position): what goes out when the
            state is stale or a fault is met.
        state_timeout: s without a joint state after which the state is stale.
        stream_timeout: s without a streamed set-point after which the arm is brought to a stop.
        wrench_timeout: s after which an external wrench is forgotten.
        blend_time: s over which a change of law, gains or payload is faded in, so that the effort does not jump.
        max_step: rad or m; a point that is due at once may differ from the present reference by this much at most.
        trajectory_effort: "ignore" or "add": whether the ``effort`` of trajectory points is added to the law's effort.
        wrench_acceleration: which acceleration the joint wrenches are computed with: "commanded" (the law's own,
            same pass as the efforts), "reference", "measured_effort" (forward dynamics of the measured effort), or
            "differentiated" (filtered derivative of the measured velocity).
        differentiation_cutoff: Hz, of that filter; its delay is 1 / (2π cutoff).
    """

    joints: tuple[str, ...] | None = None
    allow_partial_joints_goal: bool = False
    allow_nonzero_velocity_at_trajectory_end: bool = False
    gravity_compensated_by: str = "controller"
    safe_command: str = "zero"
    state_timeout: float = 0.1
    stream_timeout: float = 0.1
    wrench_timeout: float = 0.1
    blend_time: float = 0.2
    max_step: float = 0.05
    trajectory_effort: str = "ignore"
    wrench_acceleration: str = "commanded"
    differentiation_cutoff: float = 30.0


class JointController:
    """Model, law, reference, guards and preallocated memory in one object.

    Attributes (arrays are views into memory of the controller, overwritten by the next cycle):
        model: the robot, payload excluded.
        mode: a :class:`Mode`.
        reference: (3, nv) desired position, velocity, acceleration.
        error: (2, nv) desired minus measured position (the short way round for continuous joints) and velocity.
        effort: (nv,) total effort asked of the joints after the guards, gravity included whoever supplies it.
        command: (nv,) what is to be sent: ``effort``, less g(q) where the robot adds it.
        wrenches: (moving joints, 6) [moment; force] the parent exerts on each child link, about the joint's origin,
            in the child link's frame.
        counts: cause → how often, for the life of the controller.
        goal: the newest :class:`Goal` that is active or waiting, or ``None``.
    """

    def __init__(
        self,
        model: RobotModel,
        law: Law | None = None,
        *,
        options: ControllerOptions | None = None,
        guards: GuardSettings | None = None,
        tolerances: Tolerances | None = None,
    ) -> None:
        raise NotImplementedError

    # -- life cycle (outside the control cycle) ------------------------------------------------------------------

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop within its limits."""
        raise NotImplementedError

    def deactivate(self) -> Array:
        """Stop; returns the safe command to send as the last message.  Goals still open are aborted."""
        raise NotImplementedError

    # -- the cycle -----------------------------------------------------------------------------------------------

    def update(self, t: int, q: Array, v: Array, effort: Array | None = None) -> Array:
        """One control cycle.

        Args:
            t: stamp of the state, ns.
            q, v: (nq,), (nv,) measured position and velocity.
            effort: (nv,) measured effort, for the observer and ``wrench_acceleration="measured_effort"``.

        Returns:
            (nv,) efforts to command: always finite, within the effort limits, ``command`` itself.
        """
        raise NotImplementedError

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t``, else ``None``."""
        raise NotImplementedError

    # -- references ----------------------------------------------------------------------------------------------

    def accept_trajectory(self, trajectory: Trajectory, t: int, tolerances: Tolerances | None = None) -> Goal:
        """Follow a trajectory from its stamp on (0: from ``t``), leaving the present reference without a jump.

        An empty trajectory means hold.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        raise NotImplementedError

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop."""
        raise NotImplementedError

    def hold(self, t: int, *, measured: bool = False) -> None:
        """Come to a stop within the deceleration and position limits, then stay.  Open goals are cancelled.

        Args:
            measured: start from the measured state instead of the present reference.
        """
        raise NotImplementedError

    # -- changes between two cycles ------------------------------------------------------------------------------

    def set_law(self, law: Law) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump."""
        raise NotImplementedError

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …); see the law for its fields."""
        raise NotImplementedError

    def set_payload(self, payload: Payload | None) -> None:
        """Carry a payload, or with ``None`` none: the very model of before is used again."""
        raise NotImplementedError

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None`` forgets it."""
        raise NotImplementedError

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        raise NotImplementedError

    def safe_command(self) -> Array:
        """(nv,) the command that ``options.safe_command`` names, at the last known position."""
        raise NotImplementedError
