"""Running a node as a process: executor, end, exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import rclpy
from rclpy.executors import Executor, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.stop_request import StopRequest
from robot_dynamics_ros.ros.transport.focused_executor import FocusedExecutor
from robot_dynamics_ros.ros.transport.paced_executor import PacedExecutor

__all__ = ["run"]


def _executor(name: str, node: Any) -> Executor:
    if name == "focused":
        return FocusedExecutor(node)
    if name == "paced":
        return PacedExecutor(node, node.parameters["rate"])
    executor: Executor
    if name == "events":
        try:
            from rclpy.experimental import EventsExecutor
        except ImportError:
            raise RobotDynamicsError(
                "this rclpy has no EventsExecutor",
                where="parameter 'executor'",
                got=name,
                remedy="Use 'single_threaded'.",
            ) from None
        executor = EventsExecutor()
    else:
        executor = SingleThreadedExecutor()
    executor.add_node(node)
    return executor


def run(make_node: Callable[[], Any], stop: StopRequest, args: Sequence[str] | None = None) -> int:
    """Make the node and spin it until it is asked to stop; returns the exit code.

    The node must have ``parameters["executor"]`` and ``finish()``, which is called while the middleware still works, so
    that a last message can go out; it must also wake the executor now and then with a timer, since a signal is seen
    only between two callbacks.
    """
    # rclpy's own handlers shut the middleware down at once, and the last command could not be sent any more
    rclpy.init(args=list(args) if args is not None else None, signal_handler_options=SignalHandlerOptions.NO)
    node = None
    try:
        if stop:
            return 0
        node = make_node()
        executor = _executor(node.parameters["executor"], node)
        while not stop:
            executor.spin_once()
        executor.remove_node(node)
        return 0
    except RobotDynamicsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    finally:
        try:
            if node is not None:
                node.finish()
                node.destroy_node()
        finally:
            rclpy.try_shutdown()
