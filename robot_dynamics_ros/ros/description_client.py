"""The robot description that a running system publishes, for programs that need it once."""

from __future__ import annotations

import time

import rclpy
from rclpy.exceptions import InvalidTopicNameException
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.transport.qos import LATCHED


def wait_for_description(topic: str, timeout: float = 5.0) -> str:
    """Text of the description latched on ``topic``; an ArgumentError if no topic has such a name, or nothing came in s."""
    context = rclpy.Context()
    rclpy.init(context=context, args=[], signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = rclpy.create_node("robot_description_reader", context=context)
        received: list[str] = []

        def keep(message: String) -> None:
            received.append(message.data)

        try:
            node.create_subscription(String, topic, keep, LATCHED)
        except InvalidTopicNameException as error:
            problem = str(error).splitlines()[0].rstrip(":")
            remedy = "For example /left/robot_description; a file needs a name that does not end in /robot_description."
            raise ArgumentError(problem, where=f"topic {topic[:80]!r}", got=topic, remedy=remedy) from None
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        deadline = time.monotonic() + timeout
        while not received and time.monotonic() < deadline:
            executor.spin_once(timeout_sec=0.1)
        executor.remove_node(node)
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
    if not received:
        problem = f"no description came within {timeout:g} s"
        remedy = "Check that robot_state_publisher or the simulator runs in this ROS_DOMAIN_ID, or name a file."
        raise ArgumentError(problem, where=f"topic {topic!r}", got=topic, remedy=remedy)
    return received[-1]
