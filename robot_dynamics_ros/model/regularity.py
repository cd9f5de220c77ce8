"""Whether the mass matrix can be inverted: robots whose joints can move without moving any inertia
are named.

M is eliminated from the tips to the root, M = Lᵀ D L (Featherstone, *Rigid Body Dynamics
Algorithms*, 2008, section 6.5), at a random configuration.  The pivots D are the articulated
inertias that the joints feel; one vanishes exactly when M is singular.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.checks import listed
from robot_dynamics_ros.model.description import (
    Array,
    Inertia,
    Joint,
    JointType,
    Link,
    Pose,
    joint_pose,
    plane_axes,
)

_BODIES_NAMED = 6
# What remains of a composite inertia is round-off below this share of it.
_ZERO_INERTIA_SHARE = 1e-11
# A moment above this share of a body's largest one is far from any doubt.
_SAFE_MOMENT_SHARE = 1e-6
# between numbers of two bodies: sums of both keep hardly a digit of the smaller
_LARGEST_INERTIA_SPREAD = 1e12


def singular_error(motions: Sequence[Sequence[str]], joints: Mapping[str, Joint]) -> ModelError:
    """The error for motions found by :func:`singular_motion`: the child link of the first joint of
    each lacks inertia.
    """
    first = motions[0][0]
    others = [f"joint {names[0]!r}: {_problem(names, joints)}" for names in motions[1:]]
    return ModelError(
        (
            f"{_problem(motions[0], joints)}; the mass matrix is singular: no finite effort "
            "gives a "
            "finite acceleration"
        )
        + listed(others, _BODIES_NAMED - 1),
        where=f"joint {first!r}",
        got=tuple(motions[0]),
        remedy=f"Give link {joints[first].child!r} an <inertial>, the joint an armature, or make "
        "the joint fixed; "
        "inertia_check 'repair' puts a small ball of water there.",
        setting=("inertia_check", "repair"),
    )


def _problem(names: Sequence[str], joints: Mapping[str, Joint]) -> str:
    link = joints[names[0]].child
    if len(names) > 1:
        shown = " and ".join(repr(name) for name in names[:4]) + (" …" if len(names) > 4 else "")
        return (
            f"joints {shown} can move against each other without moving any inertia, for link "
            f"{link!r} has too little"
        )
    kind = joints[names[0]].type
    if kind in (JointType.REVOLUTE, JointType.CONTINUOUS):
        about = " about its axis"
    else:
        about = ""
    return f"nothing that it moves has any inertia{about} (link {link!r})"


def _digits_may_be_lost(bodies: Sequence[Inertia], placements: Sequence[Pose]) -> bool:
    """Whether a body is so large, or so far away, that sums over bodies may have no digit of the
    smallest one.
    """
    sizes = [
        x for body in bodies for x in (body.mass, float(np.trace(body.about_origin()))) if x > 0.0
    ]
    reach = sum(float(np.abs(place.position).max()) for place in placements)
    total = sum(body.mass for body in bodies)
    return bool(sizes) and max(*sizes, total * reach * reach) > _LARGEST_INERTIA_SPREAD * min(sizes)


def lost_digits_error(links: Sequence[Link]) -> ModelError:
    """The error for a robot that is singular because one link is far too large or far too far
    away.
    """
    largest = max(
        links, key=lambda link: max(link.inertia.mass, float(np.trace(link.inertia.about_origin())))
    )
    body = largest.inertia
    return ModelError(
        f"its mass of {body.mass:.3g} kg, its moments of inertia of "
        f"{np.trace(body.about_origin()):.3g} kg m², or the origin "
        "of a joint, leave no digits for smaller links: the mass matrix is singular in "
        "floating-point numbers",
        where=f"link {largest.name!r}",
        remedy="Check the units: kg, m and kg m².",
    )


def _moves_inertia(joint: Joint, body: Inertia) -> bool:
    """Whether a body has inertia about its own joint's axis, or the joint armature.

    Where all have, M is regular, by induction from the root: if velocities move no inertia, the
    first joint's is zero, hence the next one's, and so on.
    """
    if joint.armature + joint.rotor_inertia > 0.0:
        return True
    if body.mass <= 0.0:
        return False
    if joint.type is JointType.PRISMATIC:
        return True
    if joint.type is JointType.FLOATING:
        values = np.linalg.eigvalsh(body.rotational)
        return bool(values[0] > _SAFE_MOMENT_SHARE * values[2])
    if joint.type is JointType.PLANAR:
        about = body.rotational
    else:
        about = body.about_origin()
    return bool(joint.axis @ about @ joint.axis > _SAFE_MOMENT_SHARE * np.trace(about))


def singular_motion(
    order: Sequence[Joint],
    parent: Sequence[int] | NDArray[np.intp],
    placements: Sequence[Pose],
    bodies: Sequence[Inertia],
    mimics: tuple[Sequence[int], Sequence[float], Sequence[float]],
    v_index: Sequence[int],
) -> list[str]:
    """Joints, by name, that can move together without moving any inertia; empty if M is regular.

    Arguments are in the order of the moving joints, ``order``, ``parent`` and ``mimics`` (masters,
    multipliers, offsets) with −1 where there is none.
    """
    if all(map(_moves_inertia, order, bodies)) and not _digits_may_be_lost(bodies, placements):
        return []
    rng = np.random.default_rng(20)
    # of a quaternion the direction counts
    q = [rng.uniform(-1.3, 1.3, joint.type.nq) for joint in order]
    for i, (master, multiplier, offset) in enumerate(zip(*mimics, strict=True)):
        if master >= 0:
            q[i] = multiplier * q[master] + offset
    poses = [
        placement @ joint_pose(joint, x)
        for placement, joint, x in zip(placements, order, q, strict=True)
    ]
    composite = list(bodies)
    for i in range(len(order) - 1, -1, -1):
        if parent[i] >= 0:
            composite[parent[i]] = composite[parent[i]] + composite[i].in_parent(poses[i])
    owner = [
        joint.name
        for joint, master in zip(order, mimics[0], strict=True)
        if master < 0
        for _ in range(joint.type.nv)
    ]
    M = np.zeros((len(owner), len(owner)))
    armature = np.zeros(len(owner))
    # what would be zero only by round-off
    size = np.zeros(len(owner))
    # angular and linear velocity of each body's origin, in its axes
    J: list[tuple[Array, Array]] = []
    for i, (joint, k) in enumerate(zip(order, mimics[1], strict=True)):
        own = slice(v_index[i], v_index[i] + joint.type.nv)
        S = _motion_subspace(joint, q[i])
        turn, shift = J[parent[i]] if parent[i] >= 0 else np.zeros((2, 3, len(owner)))
        R = poses[i].rotation
        p = poses[i].position
        shift = R.T @ (shift + np.cross(turn, p, axis=0))
        turn = R.T @ turn
        turn[:, own] += k * S[:3]
        shift[:, own] += k * S[3:]
        J.append((turn, shift))
        of_com = shift + np.cross(turn, bodies[i].com, axis=0)
        M += turn.T @ bodies[i].rotational @ turn + bodies[i].mass * of_com.T @ of_com
        moments = np.trace(composite[i].about_origin())
        size[own] += [
            k * k * (moments if column[:3].any() else composite[i].mass) for column in S.T
        ]
        armature[own] += k * k * (joint.armature + joint.rotor_inertia)
    rate = _null_vector(M + np.diag(armature), size + armature)
    if rate is None:
        return []
    moving = np.abs(rate / np.abs(rate).max()) > 1e-5
    return list(dict.fromkeys(name for name, moves in zip(owner, moving, strict=True) if moves))


def _null_vector(M: Array, size: Array) -> Array | None:
    """A vector that ``M`` (positive semidefinite) takes to zero; None if there is none but zero."""
    n = len(M)
    remainder = M.copy()
    for k in range(n - 1, -1, -1):
        if remainder[k, k] <= _ZERO_INERTIA_SHARE * max(M[k, k], size[k] * 1e-3):
            rate = np.zeros(n)
            rate[k] = 1.0
            if k < n - 1:
                rate[k + 1 :] = -np.linalg.solve(M[k + 1 :, k + 1 :], M[k + 1 :, k])
            return rate
        column = remainder[:k, k]
        remainder[:k, :k] -= np.outer(column, column / remainder[k, k])
    return None


def _motion_subspace(joint: Joint, q: Array) -> Array:
    """(6, nv) in the child frame."""
    if joint.type is JointType.FLOATING:
        return np.eye(6)
    none = np.zeros(3)
    if joint.type is JointType.PLANAR:
        R = joint_pose(joint, q).rotation
        x, y = plane_axes(joint.axis)
        return np.array([[*none, *R.T @ x], [*none, *R.T @ y], [*joint.axis, *none]]).T
    return np.array(
        [[*none, *joint.axis] if joint.type is JointType.PRISMATIC else [*joint.axis, *none]]
    ).T
