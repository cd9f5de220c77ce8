"""The geometry of a URDF: ``<visual>`` and ``<collision>`` elements as plain values, one per piece, in the frame of a link.

Dynamics needs none of this, so the model does not carry it; it is read from the text of the URDF, which the
description keeps.  Whatever is wrong with one element is a finding and costs that element only.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Pose
from robot_dynamics_ros.model.packages import path_of_address
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf_origin import numbers, pose_of_origin, urdf_version
from robot_dynamics_ros.model.urdf_source import UrdfInput, read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, Node, parse_xml

SHAPE_KINDS = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh")

_GEOMETRY: dict[str, Any] = {"box": {}, "cylinder": {}, "sphere": {}, "capsule": {}, "mesh": {}}
_PIECE: dict[str, Any] = {"origin": {}, "geometry": _GEOMETRY, "material": {"color": {}}}
SCHEMA = {"robot": {"material": {"color": {}}, "link": {"inertial": {}, "visual": _PIECE, "collision": _PIECE}}}
"""What :func:`~robot_dynamics_ros.model.xml_guard.parse_xml` keeps of a URDF's geometry."""
Colour = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One piece of geometry.

    Attributes:
        link: the link it is fixed to.
        kind: one of :data:`SHAPE_KINDS`.
        size: m; box: three edge lengths; sphere: radius; cylinder and capsule: radius, length along z (of the capsule
            between the centres of its ends); ellipsoid: three semi-axes; mesh: three scale factors.
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
    """

    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    findings: tuple[str, ...] = ()
    lost_meshes: tuple[str, ...] = ()


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
        urdf: text or path to read the geometry from; by default the text that the model was read from.  A model that
            was made or edited has none: give the original here.
        directory: where relative mesh addresses start; by default the folder of the URDF file.
        up_axis: turn COLLADA files so that the up axis which they state is z, as Gazebo does; RViz ignores it (source:
            ros2/rviz, rviz_rendering, assimp_loader.cpp sets ``AI_CONFIG_IMPORT_COLLADA_IGNORE_UP_DIRECTION``).

    Raises:
        UrdfError: ``urdf`` cannot be read.
    """
    text: bytes | str = model.description.source
    where = model.description.path
    if urdf is not None:
        text, where = read_source(urdf, max_bytes=MAX_BYTES)
    if not text:
        return Looks()
    if directory is None and where and Path(where).is_file():
        directory = Path(where).parent
    reader = _Reader(model, Path(directory) if directory is not None else None, up_axis)
    return reader.read(parse_xml(text, SCHEMA, source=where or "URDF text", max_bytes=MAX_BYTES))


class _Reader:
    def __init__(self, model: RobotModel, directory: Path | None, up_axis: bool) -> None:
        self.links = set(model.link_names)
        self.version = (1, 0)
        self.directory, self.up_axis = directory, up_axis
        self.materials: dict[str, Colour] = {}
        self.findings: list[str] = []
        self.lost_meshes: list[str] = []
        self.lost_collisions: list[str] = []

    def read(self, robot: Node) -> Looks:
        self.version = urdf_version(robot)
        links = [node for node in robot.children if node.tag == "link"]
        for node in robot.children:
            if node.tag == "material":
                self.material(node)
        pieces: dict[str, list[Shape]] = {"visual": [], "collision": []}
        for link in links:  # a material defined inside one link may be named by another, wherever that stands
            for piece in link.children:
                for node in piece.children:
                    if node.tag == "material":
                        self.material(node)
        for link in links:
            name = link.attributes.get("name", "")
            for piece in link.children if name in self.links else ():
                if piece.tag in pieces:
                    pieces[piece.tag] += self.shapes(name, piece)
        if self.lost_meshes:
            shown = ", ".join(self.lost_meshes[:5]) + (" …" if len(self.lost_meshes) > 5 else "")
            self.findings.append(f"{len(self.lost_meshes)} meshes were not found and are left out: {shown}")
        return Looks(
            tuple(pieces["visual"]), tuple(pieces["collision"]), tuple(self.findings), tuple(self.lost_collisions)
        )

    def material(self, node: Node) -> Colour | None:
        name = node.attributes.get("name", "")
        for child in node.children:
            try:
                r, g, b, a = numbers(child.attributes.get("rgba", ""), 4)
            except ValueError:
                self.findings.append(f"line {child.line}: the colour of material {name!r} is not four numbers")
                continue
            colour = (_unit(r), _unit(g), _unit(b), _unit(a))
            if name:
                self.materials.setdefault(name, colour)
            return colour
        return self.materials.get(name)

    def shapes(self, link: str, piece: Node) -> list[Shape]:
        pose, colour, shapes = Pose(), None, []
        try:
            for node in piece.children:
                if node.tag == "origin":
                    pose = pose_of_origin(node, self.version)
                elif node.tag == "material":
                    colour = self.material(node)
            for node in piece.children:
                if node.tag == "geometry":
                    lost = len(self.lost_meshes)
                    shapes += [s for s in (self.shape(link, pose, colour, g) for g in node.children) if s is not None]
                    if piece.tag == "collision":
                        self.lost_collisions += self.lost_meshes[lost:]
        except (KeyError, ValueError):
            self.findings.append(
                f"link {link!r}, line {piece.line}: a <{piece.tag}> that cannot be understood is left out"
            )
        return shapes

    def shape(self, link: str, pose: Pose, colour: Colour | None, node: Node) -> Shape | None:
        attributes, size = node.attributes, size_of(node)
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
        """The file of ``package://``, ``file://``, absolute and relative addresses; ``None`` where there is none."""
        address = address.strip()
        scheme = address.partition("://")[0] if "://" in address else ""
        if scheme not in ("", "file", "package"):
            return None  # nothing is ever fetched from a network
        try:
            path = path_of_address(address, self.directory)
        except RobotDynamicsError:
            return None
        return path if path.is_absolute() and path.is_file() else None


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
