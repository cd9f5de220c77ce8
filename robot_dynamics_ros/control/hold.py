"""Coming to a stop: every joint with its own constant deceleration, then a hold."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.reference import polynomial
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.model.description import Array

__all__ = ["default_deceleration", "stop_path"]

#: A speed limit is given up within this time where no deceleration is configured, s.
STOP_TIME = 0.25
#: Deceleration where there is neither a configured one nor a velocity limit, rad/s² or m/s².
PLAIN_DECELERATION = 5.0
#: How much harder than asked a joint may brake in order to stop before its position limit.
HARDEST = 10.0
#: No stop is planned to take longer, s; it keeps absurd velocities within the range of integer times.
LONGEST = 1e6


def default_deceleration(velocity_limit: Array) -> Array:
    """(n,) deceleration that takes each joint from its velocity limit to rest in 0.25 s; 5 where there is no limit."""
    usable = np.isfinite(velocity_limit) & (velocity_limit > 0.0)
    return np.where(usable, velocity_limit / STOP_TIME, PLAIN_DECELERATION)


def stop_path(
    t: int, q: Array, v: Array, deceleration: Array, lower: Array | None = None, upper: Array | None = None
) -> Path:
    """Decelerate from (``q``, ``v``) at ``t`` and hold where that ends.

    A joint stops after |v| / a, having gone v²/2a.  One that would run over a position limit brakes harder, just
    enough to stop at the limit, but not more than ten times as hard.

    Args:
        t: ns.
        q, v: (n,) position and velocity at ``t``.
        deceleration: (n,) positive, rad/s² or m/s².
        lower, upper: (n,) position limits.
    """
    q = np.asarray(q, dtype=np.float64)
    v = np.asarray(v, dtype=np.float64)
    a = np.array(deceleration, dtype=np.float64)
    if lower is not None and upper is not None:
        room = np.where(v > 0.0, upper - q, q - lower)
        short = (0.5 * v * v > a * room) & (v != 0.0)
        with np.errstate(divide="ignore"):
            needed = np.where(room > 0.0, 0.5 * v * v / np.where(room > 0.0, room, 1.0), np.inf)
        a = np.where(short, np.minimum(needed, HARDEST * a), a)
    duration = np.minimum(np.abs(v) / a, LONGEST)
    stop = t + np.rint(duration * NANOSECONDS).astype(np.int64)
    rest = q + 0.5 * v * duration
    moving = polynomial.extrapolation(q, v, -np.sign(v) * a)
    still = polynomial.constant(rest)
    knots = sorted({t, *stop.tolist()})
    pieces = np.empty((len(knots), 6, len(q)))
    for i, k in enumerate(knots):
        on_the_way = polynomial.shifted(moving, (k - t) / NANOSECONDS)
        pieces[i] = np.where(stop > k, on_the_way, still)
    return Path(knots, pieces)
