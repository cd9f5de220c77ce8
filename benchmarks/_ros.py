"""First steps of every benchmark with real nodes, and what the nodes tell about themselves."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any

__all__ = ["DiagnosticsListener", "add_parameters", "keep_to_this_machine", "ros_missing"]


def ros_missing() -> bool:
    """Whether ROS 2 is not installed; says that the benchmark is skipped then."""
    try:
        import rclpy  # noqa: F401
    except ImportError:
        print("skipped: ROS 2 is not installed")
        return True
    return False


def keep_to_this_machine() -> None:
    """Use a ROS domain of this process's own, unless the caller has chosen one, and talk to nobody
    elsewhere.
    """
    os.environ.setdefault("ROS_DOMAIN_ID", str(40 + os.getpid() % 60))
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")


def add_parameters(parser: argparse.ArgumentParser) -> None:
    """The option ``--set NAME:=VALUE``; it gives a list of pairs ("-p", "NAME:=VALUE") for the
    command line of a node.
    """
    parser.add_argument(
        "--set",
        action="append",
        type=lambda text: ("-p", text),
        default=[],
        metavar="NAME:=VALUE",
        help="a parameter of both nodes; may be repeated",
    )


class DiagnosticsListener:
    """The newest diagnostics of each node.

    Attributes:
        node: the node that listens; a benchmark may publish from it.
    """

    def __init__(self) -> None:
        import rclpy
        from diagnostic_msgs.msg import DiagnosticArray
        from rclpy.executors import SingleThreadedExecutor

        self._rclpy = rclpy
        rclpy.init(args=[])
        self.node = rclpy.create_node(
            "benchmark", enable_rosout=False, start_parameter_services=False
        )
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._values: dict[str, dict[str, str]] = {}
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_message, 10)

    def _on_message(self, message: Any) -> None:
        for status in message.status:
            values = {value.key: value.value for value in status.values}
            values["stamp"] = repr(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)
            self._values[status.name.split(":")[0].split("/")[-1]] = values

    def listen(self, seconds: float) -> None:
        """Take in what is told for that long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait_for(self, node: str, key: str, timeout: float) -> None:
        """Until the node has counted at least one ``key``."""
        deadline = time.monotonic() + timeout
        while float(self._values.get(node, {}).get(key, 0) or 0) < 1:
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"{node} tells no {key!r} within {timeout:g} s: {self._values.get(node)}"
                )
            self._executor.spin_once(timeout_sec=0.1)

    def newest(self, node: str) -> dict[str, str]:
        """Key → value as told last."""
        return dict(self._values[node])

    def close(self) -> None:
        """Take the node down."""
        self._executor.shutdown()
        self.node.destroy_node()
        self._rclpy.try_shutdown()
