"""Axes of joints in a viser scene, with the arcs of their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    from viser import LineSegmentsHandle, SceneApi


def joint_axes(
    scene: SceneApi, model: RobotModel, root: str, nodes: Mapping[str, str], size: float
) -> list[LineSegmentsHandle]:
    """Draw the axis of every joint that turns or slides, the arc of its limits, and a pointer at its position.

    Args:
        scene: ``viser.ViserServer().scene``, or a client's.
        model: the robot.
        root: name of the node that the links' nodes belong to.
        nodes: link → name of its node.
        size: of the robot, m.

    Returns:
        The lines.
    """

    def lines(name: str, segments: Array, colour: Sequence[int]) -> LineSegmentsHandle:
        return scene.add_line_segments(
            f"{root}/{name}", segments.astype(np.float32), np.array(colour, np.uint8), thickness=2.5,
            thickness_units="screen",
        )  # fmt: skip

    handles = []
    for name in model.moving_joint_names:
        joint = model.joint(name)
        if joint.type not in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC):
            continue
        length, child = 0.12 * size, nodes[joint.child]
        axis = joint.axis
        side = np.cross(axis, (0.0, 0.0, 1.0) if abs(axis[2]) < 0.9 else (1.0, 0.0, 0.0))
        side /= np.linalg.norm(side)
        handles.append(lines(f"{child}/axis", np.array([[-length * axis, length * axis]]), (230, 120, 20)))
        lower, upper = joint.limits.lower, joint.limits.upper
        if joint.type is JointType.PRISMATIC:
            if not math.isfinite(lower + upper):
                continue
            mark = 0.03 * size * side
            limits = np.array(
                [[lower * axis, upper * axis], *([x * axis - mark, x * axis + mark] for x in (lower, upper))]
            )
        else:
            if joint.type is JointType.CONTINUOUS or not math.isfinite(lower + upper):
                lower, upper = -math.pi, math.pi
            angles = np.linspace(max(lower, -math.pi), min(upper, math.pi), 33)
            other = np.cross(axis, side)
            arc = 0.8 * length * (np.outer(np.cos(angles), side) + np.outer(np.sin(angles), other))
            limits = np.concatenate(
                [np.stack([arc[:-1], arc[1:]], axis=1), [[0.0 * side, arc[0]], [0.0 * side, arc[-1]]]]
            )
            handles.append(lines(f"{child}/hand", np.array([[0.0 * side, 0.8 * length * side]]), (20, 20, 20)))
        R, p = joint.origin.rotation, joint.origin.position
        handles.append(lines(f"{nodes[joint.parent]}/limits_{child}", limits @ R.T + p, (90, 160, 60)))
    return handles
