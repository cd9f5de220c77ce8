"""The midpoint rule for smooth systems: Moreau's time stepping where nothing sticks or strikes.

For a robot with friction and stops see :mod:`~robot_dynamics_ros.simulation.integrators.timestepping`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import Array

__all__ = ["MoreauMidpoint"]


class MoreauMidpoint:
    """q_m = q ⊕ ½ h v, v₁ = v + h a(q_m, v_m), q₁ = q_m ⊕ ½ h v₁ with v_m = v + ½ h a(q_m, v)."""

    name = "moreau"
    order = 2
    stability_limit = 2.0

    def step(self, system: Any, t: float, y: Array, h: float) -> Array:
        nq, nv = system.nq, system.nv
        rate = np.empty_like(y)
        middle = y.copy()
        system.integrate(y[:nq], 0.5 * h * y[nq : nq + nv], middle[:nq])
        system.derivative(t, middle, rate)
        middle[nq:] = y[nq:] + 0.5 * h * rate[nq:]
        system.derivative(t + 0.5 * h, middle, rate)
        y1 = np.empty_like(y)
        y1[nq:] = y[nq:] + h * rate[nq:]
        system.integrate(middle[:nq], 0.5 * h * y1[nq : nq + nv], y1[:nq])
        return y1
