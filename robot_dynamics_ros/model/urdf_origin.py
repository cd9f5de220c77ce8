"""The ``<origin>`` of URDF: fixed-axis angles, and quaternions in descriptions that say version 1.1
or later.

A quaternion in an older description, or in one without a version, is not read: so does urdfdom
(from 6.0 on, which comes with ROS 2 Lyrical), and a description must not mean one robot here and
another one there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.model.description import Pose, rotation_of_quaternion
from robot_dynamics_ros.model.xml_guard import Node

# The newest version of URDF whose elements are known here.
NEWEST_VERSION = (1, 2)
_QUATERNIONS_SINCE = (1, 1)


def urdf_version(robot: Node) -> tuple[int, int]:
    """Major and minor number of ``<robot version="…">``; (1, 0) where there is none that can be
    read.
    """
    match = re.fullmatch(
        r"\s*([0-9]{1,4})\.([0-9]{1,4})\s*", robot.attributes.get("version", "1.0")
    )
    return (int(match[1]), int(match[2])) if match else (1, 0)


def numbers(text: str, count: int) -> tuple[float, ...]:
    """The numbers of an attribute; a ValueError if they are not so many, not numbers, or not
    finite.
    """
    values = tuple(float(x) for x in text.split())
    if len(values) != count or not all(math.isfinite(x) for x in values):
        raise ValueError(f"expected {count} finite numbers, got {text!r}")
    return values


def rotation_of_origin(attributes: Mapping[str, str], version: tuple[int, int]) -> Pose | None:
    """The rotation that ``quat_xyzw`` gives; ``None`` where there is none, or the version does not
    know it.

    A ValueError says that ``rpy`` is there too, or that these are not four numbers that make a
    rotation.
    """
    text = attributes.get("quat_xyzw")
    if text is None or version < _QUATERNIONS_SINCE:
        return None
    if "rpy" in attributes:
        raise ValueError("rpy and quat_xyzw are both given; give one of them")
    try:
        quaternion = np.array(numbers(text, 4))
    except ValueError:
        raise ValueError(
            f"quat_xyzw is {text!r}, expected four finite numbers: x, y, z, w"
        ) from None
    largest = np.abs(quaternion).max()
    if largest == 0.0:
        raise ValueError("quat_xyzw is zero, which is no rotation")
    # its length neither overflows nor vanishes
    return Pose(rotation_of_quaternion(quaternion / largest))


def pose_of_origin(node: Node, version: tuple[int, int]) -> Pose:
    """The pose that an ``<origin>`` gives; a ValueError if it cannot be understood."""
    xyz = numbers(node.attributes.get("xyz", "0 0 0"), 3)
    rotation = rotation_of_origin(node.attributes, version)
    if rotation is None:
        return Pose.from_rpy(xyz, numbers(node.attributes.get("rpy", "0 0 0"), 3))
    return Pose(rotation.rotation, np.array(xyz))
