"""The geometry of a robot in a viser scene: layers of it, transparency, colours by share; and
shapes that stand for mass properties, and for links without visuals.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import ModelWarning, level_of_caller
from robot_dynamics_ros.model.description import Array, Inertia, JointType, Pose
from robot_dynamics_ros.model.geometry import Looks, Shape
from robot_dynamics_ros.model.meshes import MeshError, own_colour, triangles
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import link_ends, robot_size
from robot_dynamics_ros.view.colours import PAPER, by_speed, rgb255
from robot_dynamics_ros.view.rounded import rounded

if TYPE_CHECKING:
    from trimesh import Trimesh
    from viser import MeshHandle, SceneApi

LAYERS = ("visuals", "collisions", "skeleton", "ellipsoids", "boxes")
"""Kinds of geometry that can be shown."""

# Colours, red, green, blue and opacity: of bodies without a colour of their own,
_GREY = (0.70, 0.72, 0.75, 1.0)
# of collision shapes, through which the visuals are seen,
_COLLISION = (0.95, 0.55, 0.20, 0.45)
# of the skeleton's bars from joint to joint,
_BAR = (0.72, 0.74, 0.78, 1.0)
# and of the cylinders at its joints.
_BARREL = (0.25, 0.32, 0.42, 1.0)
_BODIES = {"visuals", "skeleton"}
# opacity of bodies that let wrenches be seen
_CLEAR = 0.3
# what they keep of their brightness: white ones would vanish before a white ground
_SHADE = 0.7


@dataclass(eq=False)
class Piece:
    """A piece of geometry in the scene, opacity and colour as described."""

    link: str
    handle: MeshHandle
    opacity: float = 1.0
    colour: tuple[int, int, int] = (255, 255, 255)
    # where it has a texture
    part: Trimesh | None = None
    # see-through or not, and its paint, as the page has it
    drawn: tuple[bool, tuple[int, int, int] | None] | None = None

    def draw(self, clear: bool, paint: tuple[int, int, int] | None = None) -> None:
        """Draw it as described; or see-through, so that what is inside is seen; or painted."""
        if (clear, paint) == self.drawn:
            return
        self.drawn = clear, paint
        if self.part is not None:
            self.handle.glb_data = _glb(self.part, clear, paint)
            return
        if clear:
            opacity = _CLEAR * self.opacity
        else:
            opacity = self.opacity
        if opacity >= 1.0:
            self.handle.opacity = None
        else:
            self.handle.opacity = opacity
        shade = _SHADE / 255 if clear else 1 / 255
        self.handle.color = paint or rgb255([shade * channel for channel in self.colour])


class Bodies:
    """Geometry of the links, drawn below their nodes (link → name) of the node ``root``.

    Attributes:
        layers: those of :data:`LAYERS` that have been shown, with their pieces.
        default_layers: those that are shown first.
        corners: link → (8, 3) corners of a box about its geometry, in its frame, m.
    """

    def __init__(
        self,
        scene: SceneApi,
        model: RobotModel,
        looks: Looks,
        root: str,
        nodes: Mapping[str, str],
    ) -> None:
        self._scene = scene
        self._model = model
        self._looks = looks
        self._root = root
        self._nodes = nodes
        self.layers: dict[str, list[Piece]] = {}
        self.corners: dict[str, Array] = {}
        # as pages have it at first: textures are not sent twice
        self._clear = False
        self._paints: dict[str, tuple[int, int, int]] | None = None
        self.default_layers: tuple[str, ...] = ("visuals",)
        # an inertia that fits no body of this size would hide the robot
        if not looks.visuals:
            fits = all(max(shape.size) < robot_size(model) for shape in self.shapes("ellipsoids"))
            if fits:
                self.default_layers = ("skeleton", "ellipsoids")
            else:
                self.default_layers = ("skeleton",)
        for layer in self.default_layers:
            self.layer(layer, True)

    def shapes(self, layer: str) -> tuple[Shape, ...]:
        """The shapes of one of :data:`LAYERS`, without those of links that are hidden."""
        if layer in ("visuals", "collisions"):
            shapes = tuple(getattr(self._looks, layer))
        elif layer == "skeleton":
            shapes = skeleton(self._model)
        else:
            shapes = inertia_shapes(self._model, "box" if layer == "boxes" else "ellipsoid")
        return tuple(shape for shape in shapes if shape.link not in self._looks.hidden)

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
        """Paint links by a share from 0 (dark) to 1 (bright), those without one grey; ``None``: as
        described.
        """
        paints = None
        # in steps: a new colour is sent only now and then
        if shares is not None:
            known = {
                link: round(20.0 * share) / 20.0
                for link, share in shares.items()
                if math.isfinite(share)
            }
            paints = {link: rgb255(by_speed(share, 1.0)) for link, share in known.items()}
        if paints != self._paints:
            self._paints = paints
            self._draw_again()

    def _draw_again(self) -> None:
        paints = self._paints
        for name in _BODIES & self.layers.keys():
            for piece in self.layers[name]:
                piece.draw(
                    self._clear, None if paints is None else paints.get(piece.link, rgb255(_GREY))
                )

    def draw(
        self,
        layer: str,
        root: str,
        colour: Sequence[float] | None = None,
    ) -> list[Piece]:
        """The pieces of one of :data:`LAYERS`, made below the node ``root`` as described or in one
        colour.
        """
        pieces = []
        clear = self._clear and layer in _BODIES and colour is None
        for row, shape, described in readable(self.shapes(layer)):
            soft = rounded(shape) if layer in _BODIES else None
            parts = described if soft is None else [soft]
            for k, part in enumerate(parts):
                self._reach(shape.link, part)
                name = f"{root}/{self._nodes[shape.link]}/{layer}_{row}_{k}"
                chosen = colour or self._looks.painted.get(shape.link)
                if shape.kind == "mesh" and layer == "visuals" and chosen is None:
                    own = own_colour(part)
                else:
                    own = None
                if own == "image":
                    handle = self._scene.add_glb(name, _glb(part, clear))
                    pieces.append(Piece(shape.link, handle, part=part, drawn=(clear, None)))
                    continue
                # a mesh's own materials come first, as in RViz
                r, g, b, alpha = (
                    chosen
                    or own
                    or shape.colour
                    or (_COLLISION if layer == "collisions" else _GREY)
                )
                handle = self._scene.add_mesh_simple(
                    name,
                    np.asarray(part.vertices, dtype=np.float32),
                    np.asarray(part.faces, dtype=np.uint32),
                    color=rgb255((r, g, b)),
                    flat_shading=shape.kind == "mesh" or (shape.kind == "box" and soft is None),
                    # shadows on the robot itself would hide what lies in them
                    receive_shadow=False,
                )
                pieces.append(Piece(shape.link, handle, alpha, rgb255((r, g, b))))
                pieces[-1].draw(clear)
        return pieces

    def _reach(self, link: str, part: Trimesh) -> None:
        points = np.concatenate([part.bounds, self.corners.get(link, part.bounds)])
        box = np.meshgrid(*np.stack([points.min(0), points.max(0)], axis=1))
        self.corners[link] = np.stack(box, axis=-1).reshape(8, 3)

    def handles(self) -> list[tuple[str, MeshHandle]]:
        """(link, handle) of every piece of geometry shown, for callbacks."""
        return [
            (piece.link, piece.handle)
            for piece in itertools.chain.from_iterable(self.layers.values())
        ]


def readable(shapes: tuple[Shape, ...]) -> list[tuple[int, Shape, list[Trimesh]]]:
    """Row, shape and triangles of the shapes that can be drawn; one warning for those that
    cannot.
    """
    rows = []
    lost = []
    for row, shape in enumerate(shapes):
        try:
            rows.append((row, shape, triangles(shape)))
        except MeshError as error:
            lost.append(str(error))
    if lost:
        text = f"{len(lost)} meshes cannot be read and are not drawn: {lost[0]}"
        warnings.warn(ModelWarning(text, lost), stacklevel=level_of_caller())
    return rows


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
        if hasattr(material, "to_pbr"):
            material = material.to_pbr()
        else:
            material = material
        if paint is None:
            colour = [shade, shade, shade]
        else:
            colour = [channel / 255 for channel in paint]
        # as the file's colours are
        linear = [channel**2.2 for channel in colour]
        material.baseColorFactor = [round(255 * x) for x in (*linear, _CLEAR if clear else 1)]
        material.alphaMode = "BLEND" if clear else "OPAQUE"
        part.visual.material = material
    return bytes(part.export(file_type="glb"))


def equivalent(link: str, inertia: Inertia, kind: str = "ellipsoid") -> Shape:
    """The solid of uniform density that has this inertia: an ``"ellipsoid"``, a² = 5/(2m) (I₂ + I₃
    − I₁), or a ``"box"``, edge² = 6/m (I₂ + I₃ − I₁).
    """
    moments, axes = np.linalg.eigh(inertia.rotational)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    squares = (6.0 if kind == "box" else 2.5) * (moments.sum() - 2.0 * moments) / inertia.mass
    # a point mass or a rod has no thickness; something has to be seen
    squares = np.maximum(squares, 2.5e-6 + 1e-3 * squares.max(initial=0.0))
    return Shape(link, kind, tuple(np.sqrt(squares).tolist()), Pose(axes, inertia.com), PAPER)


def inertia_shapes(model: RobotModel, kind: str) -> tuple[Shape, ...]:
    """Shapes that show the mass properties of every link that has any: see :func:`equivalent`."""
    return tuple(
        equivalent(k.name, k.inertia, kind)
        for k in map(model.link, model.link_names)
        if k.inertia.mass > 0.0
    )


# m: shorter ones are rounding; and the length that is drawn where a description has none
_NO_LENGTH_M = 1e-6
_DRAWN_LENGTH_M = 0.3


def skeleton(model: RobotModel) -> tuple[Shape, ...]:
    """For a robot without geometry: capsules from joint to joint (or to the centre of mass, where
    no joint follows) and a cylinder about the axis of each moving joint.
    """
    links = link_tree(model)
    lengths = [float(np.linalg.norm(joint.origin.position)) for joint in model.description.joints]
    lengths += [float(np.linalg.norm(link.inertia.com)) for link in model.description.links]
    size = sum(sorted(lengths)[len(lengths) // 2 :]) / max(len(lengths) - len(lengths) // 2, 1)
    if size < _NO_LENGTH_M:
        size = _DRAWN_LENGTH_M
    thick = 0.06 * size
    shapes = []
    for number, (name, ends) in enumerate(zip(model.link_names, link_ends(model), strict=True)):
        for end in ends:
            length = float(np.linalg.norm(end))
            if length > _NO_LENGTH_M:
                shapes.append(
                    Shape(
                        name, "capsule", (thick, length), Pose(_rotation_to(end), 0.5 * end), _BAR
                    )
                )
        if number:
            joint = model.joint(links.joint_of[number])
        else:
            joint = None
        if joint is not None and joint.type in (
            JointType.REVOLUTE,
            JointType.CONTINUOUS,
            JointType.PRISMATIC,
        ):
            pose = Pose(_rotation_to(joint.axis), np.zeros(3))
            shapes.append(Shape(name, "cylinder", (1.5 * thick, 3.6 * thick), pose, _BARREL))
    return tuple(shapes)


def _rotation_to(direction: Array) -> Array:
    """(3, 3) a rotation that takes z to ``direction``."""
    z = np.asarray(direction) / np.linalg.norm(direction)
    x = np.cross((0.0, 1.0, 0.0) if abs(z[1]) < 0.9 else (1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
