"""Where a camera stands so that it sees all points."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.model.description import Array

# rad: vertical field of view.
FIELD_OF_VIEW = 0.8
VIEWS = {
    "fit": (0.62, -0.785, 0.37),
    "front": (1.0, 0.0, 0.0),
    "side": (0.0, -1.0, 0.0),
    "top": (0.0, -0.001, 1.0),
}
"""Directions from a robot to a camera."""
# share of the picture that the points fill, in its width or its height
_FILLED = 0.95


def camera_that_sees(
    points: Array,
    away: Sequence[float],
    aspect: float,
) -> tuple[Array, Array]:
    """(3,) position of the nearest camera that sees all points (n, 3), and (3,) what it looks at,
    level with their middle, m.

    The direction ``away`` from the points to the camera is not upright; the aspect is width to
    height of the picture.
    """
    towards = np.asarray(away, dtype=float) / np.linalg.norm(away)
    right = np.cross((0.0, 0.0, 1.0), towards)
    right /= np.linalg.norm(right)
    axes = np.column_stack([right, np.cross(towards, right), towards])
    seen = points @ axes
    depth = seen[:, 2]
    # planes through the camera, one through each edge of the picture, touch the outermost points
    slopes = _FILLED * math.tan(0.5 * FIELD_OF_VIEW) * np.array([aspect, 1.0])
    high = (seen[:, :2] + slopes * depth[:, None]).max(axis=0)
    low = (seen[:, :2] - slopes * depth[:, None]).min(axis=0)
    middle = 0.5 * (low + high)
    distance = float((0.5 * (high - low) / slopes).max())
    return axes @ (*middle, distance), axes @ (*middle, 0.5 * (depth.min() + depth.max()))
