"""One ``geometry_msgs/WrenchStamped`` topic a joint, and wrenches that come in.

A joint's wrench is what the parent side exerts on the child link, about the joint's origin, in the child link's frame;
``header.frame_id`` names that link.  The core keeps [moment; force], messages hold force and torque.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.cdr import marks
from robot_dynamics_ros.ros.transport.outputs import Output, TemplatePublisher
from robot_dynamics_ros.topic_names import topic_token

#: Largest force, N, and moment, N m, that is taken for a measurement of something.
LARGEST = 1e6


def spatial_wrench(message: WrenchStamped) -> Array:
    """(6,) [moment; force] of a message; an ArgumentError if a component is not finite, or beyond what anything on Earth could
    exert on a robot."""
    force, torque = message.wrench.force, message.wrench.torque
    wrench = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
    largest = np.abs(wrench).max()
    if not largest <= LARGEST:
        remedy = f"Finite forces in N and moments in N m, up to {LARGEST:g}."
        raise ArgumentError(f"the wrench has a component of {largest:.3g}", where="external_wrench", remedy=remedy)
    return wrench


def distinct_tokens(joints: Sequence[str], prefix: str) -> list[str]:
    """:func:`topic_token` of each joint; an ArgumentError where two would share a topic."""
    taken: dict[str, str] = {}
    for joint in joints:
        token = topic_token(joint)
        if token in taken:
            problem = f"joints {taken[token]!r} and {joint!r} would both publish on {prefix}{token}"
            raise ArgumentError(problem, where="joint_wrenches", remedy="Rename one of them in the URDF.")
        taken[token] = joint
    return list(taken)


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
        if not self.has_listeners or not math.isfinite(wrench.dot(wrench)):
            return
        (numbers,) = self.blocks
        numbers[:3] = wrench[3:]
        numbers[3:] = wrench[:3]
        self.send(stamp)


def wrench_publishers(node: Node, prefix: str, frames: Mapping[str, str], end: str = "") -> dict[str, WrenchPublisher]:
    """A topic for each name, ``prefix`` + name + ``end``; ``frames``: name → frame of its wrenches."""
    tokens = distinct_tokens(tuple(frames), prefix)
    return {
        name: WrenchPublisher(node, prefix + token + end, frames[name])
        for token, name in zip(tokens, frames, strict=True)
    }


class WrenchTopics(Output):
    """The wrenches of joints, one topic each, ``prefix`` + name; ``wrenches`` gives (joints, 6) [moment; force] of the present
    state."""

    def __init__(
        self,
        node: Node,
        model: RobotModel,
        joints: Sequence[str],
        wrenches: Callable[[], Array],
        prefix: str = "~/joint_wrenches/",
    ) -> None:
        frames = {joint: model.joint(joint).child for joint in joints}
        self._each = list(wrench_publishers(node, prefix, frames).values())
        super().__init__(self._each)
        self._wrenches = wrenches

    def publish(self, stamp: int) -> None:
        for publisher, wrench in zip(self._each, self._wrenches(), strict=True):
            publisher.publish(wrench, stamp)
