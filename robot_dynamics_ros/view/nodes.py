"""A robot in a viser scene: nodes made once, moved with every state."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.dynamics import link_poses
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.geometry import Looks
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.paths import CenterOfMassPaths
from robot_dynamics_ros.view.arrows import (
    Arrows,
    ArrowScale,
    centres_of_mass,
    external_arrows,
    nice_scale,
    noise_of,
    robot_size,
)
from robot_dynamics_ros.view.bodies import Bodies
from robot_dynamics_ros.view.camera import VIEWS, camera_that_sees
from robot_dynamics_ros.view.colours import (
    ESTIMATED,
    EXTERNAL,
    FORCE,
    GHOST,
    MOMENT,
    PART_COLOURS,
    by_speed,
    rgb255,
)
from robot_dynamics_ros.view.legend import LINK_CENTRE, ROBOT_CENTRE
from robot_dynamics_ros.view.loads import number
from robot_dynamics_ros.view.source import Shown, ShownMotion
from robot_dynamics_ros.view.vectors import ARC, ARROW, Vectors, arc_bones, arrow_bones

if TYPE_CHECKING:
    from viser import SceneApi, SceneNodeHandle

# Axes of joints, where Python gives them no colour, 0 … 255.
_AXIS_COLOUR = (230, 120, 20)
# Direction from the first camera to its right, on the ground.
_RIGHT = np.array([0.785, 0.62, 0.0])
# and up in its picture
_UP = np.cross(VIEWS["fit"], _RIGHT) / np.linalg.norm(np.cross(VIEWS["fit"], _RIGHT))
# A vector that is shorter, in sizes of the robot, is not drawn.
_SHORTEST = 0.012
# Texts, in sizes of the robot: their height,
_TEXT_HEIGHT = 0.02
# their distance from the robot,
_TEXT_GAP = 0.06
# and the width of a letter, on average, since the page alone knows the font.
_LETTER_WIDTH = 0.0105
# Width over height below which a picture is a phone's: the camera stands farther away there, so
# texts are so many times as high, in two lines, which take no more width.
_TALL_ASPECT = 0.8
_TALL_TEXT = 1.7
# A robot that reaches further below its root, in sizes of the robot, stands on its lowest point.
_BELOW_ROOT = 0.05
# Of the line from a text to what it names: lighter than the text.
_LINE_COLOUR = (64, 68, 74)
# one joint may bear both the largest force and the largest moment
_LARGEST_LABELS = ("largest_first", "largest_second")


class RobotNodes:
    """One robot in a server's or a client's scene, below the node ``root``; its world stands at
    ``offset`` (3,) m.
    """

    def __init__(
        self,
        scene: SceneApi,
        model: RobotModel,
        looks: Looks,
        root: str = "/robot",
        offset: Sequence[float] | Array = (0.0, 0.0, 0.0),
    ) -> None:
        self.scene = scene
        self.model = model
        self.root = root
        self.size = robot_size(model)
        self.offset = np.asarray(offset, dtype=float)
        self._noise = noise_of(model)
        self._tree = link_tree(model)
        self._vectors: dict[str, Vectors] = {}
        self._ghost: list[SceneNodeHandle] = []
        self._marks: dict[str, list[Any]] = {}
        self._labels: dict[str, Any] = {}
        self._tall = False
        # arrows, scale and what is shown of the largest loads, as they were drawn last
        self._largest: tuple[Arrows | None, ArrowScale, bool, bool] | None = None
        # points that a camera has to see: of arrows and texts
        self._tips: dict[str, Array] = {}
        self._nodes = _node_names(model.link_names)
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
        # as the page has them: what does not move is not sent again
        self._placed = np.full_like(self.poses, np.inf)
        self.bodies = Bodies(scene, model, looks, f"{root}/links", self._nodes)
        self._joint_colours = looks.joints
        self._mark("axes in colours", bool(looks.joints), lambda: self._axes_of(looks.joints))
        cell = nice_scale(0.25 * self.size, 1.0)
        self.ground = scene.add_grid(
            f"{root}/ground",
            width=12.0 * cell,
            height=12.0 * cell,
            plane="xy",
            cell_size=cell,
            section_size=4.0 * cell,
            cell_color=(215, 215, 215),
            section_color=(185, 185, 185),
            position=(0.0, 0.0, self._ground_height()),
        )
        self.place(model.initial_configuration())

    def _ground_height(self) -> float:
        """0, or m below the root where legs or wheels are there in the initial configuration."""
        low = float(self._corners()[:, 2].min())
        return low if low < -_BELOW_ROOT * self.size else 0.0

    def _corners(self) -> Array:
        """(k, 3) m: origins of all links and corners of what is drawn of them, as they are now."""
        points = [self.poses[:, :3, 3]]
        for link, corners in self.bodies.corners.items():
            pose = self.poses[self.model.link_index(link)]
            points.append(corners @ pose[:3, :3].T + pose[:3, 3])
        return np.concatenate(points)

    def draw(self, shown: Shown, scale: ArrowScale, on: Callable[[str], bool]) -> None:
        """Show a state, and of forces, moments, external, estimated, centres, reference those that
        are ``on``.
        """
        forces = on("forces")
        moments = on("moments")
        self.place(shown.q)
        self.wrenches("joints", shown.wrenches, scale, forces, moments)
        self.largest(shown.wrenches, scale, forces, moments)
        for name, wrenches in (("external", shown.external), ("estimated", shown.estimated)):
            if wrenches and on(name):
                arrows = external_arrows(self.model, shown.q, wrenches)
            else:
                arrows = None
            self.wrenches(name, arrows, scale, True, moments)
        self.centres(on("centres"))
        self.ghost(shown.reference if on("reference") else None)

    def place(self, q: Array) -> None:
        """Put every link where it is at a configuration (nq,)."""
        self.poses = np.asarray(link_poses(self.model, q))
        moved = np.abs(self.poses - self._placed).max(axis=(1, 2)) > 1e-6 * min(self.size, 1.0)
        self._placed[moved] = self.poses[moved]
        _place([self.links[k] for k in np.flatnonzero(moved)], self.poses[moved])

    def ghost(self, q: Array | None) -> None:
        """Show a second, transparent robot at a configuration; ``None``, or the robot's own place,
        hides it.
        """
        if q is None:
            poses = None
        else:
            poses = np.asarray(link_poses(self.model, q))
        # where the two coincide, one would only tint the other
        apart = (
            poses is not None
            and np.abs(poses[:, :3, 3] - self.poses[:, :3, 3]).max() >= 0.004 * self.size
        )
        self._mark("ghost", bool(apart), self._make_ghost)
        if poses is not None and apart:
            _place(self._ghost, poses)

    def _make_ghost(self) -> list[SceneNodeHandle]:
        root = f"{self.root}/ghost"
        whole = self.scene.add_frame(root, show_axes=False)
        self._ghost = [
            self.scene.add_frame(f"{root}/{self._nodes[name]}", show_axes=False)
            for name in self.model.link_names
        ]
        self.bodies.draw(self.bodies.default_layers[0], root, GHOST)
        return [whole]

    def _mark(self, name: str, shown: bool, make: Callable[[], Sequence[Any]]) -> list[Any]:
        """Show or hide what is made when it is first shown; its handles."""
        if shown and name not in self._marks:
            self._marks[name] = list(make())
        handles = self._marks.get(name, [])
        for handle in handles:
            handle.visible = shown
        return handles

    def view_point(
        self,
        motion: ShownMotion | None = None,
        aspect: float = 1.3,
        away: Sequence[float] = VIEWS["fit"],
    ) -> tuple[Array, Array]:
        """Where a camera sees the whole robot with its arrows from, and the middle of what it sees,
        m: in all of a motion, or where the robot is now; see :func:`camera_that_sees`.
        """
        self._write_for(aspect)
        poses = self.poses[None]
        tips = [*self._tips.values()]
        if motion is not None:
            rows = motion.some_rows(50)
            poses = np.asarray(link_poses(self.model, motion.q[rows]))
            starts = poses[:, [self._tree.link_of[name] for name in self.model.joint_names], :3][
                ..., 3
            ]
            tips.append(
                (starts + motion.scale.force * motion.wrench_table(rows)[..., 3:]).reshape(-1, 3)
            )
        # arcs and numbers stand about the joints
        reach = 0.07 * self.size * np.concatenate([np.eye(3), -np.eye(3)])
        points = [(poses[:, :, None, :3, 3] + reach).reshape(-1, 3)]
        for link, corners in self.bodies.corners.items():
            k = self.model.link_index(link)
            points.append(
                (
                    poses[:, k, None, :3, 3] + corners @ poses[:, k, :3, :3].transpose(0, 2, 1)
                ).reshape(-1, 3)
            )
        position, target = camera_that_sees(np.concatenate([*points, *tips]), away, aspect)
        return self.offset + position, self.offset + target

    def frames(self, shown: bool) -> None:
        """Show or hide the frames of all links, with their names."""
        for handle in self.links:
            handle.show_axes = shown
        self._mark(
            "frames",
            shown,
            lambda: [
                self.scene.add_label(
                    f"{self.root}/links/{self._nodes[name]}/name",
                    name,
                    font_size_mode="scene",
                    font_scene_height=0.022 * self.size,
                    anchor=anchor,
                )
                for name, anchor in zip(self.model.link_names, self._anchors(), strict=True)
            ],
        )

    def _anchors(self) -> list[str]:
        """Sides of the names of links: another one where a frame lies on that of the parent."""
        turns: list[int] = []
        for k, parent in enumerate(self._tree.parent):
            near = (
                k
                and np.linalg.norm(self.model.joint(self._tree.joint_of[k]).origin.position)
                < 0.03 * self.size
            )
            turns.append(turns[parent] + 1 if near else 0)
        return [
            ("top-left", "bottom-left", "top-right", "bottom-right")[turn % 4] for turn in turns
        ]

    def hide(self, link: str) -> None:
        """Hide one link more; ``""``: show all."""
        for name, handle in zip(self.model.link_names, self.links, strict=True):
            if not link or name == link:
                handle.visible = not link

    def wrenches(
        self,
        name: str,
        arrows: Arrows | None,
        scale: ArrowScale,
        forces: bool = True,
        moments: bool = True,
    ) -> None:
        """Show forces as arrows and moments as arcs, external and estimated ones in other colours;
        ``None`` hides them.
        """
        force, moment = {"external": [EXTERNAL] * 2, "estimated": [ESTIMATED] * 2}.get(
            name, [FORCE, MOMENT]
        )
        self.vectors(f"{name}_forces", arrows if forces else None, "forces", scale, force)
        self.vectors(f"{name}_moments", arrows if moments else None, "moments", scale, moment)

    def balance(
        self,
        arrows: Arrows | None,
        scale: ArrowScale,
        what: str = "forces",
    ) -> None:
        """Show the parts of a wrench balance, each in its own colour; ``None`` hides them."""
        if arrows is None and not any(name.startswith("part_") for name in self._vectors):
            return
        for k, (name, colour) in enumerate(PART_COLOURS.items()):
            part = None
            if arrows is not None and name in arrows.names:
                row = [arrows.names.index(name)]
                # side by side, so that parts along one line do not cover each other
                points = arrows.points[row] + 0.006 * self.size * (k - 4)
                part = Arrows((name,), points, arrows.forces[row], arrows.moments[row])
            for half in ("forces", "moments"):
                self.vectors(
                    f"part_{name}_{half}", part if half == what else None, half, scale, colour
                )

    def vectors(
        self,
        name: str,
        arrows: Arrows | None,
        what: str,
        scale: ArrowScale,
        colour: Sequence[float],
    ) -> None:
        """Show the ``"forces"`` or the ``"moments"`` of wrenches; those too short to be seen are
        left out.
        """
        moments = what == "moments"
        bones = None
        self._tips.pop(name, None)
        if arrows is not None and len(arrows.points):
            segments = arrows.segments(what, scale[moments], self._noise[moments])
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

    def largest(
        self,
        arrows: Arrows | None,
        scale: ArrowScale,
        forces: bool = True,
        moments: bool = True,
    ) -> None:
        """Write the largest force and the largest moment outside the robot, each with the name of
        its joint, and a line to it.
        """
        self._largest = arrows, scale, forces, moments
        texts: dict[int, list[str]] = {}
        halves = zip(
            ("forces", "moments"), ("N", "N m"), (forces, moments), self._noise, strict=True
        )
        for what, unit, shown, noise in halves:
            if arrows is None or not len(arrows.names) or not shown:
                continue
            sizes = np.linalg.norm(getattr(arrows, what), axis=1)
            k = int(sizes.argmax())
            if sizes[k] > noise:
                texts.setdefault(k, []).append(number(sizes[k], unit))
        places = self._outside(arrows, [*texts], scale.force if forces else 0.0)
        rows = zip_longest(texts.items(), places)
        for name, row in zip_longest(_LARGEST_LABELS, rows):
            if row is None:
                self._label(name)
                continue
            (k, words), (start, at, anchor) = row
            assert arrows is not None
            apart = "\n" if self._tall else ": "
            text = f"{arrows.names[k]}{apart}{', '.join(words)}"
            self._label(name, text, start, at, anchor)

    def _outside(
        self,
        arrows: Arrows | None,
        chosen: Sequence[int],
        force_scale: float,
    ) -> list[tuple[Array, Array, str]]:
        """For each of the arrows chosen: a point on it, a point for its text beside the robot as
        the first camera sees it, and the side of the text that is there.
        """
        if arrows is None or not chosen:
            return []
        across = self._corners() @ _RIGHT
        low = float(across.min())
        high = float(across.max())
        # half of the arrow is seen where its foot is inside the robot
        starts = {k: arrows.points[k] + 0.5 * force_scale * arrows.forces[k] for k in chosen}
        places: dict[int, tuple[Array, Array, str]] = {}
        heights: list[tuple[bool, float]] = []
        # from one text to the next, of two lines or one
        step = (3.0 if self._tall else 2.0) * self._text_height()
        # from the top down, so that no line crosses another one
        for k in sorted(chosen, key=lambda k: -float(starts[k][2])):
            start = starts[k]
            here = float(start @ _RIGHT)
            right = high - here <= here - low
            edge = (high if right else low) + (_TEXT_GAP if right else -_TEXT_GAP) * self.size
            at = start + (edge - here) * _RIGHT
            while any(side == right and abs(at @ _UP - height) < step for side, height in heights):
                at[2] -= step
            heights.append((right, float(at @ _UP)))
            places[k] = start, at, "center-left" if right else "center-right"
        return [places[k] for k in chosen]

    def _text_height(self) -> float:
        """m, of a line that names a load."""
        return _TEXT_HEIGHT * self.size * (_TALL_TEXT if self._tall else 1.0)

    def _write_for(self, aspect: float) -> None:
        """Write the largest loads for a picture of this width over height."""
        tall = aspect < _TALL_ASPECT
        if tall != self._tall:
            self._tall = tall
            if self._largest is not None:
                self.largest(*self._largest)

    def _label(
        self,
        name: str,
        text: str = "",
        start: Array | None = None,
        at: Array | None = None,
        anchor: str = "center-left",
    ) -> None:
        """Show a text at a point with a line from another one; without points hide it."""
        shown = start is not None and at is not None
        if shown and name not in self._labels:
            label = self.scene.add_label(
                f"{self.root}/{name}",
                "",
                font_size_mode="scene",
                font_scene_height=self._text_height(),
            )
            line = self.scene.add_line_segments(
                f"{self.root}/{name}_line",
                np.zeros((1, 2, 3), np.float32),
                _LINE_COLOUR,
                thickness=1.2,
                thickness_units="screen",
            )
            self._labels[name] = (label, line)
        if name not in self._labels:
            return
        label, line = self._labels[name]
        label.visible = shown
        line.visible = shown
        self._tips.pop(name, None)
        if start is None or at is None:
            return
        label.position = at
        label.text = text
        label.font_scene_height = self._text_height()
        label.anchor = anchor
        line.points = np.stack([start, at])[None].astype(np.float32)
        way = _RIGHT if anchor == "center-left" else -_RIGHT
        letters = max(map(len, text.split("\n")))
        end = at + _LETTER_WIDTH / _TEXT_HEIGHT * self._text_height() * letters * way
        self._tips[name] = np.stack([at, end])

    def centres(self, shown: bool) -> None:
        """Show the centres of mass of the links (small) and of the robot (large) at the present
        configuration.
        """
        bodies = {name: self.model.link(name).inertia for name in self.model.link_names}

        def balls() -> list[Any]:
            ball = self.scene.add_icosphere
            return [
                ball(
                    f"{self.root}/links/{self._nodes[name]}/centre",
                    radius=0.007 * self.size,
                    subdivisions=1,
                    color=rgb255(LINK_CENTRE),
                    position=tuple(body.com),
                    cast_shadow=False,
                )
                for name, body in bodies.items()
                if body.mass > 0.0
            ] + [
                ball(
                    f"{self.root}/centre",
                    radius=0.018 * self.size,
                    color=rgb255(ROBOT_CENTRE),
                    cast_shadow=False,
                )
            ]

        if self.model.total_mass > 0.0:
            handles = self._mark("centres", shown, balls)
            if shown:
                handles[-1].position = centres_of_mass(self.model, self.poses)[1]

    def axes(self, shown: bool) -> None:
        """Show the axis of every moving joint, the arc of its limits, and a hand at its position;
        joints with a colour of their own have them always.
        """
        others = [name for name in self.model.moving_joint_names if name not in self._joint_colours]
        self._mark("axes", shown, lambda: self._axes_of(others))

    def _axes_of(self, joints: Iterable[str]) -> list[SceneNodeHandle]:
        return list(itertools.chain.from_iterable(self._axis(name) for name in joints))

    def _axis(self, name: str) -> list[SceneNodeHandle]:
        """Lines of the axis of a joint that turns or slides, of its limits, and of a hand at its
        position.
        """
        joint = self.model.joint(name)
        if joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
            return []

        def lines(
            node: str,
            segments: ArrayLike,
            colour: tuple[int, int, int],
        ) -> SceneNodeHandle:
            return self.scene.add_line_segments(
                f"{self.root}/links/{node}",
                np.asarray(segments, np.float32),
                np.array(colour, np.uint8),
                thickness=2.5,
                thickness_units="screen",
            )

        length = 0.12 * self.size
        child = self._nodes[joint.child]
        axis = joint.axis
        side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        if name in self._joint_colours:
            colour = rgb255(self._joint_colours[name][:3])
        else:
            colour = _AXIS_COLOUR
        handles = [lines(f"{child}/axis", [[-length * axis, length * axis]], colour)]
        lower = joint.limits.lower
        upper = joint.limits.upper
        limited = math.isfinite(lower + upper)
        if joint.type is JointType.PRISMATIC:
            if not limited:
                return handles
            mark = 0.03 * self.size * side
            ends = [[x * axis - mark, x * axis + mark] for x in (lower, upper)]
            limits = np.array([[lower * axis, upper * axis], *ends])
        else:
            if joint.type is JointType.CONTINUOUS or not limited:
                lower = -math.pi
                upper = math.pi
            angles = np.linspace(max(lower, -math.pi), min(upper, math.pi), 33)
            arc = (
                0.8
                * length
                * (np.outer(np.cos(angles), side) + np.outer(np.sin(angles), np.cross(axis, side)))
            )
            spokes = [[np.zeros(3), arc[0]], [np.zeros(3), arc[-1]]]
            limits = np.concatenate([np.stack([arc[:-1], arc[1:]], axis=1), spokes])
            handles.append(
                lines(f"{child}/hand", [[np.zeros(3), 0.8 * length * side]], (20, 20, 20))
            )
        limits = limits @ joint.origin.rotation.T + joint.origin.position
        return [
            *handles,
            lines(f"{self._nodes[joint.parent]}/limits_{child}", limits, (90, 160, 60)),
        ]

    def paths(self, paths: CenterOfMassPaths | None) -> None:
        """Show the paths of centres of mass, coloured by speed; ``None`` hides them."""

        def lines() -> list[Any]:
            assert paths is not None
            colours = by_speed(paths.speed, float(paths.speed.max(initial=0.0)))
            segments, ends = (
                np.stack([table[:, :-1], table[:, 1:]], axis=2).reshape(-1, 2, 3)
                for table in (paths.position, colours)
            )
            return [
                self.scene.add_line_segments(
                    f"{self.root}/paths",
                    segments.astype(np.float32),
                    (255 * ends).astype(np.uint8),
                    thickness=3.0,
                    thickness_units="screen",
                )
            ]

        self._mark("paths", paths is not None, lines)


def _node_names(names: tuple[str, ...]) -> dict[str, str]:
    """Names of links as parts of nodes' names; slashes would make levels of their own.

    No two are alike.
    """
    nodes: dict[str, str] = {}
    for name in names:
        node = name.replace("/", "∕")
        while node in nodes.values():
            node += "′"
        nodes[name] = node
    return nodes


def _place(handles: Sequence[SceneNodeHandle], poses: Array) -> None:
    if not handles:
        return
    quaternions = np.roll(Rotation.from_matrix(poses[:, :3, :3]).as_quat(), 1, axis=1)
    for handle, pose, quaternion in zip(handles, poses, quaternions, strict=True):
        handle.wxyz = quaternion
        handle.position = pose[:3, 3]
