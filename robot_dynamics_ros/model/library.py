"""The robots that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.resources import share_directory

__all__ = ["load_robot", "robot_names", "robot_path"]


def robot_path(name: str) -> Path:
    """Path of the URDF of a robot that comes with the package.

    Args:
        name: one of :func:`robot_names`, for example ``"six_axis"``.

    Raises:
        UnknownNameError: there is no such robot.
        RobotDynamicsError: the package was installed without its data files.
    """
    names = robot_names()
    if not isinstance(name, str) or name not in names:
        raise UnknownNameError("robot", name, names)
    return share_directory() / "urdf" / f"{name}.urdf"


def robot_names() -> tuple[str, ...]:
    """Names of the robots that come with the package, sorted.

    >>> "six_axis" in robot_names()
    True
    """
    return tuple(sorted(path.stem for path in (share_directory() / "urdf").glob("*.urdf")))


def load_robot(name: str, **options: Any) -> RobotModel:
    """Load a robot that comes with the package; ``options`` as for :func:`load_urdf`.

    >>> load_robot("two_link").joint_names
    ('shoulder', 'elbow')
    """
    return load_urdf(robot_path(name), **options)
