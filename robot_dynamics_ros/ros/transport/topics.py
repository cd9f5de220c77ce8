"""Topics that are published after a control cycle, as long as somebody listens; wrenches, out and
in.

A joint's wrench is what the parent side exerts on the child link, about the joint's origin, in the
child link's frame; ``header.frame_id`` names that link.  The core keeps [moment; force], messages
hold force and torque.
"""

from __future__ import annotations

import array
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE
from robot_dynamics_ros.topic_names import topic_token

JOINT_WRENCHES = "~/joint_wrenches/"
# largest force, N, and moment, N m, that is taken for a measurement of something
LARGEST_WRENCH = 1e6


class Topic:
    """A topic that costs nothing while nobody listens, as far as :meth:`look_for_listeners`
    knows.
    """

    def __init__(self, node: Node, topic: str, message_type: type) -> None:
        self._node = node
        self._publisher = node.create_publisher(
            message_type, topic, STATE, event_callbacks=QUIET_PUBLISHER
        )
        self.has_listeners = False

    def look_for_listeners(self) -> None:
        """To be called a few times a second: asking the middleware costs more than a cycle should
        spend.
        """
        self.has_listeners = self._publisher.get_subscription_count() > 0

    def publish_message(self, message: object) -> None:
        self._publisher.publish(message)

    def destroy(self) -> None:
        self._node.destroy_publisher(self._publisher)


class TemplatePublisher(Topic):
    """A topic whose messages differ only in the stamp and in some numbers; arguments and blocks as
    of :class:`Template`.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        message: object,
        *blocks: array.array[float],
    ) -> None:
        super().__init__(node, topic, type(message))
        self._template = Template(message, *blocks)
        self.blocks = self._template.blocks

    def send(self, stamp: int, *rows: Array) -> None:
        """Publish the numbers in :attr:`blocks`, those of the rows if there are any, with the time
        ``stamp``, ns.
        """
        for block, row in zip(self.blocks, rows, strict=False):
            block[:] = row
        self._template.stamp(stamp)
        self._publisher.publish(self._template.bytes())


class JointTopic(TemplatePublisher):
    """A topic of joint states with these fields, at full length; :attr:`blocks` has them in this
    order.
    """

    def __init__(self, node: Node, topic: str, joints: Sequence[str], *fields: str) -> None:
        n = len(joints)
        numbers = {field: marks(n, k * n + 1) for k, field in enumerate(fields)}
        super().__init__(node, topic, JointState(name=list(joints), **numbers), *numbers.values())


class Output(ABC):
    """One topic or several that belong together; other outputs may be among them."""

    def __init__(self, publishers: Sequence[Topic | Output]) -> None:
        self._publishers = list(publishers)
        self.has_listeners = False

    def look_for_listeners(self) -> None:
        """Ask the middleware who listens; it costs more than a cycle should spend, so a timer calls
        it.
        """
        for publisher in self._publishers:
            publisher.look_for_listeners()
        self.has_listeners = any(publisher.has_listeners for publisher in self._publishers)

    @abstractmethod
    def publish(self, stamp: int) -> None:
        """Publish what belongs to the state of time ``stamp``, ns; to be called while it is
        :attr:`has_listeners`.
        """

    def destroy(self) -> None:
        for publisher in self._publishers:
            publisher.destroy()
        self._publishers = []
        self.has_listeners = False


class Outputs(Output):
    """Several outputs as one, published with every ``divisor``-th cycle, the first one too."""

    def __init__(self, outputs: Sequence[Output], divisor: int = 1) -> None:
        super().__init__(outputs)
        self._outputs = outputs
        self.divisor = divisor
        self._countdown = 1

    def publish(self, stamp: int) -> None:
        """Count a cycle, and publish the topics with listeners if this one is its turn."""
        if not self.has_listeners:
            return
        self._countdown -= 1
        if self._countdown > 0:
            return
        self._countdown = self.divisor
        for output in self._outputs:
            if output.has_listeners:
                output.publish(stamp)


def spatial_wrench(message: WrenchStamped) -> Array:
    """(6,) [moment; force] of a message; an ArgumentError if a component is not finite or larger
    than :data:`LARGEST_WRENCH`.
    """
    force = message.wrench.force
    torque = message.wrench.torque
    wrench = np.array([torque.x, torque.y, torque.z, force.x, force.y, force.z])
    largest = np.abs(wrench).max()
    if not largest <= LARGEST_WRENCH:
        remedy = f"Finite forces in N and moments in N m, up to {LARGEST_WRENCH:g}."
        raise ArgumentError(
            f"the wrench has a component of {largest:.3g}", where="external_wrench", remedy=remedy
        )
    return wrench


def distinct_tokens(joints: Sequence[str], prefix: str) -> list[str]:
    """:func:`topic_token` of each joint; an ArgumentError where two would share a topic."""
    taken: dict[str, str] = {}
    for joint in joints:
        token = topic_token(joint)
        if token in taken:
            problem = f"joints {taken[token]!r} and {joint!r} would both publish on {prefix}{token}"
            raise ArgumentError(
                problem, where="joint_wrenches", remedy="Rename one of them in the URDF."
            )
        taken[token] = joint
    return list(taken)


class WrenchPublisher(TemplatePublisher):
    """Publishes wrenches of one frame, which ``header.frame_id`` names."""

    def __init__(self, node: Node, topic: str, frame: str) -> None:
        message = WrenchStamped()
        message.header.frame_id = frame
        numbers = marks(6)
        force = message.wrench.force
        torque = message.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = numbers
        super().__init__(node, topic, message, numbers)

    def publish(self, wrench: Array, stamp: int) -> None:
        """Publish (6,) [moment; force] of the time ``stamp``, ns, if somebody listens; never one
        that is not finite.
        """
        if not self.has_listeners or not math.isfinite(wrench.dot(wrench)):
            return
        (numbers,) = self.blocks
        numbers[:3] = wrench[3:]
        numbers[3:] = wrench[:3]
        self.send(stamp)


def wrench_publishers(
    node: Node,
    prefix: str,
    frames: Mapping[str, str],
    end: str = "",
) -> dict[str, WrenchPublisher]:
    """A topic for each name, ``prefix`` + name + ``end``; ``frames``: name → frame of its
    wrenches.
    """
    tokens = distinct_tokens(tuple(frames), prefix)
    return {
        name: WrenchPublisher(node, prefix + token + end, frames[name])
        for token, name in zip(tokens, frames, strict=True)
    }


class WrenchTopics(Output):
    """Wrenches, (6,) [moment; force] each, that are computed together, each with its publisher."""

    def __init__(
        self,
        publishers: Iterable[WrenchPublisher],
        wrenches: Callable[[], Iterable[Array]],
    ) -> None:
        self._each = list(publishers)
        self._wrenches = wrenches
        super().__init__(self._each)

    def publish(self, stamp: int) -> None:
        for publisher, wrench in zip(self._each, self._wrenches(), strict=True):
            publisher.publish(wrench, stamp)


def joint_wrenches(
    node: Node,
    model: RobotModel,
    joints: Iterable[str],
    wrenches: Callable[[], Iterable[Array]],
) -> WrenchTopics:
    """``~/joint_wrenches/<joint>`` of some joints."""
    frames = {joint: model.joint(joint).child for joint in joints}
    return WrenchTopics(wrench_publishers(node, JOINT_WRENCHES, frames).values(), wrenches)
