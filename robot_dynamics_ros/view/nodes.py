"""A robot in a viser scene: nodes made once, moved with every state."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.errors import ModelWarning
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.geometry import Looks, Shape
from robot_dynamics_ros.model.meshes import MeshError, triangles
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.arrows import Arrows, ArrowScale, noise_of, robot_size
from robot_dynamics_ros.view.colours import EXTERNAL, FORCE, GHOST, MOMENT, PARTS, by_speed, rgb255
from robot_dynamics_ros.view.motion import Paths
from robot_dynamics_ros.view.shapes import inertia_shapes, skeleton
from robot_dynamics_ros.view.window import FIELD_OF_VIEW

__all__ = ["LAYERS", "RobotNodes"]

LAYERS = ("visuals", "collisions", "skeleton", "ellipsoids", "boxes")
"""Kinds of geometry that can be shown."""

_GREY = (0.70, 0.72, 0.75, 1.0)
_COLLISION = (0.95, 0.55, 0.20, 0.45)


@dataclass(frozen=True)
class _Layer:
    handles: tuple[Any, ...]


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
        self, scene: Any, model: RobotModel, looks: Looks, root: str = "/robot", offset: Any = (0.0, 0.0, 0.0)
    ) -> None:
        self.scene, self.model, self.looks, self.root = scene, model, looks, root
        self.size = robot_size(model)
        self.offset = np.asarray(offset, dtype=float)
        self._noise = noise_of(model)
        self._tree = link_tree(model)
        self._layers: dict[str, _Layer] = {}
        self._arrows: dict[str, Any] = {}
        self._ghost: list[Any] | None = None
        self._marks: dict[str, Any] = {}
        scene.add_frame(root, show_axes=False, position=tuple(self.offset))
        self.links = [
            scene.add_frame(
                f"{root}/{_node(name)}",
                show_axes=False,
                axes_length=0.12 * self.size,
                axes_radius=0.005 * self.size,
                origin_radius=0.008 * self.size,
            )
            for name in model.link_names
        ]
        self.poses: Array = np.asarray(link_poses(model, model.initial_configuration()))
        self._placed = np.full_like(self.poses, np.inf)  # as the page has them: what does not move is not sent again
        self.default_layers = ("visuals",) if looks.visuals else ("skeleton", "ellipsoids")
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
            self._layers[name] = _Layer(tuple(self._draw(name, self.shapes(name), self.root)))
        for handle in self._layers[name].handles:
            handle.visible = shown

    def _draw(self, layer: str, shapes: tuple[Shape, ...], root: str, colour: Any = None) -> list[Any]:
        handles = []
        lost = []
        for number, shape in enumerate(shapes):
            try:
                parts = triangles(shape)
            except MeshError as error:
                lost.append(str(error))
                continue
            given = colour or shape.colour or (_COLLISION if layer == "collisions" else None)
            for k, part in enumerate(parts):
                name = f"{root}/{_node(shape.link)}/{layer}_{number}_{k}"
                own = shape.kind == "mesh" and given is None and part.visual.kind in ("vertex", "face", "texture")
                if own:
                    handles.append(self.scene.add_mesh_trimesh(name, part))
                    continue
                r, g, b, alpha = given or _GREY
                handles.append(
                    self.scene.add_mesh_simple(
                        name,
                        np.asarray(part.vertices, dtype=np.float32),
                        np.asarray(part.faces, dtype=np.uint32),
                        color=rgb255((r, g, b)),
                        opacity=None if alpha >= 1.0 else alpha,
                        flat_shading=shape.kind in ("box", "mesh"),
                    )
                )
        if lost:
            warnings.warn(
                ModelWarning(f"{len(lost)} meshes cannot be read and are not drawn: {lost[0]}", lost), stacklevel=2
            )
        return handles

    def bodies(self) -> list[tuple[str, Any]]:
        """(link, handle) of every piece of geometry shown, for callbacks."""
        shown = [handle for layer in self._layers.values() for handle in layer.handles]
        names = {_node(name): name for name in self.model.link_names}
        return [(names[handle.name.split("/")[-2]], handle) for handle in shown]

    # -- state ---------------------------------------------------------------------------------------------------

    def place(self, q: Any) -> None:
        """Put every link where it is at a configuration (nq,)."""
        self.poses = np.asarray(link_poses(self.model, q))
        moved = np.abs(self.poses - self._placed).max(axis=(1, 2)) > 1e-6 * min(self.size, 1.0)
        self._placed[moved] = self.poses[moved]
        _place([self.links[k] for k in np.flatnonzero(moved)], self.poses[moved])

    def ghost(self, q: Any | None) -> None:
        """Show a second, transparent robot at a configuration; ``None``, or the robot's own place, hides it."""
        poses = None if q is None else np.asarray(link_poses(self.model, q))
        # where the two coincide, one would only tint the other
        if poses is None or np.abs(poses[:, :3, 3] - self.poses[:, :3, 3]).max() < 0.004 * self.size:
            if self._ghost is not None:
                self._marks["ghost"].visible = False
            return
        if self._ghost is None:
            root = f"{self.root}_ghost"
            self._marks["ghost"] = self.scene.add_frame(root, show_axes=False, position=tuple(self.offset))
            self._ghost = [
                self.scene.add_frame(f"{root}/{_node(name)}", show_axes=False) for name in self.model.link_names
            ]
            for layer in self.default_layers[:1]:
                self._draw(layer, self.shapes(layer), root, GHOST)
        self._marks["ghost"].visible = True
        _place(self._ghost, poses)

    def view_point(self, poses: Any = None) -> tuple[Array, Array]:
        """Where a camera sees the whole robot from, and the middle of what it sees, m.

        Args:
            poses: (…, 4, 4) of links, all of which are to be seen; those where the robot is, if not given.
        """
        points = np.asarray(self.poses if poses is None else poses)[..., :3, 3].reshape(-1, 3)
        middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
        away = np.array([0.75, -0.95, 0.45])
        away /= np.linalg.norm(away)
        right = np.cross((0.0, 0.0, 1.0), away)
        right /= np.linalg.norm(right)
        # arrows and hands stick out of what the links' origins enclose
        margin = 0.12 * self.size
        across = np.abs((points - middle) @ np.column_stack([right, np.cross(away, right)])).max(axis=1) + margin
        distance = float((across / math.tan(0.5 * FIELD_OF_VIEW) + (points - middle) @ away).max())
        target = self.offset + middle
        return target + distance * away, target

    def frames(self, shown: bool) -> None:
        """Show or hide the frames of all links."""
        for handle in self.links:
            handle.show_axes = shown

    # -- wrenches ------------------------------------------------------------------------------------------------

    def wrenches(self, name: str, arrows: Arrows | None, scale: ArrowScale, forces: bool, moments: bool) -> None:
        """Show forces and moments as arrows; ``None`` hides them.

        Args:
            name: ``"joints"``, or ``"external"`` or ``"estimated"``: the same in other colours.
        """
        colours = {"joints": (FORCE, MOMENT)}.get(name, (EXTERNAL, (0.45, 0.05, 0.65)))
        for what, shown, length, noise, colour in (
            ("forces", forces, scale.force, self._noise[0], colours[0]),
            ("moments", moments, scale.moment, self._noise[1], colours[1]),
        ):
            segments = _none() if arrows is None or not shown else arrows.segments(what, length, noise)
            self.arrows(f"{name}_{what}", segments, colour)

    def balance(self, arrows: Arrows | None, scale: ArrowScale, what: str = "forces") -> None:
        """Show the parts of a wrench balance, each in its own colour; ``None`` hides them."""
        for k, (name, colour) in enumerate(PARTS.items()):
            segments = _none()
            if arrows is not None and name in arrows.names:
                segments = arrows.segments(what, getattr(scale, what[:-1]), self._noise[what == "moments"])
                segments = segments[arrows.names.index(name)][None]
            if len(segments) or f"part_{name}" in self._arrows:
                # side by side, so that parts along one line do not cover each other
                self.arrows(f"part_{name}", segments + 0.006 * self.size * (k - 4), colour)

    def arrows(self, name: str, segments: Array, colour: Any) -> None:
        """Show arrows (n, 2, 3) from start to end, m; those without length are left out."""
        segments = segments[np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1) > 1e-4 * self.size]
        handle = self._arrows.get(name)
        if handle is None:
            if not len(segments):
                return
            self._arrows[name] = self.scene.add_arrows(
                f"{self.root}/{name}",
                segments.astype(np.float32),
                rgb255(colour),
                shaft_radius=0.007 * self.size,
                head_radius=0.019 * self.size,
                head_length=0.045 * self.size,
            )
            return
        if len(segments):
            handle.points = segments.astype(np.float32)
        if handle.visible != bool(len(segments)):
            handle.visible = bool(len(segments))

    # -- marks ---------------------------------------------------------------------------------------------------

    def centres(self, shown: bool) -> None:
        """Show the centres of mass of the links (small) and of the robot (large) at the present configuration."""
        masses = np.array([self.model.link(name).inertia.mass for name in self.model.link_names])
        heavy = np.flatnonzero(masses > 0.0)
        if not heavy.size:
            return
        coms = np.array([self.model.link(self.model.link_names[k]).inertia.com for k in heavy])
        points = np.einsum("nij,nj->ni", self.poses[heavy, :3, :3], coms) + self.poses[heavy, :3, 3]
        robot = masses[heavy] @ points / masses[heavy].sum()
        if "centres" not in self._marks:
            if not shown:
                return
            self._marks["centres"] = self.scene.add_point_cloud(
                f"{self.root}/centres", points.astype(np.float32), (20, 20, 20), point_size=0.014 * self.size,
                point_shape="circle", precision="float32",
            )  # fmt: skip
            self._marks["centre"] = self.scene.add_icosphere(
                f"{self.root}/centre", radius=0.018 * self.size, color=(250, 200, 0)
            )
        for name in ("centres", "centre"):
            if self._marks[name].visible != shown:
                self._marks[name].visible = shown
        if shown:
            self._marks["centres"].points = points.astype(np.float32)
            self._marks["centre"].position = robot

    def axes(self, shown: bool) -> None:
        """Show the axis of every moving joint, the arc of its limits, and a hand at its position."""
        if "axes" not in self._marks:
            if not shown:
                return
            self._marks["axes"] = _Layer(tuple(self._axis_lines()))
        for handle in self._marks["axes"].handles:
            handle.visible = shown

    def _axis_lines(self) -> list[Any]:
        handles = []
        for name in self.model.moving_joint_names:
            joint = self.model.joint(name)
            if joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
                continue
            length, child = 0.12 * self.size, _node(joint.child)
            axis = joint.axis
            side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
            side /= np.linalg.norm(side)
            line = np.array([[-length * axis, length * axis]])
            handles.append(self._lines(f"{self.root}/{child}/axis", line, (230, 120, 20)))
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
                handles.append(self._lines(f"{self.root}/{child}/hand", hand, (20, 20, 20)))
            handles.append(
                self._lines(f"{self.root}/{_node(joint.parent)}/limits_{_node(name)}", limits @ R.T + p, (90, 160, 60))
            )
        return handles

    def _lines(self, name: str, segments: Array, colour: Any) -> Any:
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
        step = 10.0 ** math.floor(math.log10(self.size)) / 2.0
        self.scene.add_grid(
            f"{self.root}/ground", width=4.0 * self.size, height=4.0 * self.size, plane="xy", cell_size=step / 2.0,
            section_size=step * 2.0, position=(0.0, 0.0, height), cell_color=(210, 210, 210),
            section_color=(170, 170, 170),
        )  # fmt: skip


def _node(name: str) -> str:
    """A link's name as part of a node's; slashes would make levels of their own."""
    return name.replace("/", "∕")


def _none() -> Array:
    return np.empty((0, 2, 3))


def _place(handles: list[Any], poses: Array) -> None:
    if not handles:
        return
    quaternions = np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)
    for handle, pose, quaternion in zip(handles, poses, quaternions, strict=True):
        handle.wxyz = quaternion
        handle.position = pose[:3, 3]
