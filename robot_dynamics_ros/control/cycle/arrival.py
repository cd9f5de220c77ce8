"""Second step: is the state finite, new, in order, and can the arm have come there?"""

from __future__ import annotations

from math import copysign, floor, log, tau

from robot_dynamics_ros.control.cycle.ladder import Level, Surprise, step_down
from robot_dynamics_ros.control.cycle.memory import NANOSECONDS, SAFE, CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict

TINY = 1e-12
# Time over which ways and velocities are compared, s
WINDOW = 0.2
# Way, rad or m, that a joint must go in that time before its velocity is judged
LEAST_WAY = 0.05
OTHER_UNIT = 8.0
"""Times as far as one of way and velocity the other must have gone for another unit: from state to
state, those of a slow joint with a coarse encoder agree as little as degrees and radians.
"""
# Times its velocity limit, a joint is far above it
OVERSPEED = 1.3
# rad or m; a larger accepted jump means that none is refused
MOST_JUMP = 1e9
# Time for which a joint is believed to go on speeding up as it did since the state before, s
AHEAD = 0.004
# s, for which states that jumped agree with each other before they are believed: the last effort
# stands meanwhile
CONFIRMED = 0.02
# States in that time at least
CONFIRMING_STATES = 4
# s, in which an arm that brakes is below OVERSPEED again
BRAKING = 0.3
# s, that a joint may get faster against its effort: drives lag by as much
VAIN_TIME = 0.05
# Times its velocity limit, from which on that time is
FAR_TOO_FAST = 3.0
# s
VAIN_TIME_FAR = 0.005
# Share of its velocity limit, from which on a joint that its effort makes faster is seen to obey
DRIVEN_SPEED = 0.1
# States in a row in which it must
DRIVEN_STATES = 2
# Times its velocity limit, where one state is enough
OUTRAGEOUS = 5.0
# Agreement of way and velocity where one of the two is in degrees
DEGREES = 0.0349
# 1/s, at which velocity and acceleration of a joint that runs away grow at least
DIVERGENCE = 30.0
RUNAWAY_SPEED = 0.36
"""Share of its velocity limit by which it is then faster than its reference, if its acceleration
has grown e-fold; a state counts for 0.5 at most of the logarithm, all for 1.5.
"""
# Times that the stamps may run back, one of them forgotten each second: resets of a simulation are
# rarer
RETURNS = 5.5
# How much faster than it says a joint is believed to have moved: velocities are filtered, stamps
# jitter
ROOM = 2.0


def arrive(p: CycleMemory) -> int:
    """Judge the state in ``arrived``, ``time``: NOT_FINITE, JUMP, STILL and LATE drop it; FIRST,
    BACKWARDS, RECOVERED, RELOCATED and RESUMED take it as a new start; others are faults.
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
    the worst joint,
    ``adrift``: it moves.

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
    """What a state that cannot follow from the last good one, ``dt`` s ago, means: CONTRADICTED for
    another unit, RELOCATED once such states have agreed with each other for a while, else JUMP.

    States agree if the way since the first of them is what their velocities say.  A mirrored
    position is no other place but another sign.
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
    """Whether each joint that jumped is where the other sign of its position would be."""
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
        told = 0.5 * (p.arrived[1, i] + p.v[i]) * dt
        if abs(gone) > LEAST_WAY:
            moves = True
            if not differs_as_degrees(2.0 * gone * told / (gone * gone + told * told)):
                return False
    return moves


def differs_as_degrees(agreement: float) -> bool:
    """Whether of way and velocity one is in degrees, the other one in radians."""
    return abs(agreement - DEGREES) < 0.3 * DEGREES


def short_way(p: CycleMemory, i: int, way: float) -> float:
    """A way of joint ``i`` between two states; without whole turns where the joint is
    continuous.
    """
    if p.continuous[i] == 1:
        return way - whole_turns(way)
    return way


def whole_turns(way: float) -> float:
    """The whole turns in an angle, rad; what is left of it is half a turn at most."""
    return tau * floor(way / tau + 0.5)


def judge_motion(p: CycleMemory, dt: float) -> int:
    """CONTRADICTED: a joint moves against its velocity, or by another unit.  TOO_FAST: it moves far
    above its limit, or is about to, in two states of three, or very far in one.

    Both are compared with the way gone since the state before: neither noise nor the lag of a
    velocity filter is a fault.
    RUNAWAY: a joint leaves its reference, and its acceleration grows from state to state.  Neither
        a push nor a swing does
    that: the law drives it the wrong way.  FROZEN: a position has not changed in any digit,
        although its velocity says that
    the joint moves: a dead encoder.
    """
    keep = max(0.0, 1.0 - dt / WINDOW)
    least = LEAST_WAY * LEAST_WAY * dt / WINDOW
    fastest = 0.0
    for i in range(p.nv):
        gone = short_way(p, i, p.arrived[0, i] - p.q[i])
        speed = p.arrived[1, i]
        told = 0.5 * (speed + p.v[i]) * dt
        p.bad_joint[0] = i
        p.agreement[i] = keep * p.agreement[i] + gone * told
        p.travel[i] = keep * p.travel[i] + 0.5 * (gone * gone + told * told)
        agreement = p.agreement[i] / max(p.travel[i], least)
        if gone != 0.0:
            p.digit[i] = min(abs(gone), p.digit[i]) if p.digit[i] > 0.0 else abs(gone)
        p.ways[0, i], p.ways[1, i] = keep * p.ways[0, i] + gone, keep * p.ways[1, i] + told
        way = abs(p.ways[0, i])
        said = abs(p.ways[1, i])
        apart = gone != 0.0 and max(way, said) > OTHER_UNIT * (min(way, said) + p.digit[i])
        if p.travel[i] > least and (agreement < -0.5 or (apart and differs_as_degrees(agreement))):
            return Verdict.CONTRADICTED
        p.hidden[i] = keep * (p.hidden[i] + told) if gone == 0.0 else 0.0
        if p.commanded[i] == 1 and abs(p.hidden[i]) > LEAST_WAY:
            return Verdict.FROZEN
        # one digit of a coarse encoder shows no speed
        faster = max(abs(speed) - abs(p.v[i]) - p.digit[i] / dt, 0.0)
        shown = min(abs(speed), max(abs(gone) - p.digit[i], 0.0) / dt + 0.5 * faster)
        lead = speed - p.reference[1, i]
        before = p.change[i]
        change = speed - p.v[i]
        # its reference, against the law
        leaves = speed * lead > 0.0 and p.error[0, i] * lead < 0.0
        steady = (
            abs(change) <= max(abs(before), DIVERGENCE * dt * abs(speed)) and p.saturated[i] == 0.0
        )
        # pushed
        if shown + faster * min(1.0, AHEAD / dt) > OVERSPEED * p.rated_speed[i] and not (
            leaves and steady
        ):
            p.fast[i] = p.fast[i] + 2
        elif p.fast[i] > 0:
            p.fast[i] = p.fast[i] - 1
        growth = abs(change) / max(abs(before), TINY)
        away = change * before > 0.0 and change * speed > 0.0 and leaves
        if away and growth > 1.0 + DIVERGENCE * dt and abs(change) > DIVERGENCE * dt * abs(lead):
            p.astray[i] = p.astray[i] + min(log(growth), 0.5)
        # a full effort against the motion does not grow any more
        elif not away or p.saturated[i] * lead >= 0.0:
            p.astray[i] = 0.0
        p.change[i] = change
        # an arm that floats may be pushed that fast
        if p.tracks[0] == 1:
            note_following(p, i, gone, change)
            if shown > fastest * p.rated_speed[i]:
                fastest = shown / p.rated_speed[i]
                p.fastest_joint[0] = i
            if p.fast[i] >= 3 or shown > OUTRAGEOUS * p.rated_speed[i]:
                if p.robust[0] == 0 or p.follows[i] == 0:
                    return Verdict.TOO_FAST
                brake(p, i, leaves and steady, dt)
            if min(p.astray[i], 1.5) * abs(lead) > RUNAWAY_SPEED * p.rated_speed[i]:
                if is_wrong_way(p, i, change):
                    return Verdict.RUNAWAY
            if brakes_in_vain(p, i, shown, change, dt):
                return Verdict.TOO_FAST
    return judge_speed(p, fastest, dt)


def note_following(p: CycleMemory, i: int, way: float, change: float) -> None:
    """Note that joint ``i`` goes where its effort drives it: the signs of its effort and state are
    right, then, until the controller is activated again.

    It has followed its reference for LEAST_WAY, with half of that as error at most; or in a few
    states, one after the other, its effort made it faster towards its reference.
    """
    speed = p.arrived[1, i]
    driven = (p.effort[i] - p.nominal[i]) * change > 0.0 and p.error[0, i] * speed > 0.0
    if driven and change * speed > 0.0 and abs(speed) > DRIVEN_SPEED * p.rated_speed[i]:
        p.driven_states[i] = p.driven_states[i] + 1
    else:
        p.driven_states[i] = 0
    if p.driven_states[i] >= DRIVEN_STATES:
        p.follows[i] = 1
    if abs(p.error[0, i]) > 0.5 * LEAST_WAY:
        p.followed_way[0, i] = 0.0
        p.followed_way[1, i] = 0.0
        return
    sense = copysign(1.0, p.reference[1, i])
    p.followed_way[0, i] = p.followed_way[0, i] + abs(p.reference[1, i]) * p.dt[0]
    p.followed_way[1, i] = p.followed_way[1, i] + sense * way
    asked = p.followed_way[0, i]
    if asked > LEAST_WAY and p.followed_way[1, i] > 0.5 * asked:
        p.follows[i] = 1


def is_wrong_way(p: CycleMemory, i: int, change: float) -> bool:
    """Whether joint ``i``, which leaves its reference ever faster, is driven the wrong way: it gets
    faster against its effort, and that again, after the plain law leads it.

    One that gets faster as its effort drives it is let go by a wall, or by friction.
    """
    if p.robust[0] == 0 or p.follows[i] == 0:
        return True
    against = (p.effort[i] - p.nominal[i]) * change <= 0.0
    if against and p.thrown[i] == 1:
        return True
    p.thrown[i] = 1
    p.astray[i] = 0.0
    limit = RUNAWAY_SPEED * p.rated_speed[i]
    step_down(p, Surprise.THROWN, i, p.arrived[1, i], limit)
    return False


def brakes_in_vain(p: CycleMemory, i: int, speed: float, change: float, dt: float) -> bool:
    """Whether joint ``i``, far above its velocity limit, gets faster against its effort for longer
    than drives lag, or is several times too fast and does not turn back.
    """
    if speed < OVERSPEED * p.rated_speed[i] or change * p.arrived[1, i] <= 0.0:
        p.vain_time[i] = 0.0
        return False
    if (p.effort[i] - p.nominal[i]) * change < 0.0:
        p.vain_time[i] = p.vain_time[i] + dt
    longest = VAIN_TIME if speed < FAR_TOO_FAST * p.rated_speed[i] else VAIN_TIME_FAR
    return p.vain_time[i] > longest


def judge_speed(p: CycleMemory, fastest: float, dt: float) -> int:
    """TOO_FAST if the arm brakes in vain: for BRAKING, all in all, the effort of the fastest joint
    has driven it on, and it has still ``fastest`` times its velocity limit.
    """
    if p.braking_time[0] <= 0.0:
        return Verdict.DONE
    if fastest < OVERSPEED:
        p.braking_time[0] = 0.0
        return Verdict.DONE
    i = p.fastest_joint[0]
    p.bad_joint[0] = i
    if (p.effort[i] - p.nominal[i]) * p.arrived[1, i] > 0.0:
        p.braking_time[0] = p.braking_time[0] + dt
    return Verdict.TOO_FAST if p.braking_time[0] > BRAKING else Verdict.DONE


def brake(p: CycleMemory, i: int, pushed: bool, dt: float) -> None:
    """Joint ``i`` is far above its velocity limit: the arm brakes, one level softer."""
    if p.braking_time[0] == 0.0:
        p.braking_time[0] = dt
        if not pushed:
            p.swung[i] = 1
        speed = abs(p.arrived[1, i])
        step_down(p, Surprise.TOO_FAST, i, speed, p.rated_speed[i])


def take_state(p: CycleMemory) -> None:
    """Go on from this state."""
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.previous[i] = p.effort[i]
    if p.fresh[0] == 1:
        p.dt[0] = 0.0


def begin_afresh(p: CycleMemory) -> None:
    """Go on from the state in ``arrived`` as if nothing had come before it."""
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.z[i] = 0.0
        p.saturated[i] = 0.0
        p.agreement[i] = 0.0
        p.travel[i] = 0.0
        p.change[i] = 0.0
        p.fast[i] = 0
        p.vain_time[i] = 0.0
        p.astray[i] = 0.0
        p.hidden[i] = 0.0
        p.lag[i] = 0.0
        p.return_velocity[i] = 0.0
        p.taut[i] = 0.0
        p.taut_time[i] = 0.0
        p.ways[0, i] = 0.0
        p.ways[1, i] = 0.0
    p.braking_time[0] = 0.0
    p.blending[0] = 0
    p.adrift[0] = 0
    p.jump_states[0] = 0
    p.differentiates[0] = 0
    p.fresh[0] = 1
