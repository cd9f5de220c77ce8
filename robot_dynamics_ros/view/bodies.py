"""The geometry of a robot in a viser scene: layers of it, transparency, colours by share."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.errors import ModelWarning
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Looks, Shape
from robot_dynamics_ros.model.meshes import MeshError, own_colour, triangles
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import robot_size
from robot_dynamics_ros.view.colours import by_speed, rgb255
from robot_dynamics_ros.view.shapes import inertia_shapes, skeleton

if TYPE_CHECKING:
    from trimesh import Trimesh
    from viser import MeshHandle, SceneApi

LAYERS = ("visuals", "collisions", "skeleton", "ellipsoids", "boxes")
"""Kinds of geometry that can be shown."""

_GREY = (0.70, 0.72, 0.75, 1.0)
_COLLISION = (0.95, 0.55, 0.20, 0.45)
_BODIES = {"visuals", "skeleton"}
_CLEAR = 0.3  # opacity of bodies that let wrenches be seen
_SHADE = 0.7  # what they keep of their brightness: white ones would vanish before a white ground


@dataclass(eq=False)
class Piece:
    """A piece of geometry in the scene.

    Attributes:
        link: it belongs to.
        handle: of its node.
        opacity, colour: as described.
        part: the mesh, where it has a texture.
        drawn: see-through or not, and its paint, as the page has it.
    """

    link: str
    handle: MeshHandle
    opacity: float = 1.0
    colour: tuple[int, int, int] = (255, 255, 255)
    part: Trimesh | None = None
    drawn: tuple[bool, tuple[int, int, int] | None] | None = None

    def draw(self, clear: bool, paint: tuple[int, int, int] | None = None) -> None:
        """Draw it as described; or see-through, so that what is inside is seen; or painted."""
        if (clear, paint) == self.drawn:
            return
        self.drawn = clear, paint
        if self.part is not None:
            self.handle.glb_data = _glb(self.part, clear, paint)
            return
        opacity = _CLEAR * self.opacity if clear else self.opacity
        self.handle.opacity = None if opacity >= 1.0 else opacity
        shade = _SHADE / 255 if clear else 1 / 255
        self.handle.color = paint or rgb255([shade * channel for channel in self.colour])


class Bodies:
    """Geometry of the links, drawn below their nodes.

    Args:
        scene: ``viser.ViserServer().scene``, or a client's.
        model: the robot.
        looks: its geometry.
        root: name of the node that the links' nodes belong to.
        nodes: link → name of its node.

    Attributes:
        layers: those of :data:`LAYERS` that have been shown, with their pieces.
        default_layers: those that are shown first.
        corners: link → (8, 3) corners of a box about its geometry, in its frame, m.
    """

    def __init__(self, scene: SceneApi, model: RobotModel, looks: Looks, root: str, nodes: Mapping[str, str]) -> None:
        self._scene, self._model, self._looks, self._root, self._nodes = scene, model, looks, root, nodes
        self.layers: dict[str, list[Piece]] = {}
        self.corners: dict[str, Array] = {}
        self._clear = True  # as pages have it at first: textures are not sent twice
        self._paints: dict[str, tuple[int, int, int]] | None = None
        self.default_layers: tuple[str, ...] = ("visuals",)
        if not looks.visuals:  # an inertia that fits no body of this size would hide the robot
            fits = all(max(shape.size) < robot_size(model) for shape in self.shapes("ellipsoids"))
            self.default_layers = ("skeleton", "ellipsoids") if fits else ("skeleton",)
        for layer in self.default_layers:
            self.layer(layer, True)

    def shapes(self, layer: str) -> tuple[Shape, ...]:
        """The shapes of one of :data:`LAYERS`."""
        if layer in ("visuals", "collisions"):
            return self._looks.visuals if layer == "visuals" else self._looks.collisions
        if layer == "skeleton":
            return skeleton(self._model)
        return inertia_shapes(self._model, "box" if layer == "boxes" else "ellipsoid")

    def layer(self, name: str, shown: bool) -> None:
        """Show or hide one of :data:`LAYERS`; it is made when it is first shown."""
        if name not in self.layers:
            if not shown:
                return
            self.layers[name] = self.draw(name, self._root)
            self._draw_again()
        for piece in self.layers[name]:
            piece.handle.visible = shown

    def clear(self, transparent: bool) -> None:
        """Draw the bodies so that what is inside them is seen, or as described."""
        if transparent != self._clear:
            self._clear = transparent
            self._draw_again()

    def tint(self, shares: Mapping[str, float] | None) -> None:
        """Paint links by a share from 0 (dark) to 1 (bright), those without one grey; ``None``: as described."""
        paints = None if shares is None else {link: _paint(share) for link, share in shares.items()}
        if paints != self._paints:
            self._paints = paints
            self._draw_again()

    def _draw_again(self) -> None:
        paints = self._paints
        for name in _BODIES & self.layers.keys():
            for piece in self.layers[name]:
                piece.draw(self._clear, None if paints is None else paints.get(piece.link, rgb255(_GREY)))

    def draw(self, layer: str, root: str, colour: Sequence[float] | None = None) -> list[Piece]:
        """The pieces of one of :data:`LAYERS`, made below the node ``root`` as described or in one colour."""
        pieces = []
        clear = self._clear and layer in _BODIES and colour is None
        for row, shape, parts in readable(self.shapes(layer)):
            for k, part in enumerate(parts):
                self._reach(shape.link, part)
                name = f"{root}/{self._nodes[shape.link]}/{layer}_{row}_{k}"
                own = own_colour(part) if shape.kind == "mesh" and layer == "visuals" and colour is None else None
                if own == "image":
                    handle = self._scene.add_glb(name, _glb(part, clear))
                    pieces.append(Piece(shape.link, handle, part=part, drawn=(clear, None)))
                    continue
                # a mesh's own materials come first, as in RViz
                r, g, b, alpha = colour or own or shape.colour or (_COLLISION if layer == "collisions" else _GREY)
                handle = self._scene.add_mesh_simple(
                    name,
                    np.asarray(part.vertices, dtype=np.float32),
                    np.asarray(part.faces, dtype=np.uint32),
                    color=rgb255((r, g, b)),
                    flat_shading=shape.kind in ("box", "mesh"),
                )
                pieces.append(Piece(shape.link, handle, alpha, rgb255((r, g, b))))
                pieces[-1].draw(clear)
        return pieces

    def _reach(self, link: str, part: Trimesh) -> None:
        points = np.concatenate([part.bounds, self.corners.get(link, part.bounds)])
        self.corners[link] = np.stack(np.meshgrid(*zip(points.min(0), points.max(0), strict=True)), axis=-1).reshape(
            8, 3
        )

    def handles(self) -> list[tuple[str, MeshHandle]]:
        """(link, handle) of every piece of geometry shown, for callbacks."""
        return [(piece.link, piece.handle) for layer in self.layers.values() for piece in layer]


def readable(shapes: tuple[Shape, ...]) -> list[tuple[int, Shape, list[Trimesh]]]:
    """Row, shape and triangles of the shapes that can be drawn; one warning for those that cannot."""
    rows, lost = [], []
    for row, shape in enumerate(shapes):
        try:
            rows.append((row, shape, triangles(shape)))
        except MeshError as error:
            lost.append(str(error))
    if lost:
        warnings.warn(
            ModelWarning(f"{len(lost)} meshes cannot be read and are not drawn: {lost[0]}", lost), stacklevel=3
        )
    return rows


def _paint(share: float) -> tuple[int, int, int]:
    """Colour of a share, in steps: a new one is sent only now and then."""
    return rgb255(by_speed(round(20.0 * share) / 20.0, 1.0)) if math.isfinite(share) else rgb255(_GREY)


def _glb(part: Trimesh, clear: bool, paint: Sequence[int] | None = None) -> bytes:
    """A mesh with a texture, or colours of its own, as a GLB file; or see-through, or painted."""
    if clear or paint is not None:
        from trimesh.visual import TextureVisuals
        from trimesh.visual.material import PBRMaterial

        part = part.copy()
        shade = _SHADE if clear else 1.0
        if paint is not None:
            part.visual = TextureVisuals(material=PBRMaterial())
        elif part.visual.kind != "texture":
            part.visual = part.visual.to_texture()
        material = part.visual.material
        material = material.to_pbr() if hasattr(material, "to_pbr") else material
        colour = [shade, shade, shade] if paint is None else [channel / 255 for channel in paint]
        # the file's colours are linear
        material.baseColorFactor = [
            *(round(255 * channel**2.2) for channel in colour),
            round(255 * (_CLEAR if clear else 1)),
        ]
        material.alphaMode = "BLEND" if clear else "OPAQUE"
        part.visual.material = material
    return bytes(part.export(file_type="glb"))
