"""A free root: a floating joint above the root link."""

from __future__ import annotations

import dataclasses

from robot_dynamics_ros.model.description import Joint, JointType, Link, RobotDescription
from robot_dynamics_ros.model.tree import walk


def with_floating_base(description: RobotDescription) -> RobotDescription:
    """The same robot on a floating joint ``root_joint`` from a new root link ``world``.

    Where the robot uses one of these names already, the new one is ``floating_base_joint`` or ``floating_base_world``
    (then with underscores in front until it is free).
    """
    _, _, link_order, _ = walk(description)
    world = _free_name("world", "floating_base_world", {link.name for link in description.links})
    name = _free_name("root_joint", "floating_base_joint", {joint.name for joint in description.joints})
    joint = Joint(name, JointType.FLOATING, parent=world, child=link_order[0])
    return dataclasses.replace(
        description, links=(Link(world), *description.links), joints=(joint, *description.joints)
    )


def _free_name(wanted: str, otherwise: str, taken: set[str]) -> str:
    name = wanted if wanted not in taken else otherwise
    while name in taken:
        name = "_" + name
    return name
