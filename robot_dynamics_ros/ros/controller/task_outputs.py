"""Topics about the tool: its pose, twist and error."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport import topics
from robot_dynamics_ros.ros.transport.cdr import marks


class TwistTopic(topics.TemplatePublisher):
    """Publishes (6,) [angular; linear] as a message that has the linear part first."""

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        message = TwistStamped()
        message.header.frame_id = frame
        numbers = marks(6)
        linear = message.twist.linear
        angular = message.twist.angular
        linear.x, linear.y, linear.z, angular.x, angular.y, angular.z = numbers
        super().__init__(node, topic, message, numbers)

    def publish(self, twist: Array, stamp: int) -> None:
        (numbers,) = self.blocks
        numbers[:3] = twist[3:]
        numbers[3:] = twist[:3]
        self.send(stamp)


class PoseTopic(topics.TemplatePublisher):
    """Publishes (7,) position and quaternion x, y, z, w."""

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        message = PoseStamped()
        message.header.frame_id = frame
        numbers = marks(7)
        position = message.pose.position
        turn = message.pose.orientation
        position.x, position.y, position.z, turn.x, turn.y, turn.z, turn.w = numbers
        super().__init__(node, topic, message, numbers)


class ToolTopics(topics.Output):
    """``~/pose`` and ``~/twist`` of the tool as measured, and ``~/task_error``: [rotation; way]
    from there to where the reference has it; all in world axes, with the stamp of the joint state.
    """

    def __init__(
        self,
        node: Node,
        controller: JointController,
        tool: ToolReference,
    ) -> None:
        self._controller = controller
        self._tool = tool
        model = controller.model
        moved = np.any(model.base.matrix() != np.eye(4))
        frame = "world" if moved else model.link_names[0]
        self._pose = PoseTopic(node, "~/pose", frame)
        self._twist = TwistTopic(node, "~/twist", frame)
        self._error = TwistTopic(node, "~/task_error", frame)
        super().__init__([self._pose, self._twist, self._error])

    def publish(self, stamp: int) -> None:
        if not any(x.has_listeners for x in (self._pose, self._twist, self._error)):
            return
        q, v = self._controller.state
        pose, twist, error = self._tool.see(q, v, self._controller.reference[0])
        if self._pose.has_listeners:
            self._pose.send(stamp, pose)
        if self._twist.has_listeners:
            self._twist.publish(twist, stamp)
        if self._error.has_listeners:
            self._error.publish(error, stamp)
