"""The robots that come with the package."""

from __future__ import annotations

import difflib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
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
    except (OSError, ValueError, RuntimeError):
        # no path at all: too long, a null byte, no such user
        exists = False
    if address in robot_names():
        return robot_path(address), arguments
    shown = address if len(address) <= 100 else address[:100] + "…"
    is_not = "no file" if exists else "neither a file nor a robot that ships with the package"
    names = ", ".join(robot_names())
    remedy = f"Give a path to a URDF, xacro or MJCF file, or one of: {names}."
    near = difflib.get_close_matches(address, robot_names(), n=1)
    if near:
        remedy = f"Did you mean {near[0]!r}?"
    raise ArgumentError(f"{shown!r} is {is_not}", where="robot", remedy=remedy)


def robot_names() -> tuple[str, ...]:
    """Names of the robots that come with the package, sorted.

    >>> import robot_dynamics_ros as rd
    >>> "six_axis" in rd.robot_names()
    True
    """
    return tuple(sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf")))


def load_robot(name: str, **options: Any) -> RobotModel:
    """Load a robot that comes with the package, or with robot_descriptions where that is
    installed; ``options`` as for :func:`load_urdf`.

    Args:
        name: one of :func:`robot_names`, or a name of robot_descriptions, such as ``"panda"``.
        options: as :func:`load_urdf`.

    Raises:
        UnknownNameError: neither has such a robot.

    >>> import robot_dynamics_ros as rd
    >>> rd.load_robot("two_link").joint_names
    ('shoulder', 'elbow')
    """
    if name in robot_names():
        return load_urdf(robot_path(name), **options)
    path = described_elsewhere(name)
    if path is not None:
        return load_urdf(path, **options)
    raise _not_shipped(name)


def described_elsewhere(name: str) -> Path | None:
    """The URDF that the package robot_descriptions has of a robot, which it fetches the first time;
    ``None`` without that package, or without such a robot.
    """
    if not name.isidentifier() or find_spec("robot_descriptions") is None:
        return None
    module = f"robot_descriptions.{name.removesuffix('_description')}_description"
    if find_spec(module) is None:
        return None
    path = getattr(import_module(module), "URDF_PATH", None)
    return None if path is None else Path(path)


def _not_shipped(name: str) -> UnknownNameError:
    error = UnknownNameError("robot", name, robot_names())
    if find_spec("robot_descriptions") is not None:
        return error
    hint = "Of any other: rd.load_urdf(path), or pip install robot_descriptions"
    error.args = (f"{error.args[0]} {hint}.",)
    return error
