"""From a description to the arrays of a :class:`~robot_dynamics_ros.model.robot_model.RobotModel`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.checks import checked_joint
from robot_dynamics_ros.model.description import Array, Inertia, Joint, Pose, RobotDescription, frozen_array
from robot_dynamics_ros.model.inertia_check import check_bodies, check_policy, inertial_place, repaired, small_ball
from robot_dynamics_ros.model.regularity import doubtful_joints, singular_error, singular_motion
from robot_dynamics_ros.model.tree import resolve_mimics, walk

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["assemble"]


def assemble(description: RobotDescription, gravity: Sequence[float], base: Pose | ArrayLike | None) -> dict[str, Any]:
    """The fields of the model, by name.  Arguments and errors as :meth:`RobotModel.from_description`."""
    g = _checked_gravity(gravity)
    description = _checked_description(description)
    order, fixed, link_order, placement = walk(description)
    nb = len(order)
    number = {joint.name: i for i, joint in enumerate(order)}
    body_of = {name: -1 if joint is None else number[joint] for name, (joint, _) in placement.items()}
    pose_of = {name: pose for name, (_, pose) in placement.items()}
    parent = np.array([body_of[j.parent] for j in order], dtype=np.intp)
    placements = [pose_of[j.parent] @ j.origin for j in order]
    master, multiplier, offset = resolve_mimics(order, number)

    joint_named = {j.name: j for j in order}
    given, stuck = description, list[tuple[dict[str, float], str]]()
    while True:  # once, and once more for each joint that moves no inertia
        links = {link.name: link for link in description.links}
        merged = [Inertia() for _ in range(nb)]
        root_inertia = Inertia()
        for link_name in link_order:
            inertia = links[link_name].inertia.in_parent(pose_of[link_name])
            body = body_of[link_name]
            if body < 0:
                root_inertia = root_inertia + inertia
            else:
                merged[body] = merged[body] + inertia
        check_bodies(description.links, body_of, [*merged, root_inertia], list(joint_named), description.inertia_check)
        motion: dict[str, float] = {}
        if doubtful_joints(order, merged):
            motion = singular_motion(order, parent, placements, merged, master, multiplier, offset)
        if not motion:
            break
        lacking = joint_named[next(iter(motion))].child
        stuck.append((motion, lacking))
        description = _with_ball(description, lacking)
    if stuck and given.inertia_check != "repair":
        raise singular_error(stuck, joint_named)

    q_index = np.zeros(nb, dtype=np.intp)
    v_index = np.zeros(nb, dtype=np.intp)
    nq = nv = 0
    own: list[Joint] = []
    for i, joint in enumerate(order):
        if master[i] < 0:
            q_index[i], v_index[i] = nq, nv
            nq += joint.type.nq
            nv += joint.type.nv
            own.append(joint)
    for i in range(nb):
        if master[i] >= 0:
            q_index[i], v_index[i] = q_index[master[i]], v_index[master[i]]

    lower = np.full(nq, -math.inf)
    upper = np.full(nq, math.inf)
    velocity_limit = np.full(nv, math.inf)
    effort_limit = np.full(nv, math.inf)
    damping, friction, armature = np.zeros(nv), np.zeros(nv), np.zeros(nv)
    for i, joint in enumerate(order):
        v_slice = slice(v_index[i], v_index[i] + joint.type.nv)
        if master[i] < 0:
            if joint.type.nq == 1:
                lower[q_index[i]], upper[q_index[i]] = joint.limits.lower, joint.limits.upper
            velocity_limit[v_slice] = joint.limits.velocity
            effort_limit[v_slice] = joint.limits.effort
        k = multiplier[i]
        damping[v_slice] += k * k * joint.damping
        friction[v_slice] += abs(k) * joint.friction
        armature[v_slice] += k * k * (joint.armature + joint.rotor_inertia)

    def ints(values: object) -> np.ndarray:
        out = np.array(values, dtype=np.intp)
        out.setflags(write=False)
        return out

    return dict(
        name=description.name,
        description=description,
        gravity=g,
        base=Pose.of(base),
        joint_names=tuple(j.name for j in own),
        moving_joint_names=tuple(j.name for j in order),
        fixed_joint_names=tuple(j.name for j in fixed),
        link_names=tuple(link_order),
        nq=nq,
        nv=nv,
        parent=ints(parent),
        joint_type=ints([int(j.type) for j in order]),
        joint_axis=frozen_array([j.axis for j in order], (nb, 3)),
        joint_rotation=frozen_array([p.rotation for p in placements], (nb, 3, 3)),
        joint_position=frozen_array([p.position for p in placements], (nb, 3)),
        body_mass=frozen_array([b.mass for b in merged], (nb,)),
        body_com=frozen_array([b.com for b in merged], (nb, 3)),
        body_inertia=frozen_array([b.rotational for b in merged], (nb, 3, 3)),
        root_inertia=root_inertia,
        q_index=ints(q_index),
        v_index=ints(v_index),
        mimic_master=ints(master),
        mimic_multiplier=frozen_array(multiplier, (nb,)),
        mimic_offset=frozen_array(offset, (nb,)),
        lower=frozen_array(lower, (nq,)),
        upper=frozen_array(upper, (nq,)),
        velocity_limit=frozen_array(velocity_limit, (nv,)),
        effort_limit=frozen_array(effort_limit, (nv,)),
        damping=frozen_array(damping, (nv,)),
        friction=frozen_array(friction, (nv,)),
        armature=frozen_array(armature, (nv,)),
        link_body=ints([body_of[n] for n in link_order]),
        link_rotation=frozen_array([pose_of[n].rotation for n in link_order], (len(link_order), 3, 3)),
        link_position=frozen_array([pose_of[n].position for n in link_order], (len(link_order), 3)),
        _joints=MappingProxyType({j.name: j for j in description.joints}),
        _links=MappingProxyType(links),
        _link_index=MappingProxyType({n: i for i, n in enumerate(link_order)}),
        _body_index=MappingProxyType(number),
    )


def _checked_description(description: RobotDescription) -> RobotDescription:
    """The description with all axes unit length, and possible inertias if that is asked for; errors for numbers that
    cannot be used."""
    check_policy(description.inertia_check)
    for link in description.links:
        body = link.inertia
        if not (math.isfinite(body.mass) and np.isfinite(body.com).all() and np.isfinite(body.rotational).all()):
            raise ModelError("its inertia is not finite", where=f"link {link.name!r}", remedy="Give finite numbers.")
        off = np.abs(body.rotational - body.rotational.T).max()
        if off > 1e-9 * np.abs(body.rotational).max():
            raise ModelError(
                "its rotational inertia is not symmetric",
                where=f"link {link.name!r}",
                got=body.rotational.tolist(),
                remedy="The products of inertia are the same on both sides of the diagonal.",
            )
    if description.inertia_check == "repair":
        links, said = repaired(description.links)
        if said:
            description = dataclasses.replace(description, links=links, findings=(*description.findings, *said))
    joints = [checked_joint(joint) for joint in description.joints]
    if all(new is old for new, old in zip(joints, description.joints, strict=True)):
        return description
    return dataclasses.replace(description, joints=tuple(joints))


def _with_ball(description: RobotDescription, name: str) -> RobotDescription:
    """The description with a small ball at a link without which the mass matrix is singular."""
    ball = small_ball(math.fsum(link.inertia.mass for link in description.links))
    said = (
        f"{inertial_place(name)}: a joint moves nothing that has inertia; repaired: a ball of {ball.mass:.3g} kg added"
    )
    return dataclasses.replace(
        description,
        links=tuple(
            dataclasses.replace(link, inertia=link.inertia + ball) if link.name == name else link
            for link in description.links
        ),
        findings=(*description.findings, said),
    )


def _checked_gravity(gravity: Sequence[float]) -> Array:
    g = real_array_or_nan(gravity)
    if g.shape != (3,) or not np.isfinite(g).all():
        raise ArgumentError(
            f"expected three finite numbers in m/s², got {gravity!r}",
            where="gravity",
            got=gravity,
            remedy="Earth, with z up, is (0, 0, -9.81).",
        )
    return frozen_array(g, (3,))
