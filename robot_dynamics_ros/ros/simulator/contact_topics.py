"""Contacts of the simulated robot, and poses of the bodies of its world."""

from __future__ import annotations

import math

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.outputs import RateDivider
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher
from robot_dynamics_ros.ros.transport.wrench_topics import distinct_tokens
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant

__all__ = ["ContactTopics"]


class ContactTopics:
    """``~/contact_wrenches/<link>``: the sum of all that touches a link, about its origin, in its frame, which
    ``header.frame_id`` names; ``~/object_poses/<body>``: bodies of the world that can move, in the frame ``world``.

    Each only while somebody listens; contact wrenches also while nothing touches: then they are zero.
    """

    def __init__(self, node: Node, plant: MujocoPlant, divisor: int) -> None:
        self._plant, self._rate = plant, RateDivider(divisor)
        tokens = distinct_tokens(plant.links, "~/contact_wrenches/")
        self._wrenches = {
            link: WrenchPublisher(node, f"~/contact_wrenches/{token}", link)
            for token, link in zip(tokens, plant.links, strict=True)
        }
        tokens = distinct_tokens(plant.objects, "~/object_poses/")
        self._poses = {
            name: _PosePublisher(node, f"~/object_poses/{token}")
            for token, name in zip(tokens, plant.objects, strict=True)
        }
        self._links: list[str] = []
        self._objects: list[str] = []

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        for wrench_publisher in self._wrenches.values():
            wrench_publisher.look_for_listeners()
        for pose_publisher in self._poses.values():
            pose_publisher.look_for_listeners()
        self._links = [link for link, publisher in self._wrenches.items() if publisher.wanted]
        self._objects = [name for name, publisher in self._poses.items() if publisher.wanted]

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the time ``stamp``, ns."""
        if not (self._links or self._objects) or not self._rate.due():
            return
        if self._links:
            wrenches = self._plant.contact_wrenches()
            for link in self._links:
                self._wrenches[link].publish(wrenches[link], stamp)
        for name in self._objects:
            self._poses[name].publish(self._plant.object_pose(name), stamp)


class _PosePublisher:
    def __init__(self, node: Node, topic: str) -> None:
        self._publisher = node.create_publisher(PoseStamped, topic, STATE, event_callbacks=QUIET_PUBLISHER)
        message = PoseStamped()
        message.header.frame_id = "world"
        numbers = marks(7)
        position, orientation = message.pose.position, message.pose.orientation
        position.x, position.y, position.z = numbers[:3]
        orientation.x, orientation.y, orientation.z, orientation.w = numbers[3:]
        self._template = Template(message, numbers)
        from scipy.spatial.transform import Rotation  # takes long to import, and few simulators need it

        self._rotation = Rotation
        self.wanted = False

    def look_for_listeners(self) -> None:
        self.wanted = self._publisher.get_subscription_count() > 0

    def publish(self, pose: Array, stamp: int) -> None:
        (numbers,) = self._template.blocks
        numbers[:3], numbers[3:] = pose[:3, 3], self._rotation.from_matrix(pose[:3, :3]).as_quat()
        if not math.isfinite(numbers.dot(numbers)):
            return
        self._template.stamp(stamp)
        self._publisher.publish(self._template.bytes())
