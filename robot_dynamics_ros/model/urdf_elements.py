"""Elements of a URDF, checked as they are read; errors name the line.

Descriptions in the field carry meshes, sensors, simulator extensions and odd attributes, which are passed over.  Elements
and attributes nobody knows (a misspelt ``<inertial>``, say) are reported instead of vanishing.
"""

from __future__ import annotations

import difflib
import math
import re

import numpy as np

from robot_dynamics_ros.errors import UrdfError
from robot_dynamics_ros.model.description import Pose, rotation_of_quaternion
from robot_dynamics_ros.model.xml_guard import Node

# element → an example of all its attributes
_ATTRIBUTES = {
    "link": 'name="NAME"',
    "joint": 'name="NAME" type="revolute"',
    "frame": 'name="NAME" link="NAME" xyz="0 0 1" rpy="0 0 1"',  # as Drake has it
    "origin": 'xyz="0 0 1" rpy="0 0 1"',  # and quat_xyzw
    "mass": 'value="0.1"',
    "inertia": 'ixx="0.1" ixy="0.1" ixz="0.1" iyy="0.1" iyz="0.1" izz="0.1"',
    "parent": 'link="NAME"',
    "child": 'link="NAME"',
    "axis": 'xyz="0 0 1"',
    "limit": 'effort="1.5" velocity="1.5" lower="1.5" upper="1.5"',
    "dynamics": 'damping="0.1" friction="0.1"',
    "mimic": 'joint="NAME" multiplier="0.1" offset="0.1"',
    "coupling": 'joint="NAME" ratio="0.1" damping="0.1" friction="0.1" armature="0.1" width="0.1"',  # our own
}
_CHILDREN = {
    "robot": "link joint frame ros2_control transmission",
    "link": "inertial",
    "joint": "origin parent child axis limit dynamics mimic coupling",
    "inertial": "origin mass inertia",
}
# Elements that belong where they are and say nothing about dynamics.
_HARMLESS = {
    "robot": "material gazebo sensor group mujoco loop_joint self_collision_checking",
    "link": "visual collision contact self_collision_checking collision_checking self_filter sensor surface gravity kinematic "
    "material gazebo capsule audio",
    "joint": "safety_controller calibration hardwareInterface physics sensor gazebo",
}
_NO_LIMIT = 1e300
_QUATERNIONS_SINCE, _NEWEST_VERSION = (1, 1), (1, 2)


class Element:
    """An element whose values are read by attribute; what is odd becomes a sentence in ``findings``.

    Attributes:
        where: what errors call it, with its line; of an element in a link or joint with the ``owner``'s name.
    """

    def __init__(self, node: Node, findings: list[str], owner: str = "") -> None:
        self.node, self.findings = node, findings
        path = f"{owner} <{node.tag}>" if owner else f"{node.tag} {node.name!r}" if node.name else f"<{node.tag}>"
        self.owner = owner or path
        self.where = f"{path} (line {node.line})"
        attributes = re.findall(r'(\w+)="', _ATTRIBUTES.get(node.tag, ""))
        for name in node.attributes.keys() - attributes:
            if near := difflib.get_close_matches(name, attributes, n=1, cutoff=0.8):
                findings.append(f"{self.where}: attribute {name!r} is unknown and ignored; is {near[0]!r} meant?")
        known, harmless = (table.get(node.tag, "").split() for table in (_CHILDREN, _HARMLESS))
        for child in node.children:
            if child.tag.startswith("xacro:"):
                remedy = (
                    "Expand the file with `xacro FILE > robot.urdf`, or give load_urdf the path of the .xacro file."
                )
                raise UrdfError(f"<{child.tag}> is xacro, not URDF", where=f"{path} (line {child.line})", remedy=remedy)
            if child.tag not in (*known, *harmless) and ":" not in child.tag:
                near = difflib.get_close_matches(child.tag, known, n=1, cutoff=0.7)
                hint = f"; is <{near[0]}> meant?" if near else ""
                findings.append(f"{path} (line {child.line}): element <{child.tag}> is unknown and ignored{hint}")

    def child(self, tag: str) -> Element | None:
        """The first child of a name, ``None`` if there is none; urdfdom, and all that is built on it, asks for the first, too."""
        nodes = self.node.all(tag)
        for node in nodes[1:]:
            self.findings.append(
                f"{self.owner} <{tag}> (line {node.line}): a second <{tag}> is ignored; the first, on line {nodes[0].line}, counts"
            )
        return Element(nodes[0], self.findings, self.owner) if nodes else None

    def need(self, tag: str) -> Element:
        """The first child of a name; a UrdfError if there is none."""
        child = self.child(tag)
        if child is None:
            raise UrdfError(f"<{tag}> is missing", where=self.where, remedy=_example(tag))
        return child

    def _attribute(self, name: str, default: str | None = None) -> str:
        text = self.node.attributes.get(name, default)
        if text is None:
            raise UrdfError(f"attribute {name!r} is missing", where=self.where, remedy=_example(self.node.tag))
        return text

    def text(self, name: str) -> str:
        """An attribute that is not empty."""
        text = self._attribute(name)
        if not text.strip():
            raise UrdfError("it is empty", where=f"{self.where} {name}", got=text, remedy="Give a name.")
        return text

    def number(self, name: str, default: str | None = None, *, limit: bool = False) -> float:
        """A number as :func:`number_of` reads it."""
        return number_of(self._attribute(name, default), f"{self.where} {name}", limit=limit)

    def vector(self, name: str, default: str | None = None) -> list[float]:
        """Three finite numbers."""
        where, text = f"{self.where} {name}", self._attribute(name, default)
        if len(parts := text.split()) != 3:
            remedy = 'Separate them by spaces, as in "0 0 1".'
            raise UrdfError(f"expected three numbers, got {text!r}", where=where, remedy=remedy)
        return [number_of(part, where) for part in parts]

    def pose(self, version: tuple[int, int]) -> Pose:
        """The placement that an ``<origin>`` gives: fixed-axis angles, or a quaternion from version 1.1 on.

        A quaternion in an older description, or in one without a version, is not read: so does urdfdom (from 6.0 on, which
        comes with ROS 2 Lyrical), and a description must not mean one robot here and another one there.
        """
        xyz, rpy = self.vector("xyz", "0 0 0"), self.vector("rpy", "0 0 0")
        text = self.node.attributes.get("quat_xyzw")
        if text is not None and version < _QUATERNIONS_SINCE:
            problem = 'quat_xyzw is ignored, as other parsers do: it needs <robot version="1.1"> or later'
            self.findings.append(f"{self.where}: {problem}")
            text = None
        if text is None:
            return Pose.from_rpy(xyz, rpy)
        try:
            quaternion = np.array(numbers(text, 4))
            problem = "" if quaternion.any() else "quat_xyzw is zero, which is no rotation"
        except ValueError:
            problem = f"quat_xyzw is {text!r}, expected four finite numbers: x, y, z, w"
        if "rpy" in self.node.attributes:
            problem = "rpy and quat_xyzw are both given; give one of them"
        if problem:
            raise UrdfError(problem, where=self.where, got=text, remedy='No rotation is quat_xyzw="0 0 0 1".')
        scaled = quaternion / np.abs(quaternion).max()  # whose length neither overflows nor vanishes
        return Pose(rotation_of_quaternion(scaled), np.array(xyz))


def version_of(robot: Node, findings: list[str]) -> tuple[int, int]:
    """Major and minor number of ``<robot version="…">``; (1, 0) where there is none that can be read."""
    match = re.fullmatch(r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", robot.attributes.get("version", "1.0"))
    version = (int(match[1]), int(match[2])) if match else (1, 0)
    if version > _NEWEST_VERSION:
        newest = ".".join(map(str, _NEWEST_VERSION))
        said = robot.attributes["version"].strip()
        findings.append(f"the description says URDF {said}; {newest} is the newest known here")
    return version


def numbers(text: str, count: int) -> tuple[float, ...]:
    """The numbers of an attribute; a ValueError if they are not so many, not numbers, or not finite."""
    values = tuple(float(x) for x in text.split())
    if len(values) != count or not all(math.isfinite(x) for x in values):
        raise ValueError(f"expected {count} finite numbers, got {text!r}")
    return values


def number_of(text: str, where: str, *, limit: bool = False) -> float:
    """A finite number, as a ``limit`` also an infinite one, which 1e300 and more are; a UrdfError if it is none."""
    try:
        if "_" in text or not text.isascii():  # Python reads 1_000 and the digits of all alphabets
            raise ValueError
        number = float(text)
    except ValueError:
        remedy = "Write decimals with a point, and blanks between numbers." if "," in text else "Give a number."
        if not text.isascii():
            remedy = "Write it with the digits 0 to 9."
        if "${" in text or "$(" in text:
            remedy = "This is a xacro expression: expand the file with `xacro`, or load it as a .xacro file."
        raise UrdfError(f"{text!r} is not a number", where=where, remedy=remedy) from None
    if limit and abs(number) >= _NO_LIMIT:
        return math.copysign(math.inf, number)
    if not math.isfinite(number):
        raise UrdfError(f"{text!r} is not a finite number", where=where, remedy="Give a finite number.")
    return number


def _example(tag: str) -> str:
    return f"Write it like <{tag} {_ATTRIBUTES[tag]}/>."
