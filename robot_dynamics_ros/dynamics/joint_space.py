"""The joint-space equation τ = M(q) q̈ + C(q, v) v + g(q) − Σ Jᵀ f_ext, both ways: its terms,
derivatives, energies.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase, call
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

__all__ = [
    "inverse_dynamics",
    "gravity_forces",
    "coriolis_forces",
    "bias_forces",
    "external_efforts",
    "force_residual",
    "inverse_dynamics_derivatives",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "mass_matrix",
    "mass_matrix_inverse",
    "mass_matrix_factors",
    "coriolis_matrix",
    "configuration_space_form",
    "velocity_products",
    "christoffel_symbols",
    "kinetic_energy",
    "potential_energy",
]

_inverse_dynamics = Public("inverse_dynamics")
_bias_forces = Public("bias_forces")
_gravity_forces = Public("gravity_forces")
_coriolis_forces = Public("coriolis_forces")
_inverse_dynamics_derivatives = Public("inverse_dynamics_derivatives")
_forward_dynamics = Public("forward_dynamics")
_forward_dynamics_derivatives = Public("forward_dynamics_derivatives")
_mass_matrix = Public("mass_matrix")
_mass_matrix_inverse = Public("mass_matrix_inverse")
_mass_matrix_factors = Public("mass_matrix_factors")
_coriolis_matrix = Public("coriolis_matrix")
_kinetic_energy = Public("kinetic_energy")
_potential_energy = Public("potential_energy")


def inverse_dynamics(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts for a motion, N m or N.

    It includes rotor inertia, but not joint friction.

    Source: Featherstone, *Rigid Body Dynamics Algorithms* (2008), table 5.1.

    >>> import robot_dynamics_ros as rd
    >>> arm = rd.load_robot("six_axis")
    >>> at_rest = [0.0] * 6
    >>> rd.inverse_dynamics(arm, [0.0, -1.2, 1.3, 0.0, 0.6, 0.0], at_rest, at_rest).shape
    (6,)
    """
    if external is None and base is None:
        run = _inverse_dynamics.run
        return run(model, q, v, a, out)
    return call(model, "inverse_dynamics", (q, v, a), external, out, base)


def bias_forces(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts at which no joint accelerates, N m
    or N.
    """
    if external is None and base is None:
        run = _bias_forces.run
        return run(model, q, v, out)
    return call(model, "bias_forces", (q, v), external, out, base)


def coriolis_forces(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) C(q, v) v: Coriolis and centrifugal efforts, the D of M a + D + G, N m or N."""
    run = _coriolis_forces.run
    return run(model, q, v, out)


def gravity_forces(
    model: RobotModel,
    q: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) g(q) = ∂U/∂q: the efforts that hold the robot still against gravity, N m or N.

    >>> import robot_dynamics_ros as rd
    >>> rd.gravity_forces(rd.load_robot("two_link"), [1.57, 0.0]).shape
    (2,)
    """
    run = _gravity_forces.run
    return run(model, q, out)


def external_efforts(
    model: RobotModel,
    q: ArrayLike,
    external: Wrenches,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) Σ Jᵀ f_ext: the efforts that external wrenches cause at the joints, N m or N."""
    return call(model, "external_efforts", (q,), external, out)


def inverse_dynamics_derivatives(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    *,
    external: Wrenches = None,
) -> tuple[np.ndarray, np.ndarray]:
    """∂τ/∂q and ∂τ/∂v of :func:`inverse_dynamics`, each (..., nv, nv); ∂τ/∂a is
    :func:`mass_matrix`.

    External wrenches keep their components in the link's axes.  For a floating joint the derivative
    by q is along the tangent q ⊕ δ of :func:`integrate`.

    Source: Singh, Russo and Wensing (2022).
    """
    if external is None:
        run = _inverse_dynamics_derivatives.run
        return run(model, q, v, a)
    return call(model, "inverse_dynamics_derivatives", (q, v, a), external)


def force_residual(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
) -> np.ndarray:
    """(..., nv) M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext − τ: zero for a possible motion, else what
    is missing, N m or N.

    Args:
        a: (..., nv) accelerations; ``None`` leaves the inertial efforts M a out, which gives the
            residual of all other generalized forces (Exudyn's output ``Force`` of a kinematic tree,
            with the sign turned).
        tau: (..., nv) efforts; zero if not given.
    """
    if a is None:
        tau_model = bias_forces(model, q, v, external=external, base=base)
    else:
        tau_model = inverse_dynamics(model, q, v, a, external=external, base=base)
    if tau is None:
        return tau_model
    return np.asarray(tau_model - as_input(tau, (model.nv,), "tau"))


def forward_dynamics(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: Wrenches = None,
    base: MovingBase | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv) q̈ = M(q)⁻¹ (τ − C(q, v) v − g(q) + Σ Jᵀ f_ext): accelerations that efforts cause,
    rad/s² or m/s².

    Source: Featherstone (2008), table 7.1; where it takes fewer operations, and for robots with
    mimic joints, table 6.2 and a sparse factorization.

    >>> import numpy as np, robot_dynamics_ros as rd
    >>> arm, q, v, tau = rd.load_robot("two_link"), [0.3, 0.5], [0.1, -0.2], [30.0, 5.0]
    >>> np.allclose(rd.inverse_dynamics(arm, q, v, rd.forward_dynamics(arm, q, v, tau)), tau)
    True
    """
    if external is None and base is None:
        run = _forward_dynamics.run
        return run(model, q, v, tau, out)
    return call(model, "forward_dynamics", (q, v, tau), external, out, base)


def forward_dynamics_derivatives(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: Wrenches = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂q̈/∂q, ∂q̈/∂v, ∂q̈/∂τ = M⁻¹ of :func:`forward_dynamics`, (..., nv, nv) each (Carpentier and
    Mansard 2018).
    """
    if external is None:
        run = _forward_dynamics_derivatives.run
        return run(model, q, v, tau)
    return call(model, "forward_dynamics_derivatives", (q, v, tau), external)


def mass_matrix(
    model: RobotModel,
    q: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv, nv) M(q), the joint-space inertia matrix, positive definite, rotor inertia on its
    diagonal.

    Source: Featherstone (2008), table 6.2.

    >>> import robot_dynamics_ros as rd
    >>> rd.mass_matrix(rd.load_robot("six_axis"), "zero").shape
    (6, 6)
    """
    run = _mass_matrix.run
    return run(model, q, out)


def mass_matrix_inverse(
    model: RobotModel,
    q: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv, nv) M(q)⁻¹, from the sparse factors."""
    run = _mass_matrix_inverse.run
    return run(model, q, out)


def mass_matrix_factors(model: RobotModel, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """(..., nv, nv) L, unit lower triangular and sparse, (..., nv) D: M = Lᵀ diag(D) L
    (Featherstone 2008, 6.5).
    """
    run = _mass_matrix_factors.run
    return run(model, q)


def coriolis_matrix(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    *,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """(..., nv, nv) C(q, v) of the Christoffel symbols, Ṁ − 2C skew-symmetric (Echeandia and
    Wensing 2021).
    """
    run = _coriolis_matrix.run
    return run(model, q, v, out)


def christoffel_symbols(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """(..., nv, nv, nv) Γ[i, j, k] = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i), with Γ v = C(q, v);
    symmetric in j, k.

    No derivative is taken: the Coriolis matrix is linear in the velocity, and unit velocities read
    the symbols off.

    Raises:
        ModelError: the robot has a floating joint, whose velocities are no rates of coordinates.
    """
    if model.nq != model.nv:
        raise ModelError(
            "Christoffel symbols need velocities that are rates of coordinates; a floating "
            "joint's are not",
            where=f"robot {model.name!r}",
            remedy="Use coriolis_matrix, which is defined for every robot.",
        )
    q = as_input(q, (model.nq,), "q")
    C = evaluator(model, "coriolis_matrix")(q[..., None, :], np.eye(model.nv))
    return np.moveaxis(C, -3, -1)


def configuration_space_form(model: RobotModel, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Coriolis and centrifugal matrices of the configuration-space form.

    Returns:
        (B, C): B (..., nv, nv(nv−1)/2) multiplies the products q̇ᵢ q̇ⱼ, i < j, in the order (1,2),
        (1,3), …, (2,3), … of :func:`velocity_products`; C (..., nv, nv) multiplies the squares.

    Source: Craig, *Introduction to Robotics*, section 6.8, after Khatib; from the Christoffel
    symbols.
    """
    symbols = christoffel_symbols(model, q)
    n = model.nv
    first, second = np.triu_indices(n, 1)
    return 2.0 * symbols[..., first, second], symbols[..., np.arange(n), np.arange(n)]


def velocity_products(v: ArrayLike) -> np.ndarray:
    """(..., n(n−1)/2) products vᵢ vⱼ, i < j, in the order of :func:`configuration_space_form`."""
    v = as_input(v, (), "v")
    expect(v.ndim > 0, "(..., n) velocities", v, "v", "Pass an array.")
    first, second = np.triu_indices(v.shape[-1], 1)
    return v[..., first] * v[..., second]


def kinetic_energy(model: RobotModel, q: ArrayLike, v: ArrayLike) -> Array | float:
    """½ vᵀ M(q) v in joules, rotors included: a float, or (...) for a batch."""
    run = _kinetic_energy.run
    return run(model, q, v)


def potential_energy(model: RobotModel, q: ArrayLike) -> Array | float:
    """−Σ m gᵀ c in joules, a float, or (...) for a batch; zero for masses at the world origin; the
    root link counts.
    """
    run = _potential_energy.run
    return run(model, q)
