"""Second step: is the state finite, new, in order, and can the arm have come there?

A fault is what shows that the *measurement* is wrong: another sign or unit, exchanged joints, dead
encoders, clocks that differ.  All else that surprises leads one step down the ladder, see the file
``ladder``.  Ways are in rad or m.
"""

from __future__ import annotations

from math import floor, isfinite, log, tau

from robot_dynamics_ros.control.cycle.ladder import (
    Level,
    Surprise,
    note_gap,
    step_down,
)
from robot_dynamics_ros.control.cycle.memory import NANOSECONDS, SAFE, CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict

WINDOW = 0.2
"""Time over which ways and velocities are compared, s.  Twice: a reversed sensor is found in twice
the time; half: the lag of a velocity filter of 5 Hz looks like one.
"""
LEAST_WAY = 0.05
"""Way, rad or m, that a joint goes in that time before its velocity is judged.  Twice: joints below
0.5 rad/s are not watched; half: the noise of 10-bit encoders is judged.
"""
DEGREES = 57.3
"""Ratio of way and velocity where one of the two is in degrees; 0.7 to 1.4 times it counts."""
OVERSPEED = 1.3
"""Times its velocity limit, a joint is far above it: then the arm brakes.  Nearer to 1, motions at
the limit that overshoot are stopped; twice: a joint that runs away is found too late.
"""
OUTRAGEOUS = 5.0
"""Times its velocity limit at which one state is enough, and a fault: no arm gets there before it
brakes.  Half: a wrong number in one state ends a motion; twice: light joints in another unit.
"""
FASTER = 0.1
"""Share of its velocity limit by which a joint may get faster while the arm brakes; by more, its
efforts or states have the wrong sign.  Half: what brakes late is a fault.
"""
DIVERGENCE = 30.0
"""1/s, at which velocity and acceleration of a joint that runs away grow at least: a loop with the
wrong sign is unstable at its bandwidth.  Half: swings count; twice: joints with rotors do not.
"""
RUNAWAY_SPEED = 0.36
"""Share of its velocity limit by which it is then faster than its reference, if its acceleration
has grown e-fold.  Twice: it is found at twice the speed; half: light joints that are let go count.
"""
LARGEST_GROWTH = 0.5
"""Of one state, the largest logarithm of growth that counts: no single state is a fault; three
times of it is the most that all together count.
"""
RETURNS = 5.5
"""Times that stamps may run back, one of them forgotten each second.  A person resets a simulation
less often; two publishers whose clocks differ do it with each state.
"""
ROOM = 2.0
"""How much faster than it says a joint is believed to have moved: velocities are filtered, stamps
jitter.  Half: late messages are jumps; twice: smaller jumps are taken for motion.
"""
CONFIRMED = 0.02
"""Time, s, for which states that jumped agree with each other before they are believed.  The last
effort stands meanwhile: twice of it, an arm of 10 rad/s² gets 0.4 rad/s fast; half: five states at
500 Hz, the disturbance of a bus may last as long.
"""
CONFIRMING_STATES = 4
"""States in that time at least."""


def arrive(p: CycleMemory) -> int:
    """Judge the state in ``arrived``, ``time``, by the last good one.

    NOT_FINITE, JUMP, STILL and LATE drop it.  FIRST, BACKWARDS, RECOVERED, RELOCATED and RESUMED
    take it as a new start.  TOO_FAST takes it, and the arm brakes.  Other verdicts are faults.
    """
    if not is_finite_state(p):
        return Verdict.NOT_FINITE
    since = p.time[0] - p.last[0]
    relocated = False
    if p.started[0] == 1:
        in_time = p.mode[0] != SAFE and 0 < since <= p.timeout[0]
        if in_time and has_jumped(p, since / NANOSECONDS):
            verdict = judge_jump(p, since / NANOSECONDS)
            if verdict != Verdict.RELOCATED:
                return verdict
            relocated = True
        if since <= 0 and -since <= p.timeout[0]:
            return Verdict.STILL if since == 0 else Verdict.LATE
    if is_beyond_range(p):
        return Verdict.BEYOND_RANGE
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
        return Verdict.LOST if p.jumped_in_motion[0] == 1 else Verdict.RECOVERED
    if relocated:
        return Verdict.RELOCATED
    p.jumped_in_motion[0] = 0
    p.returns[0] = max(p.returns[0] - p.dt[0], 0.0)
    if p.mode[0] == SAFE:
        return Verdict.RESUMED
    if p.fresh[0] == 1:
        return Verdict.DONE
    note_gap(p, p.dt[0])
    return judge_motion(p, p.dt[0])


def is_finite_state(p: CycleMemory) -> bool:
    """Whether all positions and velocities are numbers, whose squares are, too."""
    for i in range(p.nv):
        size = p.arrived[0, i] * p.arrived[0, i] + p.arrived[1, i] * p.arrived[1, i]
        if size - size != 0.0:
            return False
    return True


def is_beyond_range(p: CycleMemory) -> bool:
    """Whether a joint, ``bad_joint``, is beyond its limits by more than half of what is between
    them.
    """
    for i in range(p.nv):
        beyond = max(p.lower[i] - p.arrived[0, i], p.arrived[0, i] - p.upper[i])
        if beyond > 0.5 * (p.upper[i] - p.lower[i]) + p.largest_jump[0]:
            p.bad_joint[0] = i
            return True
    return False


# -- jumps -----------------------------------------------------------------------------------------


def has_jumped(p: CycleMemory, dt: float) -> bool:
    """Whether the arm cannot have come from ``q`` to the new position in ``dt`` s; ``bad_joint`` is
    the worst joint, ``jumped_in_motion``: a joint moves.

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
        confirmed = max(abs(way) / dt, before)
        other_unit = speed > max(OVERSPEED * p.rated_speed[i], 2.0 * ROOM * confirmed)
        if other_unit and isfinite(p.largest_jump[0]):
            beyond = max(beyond, (speed - confirmed) * dt)
        if beyond > worst:
            worst = beyond
            p.bad_joint[0] = i
    if worst > 0.0 and fastest > LEAST_WAY / WINDOW:
        p.jumped_in_motion[0] = 1
    return worst > 0.0


def judge_jump(p: CycleMemory, dt: float) -> int:
    """What a state that cannot follow from the last good one, ``dt`` s ago, means: CONTRADICTED for
    another unit, RELOCATED once such states have agreed with each other for a while, else JUMP.

    States agree if the way since the first of them is what their velocities say.  A mirrored
    position is no other place but another sign.
    """
    if p.jump_states[0] == 0 and is_in_degrees(p, dt):
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
        way = short_way(p, i, p.arrived[0, i] - p.q[i])
        velocity_way = 0.5 * (p.arrived[1, i] + p.v[i]) * dt
        if abs(way) > LEAST_WAY:
            moves = True
            if way * velocity_way < 0.0 or not differ_as_degrees(way, velocity_way):
                return False
    return moves


def differ_as_degrees(way: float, other: float) -> bool:
    """Whether of two ways one is in degrees, the other one in radians."""
    longer = max(abs(way), abs(other))
    shorter = min(abs(way), abs(other))
    return 0.7 * DEGREES * shorter < longer < 1.4 * DEGREES * shorter


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


# -- motion ----------------------------------------------------------------------------------------


def judge_motion(p: CycleMemory, dt: float) -> int:
    """Whether what the joints did since the state before shows a wrong measurement, ``bad_joint``:
    CONTRADICTED, FROZEN, RUNAWAY; or one that is far too fast: TOO_FAST, and OVERSPEED once braking
    does not help.
    """
    fastest = 0.0
    too_fast = False
    pushed = False
    for i in range(p.nv):
        way = short_way(p, i, p.arrived[0, i] - p.q[i])
        p.bad_joint[0] = i
        note_ways(p, i, way, dt)
        if contradicts_velocity(p, i, way, dt):
            return Verdict.CONTRADICTED
        if p.commanded[i] == 1 and abs(p.unseen_way[i]) > LEAST_WAY:
            return Verdict.FROZEN
        speed = confirmed_speed(p, i, way, dt)
        # an arm that floats may be pushed that fast
        if p.tracks[0] == 1:
            count_overspeed(p, i, speed)
            too_fast = too_fast or p.overspeed_count[i] >= 3
            if speed > fastest * p.rated_speed[i]:
                fastest = speed / p.rated_speed[i]
                p.fastest_joint[0] = i
                pushed = is_pushed(p, i, dt)
            note_following(p, i, way, dt)
            if runs_away(p, i, dt) and is_wrong_way(p, i):
                return Verdict.OVERSPEED if p.overspeed_count[i] >= 3 else Verdict.RUNAWAY
            if speed > OUTRAGEOUS * p.rated_speed[i]:
                return Verdict.OVERSPEED
        p.velocity_change[i] = p.arrived[1, i] - p.v[i]
    return judge_speed(p, fastest, too_fast, pushed, dt)


def note_ways(p: CycleMemory, i: int, way: float, dt: float) -> None:
    """Sum up what joint ``i`` has gone by its positions, ``way``, and by its velocities, over some
    WINDOW; and the smallest step of its position.
    """
    keep = max(0.0, 1.0 - dt / WINDOW)
    velocity_way = 0.5 * (p.arrived[1, i] + p.v[i]) * dt
    p.common_way[i] = keep * p.common_way[i] + way * velocity_way
    p.square_way[i] = keep * p.square_way[i] + 0.5 * (way * way + velocity_way * velocity_way)
    p.position_way[i] = keep * p.position_way[i] + way
    p.velocity_way[i] = keep * p.velocity_way[i] + velocity_way
    p.unseen_way[i] = keep * (p.unseen_way[i] + velocity_way) if way == 0.0 else 0.0
    if way != 0.0:
        p.digit[i] = min(abs(way), p.digit[i]) if p.digit[i] > 0.0 else abs(way)


def contradicts_velocity(p: CycleMemory, i: int, way: float, dt: float) -> bool:
    """Whether joint ``i`` moves against its velocity, or by another unit.

    Where states are so rare that WINDOW has less than four of them, velocity changes in between:
    nothing is shown then.
    """
    least = LEAST_WAY * LEAST_WAY * dt / WINDOW
    if p.square_way[i] <= least or 4.0 * dt > WINDOW:
        return False
    if p.common_way[i] < -0.5 * p.square_way[i]:
        return True
    # noise has gone nowhere; with 57 times the other, the two agree by 2 / 57
    coherent = differ_as_degrees(1.0, 0.5 * p.common_way[i] / p.square_way[i])
    # by one step of its encoder a joint that stands has gone anything
    seen = way != 0.0 and abs(p.position_way[i]) > 2.0 * p.digit[i]
    return coherent and seen and differ_as_degrees(p.position_way[i], p.velocity_way[i])


def confirmed_speed(p: CycleMemory, i: int, way: float, dt: float) -> float:
    """Speed of joint ``i`` that its position and its velocity both show."""
    speed = abs(p.arrived[1, i])
    faster = max(speed - abs(p.v[i]), 0.0)
    return min(speed, abs(way) / dt + 0.5 * faster)


def count_overspeed(p: CycleMemory, i: int, speed: float) -> None:
    """Count the states in which joint ``i`` is far above its velocity limit: two of three count."""
    if speed > OVERSPEED * p.rated_speed[i]:
        p.overspeed_count[i] = p.overspeed_count[i] + 2
    elif p.overspeed_count[i] > 0:
        p.overspeed_count[i] = p.overspeed_count[i] - 1


def is_pushed(p: CycleMemory, i: int, dt: float) -> bool:
    """Whether joint ``i`` leaves its reference against the law's effort, without ever faster
    getting faster: something from outside moves it.
    """
    speed = p.arrived[1, i]
    change = speed - p.v[i]
    smooth = abs(change) <= max(abs(p.velocity_change[i]), DIVERGENCE * dt * abs(speed))
    return leaves_reference(p, i) and smooth and p.saturated[i] == 0.0


def leaves_reference(p: CycleMemory, i: int) -> bool:
    """Whether joint ``i`` is faster than its reference, and already ahead of it."""
    speed = p.arrived[1, i]
    excess = speed - p.reference[1, i]
    return speed * excess > 0.0 and p.error[0, i] * excess < 0.0


def runs_away(p: CycleMemory, i: int, dt: float) -> bool:
    """Whether joint ``i`` leaves its reference, and its acceleration grows from state to state.

    Neither a push nor a swing does that: the law drives it the wrong way.
    """
    speed = p.arrived[1, i]
    excess = speed - p.reference[1, i]
    change = speed - p.v[i]
    before = p.velocity_change[i]
    grows = change * before > 0.0 and change * speed > 0.0 and leaves_reference(p, i)
    exponentially = abs(change) > (1.0 + DIVERGENCE * dt) * abs(before) and abs(
        change
    ) > DIVERGENCE * dt * abs(excess)
    if grows and exponentially:
        growth = min(log(abs(change / before)), LARGEST_GROWTH)
        p.divergence[i] = p.divergence[i] + growth
    # a full effort against the motion does not grow any more
    elif not grows or p.saturated[i] * excess >= 0.0:
        p.divergence[i] = 0.0
    counted = min(p.divergence[i], 3.0 * LARGEST_GROWTH)
    # a wall throws a joint back less fast than it came
    return counted * min(abs(excess), abs(speed)) > RUNAWAY_SPEED * p.rated_speed[i]


def note_following(p: CycleMemory, i: int, way: float, dt: float) -> None:
    """Note that joint ``i`` has followed what it should for LEAST_WAY, with half of that as error
    at most: signs of efforts and states are right, then, until the controller is activated again.
    """
    wanted = p.reference[1, i] * dt
    along = way * wanted > 0.25 * wanted * wanted
    if p.follows[i] == 1 or wanted == 0.0:
        return
    near = abs(p.error[0, i]) < 0.5 * LEAST_WAY
    p.followed_way[i] = p.followed_way[i] + abs(wanted) if along and near else 0.0
    if p.followed_way[i] > LEAST_WAY:
        p.follows[i] = 1


def is_wrong_way(p: CycleMemory, i: int) -> bool:
    """Whether joint ``i``, which leaves its reference ever faster, is driven the wrong way.

    One that has followed it before was thrown by a blow, or is pressed by a wall: it gets softer.
    """
    if p.follows[i] == 0:
        return True
    if p.level[0] < Level.SOFT:
        limit = RUNAWAY_SPEED * p.rated_speed[i]
        step_down(p, Level.SOFT, Surprise.THROWN, i, p.arrived[1, i], limit)
    return False


def judge_speed(p: CycleMemory, fastest: float, too_fast: bool, pushed: bool, dt: float) -> int:
    """TOO_FAST when a joint is far above its velocity limit: the arm begins to brake.  OVERSPEED if
    it brakes in vain: ``fastest_joint``, ``fastest`` times its limit, gets faster, or is not slower
    after half of WINDOW, and it is not ``pushed``.
    """
    if p.braking_time[0] > 0.0:
        if fastest < 1.0:
            p.braking_time[0] = 0.0
            return Verdict.DONE
        p.braking_time[0] = p.braking_time[0] + dt
        in_vain = fastest > p.braking_speed[0] + FASTER
        if p.braking_time[0] > 0.5 * WINDOW:
            in_vain = in_vain or fastest > p.braking_speed[0]
        p.bad_joint[0] = p.fastest_joint[0]
        if in_vain and not pushed:
            return Verdict.OVERSPEED
        return Verdict.DONE
    if not too_fast:
        return Verdict.DONE
    p.bad_joint[0] = p.fastest_joint[0]
    p.braking_time[0] = dt
    p.braking_speed[0] = fastest
    i = p.fastest_joint[0]
    step_down(p, Level.SOFT, Surprise.TOO_FAST, i, abs(p.arrived[1, i]), p.rated_speed[i])
    return Verdict.TOO_FAST


def take_state(p: CycleMemory) -> None:
    """Go on from this state."""
    p.began[0] = p.fresh[0]
    p.fresh[0] = 0
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.previous[i] = p.effort[i]
    if p.began[0] == 1:
        p.dt[0] = 0.0


def begin_afresh(p: CycleMemory) -> None:
    """Go on from the state in ``arrived`` as if nothing had come before it."""
    for i in range(p.nv):
        p.q[i] = p.arrived[0, i]
        p.v[i] = p.arrived[1, i]
        p.z[i] = 0.0
        p.saturated[i] = 0.0
        p.common_way[i] = 0.0
        p.square_way[i] = 0.0
        p.position_way[i] = 0.0
        p.velocity_way[i] = 0.0
        p.unseen_way[i] = 0.0
        p.velocity_change[i] = 0.0
        p.overspeed_count[i] = 0
        p.divergence[i] = 0.0
        p.behind[i] = 0.0
        p.taut[i] = 0.0
        p.taut_time[i] = 0.0
    p.pace[0] = 1.0
    p.return_rate[0] = 0.0
    p.blending[0] = 0
    p.jumped_in_motion[0] = 0
    p.jump_states[0] = 0
    p.braking_time[0] = 0.0
    p.differentiates[0] = 0
    p.fresh[0] = 1
