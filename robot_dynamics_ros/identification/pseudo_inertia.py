"""Inertial parameters that some rigid body has, and no others: every value of nine numbers and a scale is one.

The pseudo-inertia of a body, J = [[Σ, h], [hᵀ, m]] with Σ = ½ tr(I) 1 − I, is positive definite exactly when there is a
distribution of mass of which m, h and I are the moments.  With J₀ = L₀ L₀ᵀ of a body known to exist and U upper
triangular with a positive diagonal, J = L₀ U Uᵀ L₀ᵀ is positive definite for all U, and reaches all bodies;
log-diagonal and off-diagonal entries of U are free parameters, all zero at the body known.

Sources: Wensing, Kim and Slotine, IEEE RA-L 3 (2018) (consistency as J > 0); Rucker and Wensing, IEEE RA-L 7 (2022)
(triangular factors as parameters); Lee and Park, IEEE RA-L 3 (2018) (Riemannian distance between bodies).
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array

_RADIUS = 2e-3  # m, least radius of gyration
_UPPER = ((0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3))
_ROWS, _COLUMNS = np.array([(k, k) for k in range(4)] + list(_UPPER)).T  # of the free entries of U


def pseudo_inertia(parameters: Array) -> Array:
    """(..., 4, 4) pseudo-inertia of [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] about the body frame's origin."""
    p = np.asarray(parameters, dtype=np.float64)
    I = np.empty((*p.shape[:-1], 3, 3))  # noqa: E741 - the book's name
    for k, (r, c) in enumerate(((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))):
        I[..., r, c] = I[..., c, r] = p[..., 4 + k]
    J = np.empty((*p.shape[:-1], 4, 4))
    J[..., :3, :3] = 0.5 * np.trace(I, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - I
    J[..., :3, 3] = J[..., 3, :3] = p[..., 1:4]
    J[..., 3, 3] = p[..., 0]
    return J


def from_pseudo_inertia(J: Array) -> Array:
    """(..., 10) the inverse of :func:`pseudo_inertia`; linear."""
    S = J[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S  # noqa: E741
    return np.concatenate([J[..., 3:, 3], J[..., :3, 3], I[..., [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]], axis=-1)


def is_consistent(parameters: Array, tolerance: float = 0.0) -> np.ndarray:
    """(...) whether a rigid body has these parameters: the least eigenvalue of J exceeds ``tolerance`` times its
    trace."""
    J = pseudo_inertia(parameters)
    low = np.linalg.eigvalsh(J)[..., 0]
    return np.asarray(low > tolerance * np.trace(J, axis1=-2, axis2=-1))


class BodyShape:
    """Free parameters of one body around one that is known.

    Args:
        parameters: (10,) of the body known; one that does not exist, or is a point, is replaced by the nearest with a
            radius of gyration of at least 2 mm.
        least_mass: kg.
    """

    def __init__(self, parameters: Array, least_mass: float = 1e-6) -> None:
        p = np.array(parameters, dtype=np.float64)
        mass = max(float(p[0]), least_mass)
        com = p[1:4] / p[0] if p[0] > 0.0 else np.zeros(3)
        about_origin = pseudo_inertia(p)[:3, :3] * (mass / p[0] if p[0] > 0.0 else 0.0)
        s, V = np.linalg.eigh(about_origin - mass * np.outer(com, com))  # about the centre of mass
        second = (V * np.maximum(s, mass * _RADIUS**2)) @ V.T
        J = np.empty((4, 4))
        J[:3, :3] = second + mass * np.outer(com, com)
        J[:3, 3] = J[3, :3] = mass * com
        J[3, 3] = mass
        self.start = from_pseudo_inertia(J)
        self._L = np.linalg.cholesky(J)

    @staticmethod
    def _factor(x: Array) -> Array:
        U = np.diag(np.exp(np.clip(x[:4], -40.0, 40.0)))
        for k, (r, c) in enumerate(_UPPER):
            U[r, c] = x[4 + k]
        return U

    def parameters(self, x: Array) -> Array:
        """(10,) inertial parameters of free ones (10,); always those of a body."""
        LU = self._L @ self._factor(x)
        return from_pseudo_inertia(LU @ LU.T)

    def derivative(self, x: Array) -> Array:
        """(10, 10) ∂parameters/∂x."""
        U = self._factor(x)
        LU = self._L @ U
        d = self._L[:, _ROWS].T[:, :, None] * LU[:, _COLUMNS].T[:, None, :]
        d[:4] *= U.diagonal()[:, None, None]
        return from_pseudo_inertia(d + d.transpose(0, 2, 1)).T

    @staticmethod
    def distance(x: Array) -> Array:
        """(10,) whose norm is the Riemannian distance from the body known, to first order: √tr((J₀⁻¹ dJ)²)."""
        return np.concatenate([2.0 * x[:4], np.sqrt(2.0) * x[4:]])
