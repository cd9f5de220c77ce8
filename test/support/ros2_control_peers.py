"""Two peers that behave as ros2_control's parts document, so that the simulator can be tried behind
them.

``TopicSystem``: joint_state_topic_hardware_interface's JointStateTopicSystem.  A joint state
    publisher of commands with
QoS depth 1 on ``joint_commands_topic``, a listener with sensor-data QoS on ``joint_states_topic``;
in every control cycle it reads the newest state by name and writes all of its joints' commands;
commands are NaN until a controller sets them.

``ForwardCommandController``: an effort per joint in its own order, no stamps, held for ever; a
    message of its own that has
a value that is not finite, or the wrong length, is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

__all__ = ["ForwardCommandController", "TopicSystem"]


class TopicSystem:
    """Hardware that is a pair of topics."""

    def __init__(
        self,
        peer,
        joints: Sequence[str],
        joint_commands_topic: str = "/robot_joint_commands",
        joint_states_topic: str = "/robot_joint_states",
    ) -> None:
        self.peer = peer
        self.joints = tuple(joints)
        self.command = [math.nan] * len(joints)
        self.position = [math.nan] * len(joints)
        self.velocity = [math.nan] * len(joints)
        self.effort = [math.nan] * len(joints)
        self._latest = JointState()
        self.states = 0
        self.publisher = peer.node.create_publisher(
            JointState, joint_commands_topic, QoSProfile(depth=1)
        )
        peer.node.create_subscription(
            JointState, joint_states_topic, self._on_state, qos_profile_sensor_data
        )

    def _on_state(self, message: JointState) -> None:
        self._latest = message
        self.states += 1

    def read(self) -> None:
        """Take the newest state; joints of others are passed over."""
        for i, name in enumerate(self._latest.name):
            if name in self.joints:
                j = self.joints.index(name)
                self.position[j] = self._latest.position[i]
                if self._latest.velocity:
                    self.velocity[j] = self._latest.velocity[i]
                if self._latest.effort:
                    self.effort[j] = self._latest.effort[i]

    def write(self) -> None:
        """Send the commands of the effort interfaces, whatever they are."""
        message = JointState(name=list(self.joints), effort=list(self.command))
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        self.publisher.publish(message)


class ForwardCommandController:
    """Passes efforts on, from ``~/commands`` to the interfaces; here the other way round: what it
    would accept.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self.joints = tuple(joints)
        self.effort = [math.nan] * len(joints)

    def on_message(self, message: Float64MultiArray) -> None:
        if len(message.data) == len(self.joints) and all(map(math.isfinite, message.data)):
            self.effort = list(message.data)
