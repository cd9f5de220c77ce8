"""Does anybody else command the robot?  Two controllers on one command topic shake the arm between them."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

from robot_dynamics_ros.ros.transport.graph import publishing_nodes

__all__ = ["other_publishers"]


def other_publishers(node: Node, publisher: Any) -> list[str]:
    """Full names of the nodes that publish on the topic of ``publisher``, itself excepted."""
    topic = publisher.topic_name
    if node.count_publishers(topic) <= 1:
        return []
    names = publishing_nodes(node, topic)
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return names
