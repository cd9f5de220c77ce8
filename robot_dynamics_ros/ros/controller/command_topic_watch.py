"""Does anybody else command the robot?  Two controllers on one command topic shake the arm between them."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node

__all__ = ["other_publishers"]


def other_publishers(node: Node, publisher: Any) -> list[str]:
    """Full names of the nodes that publish on the topic of ``publisher``, itself excepted.

    What discovery knows: a process that was killed is listed until its lease has run out, one that has just appeared
    has no name yet and is left for the next look.
    """
    topic = publisher.topic_name
    if node.count_publishers(topic) <= 1:
        return []
    names = [
        f"{info.node_namespace.rstrip('/')}/{info.node_name}"
        for info in node.get_publishers_info_by_topic(topic)
        if info.node_name != "_NODE_NAME_UNKNOWN_"
    ]
    own = node.get_fully_qualified_name()
    if own in names:
        names.remove(own)
    return sorted(names)
