"""First steps of every benchmark with real nodes."""

from __future__ import annotations

import os

__all__ = ["keep_to_this_machine", "ros_missing"]


def ros_missing() -> bool:
    """Whether ROS 2 is not installed; says that the benchmark is skipped then."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print("skipped: ROS 2 is not installed")
        return True
    return False


def keep_to_this_machine() -> None:
    """Use a ROS domain of this process's own, unless the caller has chosen one, and talk to nobody elsewhere."""
    os.environ.setdefault("ROS_DOMAIN_ID", str(40 + os.getpid() % 60))
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
