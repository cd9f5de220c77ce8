"""Wrenches of the simulated robot's constraints on its links, as ``geometry_msgs/WrenchStamped`` topics."""

from __future__ import annotations

from rclpy.node import Node

from robot_dynamics_ros.ros.transport.outputs import Output
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher
from robot_dynamics_ros.ros.transport.wrench_topics import distinct_tokens
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant


class ConstraintTopics(Output):
    """``~/constraint_wrenches/<constraint>/a`` and ``…/b``: on each link, about its origin, in its frame.

    ``header.frame_id`` names the link.  Gears exert efforts and have no topic.
    """

    def __init__(self, node: Node, plant: ConstrainedPlant | MujocoPlant) -> None:
        self._plant = plant
        assert plant.constraints is not None
        constraints = [c for c in plant.constraints.constraints if c.kind != "gear"]
        prefix = "~/constraint_wrenches/"
        tokens = distinct_tokens([c.name for c in constraints], prefix)
        self._pairs = {
            c.name: (WrenchPublisher(node, f"{prefix}{token}/a", c.a), WrenchPublisher(node, f"{prefix}{token}/b", c.b))
            for token, c in zip(tokens, constraints, strict=True)
        }
        super().__init__([publisher for pair in self._pairs.values() for publisher in pair])

    def publish(self, stamp: int) -> None:
        """See :class:`~robot_dynamics_ros.ros.transport.outputs.Output`."""
        wrenches = self._plant.constraint_wrenches()
        for name, pair in self._pairs.items():
            for publisher, wrench in zip(pair, wrenches[name], strict=True):
                publisher.publish(wrench, stamp)
