"""Integrators that choose their own inner steps: SciPy's RK45, DOP853, and Radau IIA for stiff systems."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.protocols import MechanicalSystem

_ORDERS = {"RK23": 3, "RK45": 5, "DOP853": 8, "Radau": 5}


class Adaptive:
    """Integrates each step to a tolerance with one of SciPy's methods.

    Args:
        method: ``"RK23"``, ``"RK45"``, ``"DOP853"`` or ``"Radau"``.
        rtol, atol: tolerances on the local error of every inner step.

    The first inner step tried is the whole step, so that nothing is remembered between steps and a step is a pure
    function of the state.
    """

    stability_limit = math.inf

    def __init__(self, method: str = "DOP853", rtol: float = 1e-10, atol: float = 1e-12) -> None:
        if method not in _ORDERS:
            raise UnknownNameError("adaptive method", method, _ORDERS)
        if not (rtol > 0.0 and atol > 0.0):
            raise ArgumentError("must be positive", where="rtol, atol", got=(rtol, atol))
        self.name = {"RK45": "dopri5"}.get(method, method.lower())
        self.method = method
        self.order = _ORDERS[method]
        self.rtol, self.atol = float(rtol), float(atol)
        from scipy.integrate import solve_ivp  # takes longer to import than the rest of a node

        self._solve = solve_ivp

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        def rate(time: float, state: Array) -> Array:
            out = np.empty_like(y)
            system.derivative(t + time, np.ascontiguousarray(state), out)
            return out

        solution = self._solve(
            rate, (0.0, h), y, method=self.method, rtol=self.rtol, atol=self.atol, first_step=h, t_eval=(h,)
        )
        if not solution.success:
            raise SimulationError(
                f"{self.method} gave up in the step from t = {t:.6g} s: {solution.message}",
                where=f"integrator {self.name!r}",
                remedy="Loosen the tolerances, soften the stiffest spring or stop, or use the integrator 'radau'.",
            )
        y1: Array = np.ascontiguousarray(solution.y[:, -1])
        system.normalize(y1)
        return y1
