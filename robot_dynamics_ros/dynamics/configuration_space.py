"""The configuration-space form: τ = M(q) q̈ + B(q) [q̇ᵢ q̇ⱼ] + C(q) [q̇²] + g(q)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.errors import ArgumentError, ModelError
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["configuration_space_form", "velocity_products", "christoffel_symbols"]


def christoffel_symbols(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """Γ[i, j, k] = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i), so that C(q, v)[i, j] = Σ_k Γ[i, j, k] v_k.

    No derivative is taken: the Coriolis matrix is linear in the velocity, and unit velocities read the symbols off.

    Returns:
        (..., nv, nv, nv), symmetric in the last two.

    Raises:
        ModelError: the robot has a floating joint, whose velocities are no rates of coordinates.
    """
    if model.nq != model.nv:
        raise ModelError(
            "Christoffel symbols need velocities that are rates of coordinates; a floating joint's are not",
            where=f"robot {model.name!r}",
            remedy="Use coriolis_matrix, which is defined for every robot.",
        )
    q = as_input(q, (model.nq,), "q")
    C = evaluator(model, "coriolis_matrix")(q[..., None, :], np.eye(model.nv))
    return np.moveaxis(C, -3, -1)


def configuration_space_form(model: RobotModel, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Coriolis and centrifugal matrices of the configuration-space form.

    Returns:
        (B, C): B (..., nv, nv(nv−1)/2) multiplies the products q̇ᵢ q̇ⱼ, i < j, in the order (1,2), (1,3), …, (2,3), … of
        :func:`velocity_products`; C (..., nv, nv) multiplies the squares.

    Source: Craig, *Introduction to Robotics*, section 6.8, after Khatib; from the Christoffel symbols.
    """
    symbols = christoffel_symbols(model, q)
    n = model.nv
    first, second = np.triu_indices(n, 1)
    return 2.0 * symbols[..., first, second], symbols[..., np.arange(n), np.arange(n)]


def velocity_products(v: ArrayLike) -> np.ndarray:
    """(..., n(n−1)/2) products vᵢ vⱼ, i < j, in the order of :func:`configuration_space_form`."""
    v = as_input(v, (), "v")
    if not v.ndim:
        raise ArgumentError("expected (..., n) velocities, got one number", where="v", got=v, remedy="Pass an array.")
    first, second = np.triu_indices(v.shape[-1], 1)
    return v[..., first] * v[..., second]
