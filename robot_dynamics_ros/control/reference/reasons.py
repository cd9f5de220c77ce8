"""Why a goal ended, or was refused: numbers of the routines, error codes of control_msgs, and words."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics_ros.control.reference.result import ResultCode

__all__ = ["REASONS", "STATUSES"]


class Reason(NamedTuple):
    """One reason; its place in :data:`REASONS` is its number."""

    name: str
    code: ResultCode
    words: str


REASONS = tuple(
    Reason(*row)
    for row in (
        ("none", ResultCode.SUCCESSFUL, ""),
        ("path_tolerance", ResultCode.PATH_TOLERANCE_VIOLATED, "path tolerance violated"),
        ("goal_tolerance", ResultCode.GOAL_TOLERANCE_VIOLATED, "goal not reached in time"),
        ("replaced", ResultCode.SUCCESSFUL, "replaced by a newer trajectory"),
        ("streamed", ResultCode.SUCCESSFUL, "replaced by a streamed set-point"),
        ("held", ResultCode.SUCCESSFUL, "hold was asked for"),
        ("restarted", ResultCode.INVALID_GOAL, "the controller was started afresh, or time jumped"),
        ("stale", ResultCode.INVALID_GOAL, "the joint state was stale"),
        ("deactivated", ResultCode.INVALID_GOAL, "the controller was deactivated"),
        ("fault", ResultCode.INVALID_GOAL, "the control law gave an effort that is not finite"),
        ("collision", ResultCode.INVALID_GOAL, "collision"),
        ("law_changed", ResultCode.SUCCESSFUL, "the law was changed"),
        (
            "too_late",
            ResultCode.OLD_HEADER_TIMESTAMP,
            "all points were due in the past: set the stamp to zero or to the future, and check that the clocks agree",
        ),
        (
            "step",
            ResultCode.INVALID_GOAL,
            "the first point is too far away for the time given: give it a later time_from_start",
        ),
        ("busy", ResultCode.INVALID_GOAL, "too many trajectories are waiting"),
        (
            "not_following",
            ResultCode.INVALID_GOAL,
            "the controller follows no trajectory now: it is inactive, chained, without a state, or its law follows no "
            "reference",
        ),
        (
            "velocity_sign",
            ResultCode.INVALID_GOAL,
            "a joint moves against its velocity: the driver's velocities have the wrong sign, or belong to another joint",
        ),
        ("overspeed", ResultCode.INVALID_GOAL, "a joint moves far above its velocity limit"),
    )
)

STATUSES = ("active", "succeeded", "aborted", "preempted", "canceled", "rejected")
"""What an event says of a goal."""
