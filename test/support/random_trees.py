"""Seeded random robots that hide nothing: turned frames, full inertias, branches, every joint type.

A robot whose frames are aligned and whose inertias are diagonal lets dropped terms pass unseen;
these do not.  The same arguments give the same robot on every machine.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
    plane_axes,
)
from robot_dynamics_ros.model.robot_model import DEFAULT_GRAVITY, RobotModel

ONE_DOF = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
ALL_TYPES = (*ONE_DOF, JointType.PLANAR, JointType.FLOATING)


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    """(3, 3) rotation, uniformly distributed."""
    x, y, z, w = random_quaternion(rng)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def random_quaternion(rng: np.random.Generator) -> np.ndarray:
    """(4,) unit quaternion [x, y, z, w], uniformly distributed."""
    quaternion = rng.standard_normal(4)
    return quaternion / np.linalg.norm(quaternion)


def random_pose(rng: np.random.Generator, size: float = 0.5) -> Pose:
    """Any orientation, position within ±``size``."""
    return Pose(random_rotation(rng), rng.uniform(-size, size, 3))


def random_inertia(
    rng: np.random.Generator, mass: float | None = None, size: float = 0.3
) -> Inertia:
    """A body that can exist: an ellipsoid of random half-axes, turned and shifted in its link."""
    m = float(rng.uniform(0.2, 5.0)) if mass is None else mass
    squares = rng.uniform(0.1 * size, size, 3) ** 2
    moments = m / 5.0 * (squares.sum() - squares)
    R = random_rotation(rng)
    matrix = R @ np.diag(moments) @ R.T
    return Inertia(m, rng.uniform(-size, size, 3), (matrix + matrix.T) / 2.0)


def random_description(
    seed: int,
    n_joints: int = 8,
    *,
    types: Sequence[JointType] = ONE_DOF,
    branching: float = 0.4,
    fixed: float = 0.25,
    mimic: float = 0.0,
    friction: bool = False,
    armature: bool = False,
    limits: bool = True,
    floating_base: bool = False,
    axis_aligned: float = 0.0,
    masses: tuple[float, float] | None = None,
) -> RobotDescription:
    """A random robot with ``n_joints`` moving joints.

    Args:
        seed: everything follows from it.
        n_joints: moving joints, mimic joints included, a floating base not.
        types: joint types to draw from, equally likely.
        branching: probability that a link hangs on any earlier link instead of the newest.
        fixed: probability of a fixed link (half of them massless frames) after each moving one.
        mimic: probability that a one-degree joint mimics another.
        friction, armature, limits: whether joints have them.
        floating_base: put a floating joint ``root_joint`` above everything.
        axis_aligned: probability of an axis along x, y or z instead of any direction.
        masses: range from which masses are drawn on a logarithmic scale; 0.2 to 5 kg evenly if not
            given.
    """
    rng = np.random.default_rng(seed)

    def body() -> Inertia:
        if masses is None:
            return random_inertia(rng)
        low, high = (math.log(value) for value in masses)
        return random_inertia(rng, mass=math.exp(rng.uniform(low, high)))

    links: list[Link] = [Link("root", body())]
    joints: list[Joint] = []
    if floating_base:
        links.insert(0, Link("world"))
        joints.append(Joint("root_joint", JointType.FLOATING, "world", "root"))
    ends = ["root"]
    for i in range(n_joints):
        parent = ends[int(rng.integers(len(ends)))] if rng.random() < branching else ends[-1]
        kind = types[int(rng.integers(len(types)))]
        axis = rng.standard_normal(3)
        axis /= np.linalg.norm(axis)
        if rng.random() < axis_aligned:
            axis = np.eye(3)[rng.integers(3)] * rng.choice([-1.0, 1.0])
        if kind is JointType.FLOATING:
            # it has none: URDF's default
            axis = np.array([1.0, 0.0, 0.0])
        name = f"link{i}"
        links.append(Link(name, body()))
        joints.append(
            Joint(
                f"joint{i}",
                kind,
                parent,
                name,
                random_pose(rng),
                axis,
                limits=_limits(rng, kind) if limits else JointLimits(),
                damping=float(rng.uniform(0.0, 2.0)) if friction else 0.0,
                friction=float(rng.uniform(0.0, 1.0)) if friction else 0.0,
                armature=float(rng.uniform(0.01, 0.5)) if armature else 0.0,
            )
        )
        ends.append(name)
        if rng.random() < fixed:
            attached = f"link{i}_fixed"
            links.append(Link(attached, body() if rng.random() < 0.5 else Inertia()))
            joints.append(
                Joint(f"joint{i}_fixed", JointType.FIXED, name, attached, random_pose(rng))
            )
            ends.append(attached)
    if mimic > 0.0:
        joints = _with_mimics(joints, mimic, rng)
    return RobotDescription(f"random_{seed}", tuple(links), tuple(joints))


def random_model(
    seed: int,
    n_joints: int = 8,
    *,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
    base: Pose | None = None,
    **options,
) -> RobotModel:
    """The model of :func:`random_description`, whose options it takes."""
    return RobotModel.from_description(
        random_description(seed, n_joints, **options), gravity=gravity, base=base
    )


def with_normals_along_z(description: RobotDescription) -> RobotDescription:
    """The same robot, the child frames of planar joints turned so that their normals are z.

    Coordinates, efforts and mass matrix stay what they are; only the frames of those links, and of
    what is described in them, turn.  For libraries that know planar joints in the x-y plane alone.
    """
    turns = {}
    for joint in description.joints:
        if joint.type is JointType.PLANAR:
            x, y = plane_axes(joint.axis)
            # old child frame as seen from the new one
            turns[joint.child] = Pose(np.stack([x, y, joint.axis]))
    links = tuple(
        Link(i.name, i.inertia.in_parent(turns.get(i.name, Pose()))) for i in description.links
    )
    joints = []
    for joint in description.joints:
        origin = turns.get(joint.parent, Pose()) @ joint.origin
        if joint.type is JointType.PLANAR:
            origin = origin @ turns[joint.child].inverse()
            joint = dataclasses.replace(joint, axis=np.array([0.0, 0.0, 1.0]))
        joints.append(dataclasses.replace(joint, origin=origin))
    return dataclasses.replace(description, links=links, joints=tuple(joints))


def random_state(
    model: RobotModel, seed: int | np.random.Generator, batch: tuple[int, ...] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q (…, nq), v (…, nv), a (…, nv) of any size within reason; quaternions of unit length; limits
    disregarded.
    """
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2.0, 2.0, (*batch, model.nq))
    for i in np.flatnonzero((model.joint_type == JointType.FLOATING) & (model.mimic_master < 0)):
        at = int(model.q_index[i])
        quaternion = rng.standard_normal((*batch, 4))
        q[..., at + 3 : at + 7] = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return q, rng.uniform(-3.0, 3.0, (*batch, model.nv)), rng.uniform(-5.0, 5.0, (*batch, model.nv))


def _limits(rng: np.random.Generator, kind: JointType) -> JointLimits:
    velocity, effort = (float(value) for value in rng.uniform((0.5, 5.0), (5.0, 200.0)))
    if kind in (JointType.REVOLUTE, JointType.PRISMATIC):
        return JointLimits(
            float(-rng.uniform(0.1, 3.0)), float(rng.uniform(0.1, 3.0)), velocity, effort
        )
    return JointLimits(velocity=velocity, effort=effort)


def _with_mimics(joints: list[Joint], probability: float, rng: np.random.Generator) -> list[Joint]:
    """Turn some joints into mimics, of masters before or after them, now and then of another
    mimic.
    """
    candidates = [joint.name for joint in joints if joint.type in ONE_DOF]
    followers: dict[str, Mimic] = {}
    free = list(candidates)
    for name in candidates:
        if len(free) > 1 and rng.random() < probability:
            # what is left has a master to end at
            free.remove(name)
            others = [
                other for other in candidates if other != name and _end(other, followers) != name
            ]
            multiplier = float(rng.uniform(0.3, 2.0) * rng.choice([-1.0, 1.0]))
            followers[name] = Mimic(
                str(rng.choice(others)), multiplier, float(rng.uniform(-0.5, 0.5))
            )
    return [
        Joint(
            j.name,
            j.type,
            j.parent,
            j.child,
            j.origin,
            j.axis,
            j.limits,
            j.damping,
            j.friction,
            j.armature,
            followers.get(j.name),
        )
        for j in joints
    ]


def _end(name: str, followers: dict[str, Mimic]) -> str:
    while name in followers:
        name = followers[name].joint
    return name
