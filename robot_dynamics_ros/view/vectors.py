"""Forces as arrows and moments as arcs, whose shape a page changes in the same picture in which it
moves the links.

A page moves nodes and bones of skinned meshes at once, before it draws; anything else that changes
reaches a later picture. So a set of vectors is one skinned mesh. A vertex is a sum of vectors, one
a bone, times the weights of the vertex: a few bones a vector give any length, direction and
thickness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.view.colours import rgb255

if TYPE_CHECKING:
    from viser import MeshSkinnedHandle, SceneApi

# of a shaft, of a tube
_SIDES = 10
# radius of a head, in radii of the shaft
_ARROW_HEAD = 2.6
# length of an arc without its head
_TURN = math.radians(280.0)
# length of an arc's head
_POINT = math.radians(46.0)
# radius of an arc's tube, in radii of the arc
_TUBE = 0.075
# m; bones that move less are not sent
_SAME = 1e-6


class ArrowMesh(NamedTuple):
    """One vector's triangles: weights (vertices, bones), none negative, up to four of a row not
    zero; faces (n, 3).
    """

    weights: Array
    faces: Array


def _across(angles: Array) -> Array:
    """(n, 3) weights of three directions, 120° apart in a plane, for the directions at some angles
    in that plane.
    """
    third = 2.0 * math.pi / 3.0
    rows = np.arange(len(angles))
    turns, rest = np.divmod(np.mod(angles, 2.0 * math.pi), third)
    first = turns.astype(int) % 3
    weights = np.zeros((len(angles), 3))
    weights[rows, first] = np.sin(third - rest)
    weights[rows, (first + 1) % 3] = np.sin(rest)
    return weights / math.sin(third)


def _template(rings: list[Array]) -> ArrowMesh:
    """A tube through rings of vertices, each given by its weights."""
    a = np.arange(_SIDES)
    b = np.roll(np.arange(_SIDES), 1)
    strip = np.concatenate(
        [np.stack([a, b, a + _SIDES], axis=1), np.stack([b, b + _SIDES, a + _SIDES], axis=1)]
    )
    return ArrowMesh(
        np.concatenate(rings), np.concatenate([strip + _SIDES * k for k in range(len(rings) - 1)])
    )


def _arrow() -> ArrowMesh:
    """A straight arrow: the weights of its vertices are of the start, the shaft, the whole length,
    and three directions across.
    """
    around = _across(2.0 * math.pi * np.arange(_SIDES) / _SIDES)
    # of each ring: whether it is at the end of the shaft, or of the arrow, and its radius
    rows = [
        # the flat end at the start
        (0.0, 0.0, 0.0),
        # the shaft
        (0.0, 0.0, 1.0),
        (1.0, 0.0, 1.0),
        # the head
        (1.0, 0.0, _ARROW_HEAD),
        (0.0, 1.0, 0.0),
    ]
    return _template(
        [
            np.column_stack([np.ones(_SIDES), np.tile((shaft, end), (_SIDES, 1)), radius * around])
            for shaft, end, radius in rows
        ]
    )


def _arc() -> ArrowMesh:
    tube = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    angles = np.linspace(0.0, _TURN, 22)
    rows = [
        (angles[0], 0.0),
        *((angle, _TUBE) for angle in angles),
        (_TURN, _ARROW_HEAD * _TUBE),
        (_TURN + _POINT, 0.0),
    ]
    rings = []
    for angle, radius in rows:
        out = 1.0 + radius * np.cos(tube)
        up = _ARROW_HEAD * _TUBE + radius * np.sin(tube)
        # centre, three directions in the plane, and the axis: one way only, so the centre lies
        # below the plane
        rings.append(
            np.column_stack([np.ones(_SIDES), out[:, None] * _across(np.array([angle])), up])
        )
    return _template(rings)


ARROW = _arrow()
ARC = _arc()


def _directions(vectors: Array) -> tuple[Array, Array, Array]:
    """(n, 1) lengths, (n, 3) unit vectors, (n, 3, 3) three unit vectors 120° apart across each,
    right-handed about it.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.maximum(lengths, 1e-300)
    one = np.cross(np.eye(3)[np.abs(units).argmin(axis=1)], units)
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    angles = 2.0 * math.pi / 3.0 * np.arange(3)[:, None]
    return (
        lengths,
        units,
        np.cos(angles) * one[:, None] + np.sin(angles) * np.cross(units, one)[:, None],
    )


def arrow_bones(points: Array, vectors: Array, thickest: float) -> Array:
    """(n, 6, 3) bones of :data:`ARROW` for arrows from points (n, 3) along vectors (n, 3), m, none
    of length zero; short ones are thinner than the radius ``thickest`` in m.
    """
    lengths, directions, across = _directions(vectors)
    radius = np.minimum(thickest, 0.045 * lengths)
    head = np.minimum(7.0 * radius, 0.5 * lengths)
    shaft = (lengths - head) * directions
    return np.concatenate(
        [np.stack([points, shaft, vectors], axis=1), radius[:, None] * across], axis=1
    )


def arc_bones(points: Array, vectors: Array, thickest: float) -> Array:
    """(n, 5, 3) bones of :data:`ARC` for arcs about centres (n, 3) and vectors (n, 3), m, by the
    right-hand rule; a vector's length is the arc's diameter.  Along the axis an arc is no thicker
    than twice ``thickest`` in m: a large one is flat.
    """
    lengths, directions, across = _directions(vectors)
    half = 0.5 * lengths
    flat = np.minimum(half, thickest / _TUBE) * directions
    return np.concatenate(
        [(points - _ARROW_HEAD * _TUBE * flat)[:, None], half[:, None] * across, flat[:, None]],
        axis=1,
    )


class Vectors:
    """Vectors of one colour, red, green, blue in 0 … 1, in a scene: of the template :data:`ARROW`
    or :data:`ARC`.
    """

    def __init__(
        self,
        scene: SceneApi,
        name: str,
        template: ArrowMesh,
        colour: Sequence[float],
    ) -> None:
        self._scene, self._name, self._template, self._colour = (
            scene,
            name,
            template,
            rgb255(colour),
        )
        self._bones = np.empty((0, template.weights.shape[1], 3))
        self._handle: MeshSkinnedHandle | None = None

    def show(self, bones: Array | None) -> None:
        """Show n vectors by their bones (n, bones of one, 3), ``None``: none; what a page has
        already is not sent again.
        """
        if bones is None:
            bones = self._bones[:0]
        if len(bones) > len(self._bones):
            self._make(len(bones))
        if self._handle is None or not (len(bones) or self._bones.any()):
            return
        # without extent: nothing is drawn
        present = np.zeros_like(self._bones)
        present[: len(bones)] = bones
        moved = np.flatnonzero((np.abs(present - self._bones) > _SAME).any(axis=2))
        self._bones.reshape(-1, 3)[moved] = rows = present.reshape(-1, 3)[moved]
        from viser import _messages as messages

        # a bone's handle compares with what was before, which is known here: that would take most
        # of the time
        name = self._handle.name
        queue = self._scene._queue_scene_message
        for k, row in zip(moved.tolist(), rows.tolist(), strict=True):
            queue(messages.SetBonePositionMessage(name, k, tuple(row)))

    def _make(self, count: int) -> None:
        weights, faces = self._template
        size, bones = weights.shape
        self._bones = np.zeros((count, bones, 3))
        self._handle = self._scene.add_mesh_skinned(
            self._name,
            np.zeros((count * size, 3), np.float32),
            np.concatenate([faces + k * size for k in range(count)]).astype(np.uint32),
            bone_wxyzs=np.tile((1.0, 0.0, 0.0, 0.0), (count * bones, 1)),
            bone_positions=np.zeros((count * bones, 3)),
            skin_weights=np.kron(np.eye(count), weights),
            color=self._colour,
            flat_shading=True,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )
