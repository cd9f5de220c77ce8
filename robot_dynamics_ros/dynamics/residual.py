"""Residual of the equations of motion."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.dynamics.inverse import bias_forces, inverse_dynamics
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["force_residual"]


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
    from robot_dynamics_ros.dynamics.engine.arguments import as_input

    return np.asarray(tau_model - as_input(tau, (model.nv,), "tau"))
