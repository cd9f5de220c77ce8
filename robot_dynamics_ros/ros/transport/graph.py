"""Who is on the other side of a topic, as far as discovery knows."""

from __future__ import annotations

from rclpy.node import Node


def publishing_nodes(node: Node, topic: str) -> list[str]:
    """Full names of the nodes that publish on a topic, sorted; a node counts once for each of its publishers.

    A process that was killed is listed until its lease has run out; one that has just appeared has no name yet and is
    left for the next look.
    """
    return sorted(name for name, _ in _publishers(node, topic))


def _publishers(node: Node, topic: str) -> list[tuple[str, str]]:
    """Full name of the node and type of each publisher; those whose node is not known yet are left out."""
    return [
        (f"{info.node_namespace.rstrip('/')}/{info.node_name}", info.topic_type)
        for info in node.get_publishers_info_by_topic(topic)
        if info.node_name != "_NODE_NAME_UNKNOWN_"
    ]


def type_name(message_type: type) -> str:
    """The ROS name of a message type: ``std_msgs/msg/String``."""
    return f"{message_type.__module__.split('.', 1)[0]}/msg/{message_type.__name__}"


def publishers_of_other_types(node: Node, topic: str, message_type: type) -> list[tuple[str, str]]:
    """Full names of the nodes that publish on a topic in another type than ``message_type``, each with that type.

    The middleware never brings the two together, and neither side hears of it.
    """
    expected = type_name(message_type)
    return sorted(pair for pair in _publishers(node, topic) if pair[1] != expected)


def competing_publishers(node: Node, topic: str, *, own: bool = False) -> list[str]:
    """Full names of the nodes that publish on a topic for which there should be one publisher; empty if there is one.

    Two controllers on one command topic shake the arm between them.  ``own``: ``node`` is the one publisher that there should
    be; it is then left out.
    """
    names = publishing_nodes(node, topic) if node.count_publishers(topic) > 1 else []
    if own and (name := node.get_fully_qualified_name()) in names:
        names.remove(name)
    return names
