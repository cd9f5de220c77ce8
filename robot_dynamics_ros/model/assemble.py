"""From a description to the arrays of a
:class:`~robot_dynamics_ros.model.robot_model.RobotModel`.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.checks import (
    check_bodies,
    check_numbers,
    check_policy,
    checked_joint,
    inertial_place,
    repaired,
    small_ball,
)
from robot_dynamics_ros.model.description import (
    Array,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    RobotDescription,
    frozen_array,
)
from robot_dynamics_ros.model.regularity import lost_digits_error, singular_error, singular_motion
from robot_dynamics_ros.model.tree import resolve_mimics, walk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def assemble(
    description: RobotDescription,
    gravity: Sequence[float],
    base: Pose | ArrayLike | None,
) -> dict[str, Any]:
    """The fields of the model, by name.

    Arguments and errors as :meth:`RobotModel.from_description`.
    """
    g = _checked_gravity(gravity)
    placed = Pose.of(base)
    check_numbers(placed.position, "base", "position", ArgumentError)
    description = _checked_description(description)
    order, fixed, placement = walk(description)
    nb = len(order)
    number = {joint.name: i for i, joint in enumerate(order)}
    body_of = {
        name: -1 if joint is None else number[joint] for name, (joint, _) in placement.items()
    }
    pose_of = {name: pose for name, (_, pose) in placement.items()}
    parent = np.array([body_of[j.parent] for j in order], dtype=np.intp)
    placements = [pose_of[j.parent] @ j.origin for j in order]
    master, multiplier, offset = resolve_mimics(order, number)
    q_index, nq = _first_coordinates([joint.type.nq for joint in order], master)
    v_index, nv = _first_coordinates([joint.type.nv for joint in order], master)

    mimics = (master, multiplier, offset)
    description, bodies = _with_regular_inertia(
        description,
        body_of,
        pose_of,
        order,
        lambda merged: singular_motion(order, parent, placements, merged, mimics, v_index),
    )
    *merged, root_inertia = bodies
    own = [joint for i, joint in enumerate(order) if master[i] < 0]
    bounds = _bounds_with_mimics(order, master, multiplier, offset)
    sums = _effects_of_joints(order, multiplier, v_index, nv)
    own_index = {j.name: v for j, v, m in zip(order, v_index, master, strict=True) if m < 0}
    coupling = _coupled(description, own_index, sums)
    return dict(
        description=description,
        gravity=frozen_array(g, (3,)),
        base=placed,
        parent=_ints(parent),
        root_inertia=root_inertia,
        coupling=coupling,
        link_body=_ints(list(body_of.values())),
        nq=nq,
        nv=nv,
        q_index=_ints(q_index),
        v_index=_ints(v_index),
        mimic_master=_ints(master),
        mimic_multiplier=frozen_array(multiplier, (nb,)),
        mimic_offset=frozen_array(offset, (nb,)),
        **{word: frozen_array(values, (nv,)) for word, values in sums.items()},
        **_names(description, own, order, fixed, placement),
        **_look_up(description, list(placement), number),
        **_body_arrays(order, placements, merged),
        **_limit_arrays(own, bounds),
        **_link_arrays(list(pose_of.values())),
    )


def _names(
    description: RobotDescription,
    own: Iterable[Joint],
    moving: Iterable[Joint],
    fixed: Iterable[Joint],
    links: Iterable[str],
) -> dict[str, str | tuple[str, ...]]:
    """Name of the robot, and of its joints (``own``: those that are no mimics) and links."""
    return {
        "name": description.name,
        "joint_names": tuple(j.name for j in own),
        "moving_joint_names": tuple(j.name for j in moving),
        "fixed_joint_names": tuple(j.name for j in fixed),
        "link_names": tuple(links),
    }


def _effects_of_joints(
    order: list[Joint],
    multiplier: list[float],
    v_index: list[int],
    nv: int,
) -> dict[str, Array]:
    """(nv,) damping, friction and armature, felt at each coordinate."""
    # power and torque of a mimic joint: its speed is the multiplier times the coordinate's, and so
    # is what its effort does; one that grows with speed or acceleration has the factor twice
    effects = [
        ("damping", 2, [j.damping for j in order]),
        ("friction", 1, [j.friction for j in order]),
        ("armature", 2, [j.armature + j.rotor_inertia for j in order]),
    ]
    return {
        word: _summed(np.abs(multiplier) ** power * values, order, v_index, nv)
        for word, power, values in effects
    }


def _look_up(
    description: RobotDescription,
    links: Sequence[str],
    body_of_joint: Mapping[str, int],
) -> dict[str, Mapping[str, object]]:
    """Name → joint, link, number of a link, or number of the body that a joint moves."""
    return {
        "_body_index": MappingProxyType(body_of_joint),
        "_joints": MappingProxyType({j.name: j for j in description.joints}),
        "_links": MappingProxyType({link.name: link for link in description.links}),
        "_link_index": MappingProxyType({n: i for i, n in enumerate(links)}),
    }


def _checked_gravity(gravity: Sequence[float]) -> Array:
    g = real_array_or_nan(gravity)
    if g.shape != (3,) or not np.isfinite(g).all():
        remedy = "Earth, with z up, is (0, 0, -9.81)."
        raise ArgumentError(
            f"expected three finite numbers in m/s², got {gravity!r}",
            where="gravity",
            remedy=remedy,
        )
    check_numbers(g, "gravity", "acceleration", ArgumentError)
    return g


def _body_arrays(
    order: Sequence[Joint],
    placements: Sequence[Pose],
    merged: Sequence[Inertia],
) -> dict[str, Array]:
    """Joints and bodies, in the order of the bodies."""
    nb = len(order)
    return {
        "joint_type": _ints([int(j.type) for j in order]),
        "joint_axis": frozen_array([j.axis for j in order], (nb, 3)),
        "joint_rotation": frozen_array([p.rotation for p in placements], (nb, 3, 3)),
        "joint_position": frozen_array([p.position for p in placements], (nb, 3)),
        "body_mass": frozen_array([b.mass for b in merged], (nb,)),
        "body_com": frozen_array([b.com for b in merged], (nb, 3)),
        "body_inertia": frozen_array([b.rotational for b in merged], (nb, 3, 3)),
    }


def _limit_arrays(
    own: Sequence[Joint], bounds: Mapping[str, tuple[float, float]]
) -> dict[str, Array]:
    """Limits, of every coordinate of the joints that are no mimics."""
    nq = [j.type.nq for j in own]
    nv = [j.type.nv for j in own]
    return {
        "lower": _repeated([bounds[j.name][0] for j in own], nq),
        "upper": _repeated([bounds[j.name][1] for j in own], nq),
        "velocity_limit": _repeated([j.limits.velocity for j in own], nv),
        "effort_limit": _repeated([j.limits.effort for j in own], nv),
    }


def _link_arrays(poses: Sequence[Pose]) -> dict[str, Array]:
    """Placements of the links in their bodies."""
    n = len(poses)
    return {
        "link_rotation": frozen_array([pose.rotation for pose in poses], (n, 3, 3)),
        "link_position": frozen_array([pose.position for pose in poses], (n, 3)),
    }


def _with_regular_inertia(
    description: RobotDescription,
    body_of: Mapping[str, int],
    pose_of: Mapping[str, Pose],
    order: list[Joint],
    singular: Callable[[list[Inertia]], list[str]],
) -> tuple[RobotDescription, list[Inertia]]:
    """The description, repaired where that is asked for, and the inertias of the bodies, the root
    body last.

    ``singular``: from the inertias of the moving bodies to joints that can move together without
    any effort.
    """
    joint_named = {joint.name: joint for joint in order}
    policy = description.inertia_check
    stuck = list[list[str]]()
    # once, and once more for each joint that moves no inertia
    while True:
        links = {link.name: link for link in description.links}
        bodies = [Inertia() for _ in range(len(order) + 1)]
        for link, body in body_of.items():
            bodies[body] = bodies[body] + links[link].inertia.in_parent(pose_of[link])
        check_bodies(description.links, body_of, bodies, list(joint_named), policy)
        motion = singular(bodies[:-1])
        if not motion:
            break
        # nothing that could be added to its link would be seen
        if any(motion[0] == before[0] for before in stuck):
            raise lost_digits_error(description.links)
        stuck.append(motion)
        description = _with_ball(description, joint_named[motion[0]].child)
    if stuck and policy != "repair":
        raise singular_error(stuck, joint_named)
    return description, bodies


def _bounds_with_mimics(
    order: Sequence[Joint],
    master: Sequence[int],
    multiplier: Sequence[float],
    offset: Sequence[float],
) -> dict[str, tuple[float, float]]:
    """Joint → its position limits, narrowed by those of the joints that mimic it: where one of them
    is at its stop, the master is, too.
    """
    bounds = {}
    for joint, leader in zip(order, master, strict=True):
        if leader < 0 and joint.type in (JointType.REVOLUTE, JointType.PRISMATIC):
            bounds[joint.name] = (joint.limits.lower, joint.limits.upper)
        elif leader < 0:
            bounds[joint.name] = (-math.inf, math.inf)
    for i, joint in enumerate(order):
        bounded = joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
        if master[i] < 0 or not bounded or multiplier[i] == 0.0:
            continue
        limits = (joint.limits.lower, joint.limits.upper)
        ends = sorted((float(x) - float(offset[i])) / float(multiplier[i]) for x in limits)
        low, high = bounds[order[master[i]].name]
        bounds[order[master[i]].name] = (max(low, ends[0]), min(high, ends[1]))
    return bounds


def _first_coordinates(sizes: list[int], master: Sequence[int]) -> tuple[list[int], int]:
    """First coordinate of each body's joint (a mimic joint has its master's), and how many there
    are.
    """
    first = [0] * len(sizes)
    count = 0
    for i, size in enumerate(sizes):
        if master[i] < 0:
            first[i] = count
            count = count + size
    return [first[i] if k < 0 else first[k] for i, k in enumerate(master)], count


def _repeated(values: list[float], times: list[int]) -> Array:
    """Each value as often as its joint has coordinates."""
    return frozen_array(np.repeat(values, times), (sum(times),))


def _summed(values: Array, joints: list[Joint], v_index: list[int], nv: int) -> Array:
    """(nv,) sums over the joints that share a coordinate."""
    total = np.zeros(nv)
    for value, joint, first in zip(values, joints, v_index, strict=True):
        total[first : first + joint.type.nv] += value
    return total


def _coupled(
    description: RobotDescription,
    index: Mapping[str, int],
    sums: Mapping[str, Array],
) -> Array:
    """(6, nv) :attr:`RobotModel.coupling`; a motor of which one joint is fixed is the other's, in
    ``sums``.

    By virtual work a motor of speed u = v_j + s v_k acts with f(u) on joint j and with s f(u) on
    joint k, which is s² d (u/s) + |s| F_c tanh((u/s) / (w/|s|)) + s² J (u̇/s).
    """
    rows = np.tile([[0.0], [0.0], [1.0], [0.0], [0.0], [0.0]], len(sums["damping"]))
    joints = {joint.name: joint for joint in description.joints}
    for joint in description.joints:
        if (c := joint.coupling) is None:
            continue
        ends = [
            (index[name], s) for name, s in ((joint.name, 1.0), (c.joint, c.ratio)) if name in index
        ]
        sizes = [
            np.array([abs(s) * c.friction, s * s * c.damping, s * s * c.armature]) for _, s in ends
        ]
        if len(ends) < 2:
            for (row, _), size in zip(ends, sizes, strict=True):
                for word, value in zip(("friction", "damping", "armature"), size, strict=True):
                    sums[word][row] += value
            continue
        (j, _), (k, _) = ends
        if (
            abs(j - k) != 1
            or joint.type.nv != 1
            or joints[c.joint].type.nv != 1
            or rows[:2, [j, k]].any()
        ):
            problem = f"its motor cannot turn with joint {c.joint!r}, too"
            remedy = (
                "Couple neighbours of one degree of freedom, and each of them with one other "
                "joint only."
            )
            raise ModelError(problem, where=f"joint {joint.name!r}", got=c, remedy=remedy)
        for (row, s), (other, t), size in zip(ends, ends[::-1], sizes, strict=True):
            rows[0 if other < row else 1, row] = t / s
            rows[2, row] = c.width / abs(s)
            rows[3:, row] = size
            sums["armature"][row] += size[2]
    return frozen_array(rows, rows.shape)


def _ints(values: object) -> np.ndarray:
    out = np.array(values, dtype=np.intp)
    out.setflags(write=False)
    return out


def _checked_description(description: RobotDescription) -> RobotDescription:
    """The description with all axes unit length, and possible inertias if that is asked for; errors
    for numbers that cannot be used.
    """
    check_policy(description.inertia_check)
    for link in description.links:
        body = link.inertia
        if not (
            math.isfinite(body.mass)
            and np.isfinite(body.com).all()
            and np.isfinite(body.rotational).all()
        ):
            raise ModelError(
                "its inertia is not finite",
                where=f"link {link.name!r}",
                remedy="Give finite numbers.",
            )
        off = np.abs(body.rotational - body.rotational.T).max()
        if off > 1e-9 * np.abs(body.rotational).max():
            problem = "its rotational inertia is not symmetric"
            remedy = "The products of inertia are the same on both sides of the diagonal."
            raise ModelError(
                problem, where=f"link {link.name!r}", got=body.rotational.tolist(), remedy=remedy
            )
    if description.inertia_check == "repair":
        links, findings = repaired(description.links)
        if findings:
            description = dataclasses.replace(
                description, links=links, findings=(*description.findings, *findings)
            )
    joints = [checked_joint(joint) for joint in description.joints]
    if all(new is old for new, old in zip(joints, description.joints, strict=True)):
        return description
    return dataclasses.replace(description, joints=tuple(joints))


def _with_ball(description: RobotDescription, name: str) -> RobotDescription:
    """The description with a small ball at a link without which the mass matrix is singular."""
    ball = small_ball(math.fsum(link.inertia.mass for link in description.links))
    finding = (
        f"a joint moves nothing that has inertia; repaired: a ball of {ball.mass:.3g} kg added"
    )
    links = [Link(x.name, x.inertia + ball) if x.name == name else x for x in description.links]
    findings = (*description.findings, f"{inertial_place(name)}: {finding}")
    return dataclasses.replace(description, links=tuple(links), findings=findings)
