"""Sixth step: motion near limits, rate and size of the effort; and the limits, of the description
and of settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign, inf, isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.law import effort_is_finite, silence_idle_joints
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.cycle.verdicts import Verdict
from robot_dynamics_ros.control.reference.goal import Reason
from robot_dynamics_ros.dynamics.engine.routines import Memory, Vector
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, settings_or_default

LIMITS = ("position_zone", "velocity_limit", "effort_rate", "effort_limit")
"""Causes that joints are counted by in ``hits``."""
# their places there
LIMIT_COUNT = len(LIMITS)
POSITION_ZONE, VELOCITY_LIMIT, EFFORT_RATE, EFFORT_LIMIT = range(LIMIT_COUNT)

# Share of the velocity limit from which on a joint is near it
NEAR_SPEED_SHARE = 0.95
# A joint is near a position limit from so many v²/a before its soft zone: one and a half times the
# way v²/2a that braking takes
BRAKING_WAY_FACTOR = 0.75
# Distance to a limit, as a share of the soft zone, in which no friction is allowed for
LAST_ZONE_SHARE = 0.01
# Overspeed, as a share of the speed allowed, over which the allowance for friction fades out
FADE_SPEED_SHARE = 0.1
ROUNDING = 1e-6
"""Share of an effort that is no violation: a change of law begins with the command before, which
may be the limit itself.
"""
# rad/s or m/s: nothing is divided by less
LEAST_SPEED_DIVISOR = 1e-9
# A speed limit is given up within this time where no deceleration is configured, s
STOP_TIME = 0.25
# Deceleration where there is neither a configured one nor a velocity limit, rad/s² or m/s²
PLAIN_DECELERATION = 5.0


def narrow_limits(
    p: CycleMemory,
    largest_effort: Vector,
    effort_scale: float,
    velocity_scale: float,
    position_margin: float,
) -> None:
    """Narrow the limits of the description, which are in the memory, where a ``deceleration`` of 0
    stands for the usual one; motion of joints that are not commanded has none.
    """
    for i in range(p.nv):
        p.effort_limit[i] = min(p.effort_limit[i], largest_effort[i]) * effort_scale
        p.velocity_limit[i] = p.velocity_limit[i] * velocity_scale
        if p.deceleration[i] == 0.0:
            p.deceleration[i] = usual_deceleration(p.velocity_limit[i])
        if p.commanded[i] == 0:
            p.lower[i] = -inf
            p.upper[i] = inf
            p.velocity_limit[i] = inf
        p.margin[i] = min(position_margin, 0.25 * (p.upper[i] - p.lower[i]))
        p.creep[i] = LAST_ZONE_SHARE * p.zone_rate[0] * p.margin[i]


def usual_deceleration(velocity_limit: float) -> float:
    """From a velocity limit to rest in STOP_TIME; without a limit, PLAIN_DECELERATION."""
    if isfinite(velocity_limit) and velocity_limit > 0.0:
        return velocity_limit / STOP_TIME
    return PLAIN_DECELERATION


def limit(p: CycleMemory) -> int:
    """Apply all limits to ``effort``, and note what they took away; ``Verdict.EFFORT_NOT_FINITE``
    if it is no number.
    """
    if not effort_is_finite(p):
        return Verdict.EFFORT_NOT_FINITE
    for i in range(p.nv):
        p.asked[i] = p.effort[i]
    p.cut[0] = 0
    for k in range(LIMIT_COUNT):
        p.hits[k] = 0
    if near_limits(p):
        p.bias_forces(p.q, p.v, p.bias)
        p.mass_matrix(p.q, p.inertia)
        limit_motion(p)
        silence_idle_joints(p)
    limit_effort(p)
    for i in range(p.nv):
        taken = p.asked[i] - p.effort[i]
        slack = ROUNDING * (1.0 + abs(p.effort[i]))
        p.saturated[i] = copysign(1.0, taken) if p.cut[0] == 1 and abs(taken) > slack else 0.0
    return Verdict.DONE


def near_limits(p: CycleMemory) -> bool:
    """Whether a joint is in a soft zone, about to brake for one, or close to its velocity limit;
    ``near`` says which.
    """
    several = False
    for i in range(p.nv):
        speed = abs(p.v[i])
        reach = BRAKING_WAY_FACTOR * speed * speed / p.deceleration[i] + p.margin[i]
        fast = speed > NEAR_SPEED_SHARE * p.velocity_limit[i]
        near = fast or p.q[i] - reach < p.lower[i] or p.q[i] + reach > p.upper[i]
        p.near[i] = near
        several = several or near
    return several


def limit_motion(p: CycleMemory) -> None:
    """Keep ``effort`` from driving joints that are ``near`` a limit on towards it; see
    :func:`motion_bound`.
    """
    for i in range(p.nv):
        if p.near[i] == 1:
            fastest = allowed_speed(p, i, p.upper[i] - p.q[i])
            slowest = allowed_speed(p, i, p.q[i] - p.lower[i])
            high = p.bias[i] + motion_bound(p, i, p.v[i], fastest)
            low = p.bias[i] - motion_bound(p, i, -p.v[i], slowest)
            slack = ROUNDING * (1.0 + abs(p.bias[i]))
            if p.effort[i] < low - slack or p.effort[i] > high + slack:
                p.effort[i] = min(max(p.effort[i], low), high)
                p.cut[0] = 1
                cause = VELOCITY_LIMIT
                if min(fastest, slowest) < p.velocity_limit[i]:
                    cause = POSITION_ZONE
                p.hits[cause] = p.hits[cause] + 1


def allowed_speed(p: CycleMemory, i: int, distance: float) -> float:
    """Speed allowed towards a position limit at ``distance``.

    ``zone_rate``·d within ``margin`` of it (backwards beyond it); further away √((rate·margin)² +
    2·deceleration·(d − margin)), from which that is reached by braking; never more than
    ``velocity_limit``.

    Source: the soft zone of ros2_control's soft limits (position → velocity bound), with a braking
    curve before it.
    """
    speed = p.zone_rate[0] * distance
    if distance >= p.margin[i]:
        edge = p.zone_rate[0] * p.margin[i]
        speed = sqrt(edge * edge + 2.0 * p.deceleration[i] * (distance - p.margin[i]))
    return min(max(speed, -p.velocity_limit[i]), p.velocity_limit[i])


def motion_bound(p: CycleMemory, i: int, v: float, fastest: float) -> float:
    """Effort, beyond C q̇ + g, that does not drive joint ``i`` from velocity ``v`` beyond
    ``fastest``.

    At the bound the joint may not accelerate on; beyond it the joint is braked with inertia × rate
    × excess.  It gets what its friction takes on top, or a light joint with friction would never
    start.  That allowance fades out over a tenth of overspeed, so that friction smaller than the
    model's cannot carry the joint further, and where less than ``creep`` is allowed, so that it
    cannot carry it to the limit itself.
    """
    over = max(v - fastest, 0.0) / max(FADE_SPEED_SHARE * fastest, LEAST_SPEED_DIVISOR)
    near_the_limit = (fastest - p.creep[i]) / max(p.creep[i], LEAST_SPEED_DIVISOR)
    share = max(min(min(1.0 - over, near_the_limit), 1.0), 0.0)
    friction = p.dry[i] + p.viscous[i] * max(v, 0.0)
    inertia = p.inertia[i, i]
    # an effort that brakes may be one for a rotor
    if v < min(0.0, fastest) and p.robust[0] == 1:
        inertia = inertia + p.largest_rotor[i]
    return inertia * p.braking_rate[0] * (fastest - v) + share * friction


def limit_effort(p: CycleMemory) -> None:
    """Limit rate, then size of ``effort``."""
    # no limit times no time is no number
    if p.fresh[0] == 0 and p.dt[0] > 0.0:
        for i in range(p.nv):
            step = p.effort_rate[i] * p.dt[0]
            if abs(p.effort[i] - p.previous[i]) > step:
                p.effort[i] = min(max(p.effort[i], p.previous[i] - step), p.previous[i] + step)
                p.cut[0] = 1
                p.hits[EFFORT_RATE] = p.hits[EFFORT_RATE] + 1
    for i in range(p.nv):
        beyond = abs(p.effort[i]) - p.effort_limit[i]
        if beyond > 0.0:
            p.effort[i] = min(max(p.effort[i], -p.effort_limit[i]), p.effort_limit[i])
        if beyond > ROUNDING * (1.0 + p.effort_limit[i]):
            p.cut[0] = 1
            p.hits[EFFORT_LIMIT] = p.hits[EFFORT_LIMIT] + 1


def find_safe_command(p: CycleMemory) -> None:
    """``safe_effort``: what holds the last known position against gravity, less what the robot
    adds; none if ``safe_holds`` says so, or the position cannot be right, or its gravity makes the
    arm faster.
    """
    for i in range(p.nv):
        p.safe_effort[i] = 0.0
    if p.safe_holds[0] == 1 and p.falls[0] == 0 and p.fault[0] != Reason.BEYOND_RANGE:
        p.gravity_forces(p.q, p.gravity)
        if p.robot_holds[0] > 0:
            p.gravity_that_the_robot_adds(p.q, p.held)
        for i in range(p.nv):
            effort = min(max(p.gravity[i], -p.effort_limit[i]), p.effort_limit[i]) - p.held[i]
            if p.commanded[i] == 1 and isfinite(effort):
                p.safe_effort[i] = effort


# -- the limits of one robot -----------------------------------------------------------------------


def default_deceleration(velocity_limit: Array) -> Array:
    """(n,) deceleration that takes each joint from its velocity limit to rest in 0.25 s; 5 where
    there is no limit.
    """
    return np.array([usual_deceleration(x) for x in velocity_limit.tolist()])


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Limits beside those of the URDF.

    Attributes:
        effort_limit: (n,) or one number, N m or N; the smaller of it and the URDF's counts;
            ``None``: the URDF's.
        effort_scale: factor on the effort limits (derating), 0 to 1.
        effort_rate: (n,) or one number, N m/s or N/s; ``None`` or infinite: not limited.
        position_margin: rad or m; the soft zone inside each position limit, where the allowed speed
            towards the
            limit falls linearly to zero.  It is narrowed to a quarter of the joint's range.  Before
            the zone, speed is limited so that ``max_deceleration`` can stop the joint in time.
        zone_rate: 1/s; the allowed speed towards a limit is this times the distance to it.
        velocity_scale: factor on the URDF's velocity limits.
        braking_rate: 1/s; a joint that is too fast is braked with the effort inertia × rate ×
            excess of speed.
        max_deceleration: (n,) or one number, rad/s² or m/s², of a stop; ``None``: from the velocity
            limit in 0.25 s.
    """

    effort_limit: ArrayLike | None = None
    effort_scale: float = 1.0
    effort_rate: ArrayLike | None = None
    position_margin: float = 0.05
    zone_rate: float = 10.0
    velocity_scale: float = 1.0
    braking_rate: float = 50.0
    max_deceleration: ArrayLike | None = None


class Guards:
    """The limits of one robot; ``settings``: what they were made from, beside the description."""

    def __init__(self, model: RobotModel, settings: GuardSettings | None = None) -> None:
        """Check the settings against the model; not given, the URDF's limits alone count.
        ArgumentError: a setting of the wrong length, negative, or a scale above 1.
        """
        s = self.settings = settings_or_default(GuardSettings, settings, "settings")
        n = model.nv
        for name in ("effort_scale", "velocity_scale"):
            value = getattr(s, name)
            expect(
                0.0 <= value <= 1.0,
                "a number from 0 to 1",
                value,
                name,
                "It is a factor on the limits.",
            )
        for name in ("position_margin", "zone_rate", "braking_rate"):
            expect(0.0 <= getattr(s, name) < inf, "a non-negative number", getattr(s, name), name)
        largest = per_joint(
            inf if s.effort_limit is None else s.effort_limit, n, "effort_limit", infinite=True
        )
        # a routine takes it
        self._largest_effort: Any = largest
        rate = per_joint(
            inf if s.effort_rate is None else s.effort_rate, n, "effort_rate", infinite=True
        )
        deceleration: ArrayLike = 0.0
        if s.max_deceleration is not None:
            remedy = "A joint that cannot brake cannot be stopped."
            deceleration = per_joint(
                s.max_deceleration, n, "max_deceleration", positive=True, remedy=remedy
            )
        self._described: dict[str, ArrayLike] = {
            "effort_limit": model.effort_limit,
            "effort_rate": rate,
            "velocity_limit": model.velocity_limit,
            "deceleration": deceleration,
            "lower": model.lower,
            "upper": model.upper,
            "dry": model.friction,
            "viscous": model.damping,
            "zone_rate": s.zone_rate,
            "braking_rate": s.braking_rate,
        }

    def describe(self, memory: Memory[CycleMemory]) -> None:
        """Put down what the settings narrow."""
        for name, value in self._described.items():
            memory[name][:] = value

    def load(self, memory: Memory[CycleMemory]) -> None:
        """Have the cycle use these limits from now on, for the joints that are commanded."""
        s = self.settings
        self.describe(memory)
        narrow_limits(
            memory.python, self._largest_effort, s.effort_scale, s.velocity_scale, s.position_margin
        )
