"""Forward dynamics: the accelerations that given efforts cause, and their derivatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import MovingBase, call
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.dynamics.external_wrenches import Wrenches
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["forward_dynamics", "forward_dynamics_derivatives"]

_forward_dynamics = Public("forward_dynamics")
_forward_dynamics_derivatives = Public("forward_dynamics_derivatives")


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
    """q̈ = M(q)⁻¹ (τ − C(q, v) v − g(q) + Σ Jᵀ f_ext): the accelerations that given efforts cause.

    Returns:
        (..., nv) accelerations, rad/s² or m/s².

    Source: Featherstone (2008), table 7.1; where it takes fewer operations, and for robots with mimic joints, table 6.2
    and a sparse factorization.

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
    model: RobotModel, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: Wrenches = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """∂q̈/∂q, ∂q̈/∂v and ∂q̈/∂τ = M⁻¹ of :func:`forward_dynamics`.

    Returns:
        three (..., nv, nv) arrays.

    Source: ∂q̈/∂x = −M⁻¹ ∂τ/∂x at the resulting acceleration (Carpentier and Mansard 2018).
    """
    if external is None:
        run = _forward_dynamics_derivatives.run
        return run(model, q, v, tau)
    return call(model, "forward_dynamics_derivatives", (q, v, tau), external)
