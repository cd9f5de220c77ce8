"""Goals of trajectories: their tolerances, by the rules of joint_trajectory_controller, and how
they end, numbered as control_msgs/action/FollowJointTrajectory numbers it.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from robot_dynamics_ros.errors import ArgumentError, TrajectoryError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.per_joint import expect, per_joint


class ResultCode(enum.IntEnum):
    """``error_code`` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class TrajectoryRejected(TrajectoryError):
    """A trajectory that the controller refuses; ``code``: the reason as a :class:`ResultCode`."""

    def __init__(
        self,
        problem: str,
        *,
        code: ResultCode = ResultCode.INVALID_GOAL,
        **more: Any,
    ) -> None:
        super().__init__(problem, **more)
        self.code = code

    @classmethod
    def because_of(cls, error: ArgumentError) -> TrajectoryRejected:
        """The refusal of a trajectory for an argument that is not accepted."""
        return cls(error.problem, where=error.where, got=error.got, remedy=error.remedy)


class Reason(enum.IntEnum):
    """Why a goal ended, or was refused: ``code`` for an action's result, ``words`` for people."""

    code: ResultCode
    words: str

    def __new__(cls, words: str, code: ResultCode = ResultCode.INVALID_GOAL) -> Reason:
        reason = int.__new__(cls, len(cls.__members__))
        reason._value_ = len(cls.__members__)
        reason.code = code
        reason.words = words
        return reason

    NONE = "", ResultCode.SUCCESSFUL
    PATH_TOLERANCE = "path tolerance violated", ResultCode.PATH_TOLERANCE_VIOLATED
    GOAL_TOLERANCE = "goal not reached in time", ResultCode.GOAL_TOLERANCE_VIOLATED
    REPLACED = "replaced by a newer trajectory", ResultCode.SUCCESSFUL
    STREAMED = "replaced by a streamed set-point", ResultCode.SUCCESSFUL
    HELD = "hold was asked for", ResultCode.SUCCESSFUL
    RESTARTED = "the controller was started afresh, or time jumped"
    STALE = "the joint state was stale"
    DEACTIVATED = "the controller was deactivated"
    COLLISION = "collision"
    LAW_CHANGED = "the law was changed", ResultCode.SUCCESSFUL
    TOO_LATE = (
        "all points were due in the past: set the stamp to zero or to the future, and check the "
        "clocks",
        ResultCode.OLD_HEADER_TIMESTAMP,
    )
    STEP = "the first point is too far away for the time given: give it a later time_from_start"
    BUSY = "too many trajectories are waiting"
    NOT_FOLLOWING = (
        "no trajectory is followed now: inactive, chained, without a state, or a law without "
        "reference"
    )
    UNMOVED = (
        "a joint shows no motion under an effort that must move it: a dead encoder, a closed "
        "brake, or something in its way",
        ResultCode.PATH_TOLERANCE_VIOLATED,
    )
    RELOCATED = "the joint state jumped, and the states since agree: the arm was put elsewhere"
    # faults, in the order of the verdicts
    FAULT = "the control law gave an effort that is not finite"
    VELOCITY_SIGN = (
        "a joint moves against its velocity: wrong sign or unit in the driver, or another "
        "joint's velocity"
    )
    OVERSPEED = (
        "a joint moves far above its velocity limit; on a robot without rotors, as in some "
        "simulations, set robustness.rotor_share to 0"
    )
    RUNAWAY = (
        "a joint runs away from its reference: wrong sign or unit in the driver, or another "
        "joint's state"
    )
    BEYOND_RANGE = (
        "a joint is far beyond its position limits: wrong sign or unit in the driver, or another "
        "joint's position"
    )
    LOST = (
        "the joint state jumped in motion, and none that follows on the last good one came: "
        "another unit or sign, or an encoder"
    )
    FROZEN = (
        "the position of a joint stands still although its velocity says that it moves: a dead "
        "encoder"
    )
    CLOCKS = (
        "the time of joint states runs back again and again: two publishers with clocks that "
        "differ, or a recording that is played back"
    )


REASONS = tuple(Reason)
STATUSES = ("active", "succeeded", "aborted", "preempted", "canceled", "rejected", "released")
"""What an event says of a goal, or of its trajectory, which nothing needs any more once it is
released.
"""


@dataclass(frozen=True, slots=True)
class JointTolerance:
    """A request for one joint, as in control_msgs/JointTolerance: rad, rad/s, rad/s² (or m, …); 0
    keeps the default, −1 removes the tolerance.
    """

    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Tolerances:
    """Tolerances of all joints: (n,) largest errors while moving and at the end, where
    ``goal_velocity`` is the largest speed that counts as stopped; ``goal_time``: s by which the
    goal may be late.  Zero: not watched.
    """

    path_position: Array
    path_velocity: Array
    goal_position: Array
    goal_velocity: Array
    goal_time: float = 0.0

    @classmethod
    def uniform(
        cls,
        n: int,
        *,
        path: float | Sequence[float] = 0.0,
        goal: float | Sequence[float] = 0.0,
        stopped_velocity: float | Sequence[float] = 0.01,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """Tolerances from ``constraints.<joint>.trajectory``, ``.goal``,
        ``stopped_velocity_tolerance``, ``goal_time``: one number for all ``n`` joints or one for
        each; ArgumentError: negative, not finite, or of the wrong length.
        """
        expect(n >= 0, "a number of joints", n, "n")
        remedy = "Zero means: however long it takes."
        expect(
            0.0 <= goal_time < math.inf,
            "a non-negative number of seconds",
            goal_time,
            "goal_time",
            remedy,
        )
        given = {
            "path": path,
            "path velocity": 0.0,
            "goal": goal,
            "stopped_velocity": stopped_velocity,
        }
        a, b, c, d = (
            per_joint(x, n, name, remedy="Zero means: not watched.") for name, x in given.items()
        )
        return cls(a, b, c, d, float(goal_time))

    def with_requests(
        self,
        joints: Sequence[str],
        path: Mapping[str, JointTolerance] | None = None,
        goal: Mapping[str, JointTolerance] | None = None,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """These defaults with what an action goal asks for: 0 keeps the default, −1 lifts it, more
        sets it.

        ``joints``: the n joint names, in the order of the arrays. ArgumentError: an unknown joint
        or another negative value; as with joint_trajectory_controller, the caller then keeps the
        defaults.
        """
        columns: dict[str, Array] = {}
        for stage, requests in (("path", path or {}), ("goal", goal or {})):
            columns |= {
                f"{stage}_{x}": getattr(self, f"{stage}_{x}").copy()
                for x in ("position", "velocity")
            }
            for joint, request in requests.items():
                where = f"{stage}_tolerance"
                remedy = f"The joints are {', '.join(joints)}."
                expect(joint in joints, "one of the joints", joint, where, remedy)
                i = list(joints).index(joint)
                for x in ("position", "velocity"):
                    column = columns[f"{stage}_{x}"]
                    column[i] = _resolved(
                        getattr(request, x), float(column[i]), f"{where}[{joint}].{x}"
                    )
                _resolved(request.acceleration, 0.0, f"{where}[{joint}].acceleration")
        for column in columns.values():
            column.setflags(write=False)
        return replace(
            self, goal_time=_resolved(goal_time, self.goal_time, "goal_time_tolerance"), **columns
        )


def _resolved(requested: float, default: float, where: str) -> float:
    if requested in (0.0, -1.0):
        return default if requested == 0.0 else 0.0
    kind = "a positive number, 0 (default) or −1 (none)"
    expect(0.0 < requested < math.inf, kind, requested, where, "Correct the tolerance.")
    return float(requested)


class GoalStatus(enum.Enum):
    """Life of an accepted trajectory."""

    # its start time lies in the future
    WAITING = "waiting"
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    # a tolerance was violated, or the controller was stopped
    ABORTED = "aborted"
    # replaced by a newer trajectory or set-point
    PREEMPTED = "preempted"
    # hold() was called
    CANCELED = "canceled"

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to the goal."""
        return self not in (GoalStatus.WAITING, GoalStatus.ACTIVE)


@dataclass(slots=True, eq=False)
class Goal:
    """One accepted trajectory; the controller keeps it up to date.

    ``start``, ``end``: when it replaces the earlier reference, and when its last point is due, ns;
    ``code``, ``text``: the outcome, once ``status.done``; a success may have a remark.
    """

    start: int
    end: int
    tolerances: Tolerances = field(default_factory=lambda: Tolerances.uniform(0), repr=False)
    status: GoalStatus = GoalStatus.WAITING
    code: ResultCode = ResultCode.SUCCESSFUL
    text: str = ""

    def finish(
        self,
        status: GoalStatus,
        code: ResultCode = ResultCode.SUCCESSFUL,
        text: str = "",
    ) -> None:
        """Close the goal; a goal that is done stays as it is."""
        if not self.status.done:
            self.status = status
            self.code = code
            self.text = text
