"""One ``geometry_msgs/WrenchStamped`` topic that costs nothing while nobody listens."""

from __future__ import annotations

import math

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE

__all__ = ["WrenchPublisher"]


class WrenchPublisher:
    """Publishes wrenches of one frame.

    Args:
        node: the node.
        topic: its name.
        frame: ``header.frame_id``.

    Attributes:
        wanted: whether somebody listens; brought up to date by :meth:`look_for_listeners`.
    """

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        self._node = node
        self._publisher = node.create_publisher(WrenchStamped, topic, STATE, event_callbacks=QUIET_PUBLISHER)
        message = WrenchStamped()
        message.header.frame_id = frame
        numbers = marks(6)
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = numbers
        self._template = Template(message, numbers)
        self.wanted = False

    def look_for_listeners(self) -> None:
        """To be called a few times a second: asking the middleware costs more than a cycle should spend."""
        self.wanted = self._publisher.get_subscription_count() > 0

    def publish(self, wrench: Array, stamp: int) -> None:
        """Publish (6,) [moment; force] of the time ``stamp``, ns, if somebody listens; never one that is not finite."""
        if not self.wanted or not math.isfinite(wrench.dot(wrench)):
            return
        (numbers,) = self._template.blocks
        numbers[:3] = wrench[3:]
        numbers[3:] = wrench[:3]
        self._template.stamp(stamp)
        self._publisher.publish(self._template.bytes())

    def destroy(self) -> None:
        """Take the publisher down."""
        self._node.destroy_publisher(self._publisher)
