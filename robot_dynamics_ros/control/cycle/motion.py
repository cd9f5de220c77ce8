"""Second step, last part: does the motion since the state before show a fault?

A fault is what shows that the *measurement* or the *effort* is wrong: another sign or unit, joints
that are exchanged, a dead encoder.  A joint that is far too fast, or leaves its reference ever
faster, is a fault until it has been seen to obey its effort since the start, or since states
jumped.  From then on it is a surprise: the plain law brakes it, see the file ``ladder``.  A fault
is then only what brakes in vain, or leaves its reference ever faster again, against its effort.
Without rejection of disturbances there is no plain law, and both are always faults.
"""

from __future__ import annotations

from math import copysign, log

from robot_dynamics_ros.control.cycle.ladder import Surprise, step_down
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.cycle.ways import (
    LEAST_WAY,
    WINDOW,
    differs_as_degrees,
    short_way,
)

# rad/s: nothing is divided by less
LEAST_CHANGE = 1e-12
OTHER_UNIT = 8.0
"""Of the way by positions and the way by velocities over some WINDOW, one must be so many times the
other, or it is no other unit.  State by state the two agree as little as degrees and radians if a
joint is slow and its encoder coarse; over the WINDOW they do not.
"""
# Times its velocity limit; a joint that is faster is far above it.  Less is overshoot and noise
OVERSPEED = 1.3
# Time for which a joint is believed to go on speeding up as it did since the state before, s
LOOK_AHEAD_TIME = 0.004
# rad or m, of an encoder with 12 bits and a little more; a joint that steps further moves
COARSEST_DIGIT = 2e-3
# Of ``fast``: two states of three that are too fast reach it
FAST_COUNT = 3
# Of ``fast``, at most: as many slow states end it
MOST_FAST = 6
# s, that a joint which is braked may be far above its velocity limit without a break: an arm that
# falls needs a quarter of it
BRAKING_TIME = 0.5
# Times its velocity limit, where one state is enough: there is no time for a second one
OUTRAGEOUS = 5.0
# 1/s, at which velocity and acceleration of a joint that runs away grow at least
DIVERGENCE = 30.0
RUNAWAY_SPEED = 0.36
"""Share of its velocity limit by which it is then faster than its reference, if its acceleration
has grown e-fold; a state counts for 0.5 at most of the logarithm, all for 1.5.
"""
# Share of its velocity limit, from which on a joint is seen to obey the effort that makes it faster
OBEYING_SPEED = 0.1
# States in a row in which it must; one alone may be noise
OBEYING_STATES = 2
# s, that a joint far above its limit may get faster against its effort: drives lag, people push.
# A third: arms that 100 N throw are let go; twice: a wrong sign has more time
VAIN_TIME = 0.15
# s, the same of a joint that is FAR_TOO_FAST: waiting would make it dangerous
VAIN_TIME_FAR = 0.005
# Times its velocity limit, from which on that time counts
FAR_TOO_FAST = 6.0


def judge_motion(p: CycleMemory, dt: float) -> int:
    """CONTRADICTED: a joint moves against its velocity, or by another unit.  FROZEN: a position has
    not changed in any digit, although its velocity says that the joint moves: a dead encoder.
    TOO_FAST: it moves far above its limit, or is about to, and may not be braked, or not in vain
    any longer.  RUNAWAY: the law drives it the wrong way.

    The last two only if the law drives the arm to its reference.  The effort is that of the cycle
    before, as are reference and error.
    """
    for i in range(p.nv):
        p.bad_joint[0] = i
        gone = short_way(p, i, p.arrived[0, i] - p.q[i])
        shown_way = 0.5 * (p.arrived[1, i] + p.v[i]) * dt
        if contradicts(p, i, gone, shown_way, dt):
            return Verdict.CONTRADICTED
        p.hidden[i] = (
            max(0.0, 1.0 - dt / WINDOW) * (p.hidden[i] + shown_way) if gone == 0.0 else 0.0
        )
        if p.commanded[i] == 1 and abs(p.hidden[i]) > LEAST_WAY:
            return Verdict.FROZEN
        change = p.arrived[1, i] - p.v[i]
        verdict = judge_speed(p, i, gone, change, dt)
        if verdict == Verdict.DONE:
            verdict = judge_divergence(p, i, change, dt)
        p.change[i] = change
        # an arm that floats may be pushed that fast
        if p.tracks[0] == 1:
            if verdict != Verdict.DONE:
                return verdict
            if p.robust[0] == 1 and p.commanded[i] == 1:
                note_obedience(p, i, gone, change, dt)
    return Verdict.DONE


def contradicts(p: CycleMemory, i: int, gone: float, shown_way: float, dt: float) -> bool:
    """Whether joint ``i`` moves against its velocity, or by another unit: the ways that position
    and velocity show, ``gone`` and ``shown_way``, are compared over some WINDOW.
    """
    keep = max(0.0, 1.0 - dt / WINDOW)
    least = LEAST_WAY * LEAST_WAY * dt / WINDOW
    p.agreement[i] = keep * p.agreement[i] + gone * shown_way
    p.travel[i] = keep * p.travel[i] + 0.5 * (gone * gone + shown_way * shown_way)
    agreement = p.agreement[i] / max(p.travel[i], least)
    if gone != 0.0:
        p.digit[i] = min(abs(gone), p.digit[i]) if p.digit[i] > 0.0 else abs(gone)
    p.ways[0, i] = keep * p.ways[0, i] + gone
    p.ways[1, i] = keep * p.ways[1, i] + shown_way
    way = abs(p.ways[0, i])
    said = abs(p.ways[1, i])
    apart = gone != 0.0 and max(way, said) > OTHER_UNIT * (min(way, said) + p.digit[i])
    other_unit = apart and differs_as_degrees(agreement)
    return p.travel[i] > least and (agreement < -0.5 or other_unit)


def leaves_reference(p: CycleMemory, i: int) -> bool:
    """Whether joint ``i`` is faster than its reference, and ahead of it already: against the
    law.
    """
    speed = p.arrived[1, i]
    lead = speed - p.reference[1, i]
    return speed * lead > 0.0 and p.error[0, i] * lead < 0.0


def feedback_effort(p: CycleMemory, i: int) -> float:
    """N m or N: the last effort of joint ``i`` less what the model asks for on the path."""
    return p.effort[i] - p.nominal[i]


def judge_speed(p: CycleMemory, i: int, gone: float, change: float, dt: float) -> int:
    """TOO_FAST for a joint far above its velocity limit in two states of three, or very far in one;
    one that obeys its effort is braked by the plain law, and TOO_FAST if it brakes in vain.

    Way and velocity must show it: neither noise, nor one digit of a coarse encoder, nor the lag of
    a velocity filter is a fault.  ``shown`` is the speed that both show.  A joint that leaves its
    reference smoothly, while no limit cuts its effort, is pushed: its states do not count, unless
    it is very far above its limit.
    """
    speed = abs(p.arrived[1, i])
    digit = min(p.digit[i], COARSEST_DIGIT)
    faster = max(speed - abs(p.v[i]) - digit / dt, 0.0)
    shown = min(speed, max(abs(gone) - digit, 0.0) / dt + 0.5 * faster)
    most = OVERSPEED * p.rated_speed[i]
    smooth = abs(change) <= max(abs(p.change[i]), DIVERGENCE * dt * speed)
    pushed = leaves_reference(p, i) and smooth and p.saturated[i] == 0.0
    before = p.fast[i]
    if shown + faster * min(1.0, LOOK_AHEAD_TIME / dt) > most and not pushed:
        p.fast[i] = min(before + 2, MOST_FAST)
    elif before > 0:
        p.fast[i] = before - 1
    outrageous = shown > OUTRAGEOUS * p.rated_speed[i]
    if p.robust[0] == 0 or p.obeys[i] == 0:
        too_fast = outrageous or p.fast[i] >= FAST_COUNT
        return Verdict.TOO_FAST if too_fast else Verdict.DONE
    if brakes_in_vain(p, i, shown, change, dt):
        return Verdict.TOO_FAST
    begins = p.fast[i] >= FAST_COUNT and before < FAST_COUNT
    if p.tracks[0] == 1 and (begins or (outrageous and before == 0)):
        # its arm gets the precise law back, if something pushes the joint
        if not pushed:
            p.swung[i] = 1
        step_down(p, Surprise.BRAKED, i, speed, p.rated_speed[i])
    return Verdict.DONE


def brakes_in_vain(p: CycleMemory, i: int, speed: float, change: float, dt: float) -> bool:
    """Whether joint ``i`` has been far above its velocity limit for BRAKING_TIME without a break,
    or has got faster against its effort for longer than VAIN_TIME; than VAIN_TIME_FAR if it is
    FAR_TOO_FAST.  One state in which it gets slower begins the latter time anew.
    """
    if speed < OVERSPEED * p.rated_speed[i]:
        p.fast_time[i] = 0.0
        p.vain_time[i] = 0.0
        return False
    p.fast_time[i] = p.fast_time[i] + dt
    if p.fast_time[i] > BRAKING_TIME:
        return True
    if change * p.arrived[1, i] <= 0.0:
        p.vain_time[i] = 0.0
        return False
    if feedback_effort(p, i) * change < 0.0:
        p.vain_time[i] = p.vain_time[i] + dt
    longest = VAIN_TIME if speed < FAR_TOO_FAST * p.rated_speed[i] else VAIN_TIME_FAR
    return p.vain_time[i] > longest


def judge_divergence(p: CycleMemory, i: int, change: float, dt: float) -> int:
    """RUNAWAY: joint ``i`` leaves its reference, and its acceleration grows from state to state.
    Neither a push nor a swing does that.

    One that obeyed its effort before is thrown, and the plain law brakes it.  If that happens again
    before the precise law has come back, it is a fault where the effort is against the motion.
    """
    speed = p.arrived[1, i]
    lead = speed - p.reference[1, i]
    before = p.change[i]
    growth = abs(change) / max(abs(before), LEAST_CHANGE)
    away = change * before > 0.0 and change * speed > 0.0 and leaves_reference(p, i)
    if away and growth > 1.0 + DIVERGENCE * dt and abs(change) > DIVERGENCE * dt * abs(lead):
        p.astray[i] = p.astray[i] + min(log(growth), 0.5)
    # a full effort against the motion does not grow any more
    elif not away or p.saturated[i] * lead >= 0.0:
        p.astray[i] = 0.0
    if min(p.astray[i], 1.5) * abs(lead) <= RUNAWAY_SPEED * p.rated_speed[i]:
        return Verdict.DONE
    against = feedback_effort(p, i) * change <= 0.0
    if p.robust[0] == 0 or p.obeys[i] == 0 or (against and p.thrown[i] == 1):
        return Verdict.RUNAWAY
    p.astray[i] = 0.0
    p.thrown[i] = 1
    step_down(p, Surprise.THROWN, i, abs(speed), RUNAWAY_SPEED * p.rated_speed[i])
    return Verdict.DONE


def forget_obedience(p: CycleMemory) -> None:
    """No joint has been seen to obey its effort."""
    for i in range(p.nv):
        p.obeys[i] = 0
        p.obeying_states[i] = 0
        p.followed_way[0, i] = 0.0
        p.followed_way[1, i] = 0.0


def note_obedience(p: CycleMemory, i: int, way: float, change: float, dt: float) -> None:
    """Note that joint ``i`` goes where its effort drives it: the signs of its effort and state are
    right, then, until the controller is activated again, or states jump.

    It has followed its reference for LEAST_WAY, with half of that as error at most, and has itself
    gone half of that way; or in OBEYING_STATES, one after the other, its effort made it faster
    towards its reference.  ``way``: rad or m since the state before; ``change``: of the velocity.
    """
    speed = p.arrived[1, i]
    driven = feedback_effort(p, i) * change > 0.0 and p.error[0, i] * speed > 0.0
    if driven and change * speed > 0.0 and abs(speed) > OBEYING_SPEED * p.rated_speed[i]:
        p.obeying_states[i] = p.obeying_states[i] + 1
    else:
        p.obeying_states[i] = 0
    if abs(p.error[0, i]) > 0.5 * LEAST_WAY:
        p.followed_way[0, i] = 0.0
        p.followed_way[1, i] = 0.0
    else:
        desired = p.reference[1, i]
        p.followed_way[0, i] = p.followed_way[0, i] + abs(desired) * dt
        p.followed_way[1, i] = p.followed_way[1, i] + copysign(way, way * desired)
    wanted = p.followed_way[0, i]
    follows = wanted > LEAST_WAY and p.followed_way[1, i] > 0.5 * wanted
    if follows or p.obeying_states[i] >= OBEYING_STATES:
        p.obeys[i] = 1
