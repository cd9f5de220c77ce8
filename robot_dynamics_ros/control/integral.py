"""The integral of the position error, kept from winding up."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array

__all__ = ["advance_integral"]


def advance_integral(z: Array, e: Array, dt: float, ki: Array, clamp: Array, saturated: Array) -> None:
    """z ← z + e dt in place, then |ki z| ≤ ``clamp``; joints whose command was cut do not wind further the same way.

    Args:
        z, e: (n,) integral and error.
        dt: s.
        ki: (n,) or one gain; joints without gain keep z = 0.
        clamp: (n,) or one, in units of ki·z.
        saturated: (n,) sign of the excess of the last command over what was let through, 0 where none was cut.

    Source: conditional integration; Åström and Hägglund, Advanced PID Control (2006), section 3.5.
    """
    step = np.where(saturated * e > 0.0, 0.0, e * dt)
    np.add(z, step, out=z)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = np.where(ki > 0.0, clamp / ki, 0.0)
    np.minimum(z, bound, out=z)
    np.maximum(z, -bound, out=z)
