"""The geometry of a URDF: ``<visual>`` and ``<collision>`` elements as plain values, one per piece,
in the frame of a link; and mass properties from it, for links that have a shape and no
``<inertial>``.

Dynamics needs no geometry, so the model does not carry it; it is read from the text of the URDF,
which the description keeps.  Whatever is wrong with one element is a finding and costs that element
only.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, BackendError, RobotDynamicsError, check_name
from robot_dynamics_ros.model import shapes
from robot_dynamics_ros.model.description import Inertia, Pose, RobotDescription
from robot_dynamics_ros.model.packages import path_of_address
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf_origin import numbers, pose_of_origin, urdf_version
from robot_dynamics_ros.model.urdf_source import UrdfInput, read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, Node, parse_xml

SHAPE_KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh")

_GEOMETRY: dict[str, Any] = {"box": {}, "cylinder": {}, "sphere": {}, "capsule": {}, "mesh": {}}
_PIECE: dict[str, Any] = {"origin": {}, "geometry": _GEOMETRY, "material": {"color": {}}}
_GEOMETRY_SCHEMA = {
    "robot": {
        "material": {"color": {}},
        "link": {"inertial": {}, "visual": _PIECE, "collision": _PIECE},
    }
}
Colour = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One piece of geometry.

    Attributes:
        link: the link it is fixed to.
        kind: one of :data:`SHAPE_KINDS`.
        size: m; box: three edge lengths; sphere: radius; cylinder and capsule: radius, length along
            z (of the capsule between the centres of its ends); ellipsoid: three semi-axes; mesh:
            three scale factors.
        pose: of the shape in the link's frame.
        colour: red, green, blue, alpha in 0 … 1, or ``None`` where the description gives none.
        file: the mesh, where the kind is ``"mesh"``.
        up_axis: whether a COLLADA file is turned so that its own up axis is z.
    """

    link: str
    kind: str
    size: tuple[float, ...]
    pose: Pose = field(default_factory=Pose)
    colour: Colour | None = None
    file: Path | None = None
    up_axis: bool = False


@dataclass(frozen=True, eq=False)
class Looks:
    """The geometry of a robot.

    Attributes:
        visuals, collisions: shapes in the order of the text.
        findings: what could not be used and why, one sentence each.
        lost_meshes: addresses in ``<collision>`` elements at which there is no file.
        hidden: links that are not drawn.
        painted: link → red, green, blue and opacity, from 0 to 1, in place of its own colours.
        joints: joint → the same, of its axis, which is shown from the beginning.
    """

    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    findings: tuple[str, ...] = ()
    lost_meshes: tuple[str, ...] = ()
    hidden: frozenset[str] = frozenset()
    painted: Mapping[str, Colour] = field(default_factory=dict)
    joints: Mapping[str, Colour] = field(default_factory=dict)

    def dressed(
        self,
        model: RobotModel,
        hidden: Iterable[str] = (),
        colours: Mapping[str, Sequence[float]] | None = None,
        joints: Mapping[str, Sequence[float]] | None = None,
    ) -> Looks:
        """The same with links hidden, others in a colour, and the axes of joints in a colour.

        Args:
            model: the robot.
            hidden: links that are not drawn.
            colours: link → red, green, blue, and if wanted opacity, from 0 to 1.
            joints: joint → the same, of its axis, which is then shown from the beginning.

        Raises:
            UnknownNameError: no such link or joint.
            ArgumentError: no colour.
        """
        if isinstance(hidden, str):
            hidden = (hidden,)
        names = frozenset(hidden)
        painted = {**self.painted, **_checked_colours(colours, "colours")}
        axes = {**self.joints, **_checked_colours(joints, "joints")}
        for link in (*names, *painted):
            check_name("link", link, model.link_names, where="view")
        for joint in axes:
            check_name("joint", joint, model.moving_joint_names, where="view")
        return replace(self, hidden=self.hidden | names, painted=painted, joints=axes)


def _checked_colours(
    colours: Mapping[str, Sequence[float]] | None, where: str
) -> dict[str, Colour]:
    """Name → red, green, blue and opacity; an opacity that is left out is 1."""
    checked = {}
    for name, colour in dict(colours or {}).items():
        rgba = tuple(np.ravel(real_array_or_nan(colour)).tolist())
        good = len(rgba) in (3, 4) and all(0.0 <= x <= 1.0 for x in rgba)
        if not good:
            raise ArgumentError(
                f"expected three or four numbers from 0 to 1, got {colour!r}",
                where=f"{where}[{name!r}]",
                remedy="Red, green, blue, and if wanted opacity.",
            )
        red, green, blue, opacity = (*rgba, 1.0)[:4]
        checked[name] = (red, green, blue, opacity)
    return checked


def read_looks(
    model: RobotModel,
    urdf: UrdfInput | None = None,
    directory: str | os.PathLike[str] | None = None,
    *,
    up_axis: bool = False,
) -> Looks:
    """The visual and collision geometry of a robot.

    Args:
        model: the robot; geometry of links that it does not have is passed over.
        urdf: text or path to read the geometry from; by default the text that the model was read
            from.  A model that was made or edited has none: give the original here.
        directory: where relative mesh addresses start; by default the folder of the URDF file.
        up_axis: turn COLLADA files so that the up axis which they state is z, as Gazebo does; RViz
            ignores it (source: ros2/rviz, rviz_rendering, assimp_loader.cpp sets
            ``AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION``).

    Raises:
        UrdfError: ``urdf`` cannot be read.
    """
    text: bytes | str = model.description.source
    where = model.description.path
    if urdf is not None:
        text, where = read_source(urdf, max_bytes=MAX_BYTES)
    if not text:
        return Looks()
    reader = _GeometryReader(
        model, _folder_of(where) if directory is None else Path(directory), up_axis
    )
    return reader.read(
        parse_xml(text, _GEOMETRY_SCHEMA, source=where or "URDF text", max_bytes=MAX_BYTES)
    )


class _GeometryReader:
    def __init__(self, model: RobotModel, directory: Path | None, up_axis: bool) -> None:
        self.links = set(model.link_names)
        self.version = (1, 0)
        self.directory = directory
        self.up_axis = up_axis
        self.materials: dict[str, Colour] = {}
        self.findings: list[str] = []
        self.lost_meshes: list[str] = []
        self.lost_collisions: list[str] = []

    def read(self, robot: Node) -> Looks:
        self.version = urdf_version(robot)
        links = robot.all("link")
        pieces_of_links = itertools.chain.from_iterable(link.children for link in links)
        inside = itertools.chain.from_iterable(piece.all("material") for piece in pieces_of_links)
        # one link may name what another defines, wherever that stands
        for node in [
            *robot.all("material"),
            *inside,
        ]:
            self.material(node)
        pieces: dict[str, list[Shape]] = {"visual": [], "collision": []}
        for link in links:
            name = link.attributes.get("name", "")
            for piece in link.children if name in self.links else ():
                if piece.tag in pieces:
                    pieces[piece.tag] += self.shapes(name, piece)
        if self.lost_meshes:
            shown = ", ".join(self.lost_meshes[:5]) + (" …" if len(self.lost_meshes) > 5 else "")
            self.findings.append(
                f"{len(self.lost_meshes)} meshes were not found and are left out: {shown}"
            )
        return Looks(
            tuple(pieces["visual"]),
            tuple(pieces["collision"]),
            tuple(self.findings),
            tuple(self.lost_collisions),
        )

    def material(self, node: Node) -> Colour | None:
        """The colour of a ``<material>``: its own, or of the first material of that name; ``None``
        if it has neither.
        """
        name = node.attributes.get("name", "")
        for child in node.children:
            try:
                r, g, b, a = numbers(child.attributes.get("rgba", ""), 4)
            except ValueError:
                self.findings.append(
                    f"line {child.line}: the colour of material {name!r} is not four numbers"
                )
                continue
            colour = (_unit(r), _unit(g), _unit(b), _unit(a))
            if name:
                self.materials.setdefault(name, colour)
            return colour
        return self.materials.get(name)

    def shapes(self, link: str, piece: Node) -> list[Shape]:
        pose = Pose()
        colour = None
        found = list[Shape]()
        try:
            for node in piece.children:
                if node.tag == "origin":
                    pose = pose_of_origin(node, self.version)
                elif node.tag == "material":
                    colour = self.material(node)
            for node in piece.all("geometry"):
                lost = len(self.lost_meshes)
                found += [
                    s
                    for s in (self.shape(link, pose, colour, g) for g in node.children)
                    if s is not None
                ]
                if piece.tag == "collision":
                    self.lost_collisions += self.lost_meshes[lost:]
        except (KeyError, ValueError):
            self.findings.append(
                f"link {link!r}, line {piece.line}: a <{piece.tag}> that cannot be understood is "
                "left out"
            )
        return found

    def shape(
        self,
        link: str,
        pose: Pose,
        colour: Colour | None,
        node: Node,
    ) -> Shape | None:
        attributes = node.attributes
        size = size_of(node)
        if node.tag == "mesh":
            file = self.mesh_file(attributes["filename"])
            if file is None:
                self.lost_meshes.append(attributes["filename"])
                return None
            return Shape(link, "mesh", size, pose, colour, file, self.up_axis)
        if min(size) <= 0.0:
            raise ValueError
        return Shape(link, node.tag, size, pose, colour)

    def mesh_file(self, address: str) -> Path | None:
        """The file of ``package://``, ``file://``, absolute and relative addresses; ``None`` where
        there is none.
        """
        address = address.strip()
        if "://" in address:
            scheme = address.partition("://")[0]
        else:
            scheme = ""
        if scheme not in ("", "file", "package"):
            # nothing is ever fetched from a network
            return None
        try:
            path = path_of_address(address, self.directory)
        except RobotDynamicsError:
            return None
        if path.is_absolute() and path.is_file():
            return path
        return None


def size_of(shape: Node) -> tuple[float, ...]:
    """See :attr:`Shape.size`; a ValueError or KeyError where the element does not give it."""
    attributes = shape.attributes
    if shape.tag == "mesh":
        return numbers(attributes.get("scale", "1 1 1"), 3)
    if shape.tag == "box":
        return numbers(attributes["size"], 3)
    words = ("radius",) if shape.tag == "sphere" else ("radius", "length")
    return tuple(numbers(attributes[word], 1)[0] for word in words)


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def _folder_of(path: str) -> Path | None:
    """Where relative addresses in a URDF file start; ``None`` if it is no file."""
    if path and Path(path).is_file():
        return Path(path).parent
    return None


# -- mass properties -------------------------------------------------------------------------------

_SOLIDS: dict[str, Callable[..., Inertia]] = {
    "box": lambda *size, density: shapes.inertia_of_cuboid(size, density=density),
    "sphere": shapes.inertia_of_sphere,
    "cylinder": shapes.inertia_of_cylinder,
    "capsule": shapes.inertia_of_capsule,
}


def check_missing_inertia(policy: object, density: object) -> None:
    """Refuse what is no policy."""
    if policy not in ("keep", "from_geometry"):
        raise ArgumentError(
            "expected 'keep' or 'from_geometry'", where="missing_inertia", got=policy
        )
    usable = False
    if isinstance(density, (int, float)) and not isinstance(density, bool):
        usable = 0.0 < float(density) < float("inf")
    if policy == "from_geometry" and not usable:
        remedy = "2700 is solid aluminium; arms are hollow: about 1000 often comes close."
        raise ArgumentError(
            "expected a positive density in kg/m³", where="density", got=density, remedy=remedy
        )


def with_inertia_from_geometry(
    description: RobotDescription, density: float
) -> tuple[RobotDescription, list[str]]:
    """The description with mass for every link that has a shape and no ``<inertial>``, and a
    sentence for each, given mass or not.

    Collision geometry is taken, visual geometry where there is none.
    """
    where = description.path or "URDF text"
    robot = parse_xml(description.source, _GEOMETRY_SCHEMA, source=where, max_bytes=MAX_BYTES)
    directory = _folder_of(description.path)
    version = urdf_version(robot)
    inertias: dict[str, Inertia] = {}
    findings = []
    for link in robot.all("link"):
        name = link.attributes.get("name", "")
        pieces = link.all("collision") or link.all("visual")
        if link.all("inertial") or not pieces:
            continue
        try:
            inertias[name] = shapes.combined_inertia(
                [_body(piece, density, directory, version) for piece in pieces]
            )
        except (RobotDynamicsError, KeyError, ValueError) as error:
            if isinstance(error, BackendError):
                raise
            if isinstance(error, KeyError):
                problem = f"{type(error).__name__} {error}"
            else:
                problem = str(error)
            findings.append(
                f"link {name!r} keeps no mass: its geometry (line {link.line}) gives none: "
                f"{problem}"
            )
            continue
        kind = pieces[0].tag
        findings.append(
            f"link {name!r} has no <inertial>: {inertias[name].mass:.4g} kg from its {kind} "
            f"geometry at {density:g} kg/m³"
        )
    links = (
        replace(link, inertia=inertias.get(link.name, link.inertia)) for link in description.links
    )
    return replace(description, links=tuple(links)), findings


def _body(
    piece: Node,
    density: float,
    directory: Path | None,
    version: tuple[int, int],
) -> tuple[Inertia, Pose]:
    poses = [pose_of_origin(node, version) for node in piece.all("origin")]
    shapes = itertools.chain.from_iterable(node.children for node in piece.all("geometry"))
    bodies = [_solid(shape, density, directory) for shape in shapes]
    if not bodies:
        raise ValueError(f"line {piece.line}: no shape that is known")
    return bodies[-1], poses[-1] if poses else Pose()


def _solid(node: Node, density: float, directory: Path | None) -> Inertia:
    if node.tag == "mesh":
        path = path_of_address(node.attributes["filename"], directory)
        return shapes.inertia_of_mesh_file(path, scale=size_of(node), density=density)
    return _SOLIDS[node.tag](*size_of(node), density=density)
