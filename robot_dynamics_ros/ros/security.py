"""Access rules for SROS 2, read off the running nodes: which topics, services and actions each of them really uses.

The rules follow the policy format 0.2.0 of sros2, from which ``ros2 security create_permission`` makes signed DDS
permissions.  The nodes are started for one robot in a domain of their own, looked at, and ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

import rclpy
from rclpy.action import get_action_server_names_and_types_by_node
from rclpy.context import Context
from rclpy.node import Node

from robot_dynamics_ros.errors import RobotDynamicsError

POLICY_VERSION = "0.2.0"
# s without anything new, after which a node has made all its topics: it may load a large robot in between
_SETTLED = 3.0


@dataclass(frozen=True, slots=True)
class NodeAccess:
    """Topics and services of one node, by fully qualified names.

    Attributes:
        node, namespace: its name and namespace.
        publish, subscribe: topics.
        reply: services it offers.
        execute: actions it offers; their topics and services are not listed again.
    """

    node: str
    namespace: str
    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    reply: tuple[str, ...]
    execute: tuple[str, ...]

    def relative(self, name: str) -> str:
        """The name as a policy writes it: ``~/…`` below the node, relative in its namespace, absolute elsewhere."""
        own = f"{self.namespace.rstrip('/')}/{self.node}/"
        space = self.namespace.rstrip("/") + "/"
        if name.startswith(own):
            return "~/" + name[len(own) :]
        return name[len(space) :] if name.startswith(space) else name


def access_of(names: Sequence[str], *, domain: int | None = None, timeout: float = 30.0) -> list[NodeAccess]:
    """Look at running nodes until their topics and services no longer change.

    Args:
        names: of the nodes, without namespace.
        domain: ROS domain; the environment's if not given.
        timeout: s to wait for all of them.

    Raises:
        RobotDynamicsError: a node has not appeared in time.
    """
    context = Context()
    rclpy.init(args=[], context=context, domain_id=domain)
    observer = Node("_access_observer", context=context, enable_rosout=False, start_parameter_services=False)
    deadline = time.monotonic() + timeout
    seen: list[NodeAccess] = []
    since = time.monotonic()
    try:
        while True:
            running = [(n, s) for n, s in observer.get_node_names_and_namespaces() if n in names]
            now = [_look(observer, n, s) for n, s in sorted(running)]
            if now != seen:
                seen, since = now, time.monotonic()
            if {access.node for access in seen} == set(names) and time.monotonic() - since > _SETTLED:
                return seen
            if time.monotonic() > deadline:
                missing = sorted(set(names) - {access.node for access in seen})
                raise RobotDynamicsError(
                    f"not all nodes have settled after {timeout:g} s",
                    where="access rules",
                    got=missing,
                    remedy=f"Not seen: {', '.join(missing)}." if missing else "Their topics still change.",
                )
            time.sleep(0.05)
    finally:
        observer.destroy_node()
        context.try_shutdown()


def _look(observer: Node, node: str, namespace: str) -> NodeAccess:
    def names(pairs: Iterable[tuple[str, list[str]]]) -> set[str]:
        return {name for name, _ in pairs}

    actions = names(get_action_server_names_and_types_by_node(observer, node, namespace))

    def plain(topics: set[str]) -> tuple[str, ...]:
        return tuple(sorted(n for n in topics if not any(n.startswith(f"{action}/_action/") for action in actions)))

    try:
        return NodeAccess(
            node,
            namespace,
            plain(names(observer.get_publisher_names_and_types_by_node(node, namespace))),
            plain(names(observer.get_subscriber_names_and_types_by_node(node, namespace))),
            plain(names(observer.get_service_names_and_types_by_node(node, namespace))),
            tuple(sorted(actions)),
        )
    except RuntimeError:  # known by name, but its endpoints have not been discovered yet
        return NodeAccess(node, namespace, (), (), (), ())


def policy(nodes: Iterable[NodeAccess], enclave: str = "/robot_dynamics") -> str:
    """An sros2 policy with one enclave a node, ``<enclave>/<node>``, that allows what the nodes use and nothing else."""
    root = ElementTree.Element("policy", version=POLICY_VERSION)
    enclaves = ElementTree.SubElement(root, "enclaves")
    for access in nodes:
        element = ElementTree.SubElement(enclaves, "enclave", path=f"{enclave.rstrip('/')}/{access.node}")
        profiles = ElementTree.SubElement(element, "profiles")
        profile = ElementTree.SubElement(profiles, "profile", ns=access.namespace, node=access.node)
        for kind, rule, expressions in (
            ("topic", "subscribe", access.subscribe),
            ("topic", "publish", access.publish),
            ("service", "reply", access.reply),
            ("action", "execute", access.execute),
        ):
            if expressions:
                rules = ElementTree.SubElement(profile, f"{kind}s", {rule: "ALLOW"})
                for name in expressions:
                    ElementTree.SubElement(rules, kind).text = access.relative(name)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
