"""Verdicts that a cycle may return, and the steps at which it goes on; what follows is in the file
``cycle``.  Compiled code and the exported controller have the same numbers.
"""

from enum import IntEnum


class Step(IntEnum):
    """Steps of a cycle, in their order."""

    # it does not go on: the state is dropped, or the safe command is out
    DROPPED = -1
    ARRIVE = 0
    TAKE = 1
    FOLLOW = 2
    # after the law: where a law in Python hands over
    BLEND = 3


class Verdict(IntEnum):
    """Findings of a step; most are of the arriving state."""

    DONE = 0
    # the message is laid out otherwise than the table says
    LAYOUT = 1
    # a position or velocity that is no measurement, see ``bad_field`` and ``bad_joint``
    ABSURD = 2
    # the state has a NaN or an infinity
    NOT_FINITE = 3
    # the arm cannot have come there, see ``bad_joint``
    JUMP = 4
    # the same stamp again: a duplicate, or a clock that stands
    STILL = 5
    # a little older than the newest: messages overtook each other
    LATE = 6
    # nothing arrived before
    FIRST = 7
    # older by more than the time-out: a simulation was reset, or a clock was set
    BACKWARDS = 8
    # the first one after a gap longer than the time-out
    RECOVERED = 9
    # states jumped, and agree with each other since: the arm was put elsewhere
    RELOCATED = 10
    # a good state, while the safe command was out
    RESUMED = 11
    # a known external wrench is too old
    WRENCH_DUE = 12
    # the piece of the path is over, the path was changed, or a goal begins
    REFERENCE_DUE = 13
    # a tolerance of the path, see ``bad_field`` and ``bad_joint``
    PATH_VIOLATED = 14
    GOAL_REACHED = 15
    # a tolerance of the goal is violated for longer than allowed
    GOAL_LATE = 16
    # the law is to be called in Python
    OWN_LAW = 17
    # a joint shows no motion under an effort that must move it, see ``bad_joint``
    UNMOVED = 18
    # the law has given a NaN or an infinity
    EFFORT_NOT_FINITE = 19
    # from here on, in the order of their reasons
    FAULTS = 19
    # velocities have the wrong sign, see ``bad_joint``
    CONTRADICTED = 20
    # a joint moves far above its velocity limit, see ``bad_joint``
    TOO_FAST = 21
    # a joint accelerates away from its reference, see ``bad_joint``
    RUNAWAY = 22
    # a joint is far beyond its position limits, see ``bad_joint``
    ELSEWHERE = 23
    # after a jump in motion the arm did not come back within the time-out
    LOST = 24
    # a position stands still although its joint must move, see ``bad_joint``
    FROZEN = 25
    # the stamps run back again and again: two publishers with clocks that differ
    CLOCKS = 26


COUNTED: dict[int, str] = {
    Verdict.NOT_FINITE: "non_finite_state",
    Verdict.JUMP: "state_jump",
    Verdict.STILL: "time_still",
    Verdict.LATE: "time_late",
    Verdict.BACKWARDS: "time_backwards",
    Verdict.PATH_VIOLATED: "tolerance_violated",
    Verdict.GOAL_LATE: "tolerance_violated",
    Verdict.UNMOVED: "unmoved_joint",
    Verdict.EFFORT_NOT_FINITE: "non_finite_effort",
    Verdict.CONTRADICTED: "velocity_sign",
    Verdict.TOO_FAST: "overspeed",
    Verdict.RUNAWAY: "runaway",
    Verdict.ELSEWHERE: "beyond_range",
    Verdict.LOST: "state_jump",
    Verdict.FROZEN: "frozen_joint",
    Verdict.CLOCKS: "time_backwards",
}
"""Verdict → the cause that it is counted as."""
