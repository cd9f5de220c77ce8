"""The robot's description: from a parameter, a file, or the topic that robot_state_publisher latches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.resources import urdf_names, urdf_path
from robot_dynamics_ros.ros.parameters import Param
from robot_dynamics_ros.ros.qos import LATCHED

__all__ = ["DESCRIPTION_PARAMETERS", "DescriptionSource", "read_description_file"]

DESCRIPTION_PARAMETERS = (
    Param("robot_description", "", "URDF of the robot as text.", read_only=True),
    Param(
        "robot_description_file",
        "",
        "URDF or xacro file of the robot, or the name of a robot that ships with this package.",
        read_only=True,
    ),
)


def read_description_file(name: str) -> str:
    """Text of a URDF or xacro file, or of a robot that ships with the package.

    Raises:
        ArgumentError: no such file, unreadable, or a xacro file that xacro cannot expand.
    """
    where = "robot_description_file"
    path = Path(name).expanduser()
    if not path.suffix and not path.exists() and name in urdf_names():
        path = urdf_path(name)
    if not path.is_file():
        raise ArgumentError(
            f"there is no file {str(path)!r}", where=where, got=name,
            remedy=f"Give a path, or one of the robots that ship with the package: {', '.join(urdf_names())}.",
        )
    if path.suffix == ".xacro" or path.name.endswith(".xacro.urdf"):
        return _expand_xacro(path)
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{str(path)!r} cannot be read: {error}", where=where, got=name) from None


def _expand_xacro(path: Path) -> str:
    try:
        import xacro
    except ImportError:
        raise ArgumentError(
            f"{str(path)!r} needs xacro, which is not installed", where="robot_description_file", got=str(path),
            remedy="Install xacro, or expand the file beforehand.",
        ) from None
    try:
        return xacro.process_file(str(path)).toxml()
    except Exception as error:  # xacro raises many kinds; all mean that the file cannot be expanded
        raise ArgumentError(
            f"xacro cannot expand {str(path)!r}: {error}", where="robot_description_file", got=str(path)
        ) from error


class DescriptionSource:
    """Finds the description and tells when another one arrives.

    Args:
        node: the node.
        parameters: values of :data:`DESCRIPTION_PARAMETERS`.
        changed: called with each new text from the topic; not called when parameters give the description.

    Attributes:
        text: the description, or ``""`` while none is known.
        origin: where it came from, for people.
    """

    def __init__(self, node: Node, parameters: Mapping[str, Any], changed: Callable[[str], None]) -> None:
        self.text = ""
        self.origin = "topic robot_description"
        self._changed = changed
        if parameters["robot_description"]:
            self.text, self.origin = parameters["robot_description"], "parameter robot_description"
        elif parameters["robot_description_file"]:
            name = parameters["robot_description_file"]
            self.text, self.origin = read_description_file(name), f"file {name}"
        else:
            node.create_subscription(String, "robot_description", self._on_message, LATCHED)

    def _on_message(self, message: String) -> None:
        if message.data != self.text:
            self.text = message.data
            self._changed(message.data)
