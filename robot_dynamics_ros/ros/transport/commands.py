"""Effort commands in the two formats that ROS 2 hardware takes, and who else sends them.

``multi_array``: ``std_msgs/Float64MultiArray``, one effort a joint in an agreed order, as
forward_command_controller takes it. ``joint_state``: ``sensor_msgs/JointState`` with names and
efforts, as topic-based hardware takes it.
"""

from __future__ import annotations

import array
import math
from collections.abc import Callable, Sequence

import numpy as np
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.control.cycle.message import STRONGEST, AnswerLayout
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.qos import COMMAND, NEWEST, QUIET_PUBLISHER

_MESSAGE_TYPES: dict[str, type] = {"multi_array": Float64MultiArray, "joint_state": JointState}
_MESSAGE_NAMES = {
    "multi_array": "std_msgs/msg/Float64MultiArray",
    "joint_state": "sensor_msgs/msg/JointState",
}
COMMAND_FORMATS = tuple(_MESSAGE_TYPES)
COMMAND_TOPICS = {
    "multi_array": "effort_controller/commands",
    "joint_state": "robot_joint_commands",
}
"""The topic that goes with a format, before remapping."""


def publishing_nodes(node: Node, topic: str) -> list[str]:
    """Full names of the nodes that publish on a topic, sorted; a node counts once for each of its
    publishers.

    A process that was killed is listed until its lease has run out.
    """
    return sorted(name for name, _ in _publishers(node, topic))


def _publishers(node: Node, topic: str) -> list[tuple[str, str]]:
    """Full name of the node and type of each publisher; those whose node is not known yet are left
    out.
    """
    return [
        (f"{info.node_namespace.rstrip('/')}/{info.node_name}", info.topic_type)
        for info in node.get_publishers_info_by_topic(topic)
        if info.node_name != "_NODE_NAME_UNKNOWN_"
    ]


def competing_publishers(node: Node, topic: str, *, own: bool = False) -> list[str]:
    """Full names of the nodes that publish on a topic for which there should be one publisher;
    empty if there is one.

    ``own``: ``node`` is the one publisher that there should be; it is then left out.
    """
    if node.count_publishers(topic) > 1:
        names = publishing_nodes(node, topic)
    else:
        names = []
    if own and (name := node.get_fully_qualified_name()) in names:
        names.remove(name)
    return names


def met_elsewhere(node: Node, topic: str, count: Callable[[str], int]) -> str:
    """A hint if nobody else is on the command topic, but somebody is on the topic of another
    format; else ``""``.

    ``topic`` is the full name; ``count`` is ``node.count_publishers`` or
    ``node.count_subscribers``.
    """
    for other, name in COMMAND_TOPICS.items():
        elsewhere = node.resolve_topic_name(name)
        if elsewhere != topic and count(elsewhere):
            return f"; somebody does on {elsewhere}: set command_format to {other!r}?"
    return ""


class CommandPublisher:
    """Publishes efforts of joints; ``index`` is where each of them is in the arrays given to
    :meth:`publish`.
    """

    def __init__(
        self,
        node: Node,
        command_format: str,
        joints: Sequence[str],
        index: Sequence[int],
    ) -> None:
        self._node = node
        self._index = np.array(index, dtype=np.intp)
        self._stamped = command_format == "joint_state"
        effort = marks(len(joints))
        if self._stamped:
            message = JointState(name=list(joints), effort=effort)
        else:
            message = Float64MultiArray(data=effort)
        self._template = Template(message, effort)
        (self._effort,), self._buffer = self._template.blocks, self._template.buffer
        # the message that :meth:`publish_answer` sends, for a cycle that writes its command itself
        self.answer = AnswerLayout(
            self._buffer, self._template.words[0], self._index.tolist(), self._stamped
        )
        topic = COMMAND_TOPICS[command_format]
        self.publisher = node.create_publisher(
            type(message), topic, COMMAND, event_callbacks=QUIET_PUBLISHER
        )

    def publish(self, effort: Array, stamp: int) -> None:
        """Send (nv,) efforts in model order that answer the joint state of time ``stamp``, ns."""
        effort.take(self._index, out=self._effort, mode="clip")
        if self._stamped:
            self._template.stamp(stamp)
        self.publish_answer()

    def publish_answer(self) -> None:
        """Send what has been written into :attr:`answer`."""
        self.publisher.publish(bytes(self._buffer))

    def wait_until_sent(self, timeout: float = 0.5) -> None:
        """Wait until every listener has what was published, or ``timeout`` seconds have passed."""
        self.publisher.wait_for_all_acked(Duration(seconds=timeout))

    def destroy(self) -> None:
        """Take the publisher down, after its last message, which is the safe command, has been
        delivered.
        """
        self.wait_until_sent()
        self._node.destroy_publisher(self.publisher)


class CommandRejected(ArgumentError):
    """A command that is not applied; ``cause`` is a short name to count by."""

    def __init__(self, cause: str, problem: str) -> None:
        super().__init__(problem, where="command")
        self.cause = cause


class CommandReader:
    """Receives efforts.

    Args:
        joints: the joints commanded, in the order of the array format.
        accepted: called with (n,) efforts in the order of ``joints``; the array is overwritten by
            the next command.
        report: called with a cause and a sentence about a command that is not applied.
        topic: instead of the format's own.
    """

    def __init__(
        self,
        node: Node,
        command_format: str,
        joints: Sequence[str],
        accepted: Callable[[Array], None],
        report: Callable[[str, str], None],
        qos: QoSProfile = NEWEST,
        topic: str = "",
    ) -> None:
        self._joints = tuple(joints)
        self._values = np.zeros(len(joints))
        self._accepted = accepted
        self._report = report
        self._names: tuple[str, ...] | None = None
        self._node = node
        self._type_name = _MESSAGE_NAMES[command_format]
        topic = topic or COMMAND_TOPICS[command_format]
        self.subscription = node.create_subscription(
            _MESSAGE_TYPES[command_format], topic, self._on_message, qos
        )

    def unheard(self) -> str:
        """A sentence about publishers whose commands do not arrive because of their type, with the
        remedy; else empty.

        The middleware never brings the two together, and neither side hears of it.
        """
        topic = self.subscription.topic_name
        own = self._type_name
        others = sorted(pair for pair in _publishers(self._node, topic) if pair[1] != own)
        if not others:
            return ""
        name, type_of_other = others[0]
        fitting = next((f for f, kind in _MESSAGE_NAMES.items() if kind == type_of_other), "")
        if fitting:
            remedy = f"set command_format to {fitting!r}"
        else:
            remedy = "publish that type"
        return (
            f"commands of {name} on {topic} do not arrive: they are {type_of_other}, and this "
            f"node takes {own}; {remedy}"
        )

    def _on_message(self, message: JointState | Float64MultiArray) -> None:
        if isinstance(message, JointState):
            names = tuple(message.name)
            data = message.effort
        else:
            names = self._joints
            data = message.data
        try:
            if names != self._names:
                self._names = None
                self._order = self._order_of(names)
                self._names = names
            values = self._checked(data, names)
        except CommandRejected as error:
            self._report(f"command_{error.cause}", f"command refused: {error}")
            return
        self._accepted(values)

    def _order_of(self, names: tuple[str, ...]) -> np.ndarray:
        unknown = [name for name in names if name not in self._joints]
        if unknown:
            problem = f"there is no joint {unknown[0]!r}; the joints are {', '.join(self._joints)}"
            raise CommandRejected("unknown_joint", problem)
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise CommandRejected(
                "duplicate_joint",
                f"joint {repeated[0]!r} is named {names.count(repeated[0])} times",
            )
        missing = [name for name in self._joints if name not in names]
        if missing:
            raise CommandRejected("missing_joint", f"joint {missing[0]!r} is missing")
        return np.array([names.index(name) for name in self._joints], dtype=np.intp)

    def _checked(self, data: array.array[float], names: Sequence[str]) -> Array:
        if len(data) != len(names):
            raise CommandRejected("wrong_length", f"{len(data)} efforts for {len(names)} joints")
        if len(data):
            values = np.frombuffer(data, dtype=np.float64)
        else:
            values = np.zeros(0)
        if not math.isfinite(values.sum()) and not np.isfinite(values).all():
            bad = int(np.flatnonzero(~np.isfinite(values))[0])
            raise CommandRejected(
                "not_finite", f"the effort of joint {names[bad]!r} is {values[bad]}"
            )
        if len(values) and max(values.max(), -values.min()) > STRONGEST:
            bad = int(np.abs(values).argmax())
            raise CommandRejected(
                "absurd", f"the effort of joint {names[bad]!r} is {values[bad]:g} N m or N"
            )
        values.take(self._order, out=self._values, mode="clip")
        return self._values
