"""Poses as seven numbers, on arrays: position, then quaternion x, y, z, w."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array


def quaternion_of(R: Array) -> Array:
    """(4,) x, y, z, w of a rotation matrix, the real part not negative.

    The largest of four quantities is a square root, the others follow from it (Shepperd 1978).
    """
    K = np.array(
        [
            [R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
            [0.0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
            [0.0, 0.0, R[2, 2] - R[0, 0] - R[1, 1], R[1, 0] - R[0, 1]],
            [0.0, 0.0, 0.0, R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    K = np.triu(K) + np.triu(K, 1).T
    k = int(np.argmax(K.diagonal()))
    column = K[:, k] + np.eye(4)[k]
    column = column / np.linalg.norm(column)
    return -column if column[3] < 0.0 else column


def quaternion_product(a: Array, b: Array) -> Array:
    """(4,) the rotation ``b``, then ``a``; x, y, z, w."""
    vector_part = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    product = np.append(vector_part, a[3] * b[3] - a[:3] @ b[:3])
    return product / np.linalg.norm(product)
