"""Is there a ROS 2 that nodes can run with?"""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from robot_dynamics_ros.errors import RobotDynamicsError


def need_ros(what: str) -> None:
    """See that nodes can run.

    Raises:
        RobotDynamicsError: ROS 2 is not installed, does not load, is mixed from two installations,
            or lacks the middleware that RMW_IMPLEMENTATION names.
    """
    found = find_spec("rclpy")
    if found is None:
        remedy = (
            "Install it as wheels with: pip install 'robot_dynamics_ros[ros]', or source a ROS 2 "
            "installation."
        )
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            remedy = (
                f"There are no wheels of it for {platform.system()} on {platform.machine()}: "
                "source a ROS 2 installation "
                "(Ubuntu has packages for arm64, too), or use a container."
            )
        raise RobotDynamicsError("ROS 2 is not installed", where=what, remedy=remedy)
    if wheel := _wheel("rclpy"):
        sourced = Path(found.origin or "").parent
        # with the libraries of the other one it loads or does not, by the order of a search path
        if sourced.resolve() != Path(str(wheel.locate_file("rclpy"))).resolve():
            raise RobotDynamicsError(
                f"two installations of ROS 2 mix: {sourced}, which PYTHONPATH names, and wheels "
                f"in {sys.prefix}",
                where=what,
                remedy="Start again where no ROS 2 is sourced (unset PYTHONPATH "
                "LD_LIBRARY_PATH), or in a Python environment "
                "without the wheels.",
            )
        middleware = os.environ.get("RMW_IMPLEMENTATION", "")
        # rclpy itself would end this process, and name no remedy
        if middleware and not _wheel(middleware):
            raise RobotDynamicsError(
                f"RMW_IMPLEMENTATION is {middleware}, which is not among the wheels of ROS 2 "
                "that are installed",
                where=what,
                remedy="Unset RMW_IMPLEMENTATION, or set it to rmw_fastrtps_cpp.",
            )
    try:
        import rclpy  # noqa: F401
    except ImportError as error:
        raise RobotDynamicsError(
            f"ROS 2 in {Path(found.origin or '').parent} does not load in Python "
            f"{platform.python_version()}: {error}",
            where=what,
            remedy="Use the Python that this ROS 2 was built for, with PyYAML and NumPy.",
        ) from error


def _wheel(package: str) -> Distribution | None:
    """The wheel of a package of ROS 2; None: it is not installed as one."""
    try:
        return distribution(f"ros-{package.replace('_', '-')}")
    except PackageNotFoundError:
        return None
