"""Inverse dynamics: the efforts that a motion needs, and their derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase, call
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "inverse_dynamics",
    "gravity_forces",
    "coriolis_forces",
    "bias_forces",
    "external_efforts",
    "force_residual",
    "inverse_dynamics_derivatives",
]

_inverse_dynamics = Public("inverse_dynamics")
_bias_forces = Public("bias_forces")
_gravity_forces = Public("gravity_forces")
_coriolis_forces = Public("coriolis_forces")
_inverse_dynamics_derivatives = Public("inverse_dynamics_derivatives")


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
    """τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts for a motion.

    It includes rotor inertia, but not joint friction.

    Returns:
        (..., nv) efforts, N m or N.

    Source: Featherstone, *Rigid Body Dynamics Algorithms* (2008), table 5.1.

    >>> import robot_dynamics_ros as rd
    >>> arm = rd.load_robot("six_axis")
    >>> rd.inverse_dynamics(arm, [0.0, -1.2, 1.3, 0.0, 0.6, 0.0], [0.0] * 6, [0.0] * 6).shape  # at rest: gravity
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
    """C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts at which no joint accelerates.

    Returns:
        (..., nv) efforts, N m or N.
    """
    if external is None and base is None:
        run = _bias_forces.run
        return run(model, q, v, out)
    return call(model, "bias_forces", (q, v), external, out, base)


def coriolis_forces(model: RobotModel, q: ArrayLike, v: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """C(q, v) v: Coriolis and centrifugal efforts, the D of M a + D + G.

    Returns:
        (..., nv) efforts, N m or N.
    """
    run = _coriolis_forces.run
    return run(model, q, v, out)


def gravity_forces(model: RobotModel, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """g(q) = ∂U/∂q: the efforts that hold the robot still against gravity.

    Returns:
        (..., nv) efforts, N m or N.

    >>> import robot_dynamics_ros as rd
    >>> rd.gravity_forces(rd.load_robot("two_link"), [1.57, 0.0]).shape
    (2,)
    """
    run = _gravity_forces.run
    return run(model, q, out)


def external_efforts(
    model: RobotModel, q: ArrayLike, external: Wrenches, *, out: np.ndarray | None = None
) -> np.ndarray:
    """Σ Jᵀ f_ext: the efforts that external wrenches cause at the joints.

    Returns:
        (..., nv) efforts, N m or N.
    """
    return call(model, "external_efforts", (q,), external, out)


def inverse_dynamics_derivatives(
    model: RobotModel, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, external: Wrenches = None
) -> tuple[np.ndarray, np.ndarray]:
    """∂τ/∂q and ∂τ/∂v of :func:`inverse_dynamics`; ∂τ/∂a is :func:`mass_matrix`.

    External wrenches keep their components in the link's axes.  For a floating joint the derivative by q is along the
    tangent q ⊕ δ of :func:`integrate`.

    Returns:
        (∂τ/∂q, ∂τ/∂v), each (..., nv, nv).

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
    """M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext − τ: zero for a motion that obeys the equations, else the missing effort.

    Args:
        a: (..., nv) accelerations; ``None`` leaves the inertial efforts M a out, which gives the residual of all other
            generalized forces (Exudyn's output ``Force`` of a kinematic tree, with the sign turned).
        tau: (..., nv) efforts; zero if not given.

    Returns:
        (..., nv) N m or N.
    """
    if a is None:
        tau_model = bias_forces(model, q, v, external=external, base=base)
    else:
        tau_model = inverse_dynamics(model, q, v, a, external=external, base=base)
    if tau is None:
        return tau_model
    return np.asarray(tau_model - as_input(tau, (model.nv,), "tau"))
