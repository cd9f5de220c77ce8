"""Dry friction, learned while the arm moves, and the effort that breaks a stuck joint free.

What the feedback, the integral z and the breaking effort b of a joint add to the model is an offset
o, the same in both directions, and the dry friction x that is not compensated yet.  It acts on the
side s, which turns with the motion:

    K e + D ė + z + b s = o + x s

Two numbers, least squares, each cycle (a Kalman filter).  A motion in one direction shows their sum
alone; rest before it and the way back tell them apart.  What is found of x is compensated from then
on: by ``trust`` in the friction of the description, and beyond that by ``learned_friction``.  As
much as they take over, b and z give back: the effort has no step.  Then a joint that turns back has
its friction at once, and z need not find it.

Sources: Kalman, *A new approach to linear filtering and prediction problems* (1960); Olsson,
Åström, Canudas de Wit, Gäfvert, Lischinsky, *Friction models and friction compensation* (1998).
"""

from __future__ import annotations

from math import copysign

from robot_dynamics_ros.control.cycle.memory import CycleMemory

# rad/s, below which a joint may be stuck, and a reference counts as one that rests
SLOW = 0.02
REST_SHARE = 0.05
"""Of SLOW, below which a reference rests: only then pulses and the integral of rest act."""

PRIOR = 0.03
"""Of the effort limit: standard deviation of offset and friction before anything is known.  Half: a
joint needs several turns to learn its friction; twice: one breaking free is taken for friction.
"""
DRIFT = 0.01
"""Of the effort limit, after 1 s of motion: standard deviation of how far both wander.  Half: a
robot that gets warm is followed late; twice: the offset takes what is friction.
"""
MODEL_ERROR = 0.3
"""Share by which the description's own effort may be wrong: as that effort changes, the offset
wanders.  Half: masses that are wrong count as friction; twice: friction counts as masses.
"""
FEEDBACK_NOISE = 0.02
"""Of the effort limit, as a mean over 0.1 s: what feedback adds for other reasons.  Half: swings
count as friction; twice: friction is learned late.
"""
NOISE_TIME = 0.1
# s, in which the offset takes over what the integral holds at rest
REST_TIME = 0.1
# Largest friction that is learned, as a share of the effort limit, if less is described
MOST_FRICTION = 0.15

TURN_TIME = 8e-3
"""s, in which friction changes its side.  Half: the effort steps by more; twice: a joint stands for
longer where it turns back.
"""
BEYOND_GOAL = 1e-3
"""rad beyond the goal, from which on friction is not compensated any more: it shall brake.  Half:
noise takes it away as a motion ends, and the joint stops short; twice: a light joint glides.
"""
# s, in which it is given up then
RELEASE_TIME = 0.03
# Of a side, from which on it has turned wholly
TURNED = 0.9
# Share of the desired velocity, below which a joint that is slow is stuck
STUCK_SHARE = 0.3
# rad that a joint lags, from which on the breaking effort grows at full rate
NEAR = 2e-3
# rad ahead, from which on it falls at full rate
AHEAD = 5e-3
# 1/s, of the effort limit: rate of the breaking effort, up and down
RAISE = 0.6
# rad, that a joint may slip as it breaks free, before the loop answers
SLIP = 2e-3
# s after breaking free, in which the integral takes over the breaking effort
SETTLED = 0.2


def begin_friction(p: CycleMemory, i: int) -> None:
    """Start afresh with joint ``i``; what was learned stays."""
    p.side[i] = 0.0
    p.breaking[i] = 0.0
    p.nominal_before[i] = p.nominal[i]
    if p.spread[2, i] == 0.0:
        p.spread[0, i] = first_variance(p, i)
        p.spread[2, i] = (1.0 - p.first_trust[0]) * first_variance(p, i)


def first_variance(p: CycleMemory, i: int) -> float:
    """(N m)² or N², of offset and friction of joint ``i`` before anything is known."""
    prior = PRIOR * p.effort_size[i]
    return prior * prior


def described_friction(p: CycleMemory, i: int) -> float:
    """N m or N: described dry friction of joint ``i`` that is not trusted."""
    return (1.0 - p.trust[i]) * p.dry[i]


def most_friction(p: CycleMemory, i: int) -> float:
    """N m or N: largest dry friction of joint ``i`` that is believed."""
    return max(MOST_FRICTION * p.effort_size[i], described_friction(p, i))


def compensated_friction(p: CycleMemory, i: int) -> float:
    """N m or N: the effort against dry friction of joint ``i``, beside what the law gives.

    The law's own friction follows the reference, and is gone where that rests: what then lacks of
    the described dry friction is given here.
    """
    lacking = max(p.dry[i] - p.claimed[i] * p.side[i], 0.0)
    return (p.learned_friction[i] + p.breaking[i] + p.trust[i] * lacking) * p.side[i]


def uncompensated_friction(p: CycleMemory, i: int, along: float) -> float:
    """N m or N: dry friction that would resist joint ``i`` if it moved to the side ``along``."""
    return p.learned_friction[i] * (1.0 - p.side[i] * along)


def learn_friction(p: CycleMemory, i: int, dt: float, feedback: float) -> None:
    """``learned_friction`` and ``model_offset`` of joint ``i`` from this cycle.

    Only what slides counts, its side turned wholly, and free to follow; and a joint that is stuck
    if its effort shows more friction than thought.

    Args:
        feedback: effort of the spring and the damper, N m or N.
    """
    size = p.effort_size[i]
    desired = p.reference[1, i]
    slow = SLOW * p.scale[i]
    if abs(desired) <= REST_SHARE * slow:
        see_offset_at_rest(p, i, dt)
        return
    let_wander(p, i, dt)
    along = copysign(1.0, desired)
    side = p.side[i]
    added = feedback + p.rejected[i] + p.breaking[i] * side
    surprise = added - p.model_offset[i]
    slides = p.velocity[i] * along > slow and abs(desired) > slow
    sticks = p.stuck[i] > p.whole_delay[0] and surprise * along > 0.0
    if not (slides or sticks) or side * along < TURNED or p.taut[i] != 0.0:
        return
    noise = FEEDBACK_NOISE * size
    of_offset = p.spread[0, i] + side * p.spread[1, i]
    of_friction = p.spread[1, i] + side * p.spread[2, i]
    whole = of_offset + side * of_friction + noise * noise * NOISE_TIME / dt
    if whole == 0.0:
        return
    p.model_offset[i] = p.model_offset[i] + of_offset / whole * surprise
    p.spread[0, i] = p.spread[0, i] - of_offset * of_offset / whole
    p.spread[1, i] = p.spread[1, i] - of_offset * of_friction / whole
    p.spread[2, i] = p.spread[2, i] - of_friction * of_friction / whole
    take_over(p, i, of_friction / whole * surprise)


def take_over(p: CycleMemory, i: int, more: float) -> None:
    """Compensate this much more dry friction of joint ``i``: as much as friction takes over, the
    breaking effort gives, then the integral.  The friction of the description comes first, and
    goes last: ``trust`` is the share of it that is compensated.
    """
    side = p.side[i]
    described = max(p.claimed[i] * side, p.dry[i])
    learned = p.learned_friction[i]
    trust = p.trust[i]
    if more > 0.0:
        left = more
        if described > 0.0:
            p.trust[i] = min(trust + more / described, 1.0)
            left = more - (p.trust[i] - trust) * described
        p.learned_friction[i] = min(learned + max(left, 0.0), most_friction(p, i))
    else:
        p.learned_friction[i] = max(learned + more, 0.0)
        left = more - (p.learned_friction[i] - learned)
        if described > 0.0:
            p.trust[i] = max(trust + left / described, 0.0)
    taken = p.learned_friction[i] - learned + (p.trust[i] - trust) * described
    given = min(max(taken, 0.0), p.breaking[i])
    p.breaking[i] = p.breaking[i] - given
    p.rejected[i] = p.rejected[i] - (taken - given) * side


def let_wander(p: CycleMemory, i: int, dt: float) -> None:
    """Variances of joint ``i`` grow in motion: with time, and of the offset as the described effort
    changes.  That of friction is never larger than where nothing is known.

    An error that is a share of that effort has the variance MODEL_ERROR² n²/2 after the effort has
    grown from 0 to n.
    """
    drift = DRIFT * p.effort_size[i]
    change = abs(p.nominal[i] - p.nominal_before[i])
    p.nominal_before[i] = p.nominal[i]
    wandered = MODEL_ERROR * MODEL_ERROR * change * abs(p.nominal[i])
    p.spread[0, i] = p.spread[0, i] + drift * drift * dt + wandered
    p.spread[2, i] = min(p.spread[2, i] + drift * drift * dt, first_variance(p, i))


def see_offset_at_rest(p: CycleMemory, i: int, dt: float) -> None:
    """At rest the integral holds the offset of joint ``i``, give or take its dry friction c, which
    may hold any part of it: the variance is a third of c².
    """
    p.nominal_before[i] = p.nominal[i]
    share = min(dt / REST_TIME, 1.0)
    p.model_offset[i] = p.model_offset[i] + share * (p.rejected[i] - p.model_offset[i])
    friction = p.learned_friction[i]
    held = (friction * friction + p.spread[2, i]) / 3.0
    p.spread[0, i] = p.spread[0, i] + share * (held - p.spread[0, i])
    p.spread[1, i] = p.spread[1, i] - share * p.spread[1, i]


def turn_side(p: CycleMemory, i: int, dt: float) -> None:
    """The side that friction of joint ``i`` is compensated on turns to that of its reference, and
    stays as it is while the reference rests.  The turn begins earlier by what the effort is late.

    Where the joint moves on beyond its goal, friction is left to brake it.
    """
    desired = p.reference[1, i]
    slow = SLOW * p.scale[i]
    if abs(desired) > slow:
        sense = copysign(1.0, desired)
        ahead = desired + p.reference[2, i] * p.whole_delay[0]
        if ahead * sense < -slow:
            sense = -sense
        if p.side[i] * sense < TURNED:
            keep_breaking(p, i, p.breaking[i])
        p.side[i] = min(max(p.side[i] + sense * dt / TURN_TIME, -1.0), 1.0)
        return
    keep_breaking(p, i, p.breaking[i])
    if p.side[i] * p.error[0, i] < -BEYOND_GOAL * p.scale[i]:
        share = dt / RELEASE_TIME
        p.side[i] = p.side[i] - min(max(p.side[i], -share), share)


def break_free(p: CycleMemory, i: int, dt: float) -> None:
    """``breaking`` of joint ``i``: it grows while the joint is stuck and its reference moves on.
    Once it is free and ahead of the reference, it falls; the integral takes over the rest.
    """
    desired = p.reference[1, i]
    scale = p.scale[i]
    if abs(desired) <= SLOW * scale:
        return
    along = copysign(1.0, desired)
    speed = p.velocity[i] * along
    lag = p.error[0, i] * along
    lead = lag + (abs(desired) - speed) / p.natural[0]
    fastest = RAISE * p.effort_size[i]
    if speed < STUCK_SHARE * abs(desired) and abs(speed) < SLOW * scale:
        p.stuck[i] = p.stuck[i] + dt
        late = p.whole_delay[0]
        # where the reference gets slower, it may turn back before the joint is free
        asks = lag > 0.0 and p.reference[2, i] * along >= 0.0
        if p.stuck[i] < late or not asks:
            return
        if p.side[i] * along < TURNED or p.saturated[i] * along > 0.0:
            return
        # it goes SLIP with this growth before it is seen to move
        inertia = p.inertia[i, i] + p.rotor[i]
        bearable = 6.0 * SLIP * scale * inertia / (late * late * late)
        growth = min(fastest, bearable) * min(lag / (NEAR * scale), 1.0)
        p.breaking[i] = min(p.breaking[i] + growth * dt, most_friction(p, i))
        return
    p.stuck[i] = 0.0
    if lead < 0.0:
        back = fastest * min(-lead / (AHEAD * scale), 1.0) * dt
        p.breaking[i] = p.breaking[i] - min(back, p.breaking[i])
    keep_breaking(p, i, p.breaking[i] * min(dt / SETTLED, 1.0))


def keep_breaking(p: CycleMemory, i: int, kept: float) -> None:
    """The integral takes over this part of the breaking effort of joint ``i``."""
    p.breaking[i] = p.breaking[i] - kept
    p.rejected[i] = p.rejected[i] + kept * p.side[i]
