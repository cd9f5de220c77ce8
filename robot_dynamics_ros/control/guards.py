"""The last stage before an effort leaves: motion near limits, size and rate of the effort, finiteness.

Each guard reports the joints that it limited; :class:`Guards` counts by cause.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from robot_dynamics_ros.control.hold import default_deceleration
from robot_dynamics_ros.control.per_joint import any_of, per_joint
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["CAUSES", "GuardSettings", "Guards", "allowed_velocity", "clip_effort", "clip_rate", "motion_bounds"]

#: Causes that guards count, one for each joint and cycle.
CAUSES = ("effort_limit", "effort_rate", "position_zone", "velocity_limit", "non_finite_effort")


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Limits beside those of the URDF.

    Attributes:
        effort_limit: (n,) or one number, N m or N; the smaller of it and the URDF's counts; ``None``: the URDF's.
        effort_scale: factor on the effort limits (derating), 0 to 1.
        effort_rate: (n,) or one number, N m/s or N/s; ``None`` or infinite: not limited.
        position_margin: rad or m; the soft zone inside each position limit, where the allowed speed towards the
            limit falls linearly to zero.  It is narrowed to a quarter of the joint's range.  Before the zone, speed is
            limited so that ``max_deceleration`` can stop the joint in time.
        zone_rate: 1/s; the allowed speed towards a limit is this times the distance to it.
        velocity_scale: factor on the URDF's velocity limits.
        braking_rate: 1/s; a joint that is too fast is braked with the effort inertia × rate × excess of speed.
        max_deceleration: (n,) or one number, rad/s² or m/s², of a stop; ``None``: from the velocity limit in 0.25 s.
    """

    effort_limit: Any = None
    effort_scale: float = 1.0
    effort_rate: Any = None
    position_margin: float = 0.05
    zone_rate: float = 10.0
    velocity_scale: float = 1.0
    braking_rate: float = 50.0
    max_deceleration: Any = None


def allowed_velocity(
    q: Array, lower: Array, upper: Array, limit: Array, margin: Array, rate: float, deceleration: Array
) -> tuple[Array, Array]:
    """(n,) lowest and highest velocity allowed at ``q``.

    Towards a position limit at distance d: ``rate``·d within ``margin`` of it (backwards beyond it), further away
    √((rate·margin)² + 2·deceleration·(d − margin)), from which that is reached by braking; never more than ``limit``.

    Source: the soft zone of ros2_control's soft limits (position → velocity bound), with a braking curve before it.
    """
    return (
        -_approach(q - lower, limit, margin, rate, deceleration),
        _approach(upper - q, limit, margin, rate, deceleration),
    )


def _approach(d: Array, limit: Array, margin: Array, rate: float, deceleration: Array) -> Array:
    braking = np.sqrt((rate * margin) ** 2 + 2.0 * deceleration * np.maximum(d - margin, 0.0))
    return np.clip(np.where(d < margin, rate * d, braking), -limit, limit)


#: Distance to a limit, as a share of the soft zone, in which no friction is allowed for.
LAST = 0.01
#: Overspeed, as a share of the speed allowed, over which the allowance for friction fades out.
FADE = 0.1


def motion_bounds(
    v: Array,
    slowest: Array,
    fastest: Array,
    bias: Array,
    inertia: Array,
    rate: float,
    dry: Array | float = 0.0,
    viscous: Array | float = 0.0,
    creep: Array | float = 0.0,
) -> tuple[Array, Array]:
    """(n,) efforts between which the velocity is not driven out of [``slowest``, ``fastest``].

    Measured from the effort that keeps the velocity (``bias`` = C q̇ + g, and friction), so that gravity is held in a
    soft zone too: at the upper bound the joint may not accelerate on, beyond it is braked with inertia × rate × excess.
    A joint at rest gets what its dry friction takes on top, towards either side on which speed is allowed, or a light
    joint with friction would never start.  The allowance fades out over a tenth of overspeed, so that a friction
    that is smaller than the model's cannot carry the joint further, and where less than ``creep`` is allowed, so that
    it cannot carry it to the limit itself.

    Args:
        v: (n,) velocity.
        slowest, fastest: (n,) allowed velocities.
        bias: (n,) C q̇ + g.
        inertia: (n,) diagonal of the mass matrix.
        rate: 1/s.
        dry, viscous: (n,) Coulomb friction, N m or N; N m s/rad or N s/m.
        creep: (n,) rad/s or m/s.
    """
    upper = bias + inertia * rate * (fastest - v) + _allowance(v, fastest, dry, viscous, creep)
    lower = bias + inertia * rate * (slowest - v) - _allowance(-v, -slowest, dry, viscous, creep)
    return lower, upper


def _allowance(v: Array, fastest: Array, dry: Array | float, viscous: Array | float, creep: Array | float) -> Array:
    """(n,) effort that friction may take on the way up to ``fastest``; less beyond it, and below ``creep``."""
    over = np.maximum(v - fastest, 0.0) / np.maximum(FADE * fastest, 1e-9)
    share = np.clip(np.minimum(1.0 - over, (fastest - creep) / np.maximum(creep, 1e-9)), 0.0, 1.0)
    return np.asarray(share * (dry + viscous * np.maximum(v, 0.0)))


def clip_effort(tau: Array, limit: Array) -> np.ndarray:
    """Clip ``tau`` (n,) in place to ± ``limit``; returns (n,) which joints were."""
    hit = np.abs(tau) > limit
    if any_of(hit):
        np.minimum(tau, limit, out=tau)
        np.maximum(tau, -limit, out=tau)
    return hit


def clip_rate(tau: Array, previous: Array, step: Array) -> np.ndarray:
    """Clip ``tau`` (n,) in place to within ``step`` of ``previous``; returns (n,) which joints were."""
    hit = np.abs(tau - previous) > step
    if any_of(hit):
        np.minimum(tau, previous + step, out=tau)
        np.maximum(tau, previous - step, out=tau)
    return hit


class Guards:
    """The limits of one robot, applied in order: motion, rate, size.

    Attributes:
        effort_limit, velocity_limit, deceleration, margin: (n,) the limits in use.
        counts: cause → number of times that an effort was limited.
        cut: whether anything was cut since :meth:`begin`.
        near: (n,) which joints :meth:`near_limits` found near a limit.
        saturated: (n,) sign of the part that was cut from the last command, 0 where nothing was cut.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: GuardSettings | None = None,
        counts: Counter[str] | None = None,
        idle: np.ndarray | None = None,
    ) -> None:
        """Check the settings against the model.

        Args:
            settings: the URDF's limits alone if not given.
            counts: to count in.
            idle: indices of joints that are not commanded, whose motion is not this robot's to limit.

        Raises:
            ArgumentError: a setting of the wrong length, negative, or a scale above 1.
        """
        s = self.settings = settings or GuardSettings()
        n = model.nv
        self.counts: Counter[str] = Counter() if counts is None else counts
        for name in ("effort_scale", "velocity_scale"):
            value = getattr(s, name)
            if not (math.isfinite(value) and 0.0 <= value <= 1.0):
                raise ArgumentError(
                    f"expected a number from 0 to 1, got {value!r}",
                    where=name,
                    got=value,
                    remedy="It is a factor on the limits.",
                )
        for name in ("position_margin", "zone_rate", "braking_rate"):
            value = getattr(s, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ArgumentError(
                    f"expected a non-negative number, got {value!r}",
                    where=name,
                    got=value,
                    remedy="Correct the setting.",
                )
        given = per_joint(np.inf if s.effort_limit is None else s.effort_limit, n, "effort_limit", infinite=True)
        self.effort_limit = np.minimum(model.effort_limit, given)
        if s.effort_scale < 1.0:
            self.effort_limit = self.effort_limit * s.effort_scale
        self.effort_rate = per_joint(
            np.inf if s.effort_rate is None else s.effort_rate, n, "effort_rate", infinite=True
        )
        self.velocity_limit = model.velocity_limit * s.velocity_scale
        self.deceleration = (
            default_deceleration(self.velocity_limit)
            if s.max_deceleration is None
            else per_joint(
                s.max_deceleration,
                n,
                "max_deceleration",
                positive=True,
                remedy="A joint that cannot brake cannot be stopped.",
            )
        )
        self.lower, self.upper = np.array(model.lower), np.array(model.upper)
        if idle is not None:
            self.lower[idle], self.upper[idle] = -np.inf, np.inf
            self.velocity_limit = np.array(self.velocity_limit)
            self.velocity_limit[idle] = np.inf
        self.margin = np.minimum(s.position_margin, 0.25 * (self.upper - self.lower))
        self._reach = 0.75 / self.deceleration  # v²/2a, and half as much again
        self._near_speed = (0.95 * self.velocity_limit) ** 2
        bounded = np.isfinite(self.lower) & np.isfinite(self.upper)
        one_sided = np.isfinite(self.lower) ^ np.isfinite(self.upper)
        low, high = np.where(bounded, self.lower, 0.0), np.where(bounded, self.upper, 0.0)
        self._centre = 0.5 * (low + high)
        half = np.where(bounded, 0.5 * (high - low), np.inf) - self.margin
        self._half = np.where(one_sided, -np.inf, half)  # always looked at closely; no URDF has such a joint
        self._limited_rate = bool(np.isfinite(self.effort_rate).any())
        self._dry, self._viscous, self._creep = model.friction, model.damping, LAST * s.zone_rate * self.margin
        self.near = np.zeros(n, dtype=bool)
        self.saturated = np.zeros(n)
        self.cut, self._clear = False, True
        self._asked, self._scratch = np.zeros(n), np.zeros(n)

    def near_limits(self, q: Array, v: Array) -> bool:
        """Whether a joint is in a soft zone, about to brake for one, or close to (above 95 % of) its velocity limit.

        ``near`` says which.
        """
        speed = np.multiply(v, v, out=self._scratch)
        np.greater(speed, self._near_speed, out=self.near)
        speed *= self._reach
        speed += np.abs(q - self._centre)
        self.near |= speed > self._half
        return any_of(self.near)

    def thresholds(self) -> dict[str, Array]:
        """(n,) each: where :meth:`near_limits` and :meth:`limit_effort` begin to matter; names of the cycle's memory."""
        return {
            "near_speed": self._near_speed,
            "reach": self._reach,
            "centre": self._centre,
            "half": self._half,
            "effort_limit": self.effort_limit,
            "effort_rate": self.effort_rate,
        }

    def pass_uncut(self) -> bool:
        """Note that an effort is let through as it is; False, and nothing noted, where the last one was not."""
        self.cut = False
        return self._clear

    def limit_motion(self, tau: Array, q: Array, v: Array, bias: Array, inertia: Array) -> None:
        """Keep ``tau`` (n,), in place, from driving joints that are ``near`` a limit on towards it.

        See :func:`motion_bounds`.

        Args:
            bias: (n,) C q̇ + g at the state.
            inertia: (n,) diagonal of the mass matrix.
        """
        s = self.settings
        slowest, fastest = allowed_velocity(
            q, self.lower, self.upper, self.velocity_limit, self.margin, s.zone_rate, self.deceleration
        )
        low, high = motion_bounds(
            v, slowest, fastest, bias, inertia, s.braking_rate, self._dry, self._viscous, self._creep
        )
        slack = 1e-6 * (1.0 + np.abs(bias))  # rounding is no hit
        hit = self.near & ((tau < low - slack) | (tau > high + slack))
        if any_of(hit):
            self.cut = True
            zone = hit & ((slowest > -self.velocity_limit) | (fastest < self.velocity_limit))
            self.counts["position_zone"] += int(zone.sum())
            self.counts["velocity_limit"] += int((hit & ~zone).sum())
            tau[hit] = np.clip(tau, low, high)[hit]

    def limit_effort(self, tau: Array, previous: Array, dt: float) -> None:
        """Limit rate, then size of ``tau`` (n,) in place.

        Args:
            previous: (n,) effort of the cycle before.
            dt: s since then.
        """
        if self._limited_rate and dt > 0.0:  # no limit times no time is no number
            hit = clip_rate(tau, previous, self.effort_rate * dt)
            if any_of(hit):
                self.cut = True
                self.counts["effort_rate"] += int(hit.sum())
        hit = clip_effort(tau, self.effort_limit)
        if any_of(hit):
            self.cut = True
            self.counts["effort_limit"] += int(hit.sum())

    def begin(self, tau: Array) -> bool:
        """Note what a law asked for; False (and counted) if any of it is not finite."""
        if not math.isfinite(tau.dot(tau)):
            self.counts["non_finite_effort"] += 1
            return False
        self.cut = False
        np.copyto(self._asked, tau)
        return True

    def finish(self, tau: Array) -> None:
        """Note what is let through, for anti-windup."""
        if self.cut:
            np.subtract(self._asked, tau, out=self.saturated)
            np.sign(self.saturated, out=self.saturated)
            self._clear = False
        elif not self._clear:
            self.saturated[:] = 0.0
            self._clear = True
