"""Where a joint's coordinates put its child link."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros import spatial
from robot_dynamics_ros.model.description import Array, Joint, JointType, Pose, frozen_array


def plane_axes(normal: Array) -> tuple[Array, Array]:
    """The unit vectors along which the x and y of a planar joint count, in the joint frame.

    With the normal they form a right-handed frame.  For a normal along a coordinate axis they are the next two axes
    in cyclic order (the second one reversed for a negative normal); in general, the first lies in the plane of the
    normal and the axis that follows the normal's largest component.
    """
    k = int(np.argmax(np.abs(normal)))
    following = np.zeros(3)
    following[(k + 1) % 3] = 1.0
    y = np.cross(normal, following)
    y /= np.linalg.norm(y)
    return np.cross(y, normal), y


def joint_pose(joint: Joint, q: Array) -> Pose:
    """Placement of the child link in the joint frame; ``q``, (nq,), is a mimic joint's own coordinate, not its master's."""
    kind = joint.type
    if kind is JointType.FIXED:
        return Pose()
    if kind is JointType.PRISMATIC:
        return Pose(position=joint.axis * q[0])
    if kind is JointType.PLANAR:
        x, y = plane_axes(joint.axis)
        return Pose(_rotation_about(joint.axis, float(q[2])), x * q[0] + y * q[1])
    if kind is JointType.FLOATING:
        return Pose(rotation_of_quaternion(q[3:7]), frozen_array(q[:3], (3,)))
    return Pose(_rotation_about(joint.axis, float(q[0])))


def _rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues: R = 1 + sin φ [a]× + (1 − cos φ) [a]×²."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * (cross @ cross)


def rotation_of_quaternion(quaternion: Array) -> Array:
    """(3, 3) rotation matrix of a quaternion [x, y, z, w] of any length but zero."""
    return np.array(spatial.rotation_of_quaternion(*(quaternion / np.linalg.norm(quaternion))).parts()).reshape(3, 3)
