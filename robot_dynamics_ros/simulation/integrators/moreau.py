"""Moreau's midpoint time stepping: as robust as :mod:`~robot_dynamics_ros.simulation.integrators.timestepping`, and second order.

    q_m = q ⊕ ½ h v,    M(q_m) (v₁ − v) = h (τ − b)(q_m, v_m) + λ,    q₁ = q_m ⊕ ½ h v₁

with v_m predicted and λ the impulses of dry friction and stops (Moreau 1988; Acary and Brogliato, *Numerical Methods for
Nonsmooth Dynamical Systems*, 2008, ch. 10).  Damping and springs enter by the trapezoidal rule, and fully implicitly
where that would oscillate.  Between events the method is of second order and its energy error does not build up as that
of semi-implicit Euler does; at events it is of first order, as every method that locates none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.timestepping import TimeStepper

__all__ = ["MoreauMidpoint", "MoreauStepper"]


class MoreauMidpoint:
    """The midpoint rule for smooth systems: what :class:`MoreauStepper` does where nothing sticks or strikes."""

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


class MoreauStepper(TimeStepper):
    """Advances a system by Moreau's midpoint time stepping."""

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
        system, friction = self.system, self.system.friction
        nq, nv = system.nq, system.nv
        v, z = y[nq : nq + nv], y[nq + nv :]
        y1, q = y.copy(), np.empty(nq)
        system.integrate(y[:nq], 0.5 * h * v, q)
        position = system.coordinates.positions(q)

        M = system.mass_matrix(q)
        damping, stiffness = self._joint_stiffness(position)
        damping += friction.viscous
        if system.motors is not None:
            damping[system.motors.index] += system.motors.advance(system.command[system.motors.index], v, z, h)[2]
        inertia = M.diagonal()
        share = np.where(h * damping > inertia, 1.0, 0.5)  # of the new velocity in the damping
        stiff = h * h * stiffness > inertia
        M = M + np.diag(h * share * damping + h * h * np.where(stiff, 1.0, 0.25) * stiffness)
        spread = np.diag(damping)
        if system.contacts:
            K, D = np.zeros((nv, nv)), np.zeros((nv, nv))
            for contact in system.contacts:
                contact.add_linear(system, q, v, K, D)
            M += h * D + 0.25 * h * h * K
            spread = spread + D
        inverse = system.inverse_mass(M)

        resting = friction.dry & (v == 0.0)
        dry = np.where(friction.dry, friction.magnitude(v), 0.0)
        dry[np.isinf(dry)] = 0.0
        tau = self._smooth_effort(t, q, v, v, z, h)[0] - np.sign(v) * dry
        middle = v + inverse @ (0.5 * h * tau)
        middle[resting | (friction.dry & (middle * v < 0.0))] = 0.0

        tau, current = self._smooth_effort(t + 0.5 * h, q, middle, v, z, h)
        tau += spread @ (middle - v) - 0.5 * h * np.where(stiff, stiffness, 0.0) * v
        y1[nq + nv :] = current
        v1 = y1[nq : nq + nv]
        v_free = v + inverse @ (h * tau)
        v1[:], limit = self._resolve(position, v, v_free, inverse, h * friction.magnitude(middle), 0.5 * h)
        system.integrate(q, 0.5 * h * v1, y1[:nq])
        self._hold_at_stops(y1, limit)
        return y1

    def _smooth_effort(self, t: float, q: Array, speed: Array, v: Array, z: Array, h: float) -> tuple[Array, Array]:
        """(nv,) all effort but dry friction and rigid stops, less the bias, and the motor currents after the step."""
        system = self.system
        tau = system.passive_effort(t, q, speed) - self.system.friction.viscous * speed
        tau -= system.bias_forces(q, speed)
        if system.motors is None:
            return tau + system.command, z
        motors = system.motors
        current, mean, _ = motors.advance(system.command[motors.index], speed, z, h)
        command = system.command.copy()
        command[motors.index] = motors.kt * mean
        return tau + command, current
