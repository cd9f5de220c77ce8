"""New descriptions from old: lock joints, cut out a subtree, attach a payload or a tool, free the
root.

:class:`~robot_dynamics_ros.model.robot_model.RobotModel` has methods of the same names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.checks import inertia_fault
from robot_dynamics_ros.model.description import (
    Array,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    RobotDescription,
    joint_pose,
)
from robot_dynamics_ros.model.tree import walk


def lock(description: RobotDescription, positions: Mapping[str, Array]) -> RobotDescription:
    """The robot with some joints fixed, mimic joints included, each at its (nq of the joint,)
    position.
    """
    fixed = {}
    for j in description.joints:
        if j.name in positions:
            origin = j.origin @ joint_pose(j, positions[j.name])
            fixed[j.name] = Joint(
                j.name, JointType.FIXED, j.parent, j.child, origin, coupling=j.coupling
            )
    joints = tuple(fixed.get(joint.name, joint) for joint in description.joints)
    return _with_positions_of(description, lambda joint: joint not in fixed, joints=joints)


def subtree(description: RobotDescription, link: str) -> RobotDescription:
    """A link and everything beyond it, on its own."""
    children: dict[str, list[Joint]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint)
    kept_links = {link}
    kept_joints = set()
    stack = [link]
    while stack:
        for joint in children.get(stack.pop(), ()):
            kept_joints.add(joint.name)
            kept_links.add(joint.child)
            stack.append(joint.child)
    for joint in description.joints:
        if (
            joint.name in kept_joints
            and joint.mimic is not None
            and joint.mimic.joint not in kept_joints
        ):
            problem = (
                f"joint {joint.name!r} mimics {joint.mimic.joint!r}, which is not part of the "
                "subtree"
            )
            remedy = f"Lock {joint.mimic.joint!r} first, or start the subtree above it."
            raise ModelError(problem, where=f"subtree of {link!r}", remedy=remedy)
    return _with_positions_of(
        description,
        kept_joints.__contains__,
        name=f"{description.name}/{link}",
        links=tuple(item for item in description.links if item.name in kept_links),
        joints=tuple(item for item in description.joints if item.name in kept_joints),
    )


def _with_positions_of(
    description: RobotDescription,
    kept: Callable[[str], bool],
    **changes: Any,
) -> RobotDescription:
    configurations = {
        name: {j: p for j, p in positions.items() if kept(j)}
        for name, positions in description.configurations.items()
    }
    initial = {j: p for j, p in description.initial_positions.items() if kept(j)}
    changes |= {"initial_positions": initial, "configurations": configurations, "source": ""}
    return dataclasses.replace(description, **changes)


def attach(
    description: RobotDescription,
    link: str,
    body: Inertia | RobotDescription | float,
    placement: Pose,
    *,
    name: str,
    prefix: str,
) -> RobotDescription:
    """The robot with something rigidly attached to one of its links."""
    initial = dict(description.initial_positions)
    if isinstance(body, RobotDescription):
        added = _prefixed(body, prefix)
        children = {joint.child for joint in added.joints}
        roots = [item.name for item in added.links if item.name not in children]
        if len(roots) != 1:
            raise ModelError(
                f"it has {len(roots)} root links",
                where=f"attached robot {added.name!r}",
                remedy="Give one tree.",
            )
        links = added.links
        joints = added.joints
        root = roots[0]
        initial.update(added.initial_positions)
    else:
        links = (Link(prefix + name, _payload(body)),)
        joints = ()
        root = prefix + name
    fixed = Joint(f"{root}_joint", JointType.FIXED, link, root, placement)
    _check_free({item.name for item in description.links}, [item.name for item in links], "link")
    _check_free(
        {item.name for item in description.joints},
        [fixed.name, *(item.name for item in joints)],
        "joint",
    )
    return dataclasses.replace(
        description,
        links=description.links + links,
        joints=(*description.joints, fixed, *joints),
        initial_positions=initial,
        source="",
    )


def _payload(body: object) -> Inertia:
    if not isinstance(body, Inertia):
        if isinstance(body, bool) or not isinstance(body, (int, float, np.integer, np.floating)):
            problem = f"expected an Inertia, a mass or a robot, got {type(body).__name__}"
            remedy = (
                "Inertia(mass, com, rotational) describes a payload; a number is a point mass in "
                "kg."
            )
            raise ArgumentError(problem, where="attach", remedy=remedy)
        body = Inertia(float(body))
    finite = (
        np.isfinite(body.mass)
        and np.isfinite(body.com).all()
        and np.isfinite(body.rotational).all()
    )
    if not finite or not np.array_equal(body.rotational, body.rotational.T):
        problem = "the inertia is not finite or its matrix not symmetric"
        remedy = "Give finite numbers and a symmetric (3, 3) matrix."
        raise ArgumentError(problem, where="attach", got=body, remedy=remedy)
    fault = inertia_fault(body)
    if fault is not None:
        raise ModelError(fault.problem, where="attach", got=body, remedy=fault.remedy)
    return body


def _check_free(taken: set[str], new: list[str], kind: str) -> None:
    for name in new:
        if name in taken:
            remedy = "Pass another name, or a prefix for all names that are added."
            raise ModelError(
                f"the robot has a {kind} {name!r} already", where="attach", remedy=remedy
            )
        taken.add(name)


def _prefixed(description: RobotDescription, prefix: str) -> RobotDescription:
    if not prefix:
        return description

    def renamed(joint: Joint) -> Joint:
        changes: dict[str, Any] = {
            word: prefix + getattr(joint, word) for word in ("name", "parent", "child")
        }
        for word in ("mimic", "coupling"):
            if (other := getattr(joint, word)) is not None:
                changes[word] = dataclasses.replace(other, joint=prefix + other.joint)
        return dataclasses.replace(joint, **changes)

    return dataclasses.replace(
        description,
        links=tuple(Link(prefix + item.name, item.inertia) for item in description.links),
        joints=tuple(renamed(joint) for joint in description.joints),
        initial_positions={prefix + n: p for n, p in description.initial_positions.items()},
    )


def with_floating_base(description: RobotDescription) -> RobotDescription:
    """The same robot on a floating joint ``root_joint`` from a new root link ``world``.

    Where the robot uses one of these names already, the new one is ``floating_base_joint`` or
    ``floating_base_world`` (then with underscores in front until it is free).
    """
    *_, placement = walk(description)
    world = _free_name("world", "floating_base_world", {link.name for link in description.links})
    name = _free_name(
        "root_joint", "floating_base_joint", {joint.name for joint in description.joints}
    )
    joint = Joint(name, JointType.FLOATING, parent=world, child=next(iter(placement)))
    return dataclasses.replace(
        description, links=(Link(world), *description.links), joints=(joint, *description.joints)
    )


def _free_name(preferred: str, otherwise: str, taken: set[str]) -> str:
    name = preferred if preferred not in taken else otherwise
    while name in taken:
        name = "_" + name
    return name
