"""The robots that come with the package."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.packages import path_of_address
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.model.urdf_source import split_arguments
from robot_dynamics_ros.resources import share_directory


def robot_path(name: str) -> Path:
    """Path of the URDF of a robot that comes with the package.

    Args:
        name: one of :func:`robot_names`, for example ``"six_axis"``.

    Raises:
        UnknownNameError: there is no such robot.
        RobotDynamicsError: the package was installed without its data files.
    """
    check_name("robot", name, robot_names())
    return share_directory() / "urdf" / f"{name}.urdf"


def find_robot(robot: str) -> tuple[Path, dict[str, str]]:
    """The robot file that a text names, and the xacro arguments that follow it.

    Args:
        robot: a path, a ``file://`` or ``package://`` address, or the name of a robot that comes
            with the package; arguments of a xacro file may follow: ``"arm.xacro tool:=gripper"``.

    Raises:
        ArgumentError: none of these.
        UrdfError: there is no such ROS package.
    """
    address, arguments = split_arguments(robot)
    try:
        path = path_of_address(address)
        if path.is_file():
            return path.resolve(), arguments
        exists = path.exists()
    # no path at all: too long, a null byte, no such user
    except (
        OSError,
        ValueError,
        RuntimeError,
    ):
        exists = False
    if address in robot_names():
        return robot_path(address), arguments
    if len(address) <= 100:
        shown = address
    else:
        shown = address[:100] + "…"
    near = difflib.get_close_matches(address, robot_names(), n=1)
    raise ArgumentError(
        f"{shown!r} is "
        f"{'no file' if exists else 'neither a file nor a robot that ships with the package'}",
        where="robot",
        remedy=f"Did you mean {near[0]!r}?"
        if near
        else f"Give a path to a URDF, xacro or MJCF file, or one of: {', '.join(robot_names())}.",
    )


def robot_names() -> tuple[str, ...]:
    """Names of the robots that come with the package, sorted.

    >>> import robot_dynamics_ros as rd
    >>> "six_axis" in rd.robot_names()
    True
    """
    return tuple(sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf")))


def load_robot(name: str, **options: Any) -> RobotModel:
    """Load a robot that comes with the package; ``options`` as for :func:`load_urdf`.

    Args:
        name: one of :func:`robot_names`.
        options: as :func:`load_urdf`.

    >>> import robot_dynamics_ros as rd
    >>> rd.load_robot("two_link").joint_names
    ('shoulder', 'elbow')
    """
    return load_urdf(robot_path(name), **options)
