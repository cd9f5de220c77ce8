"""What a call of the cycle ends with, and the steps at which it goes on; what follows from each
verdict is in the file ``cycle``.
"""

from __future__ import annotations

import enum


class Step(enum.IntEnum):
    """Where a cycle begins, or goes on, in their order."""

    #: It does not go on: the state is dropped, or the safe command is out.
    DROPPED = -1
    ARRIVE = 0
    TAKE = 1
    FOLLOW = 2
    #: After the law: where a law in Python hands over.
    BLEND = 3


class Verdict(enum.IntEnum):
    """What a step of the cycle found; ``bad_joint``, ``bad_field`` and ``bad_value`` of the memory
    say more.
    """

    DONE = 0
    #: The message is laid out otherwise than the table says.
    LAYOUT = 1
    #: A position or velocity that is no measurement.
    ABSURD = 2
    #: The state has a NaN or an infinity.
    NOT_FINITE = 3
    #: The arm cannot have come there.
    JUMP = 4
    #: The same stamp again: a duplicate, or a clock that stands.
    STILL = 5
    #: A little older than the newest: messages overtook each other.
    LATE = 6
    #: Nothing arrived before.
    FIRST = 7
    #: Older by more than the time-out: a simulation was reset, or a clock was set.
    BACKWARDS = 8
    #: The first one after a gap longer than the time-out.
    RECOVERED = 9
    #: States jumped, and agree with each other since: the arm was put elsewhere.
    RELOCATED = 10
    #: A good state, while the safe command was out.
    RESUMED = 11
    #: A known external wrench is too old.
    WRENCH_DUE = 12
    #: The piece of the path is over, the path was changed, or a goal begins.
    REFERENCE_DUE = 13
    #: A tolerance of the path.
    PATH_VIOLATED = 14
    GOAL_REACHED = 15
    #: A tolerance of the goal is violated for longer than allowed.
    GOAL_LATE = 16
    #: The law is to be called in Python.
    OWN_LAW = 17
    #: A joint shows no motion under an effort that must move it.
    UNMOVED = 18
    #: A joint moves far above its velocity limit: the arm brakes.
    TOO_FAST = 19
    #: From here on faults, in the order of their reasons.
    FAULTS = 20
    EFFORT_NOT_FINITE = 20
    #: Velocities have the wrong sign or unit.
    CONTRADICTED = 21
    #: A joint moves far above its velocity limit, and braking does not help.
    OVERSPEED = 22
    #: A joint accelerates away from its reference.
    RUNAWAY = 23
    #: A joint is far beyond its position limits.
    BEYOND_RANGE = 24
    #: After a jump in motion no state came that agrees with the one before, or with its followers.
    LOST = 25
    #: A position stands still although its joint must move.
    FROZEN = 26
    #: The stamps run back again and again: two publishers with clocks that differ.
    CLOCKS = 27


COUNTED = {
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
    Verdict.OVERSPEED: "overspeed",
    Verdict.RUNAWAY: "runaway",
    Verdict.BEYOND_RANGE: "beyond_range",
    Verdict.LOST: "state_jump",
    Verdict.FROZEN: "frozen_joint",
    Verdict.CLOCKS: "time_backwards",
}
"""Verdict → the cause that it is counted as."""
