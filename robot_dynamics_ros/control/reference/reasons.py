"""Why a goal ended, or was refused: numbers of the routines, error codes of control_msgs, and words."""

from __future__ import annotations

import enum

from robot_dynamics_ros.control.reference.result import ResultCode


class Reason(enum.IntEnum):
    """Why a goal ended, or was refused.

    Attributes:
        code: what an action's result says.
        words: the same for people.
    """

    code: ResultCode
    words: str

    def __new__(cls, words: str, code: ResultCode = ResultCode.INVALID_GOAL) -> Reason:
        """The next number."""
        reason = int.__new__(cls, len(cls.__members__))
        reason._value_, reason.code, reason.words = len(cls.__members__), code, words
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
        "all points were due in the past: set the stamp to zero or to the future, and check the clocks",
        ResultCode.OLD_HEADER_TIMESTAMP,
    )
    STEP = "the first point is too far away for the time given: give it a later time_from_start"
    BUSY = "too many trajectories are waiting"
    NOT_FOLLOWING = "no trajectory is followed now: inactive, chained, without a state, or a law without reference"
    UNMOVED = (
        "a joint shows no motion under an effort that must move it: a dead encoder, a closed brake, or something in its way",
        ResultCode.PATH_TOLERANCE_VIOLATED,
    )
    # faults, in the order of the verdicts
    FAULT = "the control law gave an effort that is not finite"
    VELOCITY_SIGN = "a joint moves against its velocity: wrong sign or unit in the driver, or another joint's velocity"
    OVERSPEED = "a joint moves far above its velocity limit; on a robot without rotors, as in some simulations, set robustness.rotor_share to 0"
    RUNAWAY = "a joint runs away from its reference: wrong sign or unit in the driver, or another joint's state"
    BEYOND_RANGE = (
        "a joint is far beyond its position limits: wrong sign or unit in the driver, or another joint's position"
    )
    LOST = "the joint state jumped in motion, and none that follows on the last good one came: another unit or sign, or an encoder"
    FROZEN = "the position of a joint stands still although its velocity says that it moves: a dead encoder"
    CLOCKS = "the time of joint states runs back again and again: two publishers with clocks that differ, or a recording that is played back"


REASONS = tuple(Reason)
STATUSES = ("active", "succeeded", "aborted", "preempted", "canceled", "rejected", "released")
"""What an event says of a goal, or of its trajectory, which nothing needs any more once it is released."""
