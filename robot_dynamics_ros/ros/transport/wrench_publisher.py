"""One ``geometry_msgs/WrenchStamped`` topic that costs nothing while nobody listens."""

from __future__ import annotations

import math

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import marks
from robot_dynamics_ros.ros.transport.outputs import TemplatePublisher


class WrenchPublisher(TemplatePublisher):
    """Publishes wrenches of one frame, which ``header.frame_id`` names."""

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        message = WrenchStamped()
        message.header.frame_id = frame
        numbers = marks(6)
        force, torque = message.wrench.force, message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = numbers
        super().__init__(node, topic, message, numbers)

    def publish(self, wrench: Array, stamp: int) -> None:
        """Publish (6,) [moment; force] of the time ``stamp``, ns, if somebody listens; never one that is not finite."""
        if not self.wanted or not math.isfinite(wrench.dot(wrench)):
            return
        (numbers,) = self.blocks
        numbers[:3] = wrench[3:]
        numbers[3:] = wrench[:3]
        self.send(stamp)
