"""Outcomes of a trajectory goal, numbered as control_msgs/action/FollowJointTrajectory numbers them."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.errors import TrajectoryError


class ResultCode(enum.IntEnum):
    """``error_code`` of control_msgs/action/FollowJointTrajectory."""

    SUCCESSFUL = 0
    INVALID_GOAL = -1
    INVALID_JOINTS = -2
    OLD_HEADER_TIMESTAMP = -3
    PATH_TOLERANCE_VIOLATED = -4
    GOAL_TOLERANCE_VIOLATED = -5


class TrajectoryRejected(TrajectoryError):
    """A trajectory that the controller refuses.

    Attributes:
        code: the reason as a :class:`ResultCode`.
    """

    def __init__(
        self,
        problem: str,
        *,
        code: ResultCode = ResultCode.INVALID_GOAL,
        where: str = "",
        got: object = None,
        remedy: str = "",
    ) -> None:
        super().__init__(problem, where=where, got=got, remedy=remedy)
        self.code = code


class GoalStatus(enum.Enum):
    """Life of an accepted trajectory."""

    WAITING = "waiting"  # its start time lies in the future
    ACTIVE = "active"
    SUCCEEDED = "succeeded"
    ABORTED = "aborted"  # a tolerance was violated, or the controller was stopped
    PREEMPTED = "preempted"  # replaced by a newer trajectory or set-point
    CANCELED = "canceled"  # hold() was called

    @property
    def done(self) -> bool:
        """Whether nothing more will happen to the goal."""
        return self not in (GoalStatus.WAITING, GoalStatus.ACTIVE)


@dataclass(slots=True, eq=False)
class Goal:
    """One accepted trajectory; the controller keeps it up to date.

    Attributes:
        start, end: times when the trajectory replaces the earlier reference, and when its last point is due, ns.
        tolerances: of it.
        status: see :class:`GoalStatus`.
        code, text: the outcome, once ``status.done``; a success may have a remark.
    """

    start: int
    end: int
    tolerances: Tolerances = field(default_factory=lambda: Tolerances.uniform(0), repr=False)
    status: GoalStatus = GoalStatus.WAITING
    code: ResultCode = ResultCode.SUCCESSFUL
    text: str = ""

    def finish(self, status: GoalStatus, code: ResultCode = ResultCode.SUCCESSFUL, text: str = "") -> None:
        """Close the goal; a goal that is done stays as it is."""
        if not self.status.done:
            self.status, self.code, self.text = status, code, text
