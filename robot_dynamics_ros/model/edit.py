"""New robots from old: lock joints, cut out a subtree, attach a payload or a tool.

Each function returns a new frozen model with the gravity, and where it makes sense the base, of the old one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.description import Array, Inertia, Joint, JointType, Link, Mimic, Pose, RobotDescription
from robot_dynamics_ros.model.inertia_check import inertia_fault
from robot_dynamics_ros.model.joint_motion import joint_pose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["attach", "lock", "subtree"]


def lock(model: RobotModel, names: str | Iterable[str], at: ArrayLike | Mapping[str, Any] | None = None) -> RobotModel:
    """The robot with some joints fixed where they are.  See :meth:`RobotModel.lock`."""
    wanted = [names] if isinstance(names, str) else list(names)
    bodies: dict[int, str] = {}
    for name in wanted:
        i = model.body_index(name)
        if model.mimic_master[i] >= 0:
            master = model.moving_joint_names[model.mimic_master[i]]
            raise ArgumentError(
                f"joint {name!r} mimics {master!r}",
                where="lock",
                got=name,
                remedy=f"Lock {master!r}; what follows it is locked with it.",
            )
        bodies[i] = name
    q = _locked_configuration(model, wanted, at)
    fixed: dict[str, Joint] = {}
    for i, name in enumerate(model.moving_joint_names):
        master = int(model.mimic_master[i])
        if (i if master < 0 else master) not in bodies:
            continue
        joint = model.joint(name)
        at_index = int(model.q_index[i])
        value = q[at_index : at_index + joint.type.nq]
        if master >= 0:
            value = model.mimic_multiplier[i] * value + model.mimic_offset[i]
        fixed[name] = Joint(name, JointType.FIXED, joint.parent, joint.child, joint.origin @ joint_pose(joint, value))
    old = model.description
    return model.replace(
        description=dataclasses.replace(
            old,
            joints=tuple(fixed.get(joint.name, joint) for joint in old.joints),
            initial_positions={n: p for n, p in old.initial_positions.items() if n not in fixed},
            source="",
        )
    )


def subtree(model: RobotModel, link: str, base: Pose | ArrayLike | None = None) -> RobotModel:
    """A link and everything beyond it, on its own.  See :meth:`RobotModel.subtree`."""
    model.link_index(link)
    old = model.description
    children: dict[str, list[Joint]] = {}
    for joint in old.joints:
        children.setdefault(joint.parent, []).append(joint)
    kept_links, kept_joints, stack = {link}, set(), [link]
    while stack:
        for joint in children.get(stack.pop(), ()):
            kept_joints.add(joint.name)
            kept_links.add(joint.child)
            stack.append(joint.child)
    for joint in old.joints:
        if joint.name in kept_joints and joint.mimic is not None and joint.mimic.joint not in kept_joints:
            raise ModelError(
                f"joint {joint.name!r} mimics {joint.mimic.joint!r}, which is not part of the subtree",
                where=f"subtree of {link!r}",
                got=joint.mimic.joint,
                remedy=f"Lock {joint.mimic.joint!r} first, or start the subtree above it.",
            )
    description = dataclasses.replace(
        old,
        name=f"{old.name}/{link}",
        links=tuple(item for item in old.links if item.name in kept_links),
        joints=tuple(item for item in old.joints if item.name in kept_joints),
        initial_positions={n: p for n, p in old.initial_positions.items() if n in kept_joints},
        source="",
    )
    return model.replace(description=description, base=Pose.of(base))


def attach(
    model: RobotModel,
    link: str,
    body: Inertia | RobotModel | RobotDescription | float,
    pose: Pose | ArrayLike | None = None,
    *,
    name: str = "payload",
    prefix: str = "",
) -> RobotModel:
    """The robot with something rigidly attached to one of its links.  See :meth:`RobotModel.attach`."""
    model.link_index(link)
    placement = Pose.of(pose)
    old = model.description
    initial = dict(old.initial_positions)
    if isinstance(body, (RobotDescription, type(model))):
        added = body if isinstance(body, RobotDescription) else body.description
        added = _prefixed(added, prefix)
        children = {joint.child for joint in added.joints}
        roots = [item.name for item in added.links if item.name not in children]
        if len(roots) != 1:
            raise ModelError(
                f"it has {len(roots)} root links",
                where=f"attached robot {added.name!r}",
                got=roots,
                remedy="Give one tree.",
            )
        links, joints, root = added.links, added.joints, roots[0]
        initial.update(added.initial_positions)
    else:
        inertia = _payload(body)
        links, joints, root = (Link(prefix + name, inertia),), (), prefix + name
    weld = Joint(f"{root}_joint", JointType.FIXED, link, root, placement)
    _check_free({item.name for item in old.links}, [item.name for item in links], "link")
    _check_free({item.name for item in old.joints}, [weld.name, *(item.name for item in joints)], "joint")
    return model.replace(
        description=dataclasses.replace(
            old, links=old.links + links, joints=(*old.joints, weld, *joints), initial_positions=initial, source=""
        )
    )


def _payload(body: Any) -> Inertia:
    if not isinstance(body, Inertia):
        if isinstance(body, bool) or not isinstance(body, (int, float, np.integer, np.floating)):
            raise ArgumentError(
                f"expected an Inertia, a mass or a robot, got {type(body).__name__}",
                where="attach",
                got=body,
                remedy="Inertia(mass, com, rotational) describes a payload; a number is a point mass in kg.",
            )
        body = Inertia(float(body))
    finite = np.isfinite(body.mass) and np.isfinite(body.com).all() and np.isfinite(body.rotational).all()
    if not finite or not np.array_equal(body.rotational, body.rotational.T):
        raise ArgumentError(
            "the inertia is not finite or its matrix not symmetric",
            where="attach",
            got=body,
            remedy="Give finite numbers and a symmetric (3, 3) matrix.",
        )
    fault = inertia_fault(body)
    if fault is not None:
        raise ModelError(fault.problem, where="attach", got=body, remedy=fault.remedy)
    return body


def _check_free(taken: set[str], new: list[str], kind: str) -> None:
    for name in new:
        if name in taken:
            raise ModelError(
                f"the robot has a {kind} {name!r} already",
                where="attach",
                got=name,
                remedy="Pass another name, or a prefix for all names that are added.",
            )
        taken.add(name)


def _prefixed(description: RobotDescription, prefix: str) -> RobotDescription:
    if not prefix:
        return description

    def renamed(joint: Joint) -> Joint:
        mimic = joint.mimic
        if mimic is not None:
            mimic = Mimic(prefix + mimic.joint, mimic.multiplier, mimic.offset)
        return dataclasses.replace(
            joint, name=prefix + joint.name, parent=prefix + joint.parent, child=prefix + joint.child, mimic=mimic
        )

    return dataclasses.replace(
        description,
        links=tuple(Link(prefix + item.name, item.inertia) for item in description.links),
        joints=tuple(renamed(joint) for joint in description.joints),
        initial_positions={prefix + n: p for n, p in description.initial_positions.items()},
    )


def _locked_configuration(model: RobotModel, names: list[str], at: Any) -> Array:
    """(nq,) configuration whose entries for ``names`` are checked."""
    q = model.neutral()
    if isinstance(at, Mapping):
        for name in at:
            model.body_index(name)
        for name in names:
            if name not in at:
                raise ArgumentError(
                    f"no position for joint {name!r}",
                    where="lock, at",
                    got=sorted(at),
                    remedy="Give one for every joint that is locked.",
                )
            _set(q, model.q_slice(name), at[name], f"lock, at[{name!r}]")
    elif at is not None:
        _set(q, slice(0, model.nq), at, "lock, at")
    for name in names:
        values = q[model.q_slice(name)]
        if model.joint(name).type is JointType.FLOATING and abs(np.linalg.norm(values[3:]) - 1.0) > 1e-6:
            raise ArgumentError(
                "the quaternion is not of unit length",
                where=f"lock, joint {name!r}",
                got=values.tolist(),
                remedy="The position of a floating joint is [x, y, z, qx, qy, qz, qw].",
            )
    return q


def _set(q: Array, where: slice, value: Any, label: str) -> None:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    size = where.stop - where.start
    if array.ndim == 0 and size == 1:
        array = array.reshape(1)
    if array.shape != (size,) or not np.isfinite(array).all():
        raise ArgumentError(
            f"expected {size} finite number{'s' if size != 1 else ''}, got {value!r}",
            where=label,
            got=value,
            remedy="Give a configuration of the whole robot, or {joint: position}.",
        )
    q[where] = array
