"""A smooth motion through configurations that a person has chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array


def smooth_motion(start: Array, points: Sequence[tuple[Array, float]]) -> tuple[Array, Array, Array]:
    """Times and velocities for points, so that cubics through them are smooth and no joint goes beyond a point.

    Args:
        start: (n,) where the motion begins, at rest.
        points: (n,) positions, each with the seconds since the point before.

    Returns:
        (k,) s since the start, (k, n) positions and (k, n) velocities; the last ones are zero.

    Raises:
        ArgumentError: no points, or a time that is not positive.

    Source: Fritsch and Carlson, SIAM J. Numerical Analysis 17 (1980), as SciPy's PchipInterpolator.
    """
    from scipy.interpolate import PchipInterpolator

    seconds = np.array([duration for _, duration in points], dtype=float)
    if not len(seconds) or not (np.isfinite(seconds) & (seconds > 0.0)).all():
        raise ArgumentError(
            "every point needs a positive time since the one before",
            where="points",
            got=seconds.tolist(),
            remedy="Give one or more points, each with its duration in s.",
        )
    times = np.concatenate(([0.0], np.cumsum(seconds)))
    rows = np.stack([np.asarray(start, dtype=float), *(np.asarray(q, dtype=float) for q, _ in points)])
    velocities = PchipInterpolator(times, rows).derivative()(times)
    velocities[-1] = 0.0
    return times[1:], rows[1:], velocities[1:]
