"""Shapes that stand for what has no geometry: mass properties, and links without visuals."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.model.description import Array, Inertia, JointType, Pose
from robot_dynamics_ros.model.geometry import Shape
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.view.colours import PAPER


def equivalent(link: str, inertia: Inertia, kind: str = "ellipsoid") -> Shape:
    """The solid of uniform density that has this inertia: an ``"ellipsoid"``, a² = 5/(2m) (I₂ + I₃ − I₁), or a ``"box"``,
    edge² = 6/m (I₂ + I₃ − I₁)."""
    moments, axes = np.linalg.eigh(inertia.rotational)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    squares = (6.0 if kind == "box" else 2.5) * (moments.sum() - 2.0 * moments) / inertia.mass
    # a point mass or a rod has no thickness; something has to be seen
    squares = np.maximum(squares, 2.5e-6 + 1e-3 * squares.max(initial=0.0))
    return Shape(link, kind, tuple(np.sqrt(squares).tolist()), Pose(axes, inertia.com), PAPER)


def inertia_shapes(model: RobotModel, kind: str) -> tuple[Shape, ...]:
    """Shapes that show the mass properties of every link that has any: see :func:`equivalent`."""
    links = (model.link(name) for name in model.link_names)
    return tuple(equivalent(link.name, link.inertia, kind) for link in links if link.inertia.mass > 0.0)


def skeleton(model: RobotModel) -> tuple[Shape, ...]:
    """For a robot without geometry: capsules from joint to joint (or to the centre of mass, where no joint follows) and
    a cylinder about the axis of each moving joint."""
    links = link_tree(model)
    lengths = [float(np.linalg.norm(joint.origin.position)) for joint in model.description.joints]
    lengths += [float(np.linalg.norm(link.inertia.com)) for link in model.description.links]
    size = max(sum(sorted(lengths)[len(lengths) // 2 :]) / max(len(lengths) - len(lengths) // 2, 1), 1e-3)
    thick = 0.06 * size
    shapes = []
    for number, name in enumerate(model.link_names):
        ends = [model.joint(links.joint_of[c]).origin.position for c in links.children[number]]
        inertia = model.link(name).inertia
        if not ends and inertia.mass > 0.0:
            ends = [inertia.com]
        for end in ends:
            length = float(np.linalg.norm(end))
            if length > 1e-6:
                shapes.append(Shape(name, "capsule", (thick, length), _along(end), (0.72, 0.74, 0.78, 1.0)))
        joint = model.joint(links.joint_of[number]) if number else None
        if joint is not None and joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
            pose = Pose(_rotation_to(joint.axis), np.zeros(3))
            shapes.append(Shape(name, "cylinder", (1.5 * thick, 3.6 * thick), pose, (0.25, 0.32, 0.42, 1.0)))
    return tuple(shapes)


def _along(end: Array) -> Pose:
    """Placement of a body whose z axis is its length, so that it lies between the origin and ``end``."""
    return Pose(_rotation_to(end), 0.5 * np.asarray(end))


def _rotation_to(direction: Array) -> Array:
    """(3, 3) a rotation that takes z to ``direction``."""
    z = np.asarray(direction) / np.linalg.norm(direction)
    x = np.cross((0.0, 1.0, 0.0) if abs(z[1]) < 0.9 else (1.0, 0.0, 0.0), z)
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
