"""Second step: is the state finite, new, in order, and can the arm have come there?"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.memory import NANOSECONDS, SAFE, CycleMemory
from robot_dynamics_ros.control.cycle.motion import OVERSPEED, judge_motion
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.cycle.ways import (
    LEAST_WAY,
    WINDOW,
    differs_as_degrees,
    short_way,
)

# rad or m; a larger accepted jump means that none is refused
MOST_JUMP = 1e9
# s, for which states that jumped agree with each other before they are believed: the last effort
# stands meanwhile
CONFIRMED = 0.02
# States in that time at least
CONFIRMING_STATES = 4
# Times that the stamps may run back, one of them forgotten each second: resets of a simulation are
# rarer
RETURNS = 5.5
# How much faster than it says a joint is believed to have moved: velocities are filtered, stamps
# jitter
ROOM = 2.0


def arrive(p: CycleMemory) -> int:
    """Judge the state in ``arrived``, ``time``: DONE takes it; NOT_FINITE, JUMP, STILL and LATE
    drop it; FIRST, BACKWARDS, RECOVERED, RELOCATED and RESUMED take it as a new start; others are
    faults.
    """
    for i in range(p.nv):
        size = p.arrived[0, i] * p.arrived[0, i] + p.arrived[1, i] * p.arrived[1, i]
        if size - size != 0.0:
            return Verdict.NOT_FINITE
    since = p.time[0] - p.last[0]
    relocated = False
    if p.started[0] == 1:
        is_first = p.adrift[0] == 0
        in_time = p.mode[0] != SAFE and 0 < since <= p.timeout[0]
        if in_time and has_jumped(p, since / NANOSECONDS):
            verdict = judge_jump(p, since / NANOSECONDS, is_first)
            if verdict != Verdict.RELOCATED:
                return verdict
            relocated = True
        if since <= 0 and -since <= p.timeout[0]:
            return Verdict.STILL if since == 0 else Verdict.LATE
    if is_elsewhere(p):
        return Verdict.ELSEWHERE
    was_started = p.started[0]
    was_stale = p.stale[0]
    p.last[0] = p.time[0]
    p.started[0] = 1
    p.stale[0] = 0
    p.jump_states[0] = 0
    p.dt[0] = since / NANOSECONDS
    if was_started == 0:
        return Verdict.FIRST
    if since < 0:
        p.returns[0] = p.returns[0] + 1.0
        return Verdict.CLOCKS if p.returns[0] > RETURNS else Verdict.BACKWARDS
    if was_stale == 1 or since > p.timeout[0]:
        return Verdict.LOST if p.adrift[0] == 1 else Verdict.RECOVERED
    if relocated:
        return Verdict.RELOCATED
    p.adrift[0] = 0
    p.returns[0] = max(p.returns[0] - p.dt[0], 0.0)
    if p.mode[0] == SAFE:
        return Verdict.RESUMED
    return Verdict.DONE if p.fresh[0] == 1 else judge_motion(p, p.dt[0])


def is_elsewhere(p: CycleMemory) -> bool:
    """Whether a joint is beyond its limits by more than half of what is between them: it is in
    ``bad_joint``.
    """
    for i in range(p.nv):
        beyond = max(p.lower[i] - p.arrived[0, i], p.arrived[0, i] - p.upper[i])
        if beyond > 0.5 * (p.upper[i] - p.lower[i]) + p.largest_jump[0]:
            p.bad_joint[0] = i
            return True
    return False


def has_jumped(p: CycleMemory, dt: float) -> bool:
    """Whether the arm cannot have come from ``q`` to the new position in ``dt`` s; ``bad_joint`` is
    the worst joint.  ``adrift`` becomes 1 if a joint moves.

    The speed is the larger of those before and after, times ROOM.  Whole turns of continuous joints
    are no jump.  A speed far above the limit, of which neither the way nor the state before shows a
    quarter, is another unit.
    """
    worst = 0.0
    fastest = 0.0
    for i in range(p.nv):
        way = short_way(p, i, p.arrived[0, i] - p.q[i])
        speed = abs(p.arrived[1, i])
        before = abs(p.v[i])
        fastest = max(fastest, speed, before)
        beyond = abs(way) - ROOM * max(speed, before) * dt - p.largest_jump[0]
        shown = max(abs(way) / dt, before)
        if (
            speed > max(OVERSPEED * p.rated_speed[i], 2.0 * ROOM * shown)
            and p.largest_jump[0] < MOST_JUMP
        ):
            beyond = max(beyond, (speed - shown) * dt)
        if beyond > worst:
            worst = beyond
            p.bad_joint[0] = i
    if worst > 0.0 and fastest > LEAST_WAY / WINDOW:
        p.adrift[0] = 1
    return worst > 0.0


def judge_jump(p: CycleMemory, dt: float, is_first: bool) -> int:
    """Judge a state that cannot follow from the last good one, ``dt`` s ago: CONTRADICTED for
    another unit, RELOCATED once such states have agreed with each other for a while, else JUMP.

    States agree if the way since the first of them is what their velocities say.  A mirrored
    position is no other place but another sign.  ``is_first``: no jump of a moving arm came before,
    since a state was good.
    """
    if is_first and is_in_degrees(p, dt):
        # the last effort, that of another unit, must not stand longer
        return Verdict.CONTRADICTED
    if p.jump_states[0] > 0 and agrees_with_jump(p, (p.time[0] - p.jump_newest[0]) / NANOSECONDS):
        p.jump_states[0] = p.jump_states[0] + 1
    else:
        p.jump_states[0] = 1
        p.jump_oldest[0] = p.time[0]
        for i in range(p.nv):
            p.jump_position[i] = p.arrived[0, i]
            p.jump_way[i] = 0.0
    p.jump_newest[0] = p.time[0]
    lasts = p.time[0] - p.jump_oldest[0] >= CONFIRMED * NANOSECONDS
    if lasts and p.jump_states[0] >= CONFIRMING_STATES and not is_mirrored(p):
        return Verdict.RELOCATED
    return Verdict.JUMP


def agrees_with_jump(p: CycleMemory, dt: float) -> bool:
    """Whether each joint has gone, since the states jumped, what its velocity says, give or take
    half of it and a tenth of what counts as a jump.
    """
    if dt <= 0.0:
        return False
    for i in range(p.nv):
        p.jump_way[i] = p.jump_way[i] + p.arrived[1, i] * dt
        way = short_way(p, i, p.arrived[0, i] - p.jump_position[i])
        longest = max(abs(way), abs(p.jump_way[i]))
        if abs(way - p.jump_way[i]) > 0.5 * longest + 0.1 * p.largest_jump[0]:
            return False
    return True


def is_mirrored(p: CycleMemory) -> bool:
    """Whether each joint whose position jumped is where the other sign of it would be; also where
    only velocities jumped, which is no other place.
    """
    for i in range(p.nv):
        jumped = abs(short_way(p, i, p.arrived[0, i] - p.q[i])) > p.largest_jump[0]
        if jumped and abs(p.arrived[0, i] + p.q[i]) > p.largest_jump[0]:
            return False
    return True


def is_in_degrees(p: CycleMemory, dt: float) -> bool:
    """Whether each joint that moves, by a state that was refused, has gone as far as degrees go for
    velocities in radians.
    """
    moves = False
    for i in range(p.nv):
        gone = short_way(p, i, p.arrived[0, i] - p.q[i])
        said = 0.5 * (p.arrived[1, i] + p.v[i]) * dt
        if abs(gone) > LEAST_WAY:
            moves = True
            if not differs_as_degrees(2.0 * gone * said / (gone * gone + said * said)):
                return False
    return moves


def take_state(p: CycleMemory) -> None:
    """Go on from this state."""
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.previous[i] = p.effort[i]
    if p.fresh[0] == 1:
        p.dt[0] = 0.0


def begin_afresh(p: CycleMemory) -> None:
    """Go on from the state in ``arrived``, with no motion before it.  Which law leads the joints,
    whether they obey, and what was learned of them stays.
    """
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.z[i] = 0.0
        p.saturated[i] = 0.0
        p.agreement[i] = 0.0
        p.travel[i] = 0.0
        p.change[i] = 0.0
        p.fast[i] = 0
        p.taut[i] = 0.0
        p.taut_time[i] = 0.0
        p.vain_time[i] = 0.0
        p.astray[i] = 0.0
        p.hidden[i] = 0.0
        p.ways[0, i] = 0.0
        p.ways[1, i] = 0.0
    p.blending[0] = 0
    p.adrift[0] = 0
    p.jump_states[0] = 0
    p.differentiates[0] = 0
    p.fresh[0] = 1
