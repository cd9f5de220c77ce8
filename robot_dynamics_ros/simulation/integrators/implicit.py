"""A linearly implicit integrator for stiff springs, stops and friction: no iteration, one factorisation a step."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.protocols import MechanicalSystem

_GAMMA = 1.0 - math.sqrt(0.5)


class Rosenbrock2:
    """The two-stage Rosenbrock method ROS2: second order, L-stable.

        (I − γ h J) k₁ = f(t, y) + γ h ∂f/∂t
        (I − γ h J) k₂ = f(t + h, y + h k₁) − 2 k₁ − γ h ∂f/∂t          y₁ = y + h (3 k₁ + k₂) / 2

    with γ = 1 − 1/√2 (Verwer, Spee, Blom, Hundsdorfer, SIAM J. Sci. Comput. 20, 1999).  J = ∂f/∂y is taken by
    differences; the method keeps its order for an inexact J, only stability rests on it.
    """

    name = "rosenbrock"
    order = 2
    stability_limit = math.inf

    def __init__(self) -> None:
        from scipy.linalg import lu_factor, lu_solve  # takes long to import, and few choose this method

        self._factorize, self._solve = lu_factor, lu_solve

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        n = len(y)
        f0, f1 = np.empty(n), np.empty(n)
        system.derivative(t, y, f0)
        J = np.empty((n, n))
        shifted = y.copy()
        for j in range(n):
            delta = 1.5e-8 * max(1.0, abs(y[j]))
            shifted[j] = y[j] + delta
            system.derivative(t, shifted, f1)
            J[:, j] = (f1 - f0) / (shifted[j] - y[j])
            shifted[j] = y[j]
        dt = 1.5e-8 * max(1.0, abs(t))
        system.derivative(t + dt, y, f1)
        time_part = _GAMMA * h * (f1 - f0) / dt

        factors = self._factorize(np.eye(n) - _GAMMA * h * J, check_finite=False)
        k1 = self._solve(factors, f0 + time_part, check_finite=False)
        system.derivative(t + h, y + h * k1, f1)
        k2 = self._solve(factors, f1 - 2.0 * k1 - time_part, check_finite=False)
        y1: Array = y + h * (1.5 * k1 + 0.5 * k2)
        system.normalize(y1)
        return y1
