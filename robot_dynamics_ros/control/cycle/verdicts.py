"""Verdicts that a cycle may return, and the steps at which it goes on; what follows is in the file ``cycle``."""

# steps, in their order
DROPPED = -1  # it does not go on: the state is dropped, or the safe command is out
ARRIVE = 0
TAKE = 1
FOLLOW = 2
BLEND = 3  # after the law: where a law in Python hands over

# verdicts
DONE = 0
LAYOUT = 1  # the message is laid out otherwise than the table says
ABSURD = 2  # a position or velocity that is no measurement, see ``bad_field`` and ``bad_joint``
NOT_FINITE = 3  # the state has a NaN or an infinity
JUMP = 4  # the arm cannot have come there, see ``bad_joint``
STILL = 5  # the same stamp again: a duplicate, or a clock that stands
LATE = 6  # a little older than the newest: messages overtook each other
FIRST = 7  # nothing arrived before
BACKWARDS = 8  # older by more than the time-out: a simulation was reset, or a clock was set
RECOVERED = 9  # the first one after a gap longer than the time-out
RESUMED = 10  # a good state, while the safe command was out
WRENCH_DUE = 11  # a known external wrench is too old
REFERENCE_DUE = 12  # the piece of the path is over, the path was changed, or a goal begins
PATH_VIOLATED = 13  # a tolerance of the path, see ``bad_field`` and ``bad_joint``
GOAL_REACHED = 14
GOAL_LATE = 15  # a tolerance of the goal is violated for longer than allowed
OWN_LAW = 16  # the law is to be called in Python
UNMOVED = 17  # a joint shows no motion under an effort that must move it, see ``bad_joint``
FAULTS = 18  # from here on, in the order of their reasons
EFFORT_NOT_FINITE = 18
CONTRADICTED = 19  # velocities have the wrong sign, see ``bad_joint``
TOO_FAST = 20  # a joint moves far above its velocity limit, see ``bad_joint``
RUNAWAY = 21  # a joint accelerates away from its reference, see ``bad_joint``
ELSEWHERE = 22  # a joint is far beyond its position limits, see ``bad_joint``
LOST = 23  # after a jump in motion the arm did not come back within the time-out
FROZEN = 24  # a position stands still although its joint must move, see ``bad_joint``
CLOCKS = 25  # the stamps run back again and again: two publishers with clocks that differ

COUNTED = {
    NOT_FINITE: "non_finite_state",
    JUMP: "state_jump",
    STILL: "time_still",
    LATE: "time_late",
    BACKWARDS: "time_backwards",
    PATH_VIOLATED: "tolerance_violated",
    GOAL_LATE: "tolerance_violated",
    UNMOVED: "unmoved_joint",
    EFFORT_NOT_FINITE: "non_finite_effort",
    CONTRADICTED: "velocity_sign",
    TOO_FAST: "overspeed",
    RUNAWAY: "runaway",
    ELSEWHERE: "beyond_range",
    LOST: "state_jump",
    FROZEN: "frozen_joint",
    CLOCKS: "time_backwards",
}
"""Verdict → the cause that it is counted as."""
