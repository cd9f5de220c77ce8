"""rclpy's classes have many private names, and each release adds some: none of ours may be one of
them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

CLASSES = {
    "ControllerNode": "robot_dynamics_ros.ros.controller.node",
    "SimulatorNode": "robot_dynamics_ros.ros.simulator.node",
    "EffortGateNode": "robot_dynamics_ros.ros.effort_gate",
    "ViewerNode": "robot_dynamics_ros.ros.viewer",
    "CommissioningNode": "robot_dynamics_ros.ros.commissioning",
    "PayloadIdentificationNode": "robot_dynamics_ros.ros.payload_identification",
    "ApartActionServer": "robot_dynamics_ros.ros.transport.apart",
    "FocusedExecutor": "robot_dynamics_ros.ros.transport.executors",
    "PacedExecutor": "robot_dynamics_ros.ros.transport.executors",
}
#: what rclpy means to be overridden; and of its action server how goals are taken and answered
HOOKS = {
    "destroy_node",
    "spin_once",
    "destroy",
    "_execute_goal_request",
    "_is_goal_request_ready",
} | {
    f"on_{transition}"
    for transition in ("configure", "cleanup", "shutdown", "activate", "deactivate", "error")
}


def names(cls: type) -> set[str]:
    """Names that a class itself defines: in its body, or as attributes of ``self``."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    of_self = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    of_python = {"_abc_impl", "_is_protocol"}
    return {
        name
        for name in {*vars(cls), *of_self} - of_python
        if not (name.startswith("__") and name.endswith("__"))
    }


@pytest.mark.parametrize("name", CLASSES)
def test_no_name_of_ours_hides_one_of_rclpy(name):
    cls = getattr(importlib.import_module(CLASSES[name]), name)
    ours = set()
    theirs = set()
    for parent in cls.__mro__:
        if parent.__module__.startswith("robot_dynamics_ros."):
            ours |= names(parent)
        elif parent.__module__.startswith("rclpy."):
            theirs |= names(parent)
    # the sources of rclpy were found
    assert len(theirs) > 20
    assert ours & theirs <= HOOKS
