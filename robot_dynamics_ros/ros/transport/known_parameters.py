"""Parameters given at the start that no node of this package has: named in the log, with the nearest known name."""

from __future__ import annotations

import difflib
import re

from rclpy.node import Node

from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, all_names

_OF_RCLPY = ("use_sim_time", "qos_overrides.", "start_type_description_service")
#: Parameters of the simulator's shapes, which it checks itself.
_OF_SHAPE = re.compile(r"mujoco\..+\.")
#: The simulator's, whose default is the robot's own.
_START = "initial_positions.<joint>"


def unknown(node: Node, model: RobotModel | None) -> list[str]:
    """Names of values given at the start that no node of this package has; one file may serve several nodes.

    Before the robot is known (``None``) names with a dot, as those of joints have, are left out.
    """
    names = [name for name in node._parameter_overrides if not node.has_parameter(name)]
    names = [name for name in names if not name.startswith(_OF_RCLPY) and (model is not None or "." not in name)]
    joints = ("<joint>", *(() if model is None else model.joint_names))
    known = [*all_names(), _START] if names else ()
    elsewhere = {name.replace("<joint>", joint) for name in known for joint in joints}
    return sorted(name for name in names if name not in elsewhere and not _OF_SHAPE.match(name))


def report_unknown(node: Node, parameters: ParameterSet, model: RobotModel | None) -> None:
    """Log the names of :func:`unknown`, each with the nearest of the node's own names."""
    for name in unknown(node, model):
        near = difflib.get_close_matches(name, parameters, 1, 0.5)
        node.get_logger().warning(
            f"unknown parameter {name!r} is ignored" + (f"; did you mean {near[0]!r}?" if near else "")
        )
