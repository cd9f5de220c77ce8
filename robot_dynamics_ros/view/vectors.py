"""Forces as arrows and moments as arcs, whose shape a page changes in the same picture in which it moves the links.

A page moves nodes and bones of skinned meshes at once, before it draws; anything else that changes reaches a later
picture.  So a set of vectors is one skinned mesh.  A vertex is a sum of vectors, one a bone, times the weights of the
vertex: a few bones a vector give any length, direction and thickness.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.view.colours import rgb255

if TYPE_CHECKING:
    from viser import MeshSkinnedHandle, SceneApi

_SIDES = 10  # of a shaft, of a tube
_HEAD = 2.6  # radius of a head, in radii of the shaft
_TURN = math.radians(280.0)  # length of an arc without its head
_POINT = math.radians(46.0)  # length of an arc's head
_TUBE = 0.075  # radius of an arc's tube, in radii of the arc
_SAME = 1e-6  # m; bones that move less are not sent


@dataclass(frozen=True, eq=False)
class Template:
    """One vector's triangles.

    Attributes:
        weights: (vertices, bones) none negative, at most four of a row not zero.
        faces: (triangles, 3) vertices.
    """

    weights: Array
    faces: Array


def _across(angles: Array) -> Array:
    """(n, 3) weights of three directions, 120° apart in a plane, for the directions at some angles in that plane."""
    weights = np.zeros((len(angles), 3))
    third = 2.0 * math.pi / 3.0
    for row, angle in zip(weights, np.mod(angles, 2.0 * math.pi), strict=True):
        first = int(angle // third) % 3
        rest = angle - first * third
        row[first] = math.sin(third - rest) / math.sin(third)
        row[(first + 1) % 3] = math.sin(rest) / math.sin(third)
    return weights


def _strip(rings: list[range]) -> list[tuple[int, int, int]]:
    """Triangles between rings of vertices, each with the next."""
    faces = []
    for one, other in pairwise(rings):
        for k, _ in enumerate(one):
            a, b, c, d = one[k], one[k - 1], other[k], other[k - 1]
            faces += [(a, b, c), (b, d, c)]
    return faces


def _rings(count: int) -> list[range]:
    return [range(_SIDES * k, _SIDES * (k + 1)) for k in range(count)]


def _arrow() -> Template:
    around = _across(2.0 * math.pi * np.arange(_SIDES) / _SIDES)
    # start, shaft, whole length, and three directions across
    rows = [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 0.0, _HEAD), (0.0, 1.0, 0.0)]
    weights = np.concatenate(
        [np.column_stack([np.ones(_SIDES), np.tile((s, w), (_SIDES, 1)), r * around]) for s, w, r in rows]
    )
    return Template(weights, np.array(_strip(_rings(len(rows)))))


def _arc() -> Template:
    tube = 2.0 * math.pi * np.arange(_SIDES) / _SIDES
    angles = np.linspace(0.0, _TURN, 22)
    rows = [(angles[0], 0.0), *((angle, _TUBE) for angle in angles), (_TURN, _HEAD * _TUBE), (_TURN + _POINT, 0.0)]
    weights = []
    for angle, radius in rows:
        out = 1.0 + radius * np.cos(tube)
        # centre, three directions in the plane, and the axis: one way only, so the centre lies below the plane
        weights.append(
            np.column_stack(
                [np.ones(_SIDES), out[:, None] * _across(np.array([angle])), _HEAD * _TUBE + radius * np.sin(tube)]
            )
        )
    return Template(np.concatenate(weights), np.array(_strip(_rings(len(rows)))))


ARROW, ARC = _arrow(), _arc()


def _lateral(directions: Array) -> tuple[Array, Array]:
    """Two unit vectors across each of (n, 3) unit vectors, with it a right-handed frame."""
    least = np.eye(3)[np.abs(directions).argmin(axis=1)]
    one = np.cross(least, directions)
    one /= np.linalg.norm(one, axis=1, keepdims=True)
    return one, np.cross(directions, one)


def _three(one: Array, other: Array) -> Array:
    """(n, 3, 3) three directions 120° apart in the planes of two vectors across each other."""
    angles = 2.0 * math.pi / 3.0 * np.arange(3)
    return np.cos(angles)[:, None] * one[:, None] + np.sin(angles)[:, None] * other[:, None]


def _units(vectors: Array) -> tuple[Array, Array]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return lengths, vectors / np.maximum(lengths, 1e-300)


def arrow_bones(points: Array, vectors: Array, thickest: float) -> Array:
    """Bones of :data:`ARROW` for arrows.

    Args:
        points: (n, 3) m, starts.
        vectors: (n, 3) m, of a length that is not zero.
        thickest: m, radius of long arrows; those of short ones shrink with the length.

    Returns:
        (n, 6, 3).
    """
    lengths, directions = _units(vectors)
    radius = np.minimum(thickest, 0.045 * lengths)
    head = np.minimum(7.0 * radius, 0.5 * lengths)
    across = radius[:, None] * _three(*_lateral(directions))
    return np.concatenate([points[:, None], ((lengths - head) * directions)[:, None], vectors[:, None], across], axis=1)


def arc_bones(points: Array, vectors: Array, thickest: float) -> Array:
    """Bones of :data:`ARC` for arcs about vectors by the right-hand rule.

    Args:
        points: (n, 3) m, centres.
        vectors: (n, 3) m, whose length is the arc's diameter, not zero.
        thickest: m, half the thickness along the axis; the tube of a large arc is flat.

    Returns:
        (n, 5, 3).
    """
    lengths, directions = _units(vectors)
    half = 0.5 * lengths
    flat = np.minimum(half, thickest / _TUBE) * directions
    across = half[:, None] * _three(*_lateral(directions))
    return np.concatenate([(points - _HEAD * _TUBE * flat)[:, None], across, flat[:, None]], axis=1)


class Vectors:
    """Vectors of one colour in a scene.

    Args:
        scene: ``viser.ViserServer().scene``, or a client's.
        name: of the node.
        template: :data:`ARROW` or :data:`ARC`.
        colour: red, green, blue in 0 … 1.
    """

    def __init__(self, scene: SceneApi, name: str, template: Template, colour: Sequence[float]) -> None:
        self._scene, self._name, self._template, self._colour = scene, name, template, rgb255(colour)
        self._bones = np.empty((0, template.weights.shape[1], 3))
        self._handle: MeshSkinnedHandle | None = None

    def show(self, bones: Array | None) -> None:
        """Show n vectors by their bones (n, bones of one, 3), ``None``: none; what a page has already is not sent again."""
        if bones is None:
            bones = self._bones[:0]
        if len(bones) > len(self._bones):
            self._make(len(bones))
        if self._handle is None or not (len(bones) or self._bones.any()):
            return
        present = np.zeros_like(self._bones)  # without extent: nothing is drawn
        present[: len(bones)] = bones
        moved = np.flatnonzero((np.abs(present - self._bones) > _SAME).any(axis=2))
        self._bones.reshape(-1, 3)[moved] = rows = present.reshape(-1, 3)[moved]
        from viser import _messages as messages

        # a bone's handle compares with what was before, which is known here: that would take most of the time
        name, queue = self._handle.name, self._scene._queue_scene_message
        for k, row in zip(moved.tolist(), rows.tolist(), strict=True):
            queue(messages.SetBonePositionMessage(name, k, tuple(row)))

    def _make(self, count: int) -> None:
        weights, faces = self._template.weights, self._template.faces
        size, bones = weights.shape
        table = np.zeros((count, size, count, bones))
        for k in range(count):
            table[k, :, k] = weights
        self._bones = np.zeros((count, bones, 3))
        self._handle = self._scene.add_mesh_skinned(
            self._name,
            np.zeros((count * size, 3), np.float32),
            np.concatenate([faces + k * size for k in range(count)]).astype(np.uint32),
            bone_wxyzs=np.tile((1.0, 0.0, 0.0, 0.0), (count * bones, 1)),
            bone_positions=np.zeros((count * bones, 3)),
            skin_weights=table.reshape(count * size, count * bones),
            color=self._colour,
            flat_shading=True,
            side="double",
            cast_shadow=False,
            receive_shadow=False,
        )
