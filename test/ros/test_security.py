"""Access rules cover everything that the nodes use, and nothing else."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.security import NodeAccess, access_of, policy

pytestmark = pytest.mark.middleware


def test_the_policy_of_the_stack_names_what_its_nodes_use(start, domain):
    start("simulator", robot_description_file="two_link")
    start("effort_gate", robot_description_file="two_link")
    start("controller", remap={"effort_controller/commands": "effort_gate/commands"}, robot_description_file="two_link")
    names = ["computed_torque_controller", "effort_gate", "robot_simulator"]
    nodes = access_of(names, domain=domain, timeout=120.0)
    root = ElementTree.fromstring(policy(nodes))
    rules = {
        enclave.get("path").rsplit("/", 1)[1]: {
            (next(iter(group.attrib)), item.text) for group in enclave.iter() for item in group if item.text.strip()
        }
        for enclave in root.iter("enclave")
    }
    assert sorted(rules) == names
    assert ("publish", "effort_gate/commands") in rules["computed_torque_controller"]
    assert ("subscribe", "joint_states") in rules["computed_torque_controller"]
    assert ("publish", "~/joint_wrenches/shoulder") in rules["computed_torque_controller"]
    assert ("reply", "~/hold") in rules["computed_torque_controller"]
    assert ("publish", "effort_controller/commands") in rules["effort_gate"]
    assert ("publish", "effort_controller/commands") not in rules["computed_torque_controller"]
    assert ("subscribe", "effort_controller/commands") in rules["robot_simulator"]
    for access in nodes:  # nothing that is used is left out
        for rule in ("publish", "subscribe", "reply", "execute"):
            for name in getattr(access, rule):
                assert (rule, access.relative(name)) in rules[access.node]


def test_a_node_that_does_not_come_is_named(domain):
    with pytest.raises(RobotDynamicsError, match="nobody"):
        access_of(["nobody"], domain=domain, timeout=0.5)


def test_names_are_relative_where_they_can_be():
    access = NodeAccess("controller", "/left", (), (), (), ())
    assert access.relative("/left/controller/hold") == "~/hold"
    assert access.relative("/left/joint_states") == "joint_states"
    assert access.relative("/diagnostics") == "/diagnostics"
