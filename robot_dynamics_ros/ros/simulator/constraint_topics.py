"""Wrenches of the simulated robot's constraints on its links, as ``geometry_msgs/WrenchStamped`` topics."""

from __future__ import annotations

from rclpy.node import Node

from robot_dynamics_ros.ros.transport.outputs import RateDivider
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher
from robot_dynamics_ros.ros.transport.wrench_topics import distinct_tokens
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant

__all__ = ["ConstraintTopics"]


class ConstraintTopics:
    """``~/constraint_wrenches/<constraint>/a`` and ``…/b``: on each link, about its origin, in its frame.

    ``header.frame_id`` names the link.  Gears exert efforts and have no topic.  Each only while somebody listens.
    """

    def __init__(self, node: Node, plant: ConstrainedPlant | MujocoPlant, divisor: int) -> None:
        self._plant, self._rate = plant, RateDivider(divisor)
        assert plant.constraints is not None
        constraints = [c for c in plant.constraints.constraints if c.kind != "gear"]
        prefix = "~/constraint_wrenches/"
        tokens = distinct_tokens([c.name for c in constraints], prefix)
        self._publishers = {
            c.name: (WrenchPublisher(node, f"{prefix}{token}/a", c.a), WrenchPublisher(node, f"{prefix}{token}/b", c.b))
            for token, c in zip(tokens, constraints, strict=True)
        }
        self._wanted: list[str] = []

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        for pair in self._publishers.values():
            for publisher in pair:
                publisher.look_for_listeners()
        self._wanted = [name for name, pair in self._publishers.items() if any(p.wanted for p in pair)]

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the time ``stamp``, ns."""
        if not self._wanted or not self._rate.due():
            return
        wrenches = self._plant.constraint_wrenches()
        for name in self._wanted:
            for publisher, wrench in zip(self._publishers[name], wrenches[name], strict=True):
                publisher.publish(wrench, stamp)
