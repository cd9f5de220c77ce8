"""Settings of a :class:`~robot_dynamics_ros.control.controller.JointController`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.measured_effort import MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

CHOICES = {
    "gravity_compensated_by": ("controller", "robot", "robot_with_coriolis"),
    "safe_command": ("zero", "gravity"),
    "trajectory_effort": ("ignore", "add"),
    "wrench_acceleration": ("commanded", "reference", "measured_effort", "differentiated"),
    "collision_reaction": ("none", "hold", "gravity"),
    "positions_upsampling": ("spline", "none"),
}


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """Settings of a controller.  While it runs, ``robustness`` alone may change.

    Attributes:
        joints: the joints to command, by name; ``None``: all of the model's.  The others get zero
            effort, their reference follows their measured state.
        allow_partial_joints_goal: accept trajectories for some of ``joints`` only; the others
            continue their motion.
        allow_nonzero_velocity_at_trajectory_end: accept a last point with a velocity (the arm still
            stops there).
        gravity_compensated_by: "controller", or "robot" when the hardware adds g(q) on its own:
            exactly g(q) of the robot without payload is then subtracted from the command;
            "robot_with_coriolis": C(q, q̇) q̇ + g(q).
        safe_command: "zero" or "gravity" (hold against gravity at the last known position): the
            command when the state is stale or a fault occurs.
        state_timeout: s without a joint state after which the state is stale.
        stream_timeout: s without a streamed set-point after which the arm is brought to a stop.
        wrench_timeout: s after which an external wrench is forgotten.
        blend_time: s over which a change of law, gains or payload is faded in, so that the effort
            does not jump.
        max_state_jump: rad or m; largest difference of a position from the one that the joint's
            speed explains; a state beyond it is dropped, after ``state_timeout`` accepted as a new
            start, or a fault if the arm was in motion; 0: all are accepted.
        max_step: rad or m; a point that is due at once may differ from the present reference by
            this much at most.
        positions_upsampling: "spline" or "none": whether trajectories and streamed set-points of
            positions alone get the velocities of a smooth curve, which begins with the reference's;
            without them trajectories are straight lines from point to point.
        trajectory_effort: "ignore" or "add": whether the ``effort`` of trajectory points is added
            to the law's effort.
        wrench_acceleration: which acceleration the joint wrenches are computed with: "commanded"
            (what the commanded effort gives by the model), "reference", "measured_effort" (forward
            dynamics of the measured effort), or "differentiated" (filtered derivative of the
            measured velocity).
        differentiation_cutoff: Hz, of that filter; its delay is 1 / (2π cutoff).
        robustness: how computed torque is made to hold up on a robot that differs from its
            description; ``None``: it is not, and the law is exactly its equation.
        collision_reaction: reaction to a collision flag: "none", "hold", or "gravity" (the arm
            gives way).
        measured_effort: meaning of the efforts that come with the state.

    ArgumentError: a word that is not one of the choices; a time or length out of range.
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
    max_state_jump: float = 0.1
    max_step: float = 0.05
    positions_upsampling: str = "spline"
    trajectory_effort: str = "ignore"
    wrench_acceleration: str = "commanded"
    differentiation_cutoff: float = 30.0
    collision_reaction: str = "none"
    measured_effort: MeasuredEffort = field(default_factory=MeasuredEffort)
    robustness: Robustness | None = None

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            value = getattr(self, name)
            expect(value in choices, f"one of {', '.join(choices)}", value, name)
        for name in ("state_timeout", "stream_timeout", "wrench_timeout", "differentiation_cutoff"):
            expect(
                0.0 < getattr(self, name) < math.inf,
                "a finite positive number",
                getattr(self, name),
                name,
            )
        for name in ("blend_time", "max_state_jump", "max_step"):
            expect(
                0.0 <= getattr(self, name) < math.inf,
                "a finite non-negative number",
                getattr(self, name),
                name,
            )
        if self.wrench_acceleration == "measured_effort":
            self.measured_effort.need("wrench_acceleration 'measured_effort'")
        if self.joints is not None:
            object.__setattr__(self, "joints", tuple(self.joints))

    def check(self, model: RobotModel) -> ControllerOptions:
        """The options, if their joints are the model's; UnknownNameError: it has no such joint, or
        one that mimics another;
        ArgumentError: no joint at all, or one twice."""
        for name in self.joints or ():
            check_name("joint", name, model.joint_names, where="joints")
        once = self.joints is None or 0 < len(self.joints) == len(set(self.joints))
        expect(
            once,
            "each joint once",
            self.joints,
            "joints",
            "Name the joints to command, or leave it out for all.",
        )
        return self
