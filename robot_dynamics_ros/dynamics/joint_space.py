"""The matrices of the joint-space equation τ = M(q) a + C(q, v) v + g(q)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["mass_matrix", "mass_matrix_inverse", "mass_matrix_factors", "coriolis_matrix"]

_mass_matrix = Public("mass_matrix")
_mass_matrix_inverse = Public("mass_matrix_inverse")
_mass_matrix_factors = Public("mass_matrix_factors")
_coriolis_matrix = Public("coriolis_matrix")


def mass_matrix(model: RobotModel, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """M(q), the joint-space inertia matrix, rotor inertia on its diagonal.

    Returns:
        (..., nv, nv) symmetric positive-definite matrix.

    Source: Featherstone (2008), table 6.2.

    >>> import robot_dynamics_ros as rd
    >>> rd.mass_matrix(rd.load_robot("six_axis"), "zero").shape
    (6, 6)
    """
    run = _mass_matrix.run
    return run(model, q, out)


def mass_matrix_inverse(model: RobotModel, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """M(q)⁻¹, from the sparse factors.

    Returns:
        (..., nv, nv).
    """
    run = _mass_matrix_inverse.run
    return run(model, q, out)


def mass_matrix_factors(model: RobotModel, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """M(q) = Lᵀ diag(D) L, with L unit lower triangular and as sparse as the tree: no entry is filled in.

    Returns:
        (L, D) of shapes (..., nv, nv) and (..., nv).

    Source: Featherstone (2008), section 6.5.
    """
    run = _mass_matrix_factors.run
    return run(model, q)


def coriolis_matrix(model: RobotModel, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """C(q, v) with C v = velocity-dependent efforts and Ṁ − 2C skew-symmetric: the one of the Christoffel symbols.

    Returns:
        (..., nv, nv).

    Source: Echeandia and Wensing (2021).
    """
    run = _coriolis_matrix.run
    return run(model, q, v, out)
