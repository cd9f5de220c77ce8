"""Colours of what is drawn in space, and one scale for speeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.model.description import Array

# Chosen so that people with any of the common forms of colour blindness tell them apart, and so
# that no robot of example-robot-data is painted like a force or a moment.
FORCE = (0.90, 0.00, 0.60)
MOMENT = (0.20, 0.80, 0.45)
# A known wrench on a link.
EXTERNAL = (0.15, 0.00, 0.30)
# A wrench on a link that an observer estimates.
ESTIMATED = (0.20, 0.40, 0.10)
# The robot where its reference is; it lets the robot itself be seen.
GHOST = (0.95, 0.60, 0.10, 0.35)
# Boxes and ellipsoids of inertias.
PAPER = (0.55, 0.70, 0.85, 0.55)

# part of a wrench balance → colour
PART_COLOURS: dict[str, tuple[float, float, float]] = {
    "joint": FORCE,
    "dynamic": (0.00, 0.45, 0.70),
    "dalembert": (0.34, 0.71, 0.91),
    "euler": (0.00, 0.62, 0.45),
    "centrifugal": (0.90, 0.62, 0.00),
    "coriolis": (0.80, 0.47, 0.65),
    "gravity": (0.20, 0.20, 0.20),
    "distal": (0.55, 0.40, 0.20),
    "external": EXTERNAL,
}

# Eight samples of viridis (matplotlib, CC0), so that a speed can be coloured without matplotlib.
_VIRIDIS = (
    np.array([*bytes.fromhex("44015446327e365c8d277f8e1fa1874ac16da0da39fde725")]).reshape(-1, 3)
    / 255
)


def by_speed(speed: ArrayLike, fastest: float) -> Array:
    """(…, 3) colours of speeds from zero (dark) to ``fastest`` (bright)."""
    share = np.clip(np.asarray(speed, dtype=float) / max(fastest, 1e-12), 0.0, 1.0) * (
        len(_VIRIDIS) - 1
    )
    return np.stack(
        [np.interp(share, np.arange(len(_VIRIDIS)), channel) for channel in _VIRIDIS.T], axis=-1
    )


def rgb255(colour: Sequence[float] | Array) -> tuple[int, int, int]:
    """Red, green, blue in 0 … 255 of a colour in 0 … 1."""
    r, g, b = (round(255 * float(c)) for c in tuple(colour)[:3])
    return r, g, b
