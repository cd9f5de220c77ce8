"""A robot in a viser scene: nodes made once, moved with every state."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import ModelWarning
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.geometry import Looks, Shape
from robot_dynamics_ros.model.meshes import MeshError, own_colour, triangles
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, ArrowScale, nice_scale, noise_of, robot_size
from robot_dynamics_ros.view.colours import ESTIMATED, EXTERNAL, FORCE, GHOST, MOMENT, PARTS, by_speed, rgb255
from robot_dynamics_ros.view.loads import number
from robot_dynamics_ros.view.motion import Paths
from robot_dynamics_ros.view.shapes import inertia_shapes, skeleton
from robot_dynamics_ros.view.vectors import ARC, ARROW, Vectors, arc_bones, arrow_bones
from robot_dynamics_ros.view.window import FIELD_OF_VIEW

if TYPE_CHECKING:
    from trimesh import Trimesh
    from viser import LineSegmentsHandle, MeshHandle, SceneApi, SceneNodeHandle

__all__ = ["LAYERS", "VIEWS", "RobotNodes", "readable"]

LAYERS = ("visuals", "collisions", "skeleton", "ellipsoids", "boxes")
"""Kinds of geometry that can be shown."""

_GREY = (0.70, 0.72, 0.75, 1.0)
_COLLISION = (0.95, 0.55, 0.20, 0.45)
_BODIES = {"visuals", "skeleton"}
_CLEAR = 0.3  # opacity of bodies that let wrenches be seen
_AWAY, _RIGHT = np.array([0.62, -0.785, 0.0]), np.array([0.785, 0.62, 0.0])  # of the first camera, on the ground
VIEWS = {"fit": (0.62, -0.785, 0.37), "front": (1.0, 0.0, 0.0), "side": (0.0, -1.0, 0.0), "top": (0.0, -0.001, 1.0)}
"""Directions from a robot to a camera."""
_SHORTEST = 0.012  # of a vector that is drawn, in sizes of the robot


@dataclass(frozen=True, eq=False)
class _Piece:
    """A piece of geometry in the scene.

    Attributes:
        link: it belongs to.
        handle: of its node.
        opacity, colour: as described.
        part: the mesh, where it has a texture.
    """

    link: str
    handle: MeshHandle
    opacity: float = 1.0
    colour: tuple[int, int, int] | None = None
    part: Trimesh | None = None

    def clear(self, transparent: bool) -> None:
        """Draw it so that what is inside is seen, or as described."""
        if self.part is not None:
            self.handle.glb_data = _glb(self.part, transparent)
            return
        opacity = _CLEAR * self.opacity if transparent else self.opacity
        self.handle.opacity = None if opacity >= 1.0 else opacity


class RobotNodes:
    """One robot in a scene.

    Args:
        scene: ``viser.ViserServer().scene``, or a client's.
        model: the robot.
        looks: its geometry.
        root: name of its node, e.g. ``/robot``.
        offset: (3,) where its world stands in the scene, m, so that robots can stand side by side.
    """

    def __init__(
        self, scene: SceneApi, model: RobotModel, looks: Looks, root: str = "/robot", offset: Any = (0.0, 0.0, 0.0)
    ) -> None:
        self.scene, self.model, self.looks, self.root = scene, model, looks, root
        self.size = robot_size(model)
        self.offset = np.asarray(offset, dtype=float)
        self._noise = noise_of(model)
        self._tree = link_tree(model)
        self._layers: dict[str, list[_Piece]] = {}
        self._vectors: dict[str, Vectors] = {}
        self._ghost: list[Any] | None = None
        self._marks: dict[str, Any] = {}
        self._clear = False
        self._paints: dict[str, Any] | None = None
        self._legend: list[Array] = []  # points of it
        self._tips: dict[str, Array] = {}  # of arrows
        self._legend_of: tuple[ArrowScale, bool, bool] | None = None
        self._nodes = _node_names(model.link_names)
        self._corners: dict[str, Array] = {}  # link → (n, 3) corners of boxes about its geometry, in its frame
        scene.add_frame(root, show_axes=False, position=tuple(self.offset))
        self.links = [
            scene.add_frame(
                f"{root}/links/{self._nodes[name]}",
                show_axes=False,
                axes_length=0.12 * self.size,
                axes_radius=0.005 * self.size,
                origin_radius=0.008 * self.size,
            )
            for name in model.link_names
        ]
        self.poses: Array = np.asarray(link_poses(model, model.initial_configuration()))
        self._placed = np.full_like(self.poses, np.inf)  # as the page has them: what does not move is not sent again
        self.default_layers: tuple[str, ...] = ("visuals",)
        if not looks.visuals:  # an inertia that fits no body of this size would hide the robot
            fits = all(max(shape.size) < self.size for shape in self.shapes("ellipsoids"))
            self.default_layers = ("skeleton", "ellipsoids") if fits else ("skeleton",)
        for layer in self.default_layers:
            self.layer(layer, True)
        self.place(model.initial_configuration())

    # -- geometry ------------------------------------------------------------------------------------------------

    def shapes(self, layer: str) -> tuple[Shape, ...]:
        """The shapes of one of :data:`LAYERS`."""
        if layer == "visuals":
            return self.looks.visuals
        if layer == "collisions":
            return self.looks.collisions
        return (
            skeleton(self.model)
            if layer == "skeleton"
            else inertia_shapes(self.model, {"boxes": "box"}.get(layer, "ellipsoid"))
        )

    def layer(self, name: str, shown: bool) -> None:
        """Show or hide one of :data:`LAYERS`; it is made when it is first shown."""
        if name not in self._layers:
            if not shown:
                return
            self._layers[name] = self._draw(name, self.shapes(name), f"{self.root}/links")
            if self._clear and name in _BODIES:
                for piece in self._layers[name]:
                    piece.clear(True)
        for piece in self._layers[name]:
            piece.handle.visible = shown

    def clear(self, transparent: bool) -> None:
        """Draw the bodies so that what is inside them is seen, or as described."""
        if transparent == self._clear:
            return
        self._clear = transparent
        for name in _BODIES & self._layers.keys():
            for piece in self._layers[name]:
                piece.clear(transparent)

    def tint(self, shares: Mapping[str, float] | None) -> None:
        """Paint links by a share from 0 (dark) to 1 (bright), those without one grey; ``None``: as described."""
        paints = {} if shares is None else {link: _paint(share) for link, share in shares.items()}
        if paints == self._paints and (shares is None) == (self._paints is None):
            return
        self._paints = None if shares is None else paints
        for name in _BODIES & self._layers.keys():
            for piece in self._layers[name]:
                if piece.part is None:
                    colour = piece.colour if shares is None else paints.get(piece.link, rgb255(_GREY))
                    if tuple(piece.handle.color) != colour:
                        piece.handle.color = colour

    def _draw(
        self, layer: str, shapes: tuple[Shape, ...], root: str, colour: Sequence[float] | None = None
    ) -> list[_Piece]:
        pieces = []
        for row, shape, parts in readable(shapes):
            for k, part in enumerate(parts):
                self._reach(shape.link, part)
                name = f"{root}/{self._nodes[shape.link]}/{layer}_{row}_{k}"
                own = own_colour(part) if shape.kind == "mesh" and layer == "visuals" and colour is None else None
                if own == "image":
                    pieces.append(_Piece(shape.link, self.scene.add_mesh_trimesh(name, part), part=part))
                    continue
                # a mesh's own materials come first, as in RViz
                r, g, b, alpha = colour or own or shape.colour or (_COLLISION if layer == "collisions" else _GREY)
                handle = self.scene.add_mesh_simple(
                    name,
                    np.asarray(part.vertices, dtype=np.float32),
                    np.asarray(part.faces, dtype=np.uint32),
                    color=rgb255((r, g, b)),
                    opacity=None if alpha >= 1.0 else alpha,
                    flat_shading=shape.kind in ("box", "mesh"),
                )
                pieces.append(_Piece(shape.link, handle, alpha, rgb255((r, g, b))))
        return pieces

    def _reach(self, link: str, part: Trimesh) -> None:
        corners = np.stack(np.meshgrid(*np.asarray(part.bounds).T), axis=-1).reshape(8, 3)
        known = self._corners.get(link, corners)
        low, high = np.minimum(known, corners).min(axis=0), np.maximum(known, corners).max(axis=0)
        self._corners[link] = np.stack(np.meshgrid(*np.stack([low, high]).T), axis=-1).reshape(8, 3)

    def bodies(self) -> list[tuple[str, MeshHandle]]:
        """(link, handle) of every piece of geometry shown, for callbacks."""
        return [(piece.link, piece.handle) for layer in self._layers.values() for piece in layer]

    # -- state ---------------------------------------------------------------------------------------------------

    def place(self, q: Array) -> None:
        """Put every link where it is at a configuration (nq,)."""
        self.poses = np.asarray(link_poses(self.model, q))
        moved = np.abs(self.poses - self._placed).max(axis=(1, 2)) > 1e-6 * min(self.size, 1.0)
        self._placed[moved] = self.poses[moved]
        _place([self.links[k] for k in np.flatnonzero(moved)], self.poses[moved])

    def ghost(self, q: Array | None) -> None:
        """Show a second, transparent robot at a configuration; ``None``, or the robot's own place, hides it."""
        poses = None if q is None else np.asarray(link_poses(self.model, q))
        # where the two coincide, one would only tint the other
        if poses is None or np.abs(poses[:, :3, 3] - self.poses[:, :3, 3]).max() < 0.004 * self.size:
            if self._ghost is not None:
                self._marks["ghost"].visible = False
            return
        if self._ghost is None:
            root = f"{self.root}/ghost"
            self._marks["ghost"] = self.scene.add_frame(root, show_axes=False)
            self._ghost = [
                self.scene.add_frame(f"{root}/{self._nodes[name]}", show_axes=False) for name in self.model.link_names
            ]
            for layer in self.default_layers[:1]:
                self._draw(layer, self.shapes(layer), root, GHOST)
        self._marks["ghost"].visible = True
        _place(self._ghost, poses)

    def view_point(
        self, poses: Array | None = None, aspect: float = 1.3, away: Sequence[float] = VIEWS["fit"]
    ) -> tuple[Array, Array]:
        """Where a camera sees the whole robot from, and the middle of what it sees, m.

        Args:
            poses: (…, links, 4, 4), all of which are to be seen; those where the robot is, if not given.
            aspect: width of the picture to its height.
            away: direction from the robot to the camera, not upright.
        """
        poses = np.asarray(self.poses if poses is None else poses).reshape(-1, len(self.links), 4, 4)
        # wrenches stick out of the joints where they act
        reach = 0.12 * self.size * np.concatenate([np.eye(3), -np.eye(3)])
        points = [(poses[:, :, None, :3, 3] + reach).reshape(-1, 3)]
        for link, corners in self._corners.items():
            k = self.model.link_index(link)
            points.append((poses[:, k, None, :3, 3] + corners @ poses[:, k, :3, :3].transpose(0, 2, 1)).reshape(-1, 3))
        cloud = np.concatenate([*points, *self._tips.values(), np.reshape(self._legend, (-1, 3))])
        towards = np.asarray(away, dtype=float) / np.linalg.norm(away)
        right = np.cross((0.0, 0.0, 1.0), towards)
        right /= np.linalg.norm(right)
        axes = np.column_stack([right, np.cross(towards, right), towards])
        seen = cloud @ axes
        middle = axes @ (0.5 * (seen.min(axis=0) + seen.max(axis=0)))
        across, upward, depth = (seen - middle @ axes).T
        slope = math.tan(0.5 * FIELD_OF_VIEW)
        distance = 1.05 * float((np.maximum(np.abs(across) / aspect, np.abs(upward)) / slope + depth).max())
        target = self.offset + middle
        return target + distance * towards, target

    def frames(self, shown: bool) -> None:
        """Show or hide the frames of all links."""
        for handle in self.links:
            handle.show_axes = shown

    # -- wrenches ------------------------------------------------------------------------------------------------

    def wrenches(
        self, name: str, arrows: Arrows | None, scale: ArrowScale, forces: bool = True, moments: bool = True
    ) -> None:
        """Show forces as arrows and moments as arcs; ``None`` hides them.

        Args:
            name: ``"joints"``, or ``"external"`` or ``"estimated"``: the same in other colours.
        """
        force, moment = {"external": (EXTERNAL, EXTERNAL), "estimated": (ESTIMATED, ESTIMATED)}.get(
            name, (FORCE, MOMENT)
        )
        self.vectors(f"{name}_forces", arrows if forces else None, "forces", scale, force)
        self.vectors(f"{name}_moments", arrows if moments else None, "moments", scale, moment)

    def balance(self, arrows: Arrows | None, scale: ArrowScale, what: str = "forces") -> None:
        """Show the parts of a wrench balance, each in its own colour; ``None`` hides them."""
        if arrows is None and not any(name.startswith("part_") for name in self._vectors):
            return
        for k, (name, colour) in enumerate(PARTS.items()):
            part = None
            if arrows is not None and name in arrows.names:
                row = [arrows.names.index(name)]
                # side by side, so that parts along one line do not cover each other
                points = arrows.points[row] + 0.006 * self.size * (k - 4)
                part = Arrows((name,), points, arrows.forces[row], arrows.moments[row])
            for half in ("forces", "moments"):
                self.vectors(f"part_{name}_{half}", part if half == what else None, half, scale, colour)

    def vectors(self, name: str, arrows: Arrows | None, what: str, scale: ArrowScale, colour: Sequence[float]) -> None:
        """Show the ``"forces"`` or the ``"moments"`` of wrenches; those too short to be seen are left out."""
        moments = what == "moments"
        if arrows is None or not len(arrows.points):
            bones = None
        else:
            segments = arrows.segments(what, scale.moment if moments else scale.force, self._noise[moments])
            lengths = segments[:, 1] - segments[:, 0]
            seen = np.linalg.norm(lengths, axis=1) > _SHORTEST * self.size
            if not moments:
                self._tips[name] = segments[seen, 1]
            make, thickest = (arc_bones, 0.011) if moments else (arrow_bones, 0.010)
            bones = make(segments[seen, 0], lengths[seen], thickest * self.size)
        if name not in self._vectors:
            if bones is None or not len(bones):
                return
            node = f"{self.root}/wrenches/{name}"
            self._vectors[name] = Vectors(self.scene, node, ARC if moments else ARROW, colour)
        self._vectors[name].show(bones)

    def arrow(self, name: str, start: Array, end: Array, colour: Sequence[float]) -> None:
        """Show one arrow from (3,) to (3,), m; none if they coincide."""
        one = Arrows((name,), start[None], (end - start)[None], np.zeros((1, 3)))
        self.vectors(name, one, "forces", ArrowScale(1.0, 1.0), colour)

    def largest(self, arrows: Arrows | None, scale: ArrowScale, forces: bool = True, moments: bool = True) -> None:
        """Write the largest force and the largest moment beside their arrows, with the name of the joint."""
        for what, unit, shown, length, noise, along in (
            ("force", "N", forces, scale.force, self._noise[0], 1.0),
            ("moment", "N m", moments, scale.moment, self._noise[1], -0.58),
        ):
            vectors = np.zeros((1, 3)) if arrows is None or not len(arrows.names) else getattr(arrows, f"{what}s")
            sizes = np.linalg.norm(vectors, axis=1)
            k = int(sizes.argmax())
            mark = self._marks.get(f"largest_{what}")
            if arrows is None or not shown or sizes[k] <= noise:
                if mark is not None:
                    mark.visible = False
                continue
            if mark is None:
                mark = self._marks[f"largest_{what}"] = self.scene.add_label(
                    f"{self.root}/largest_{what}", "", anchor="bottom-center", font_size_mode="scene",
                    font_scene_height=0.03 * self.size,
                )  # fmt: skip
            text = f"{arrows.names[k]}: {number(sizes[k], unit)}"
            if mark.text != text:
                mark.text = text
            if not mark.visible:
                mark.visible = True
            tip = vectors[k] if what == "force" else np.array([0.0, 0.0, sizes[k]])
            mark.position = arrows.points[k] + along * length * tip

    def legend(self, scale: ArrowScale, forces: bool = True, moments: bool = True) -> None:
        """Show beside the robot how long a force and a moment of so much are drawn."""
        if (scale, forces, moments) == self._legend_of:
            return
        self._legend_of = (scale, forces, moments)
        z = float(self.poses[:, 2, 3].min())
        self._legend = []
        for k, (what, unit, shown, length, colour) in enumerate(
            (("force", "N", forces, scale.force, FORCE), ("moment", "N m", moments, scale.moment, MOMENT))
        ):
            value = nice_scale(0.2 * self.size, length)  # N or N m, and a length of 10 to 20 % of the robot
            vector = value * (_RIGHT if what == "force" else _AWAY)
            point = self.size * (0.36 * _AWAY + (0.38 * k - 0.38) * _RIGHT) + np.array([0.0, 0.0, z + 0.06 * self.size])
            middle = point + (0.5 * length * vector if what == "force" else 0.0)
            radius = 0.5 * length * value if what == "moment" else 0.0
            below = middle - (0.0, 0.0, radius + 0.03 * self.size)
            self._legend += [point, point + length * vector, below - (0.0, 0.0, 0.09 * self.size)]
            one = Arrows((what,), point[None], vector[None], vector[None])
            self.vectors(f"legend_{what}", one if shown else None, f"{what}s", scale, colour)
            label = self._marks.get(f"legend_{what}")
            if label is None:
                label = self._marks[f"legend_{what}"] = self.scene.add_label(
                    f"{self.root}/legend_{what}", "", anchor="top-center", font_size_mode="scene",
                    font_scene_height=0.035 * self.size,
                )  # fmt: skip
            text = f"{what} {value:g} {unit}"
            if (label.text, label.visible) != (text, shown):
                label.text, label.visible = text, shown
            label.position = below

    # -- marks ---------------------------------------------------------------------------------------------------

    def centres(self, shown: bool) -> None:
        """Show the centres of mass of the links (small) and of the robot (large) at the present configuration."""
        masses = np.array([self.model.link(name).inertia.mass for name in self.model.link_names])
        heavy = np.flatnonzero(masses > 0.0)
        if not heavy.size or (not shown and "centres" not in self._marks):
            return
        coms = np.array([self.model.link(self.model.link_names[k]).inertia.com for k in heavy])
        if "centres" not in self._marks:
            ball = self.scene.add_icosphere
            self._marks["centres"] = [
                ball(
                    f"{self.root}/links/{self._nodes[self.model.link_names[k]]}/centre", radius=0.007 * self.size,
                    subdivisions=1, color=(20, 20, 20), position=tuple(com), cast_shadow=False,
                )
                for k, com in zip(heavy, coms, strict=True)
            ]  # fmt: skip
            whole = ball(f"{self.root}/centre", radius=0.018 * self.size, color=(250, 200, 0), cast_shadow=False)
            self._marks["centres"].append(whole)
        for handle in self._marks["centres"]:
            if handle.visible != shown:
                handle.visible = shown
        if shown:
            points = np.einsum("nij,nj->ni", self.poses[heavy, :3, :3], coms) + self.poses[heavy, :3, 3]
            self._marks["centres"][-1].position = masses[heavy] @ points / masses[heavy].sum()

    def axes(self, shown: bool) -> None:
        """Show the axis of every moving joint, the arc of its limits, and a hand at its position."""
        if "axes" not in self._marks:
            if not shown:
                return
            self._marks["axes"] = self._axis_lines()
        for handle in self._marks["axes"]:
            handle.visible = shown

    def _axis_lines(self) -> list[LineSegmentsHandle]:
        handles = []
        for name in self.model.moving_joint_names:
            joint = self.model.joint(name)
            if joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
                continue
            length, child = 0.12 * self.size, self._nodes[joint.child]
            axis = joint.axis
            side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
            side /= np.linalg.norm(side)
            line = np.array([[-length * axis, length * axis]])
            handles.append(self._lines(f"{self.root}/links/{child}/axis", line, (230, 120, 20)))
            R, p = joint.origin.rotation, joint.origin.position
            lower, upper = joint.limits.lower, joint.limits.upper
            if joint.type is JointType.PRISMATIC:
                if not math.isfinite(lower + upper):
                    continue
                mark = 0.03 * self.size * side
                limits = np.array(
                    [[lower * axis, upper * axis], *([x * axis - mark, x * axis + mark] for x in (lower, upper))]
                )
            else:
                if joint.type is JointType.CONTINUOUS or not math.isfinite(lower + upper):
                    lower, upper = -math.pi, math.pi
                angles = np.linspace(max(lower, -math.pi), min(upper, math.pi), 33)
                other = np.cross(axis, side)
                arc = 0.8 * length * (np.outer(np.cos(angles), side) + np.outer(np.sin(angles), other))
                limits = np.concatenate(
                    [np.stack([arc[:-1], arc[1:]], axis=1), [[0.0 * side, arc[0]], [0.0 * side, arc[-1]]]]
                )
                hand = np.array([[0.0 * side, 0.8 * length * side]])
                handles.append(self._lines(f"{self.root}/links/{child}/hand", hand, (20, 20, 20)))
            node = f"{self.root}/links/{self._nodes[joint.parent]}/limits_{child}"
            handles.append(self._lines(node, limits @ R.T + p, (90, 160, 60)))
        return handles

    def _lines(self, name: str, segments: Array, colour: Sequence[int]) -> LineSegmentsHandle:
        return self.scene.add_line_segments(
            name, segments.astype(np.float32), np.array(colour, np.uint8), thickness=2.5, thickness_units="screen"
        )

    def paths(self, paths: Paths | None) -> None:
        """Show the paths of centres of mass, coloured by speed; ``None`` hides them."""
        if paths is None:
            if "paths" in self._marks:
                self._marks["paths"].visible = False
            return
        if "paths" not in self._marks and paths.points.shape[1] > 1:
            colours = by_speed(paths.speeds, float(paths.speeds.max(initial=0.0)))
            segments = np.stack([paths.points[:, :-1], paths.points[:, 1:]], axis=2).reshape(-1, 2, 3)
            ends = np.stack([colours[:, :-1], colours[:, 1:]], axis=2).reshape(-1, 2, 3)
            self._marks["paths"] = self.scene.add_line_segments(
                f"{self.root}/paths",
                segments.astype(np.float32),
                (255 * ends).astype(np.uint8),
                thickness=3.0,
                thickness_units="screen",
            )
        if "paths" in self._marks:
            self._marks["paths"].visible = True

    def ground(self, height: float = 0.0) -> None:
        """A grid on the ground under the robot."""
        cell = nice_scale(0.25 * self.size, 1.0)
        self.scene.add_grid(
            f"{self.root}/ground", width=12.0 * cell, height=12.0 * cell, plane="xy", cell_size=cell,
            section_size=4.0 * cell, position=(0.0, 0.0, height), cell_color=(215, 215, 215),
            section_color=(185, 185, 185),
        )  # fmt: skip


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


def _node_names(names: tuple[str, ...]) -> dict[str, str]:
    """Names of links as parts of nodes' names; slashes would make levels of their own.  No two are alike."""
    nodes: dict[str, str] = {}
    for name in names:
        node = name.replace("/", "∕")
        while node in nodes.values():
            node += "′"
        nodes[name] = node
    return nodes


def _paint(share: float) -> tuple[int, int, int]:
    """Colour of a share, in steps: a new one is sent only now and then."""
    return rgb255(by_speed(round(20.0 * share) / 20.0, 1.0)) if math.isfinite(share) else rgb255(_GREY)


def _glb(part: Trimesh, transparent: bool) -> bytes:
    """A mesh with a texture as a GLB file."""
    if transparent and part.visual.kind == "texture":
        part = part.copy()
        material = part.visual.material
        material = material.to_pbr() if hasattr(material, "to_pbr") else material
        material.baseColorFactor = [255, 255, 255, round(255 * _CLEAR)]
        material.alphaMode = "BLEND"
        part.visual.material = material
    return bytes(part.export(file_type="glb"))


def _place(handles: Sequence[SceneNodeHandle], poses: Array) -> None:
    if not handles:
        return
    quaternions = np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)
    for handle, pose, quaternion in zip(handles, poses, quaternions, strict=True):
        handle.wxyz = quaternion
        handle.position = pose[:3, 3]
