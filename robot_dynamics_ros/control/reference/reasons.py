"""Why a goal ended, or was refused: numbers of the routines, error codes of control_msgs, and words."""

from __future__ import annotations

from typing import NamedTuple

from robot_dynamics_ros.control.reference.result import ResultCode

_TABLE = """
none | SUCCESSFUL |
path_tolerance | PATH_TOLERANCE_VIOLATED | path tolerance violated
goal_tolerance | GOAL_TOLERANCE_VIOLATED | goal not reached in time
replaced | SUCCESSFUL | replaced by a newer trajectory
streamed | SUCCESSFUL | replaced by a streamed set-point
held | SUCCESSFUL | hold was asked for
restarted | INVALID_GOAL | the controller was started afresh, or time jumped
stale | INVALID_GOAL | the joint state was stale
deactivated | INVALID_GOAL | the controller was deactivated
fault | INVALID_GOAL | the control law gave an effort that is not finite
collision | INVALID_GOAL | collision
law_changed | SUCCESSFUL | the law was changed
too_late | OLD_HEADER_TIMESTAMP | all points were due in the past: set the stamp to zero or to the future, and check the clocks
step | INVALID_GOAL | the first point is too far away for the time given: give it a later time_from_start
busy | INVALID_GOAL | too many trajectories are waiting
not_following | INVALID_GOAL | no trajectory is followed now: inactive, chained, without a state, or a law without reference
velocity_sign | INVALID_GOAL | a joint moves against its velocity: wrong sign or unit in the driver, or another joint's velocity
overspeed | INVALID_GOAL | a joint moves far above its velocity limit; on a robot without rotors, as in some simulations, set robustness.rotor_share to 0
runaway | INVALID_GOAL | a joint runs away from its reference: wrong sign or unit in the driver, or another joint's state
beyond_range | INVALID_GOAL | a joint is far beyond its position limits: wrong sign or unit in the driver, or another joint's position
lost | INVALID_GOAL | the joint state jumped in motion, and none that follows on the last good one came: another unit or sign, or an encoder
"""


class Reason(NamedTuple):
    """One reason; its place in :data:`REASONS` is its number."""

    name: str
    code: ResultCode
    words: str


_ROWS = [[x.strip() for x in line.split("|")] for line in _TABLE.strip().splitlines()]
REASONS = tuple(Reason(name, ResultCode[code], words) for name, code, words in _ROWS)
STATUSES = ("active", "succeeded", "aborted", "preempted", "canceled", "rejected", "released")
"""What an event says of a goal, or of its trajectory, which nothing needs any more once it is released."""
