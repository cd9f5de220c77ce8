"""Finding the robot that a person means."""

from __future__ import annotations

from pathlib import Path

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.library import robot_names, robot_path

__all__ = ["find_robot"]


def find_robot(name: str) -> Path:
    """The URDF file of a path, or of a robot that ships with the package.

    Raises:
        ArgumentError: neither.
    """
    path = Path(name).expanduser()
    if path.is_file():
        return path.resolve()
    if name in robot_names():
        return robot_path(name)
    raise ArgumentError(
        f"{name!r} is neither a file nor a robot that ships with the package",
        where="robot",
        got=name,
        remedy=f"Give a path to a URDF, or one of: {', '.join(robot_names())}.",
    )
