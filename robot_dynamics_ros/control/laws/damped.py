"""Inverses that stay bounded where the arm cannot move in some direction."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array


def damped_inverse(A: Array, threshold: float = 1e-3) -> Array:
    """Inverse of a symmetric positive semi-definite matrix, bounded by half the inverse of a small eigenvalue.

    Eigenvalues s above ``threshold`` times the largest are inverted exactly; below, 1/s becomes s/(s² + λ²), with λ²
    growing from nothing to (threshold·s_max)² as s falls to zero, so that the result is continuous and directions
    that cannot be moved get nothing.

    Source: Nakamura and Hanafusa, J. Dyn. Syst. Meas. Control 108 (1986); Chiaverini, IEEE T-RA 13 (1997).
    """
    s, U = np.linalg.eigh(A)
    top = s[-1]
    if top <= 0.0:
        return np.zeros_like(A)
    small = threshold * top
    s = np.maximum(s, 0.0)
    ratio = s / small
    squared = np.where(ratio < 1.0, (1.0 - ratio * ratio) * small * small, 0.0)
    return (U * (s / (s * s + squared))) @ U.T


def task_inertia(J: Array, Y: Array, length: float = 0.3, threshold: float = 1e-3) -> Array:
    """(6, 6) inertia that a link shows in the task space, Λ = (J M⁻¹ Jᵀ)⁻¹, without the directions it cannot move in.

    Whether it can move is judged by the kinematics alone (a light wrist is no singularity): directions whose
    eigenvalue of the weighted J Jᵀ is below ``threshold`` times the largest fade out of Λ smoothly, and are gone from
    it where the eigenvalue is zero.  Elsewhere the inverse is exact.

    Args:
        J: (6, n) Jacobian.
        Y: (n, 6) M⁻¹ Jᵀ.
        length: m, weighs translations against rotations.
    """
    weight = np.array([1.0, 1.0, 1.0, 1.0 / length, 1.0 / length, 1.0 / length])
    scaled = weight[:, None] * J
    s, U = np.linalg.eigh(scaled @ scaled.T)
    if s[-1] <= 0.0:
        return np.zeros((6, 6))
    x = np.clip(s / (threshold * s[-1]), 0.0, 1.0)
    mobility = scaled @ (Y * weight)
    if x[0] == 1.0:
        inertia = np.linalg.inv(0.5 * (mobility + mobility.T))
    else:
        kept = x * x * (3.0 - 2.0 * x)
        P = (U * kept) @ U.T
        filler = (U * (1.0 - kept * kept)) @ U.T * (np.trace(mobility) / 6.0)
        inertia = P @ np.linalg.solve(P @ mobility @ P + filler, P)
    return 0.5 * (inertia + inertia.T) * np.outer(weight, weight)


def rotation_error(R_d: Array, R: Array) -> Array:
    """(3,) 2 sin(θ/2) u of the rotation by θ about u (in world axes) that takes ``R`` to ``R_d``.

    It equals the rotation vector for small angles and grows steadily up to half a rotation.
    """
    E = R_d @ R.T
    cosine = 0.5 * (E[0, 0] + E[1, 1] + E[2, 2] - 1.0)
    twice_sine = np.array([E[2, 1] - E[1, 2], E[0, 2] - E[2, 0], E[1, 0] - E[0, 1]])  # 2 sinθ u
    if cosine > -0.999:
        # 2 sin(θ/2) u = (2 sinθ u) / (2 cos(θ/2)), and 2 cos(θ/2) = √(2 (1 + cosθ))
        return twice_sine / np.sqrt(2.0 * (1.0 + cosine))
    # near half a rotation the antisymmetric part vanishes and the axis comes from the symmetric one, u uᵀ
    S = 0.5 * (E + E.T)
    k = int(np.argmax(S.diagonal()))
    axis = S[:, k] - cosine * np.eye(3)[:, k]
    axis /= np.linalg.norm(axis)
    if axis @ twice_sine < 0.0:
        axis = -axis
    return np.sqrt(max(0.0, 2.0 * (1.0 - cosine))) * axis
