"""Cylinders and boxes as a foundry or a machine shop makes them: with rounded edges, which take the
light.  Only what is drawn: masses and contacts are of the shapes as described.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.model.geometry import Shape

if TYPE_CHECKING:
    from trimesh import Trimesh

# radius of an edge, as a share of the smallest half side or radius
_EDGE_SHARE = 0.22
# m: no cast housing of an arm is rounder
_LARGEST_EDGE = 0.012
# Points on the quarter of a circle of an edge.
_EDGE_POINTS = 5
# Points around a cylinder: with half of them its outline is seen to be a polygon.
_SECTIONS = 48


def rounded(shape: Shape) -> Trimesh | None:
    """A cylinder or box with rounded edges in the link's frame, m; ``None`` for other shapes."""
    if shape.kind == "cylinder":
        mesh = _rounded_cylinder(*shape.size)
    elif shape.kind == "box":
        mesh = _rounded_box(np.array(shape.size))
    else:
        return None
    return mesh.apply_transform(shape.pose.matrix())


def _edge(smallest: float) -> float:
    return min(_EDGE_SHARE * smallest, _LARGEST_EDGE)


def _rounded_cylinder(radius: float, length: float) -> Trimesh:
    from trimesh.creation import revolve

    half = 0.5 * length
    edge = _edge(min(radius, half))
    angles = np.linspace(0.0, 0.5 * math.pi, _EDGE_POINTS)
    corner = np.column_stack(
        [radius - edge + edge * np.cos(angles), half - edge + edge * np.sin(angles)]
    )
    # a second ring beside each edge keeps the flat parts flat where normals are averaged
    inside = 0.98
    upper = np.vstack(
        [
            [radius, inside * (half - edge)],
            corner,
            [inside * (radius - edge), half],
            [0.0, half],
        ]
    )
    lower = upper[::-1] * (1.0, -1.0)
    return revolve(np.vstack([lower, upper]), sections=_SECTIONS)


def _rounded_box(size: np.ndarray) -> Trimesh:
    from trimesh import Trimesh, util
    from trimesh.creation import icosphere

    half = 0.5 * size
    edge = _edge(float(half.min()))
    ball = icosphere(subdivisions=2, radius=edge)
    # the hull of eight balls
    corners = np.stack(np.meshgrid(*np.stack([-half + edge, half - edge], axis=1)), axis=-1)
    points = (corners.reshape(-1, 1, 3) + ball.vertices).reshape(-1, 3)
    hull = Trimesh(points, process=False).convex_hull
    assert util.is_instance_named(hull, "Trimesh")
    return hull
