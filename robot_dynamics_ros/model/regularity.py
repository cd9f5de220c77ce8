"""Whether the mass matrix can be inverted: robots whose joints can move without moving any inertia are named.

M = Σ Jᵀ I J + diag(armature) over all bodies, with J the Jacobian of a body, to which mimic joints add in the columns of
their masters.  M is eliminated from the tips to the root, M = Lᵀ D L (Featherstone, *Rigid Body Dynamics Algorithms*, 2008,
section 6.5).  The pivots D are the articulated inertias that the joints feel; one of them vanishes exactly when M is singular.
A configuration at random tells the robots that are singular everywhere from those that are singular in some poses only.

All this is done only where a body without inertia about its own joint's axis makes it necessary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import Array, Inertia, Joint, JointType, Link, Pose
from robot_dynamics_ros.model.joint_motion import joint_pose, plane_axes

_SHOWN = 6
_ZERO = 1e-11  # of the composite inertia: round-off
_SAFE = 1e-6  # of a body's largest moment: far from any doubt
_SPREAD = 1e12  # between numbers of two bodies: sums of both keep hardly a digit of the smaller


def singular_error(motions: Sequence[tuple[Mapping[str, float], str]], joints: Mapping[str, Joint]) -> ModelError:
    """The error for motions found by :func:`singular_motion`, each with the link that lacks inertia."""
    texts = [_problem(list(motion), link, joints) for motion, link in motions]
    problem = f"{texts[0]}; the mass matrix is singular: no finite effort gives a finite acceleration"
    for (motion, _), text in list(zip(motions, texts, strict=True))[1:_SHOWN]:
        problem += f"\n  joint {next(iter(motion))!r}: {text}"
    if len(motions) > _SHOWN:
        problem += f"\n  … and {len(motions) - _SHOWN} more"
    motion, link = motions[0]
    return ModelError(
        problem,
        where=f"joint {next(iter(motion))!r}",
        got=tuple(motion),
        remedy=f"Give link {link!r} an <inertial>, the joint an armature, or make the joint fixed; inertia_check 'repair' "
        "puts a small ball of water there.",
        setting=("inertia_check", "repair"),
    )


def _problem(names: list[str], link: str, joints: Mapping[str, Joint]) -> str:
    if len(names) > 1:
        shown = " and ".join(repr(name) for name in names[:4]) + (" …" if len(names) > 4 else "")
        return (
            f"joints {shown} can move against each other without moving any inertia, for link {link!r} has too little"
        )
    kind = joints[names[0]].type
    about = " about its axis" if kind in (JointType.REVOLUTE, JointType.CONTINUOUS) else ""
    return f"nothing that it moves has any inertia{about} (link {link!r})"


def doubtful_joints(order: Sequence[Joint], bodies: Sequence[Inertia]) -> list[int]:
    """Bodies that have hardly any inertia about their own joint's axis, and no armature: without them M is regular.

    By induction from the root: if velocities move no inertia, the first joint's is zero, hence the next one's, and so on.
    """
    return [
        i
        for i, joint in enumerate(order)
        if joint.armature + joint.rotor_inertia <= 0.0 and not _moves_inertia(joint, bodies[i])
    ]


def digits_may_be_lost(bodies: Sequence[Inertia], placements: Sequence[Pose]) -> bool:
    """Whether a body is so large, or so far away, that sums over bodies may have no digit of the smallest one."""
    sizes = [x for body in bodies for x in (body.mass, float(np.trace(body.about_origin()))) if x > 0.0]
    reach = sum(float(np.abs(place.position).max()) for place in placements)
    total = sum(body.mass for body in bodies)
    return bool(sizes) and max(*sizes, total * reach * reach) > _SPREAD * min(sizes)


def lost_digits_error(links: Sequence[Link]) -> ModelError:
    """The error for a robot that is singular because one link is far too large or far too far away."""
    largest = max(links, key=lambda link: max(link.inertia.mass, float(np.trace(link.inertia.about_origin()))))
    body = largest.inertia
    return ModelError(
        f"its mass of {body.mass:.3g} kg, its moments of inertia of {np.trace(body.about_origin()):.3g} kg m², or the origin "
        "of a joint, leave no digits for smaller links: the mass matrix is singular in floating-point numbers",
        where=f"link {largest.name!r}",
        remedy="Check the units: kg, m and kg m².",
    )


def _moves_inertia(joint: Joint, body: Inertia) -> bool:
    if body.mass <= 0.0:
        return False
    if joint.type is JointType.PRISMATIC:
        return True
    if joint.type is JointType.FLOATING:
        values = np.linalg.eigvalsh(body.rotational)
        return bool(values[0] > _SAFE * values[2])
    if joint.type is JointType.PLANAR:
        about = body.rotational
    else:
        about = body.about_origin()
    return bool(joint.axis @ about @ joint.axis > _SAFE * np.trace(about))


def singular_motion(
    order: Sequence[Joint],
    parent: Sequence[int] | NDArray[np.intp],
    placements: Sequence[Pose],
    bodies: Sequence[Inertia],
    mimics: tuple[Sequence[int], Sequence[float], Sequence[float]],
    v_index: Sequence[int],
) -> dict[str, float]:
    """Joint velocities that move no inertia, by joint name; empty if M is regular.

    Args:
        order: moving joints, parents first; ``parent``: the body before each, −1 for the root.
        placements: joint frame in the parent body's frame.
        mimics: master (−1 for joints with coordinates of their own), multiplier and offset of each.
        v_index: first coordinate of each.
    """
    rng = np.random.default_rng(20)
    q = [_configuration(joint, rng) for joint in order]
    for i, (master, multiplier, offset) in enumerate(zip(*mimics, strict=True)):
        if master >= 0:
            q[i] = multiplier * q[master] + offset
    X = [_to_child(placements[i] @ joint_pose(joint, q[i])) for i, joint in enumerate(order)]
    inertia = [_spatial_inertia(body) for body in bodies]
    composite = list(inertia)
    for i in range(len(order) - 1, -1, -1):
        if parent[i] >= 0:
            composite[parent[i]] = composite[parent[i]] + X[i].T @ composite[i] @ X[i]
    owner = [
        joint.name for joint, master in zip(order, mimics[0], strict=True) if master < 0 for _ in range(joint.type.nv)
    ]
    M, armature = np.zeros((len(owner), len(owner))), np.zeros(len(owner))
    size = np.zeros(len(owner))  # what would be zero only by round-off
    J: list[Array] = []
    for i, (joint, k) in enumerate(zip(order, mimics[1], strict=True)):
        own, S = slice(v_index[i], v_index[i] + joint.type.nv), _motion_subspace(joint, q[i])
        J.append(X[i] @ J[parent[i]] if parent[i] >= 0 else np.zeros((6, len(owner))))
        J[i][:, own] += k * S
        M += J[i].T @ inertia[i] @ J[i]
        moments = np.trace(composite[i][:3, :3])
        size[own] += [k * k * (moments if column[:3].any() else composite[i][5, 5]) for column in S.T]
        armature[own] += k * k * (joint.armature + joint.rotor_inertia)
    rate = _null_vector(M + np.diag(armature), size + armature)
    if rate is None:
        return {}
    rate /= np.abs(rate).max()
    speeds: dict[str, float] = {}
    for name, value in zip(owner, np.abs(rate), strict=True):
        if value > 1e-5:
            speeds[name] = max(speeds.get(name, 0.0), float(value))
    return speeds


def _null_vector(M: Array, size: Array) -> Array | None:
    """A vector that ``M`` (positive semidefinite) takes to zero; None if there is none but zero."""
    n = len(M)
    remainder = M.copy()
    for k in range(n - 1, -1, -1):
        if remainder[k, k] <= _ZERO * max(M[k, k], size[k] * 1e-3):
            rate = np.zeros(n)
            rate[k] = 1.0
            if k < n - 1:
                rate[k + 1 :] = -np.linalg.solve(M[k + 1 :, k + 1 :], M[k + 1 :, k])
            return rate
        column = remainder[:k, k]
        remainder[:k, :k] -= np.outer(column, column / remainder[k, k])
    return None


def _configuration(joint: Joint, rng: np.random.Generator) -> Array:
    q = rng.uniform(-1.3, 1.3, joint.type.nq)
    if joint.type is JointType.FLOATING:
        q[3:] /= np.linalg.norm(q[3:])
    return q


def _to_child(pose: Pose) -> Array:
    """(6, 6) Plücker transform of motions, parent to child coordinates."""
    E, p = pose.rotation.T, pose.position
    cross = np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = E
    X[3:, :3] = -E @ cross
    return X


def _motion_subspace(joint: Joint, q: Array) -> Array:
    """(6, nv) in the child frame."""
    S = np.zeros((6, joint.type.nv))
    if joint.type is JointType.FLOATING:
        S[:] = np.eye(6)
    elif joint.type is JointType.PRISMATIC:
        S[3:, 0] = joint.axis
    elif joint.type is JointType.PLANAR:
        R = joint_pose(joint, q).rotation
        x, y = plane_axes(joint.axis)
        S[3:, 0], S[3:, 1], S[:3, 2] = R.T @ x, R.T @ y, joint.axis
    else:
        S[:3, 0] = joint.axis
    return S


def _spatial_inertia(body: Inertia) -> Array:
    """(6, 6) about the body frame's origin."""
    c, m = body.com, body.mass
    cross = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    out = np.empty((6, 6))
    out[:3, :3] = body.about_origin()
    out[:3, 3:] = m * cross
    out[3:, :3] = -m * cross
    out[3:, 3:] = m * np.eye(3)
    return out
