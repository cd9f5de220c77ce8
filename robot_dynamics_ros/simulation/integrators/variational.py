"""The variational midpoint integrator: symplectic, momentum keeping, no drift of the energy over long runs.

The action over a step is approximated by one evaluation at its middle, L_d = h L(q_m, v_m) with q₁ = q₀ ⊕ ξ,
q_m = q₀ ⊕ ½ ξ, v_m = ξ / h, and Hamilton's principle is applied to the sum (Marsden and West, *Acta Numerica* 10, 2001,
secs. 1.5 and 3.2).  Where coordinates add up this reads, with momenta p = M v and g = ∂L/∂q + τ taken at (q_m, v_m),

    p₀ = M(q_m) v_m − ½ h g        (solved for v_m)              p₁ = M(q_m) v_m + ½ h g

For floating joints ξ is a twist.  Variations η of the ends move it by δξ = dexp⁻¹(−ξ) η₁ − dexp⁻¹(ξ) η₀ and the middle by
Ad(exp(−½ξ)) η₀ + ½ dexp(−½ξ) δξ, so that (Bou-Rabee and Marsden, *Found. Comput. Math.* 9, 2009)

    p₁ = dexp⁻¹(−ξ)ᵀ s,    p₀ = dexp⁻¹(ξ)ᵀ s − h Ad(exp(−½ξ))ᵀ g,    s = M(q_m) v_m + ½ h dexp(−½ξ)ᵀ g
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.protocols import MechanicalSystem


class VariationalMidpoint:
    """Variational midpoint rule; second order, implicit.

    Args:
        tolerance: relative residual of the momentum equation at which the iteration ends.
        max_iterations: after so many, the step is too large.
    """

    name = "variational"
    order = 2
    # the iteration contracts only below about this, although the method itself is stable beyond
    stability_limit = 2.0

    def __init__(self, tolerance: float = 1e-14, max_iterations: int = 60) -> None:
        self.tolerance, self.max_iterations = float(tolerance), int(max_iterations)

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        nq, nv = system.nq, system.nv
        q0, v0, z0 = y[:nq], y[nq : nq + nv], y[nq + nv :]
        free = np.ones(nv, dtype=bool)
        free[system.locked] = False
        twists = system.twists
        p0 = system.mass_matrix(q0) @ v0
        scale = self.tolerance * float(np.max(np.abs(p0), initial=1e-3))
        v, z, q = v0.copy(), z0.copy(), np.empty(nq)
        rate = np.empty_like(y)
        best, stalled = math.inf, 0
        for _ in range(self.max_iterations):
            system.integrate(q0, 0.5 * h * v, q)
            momentum, g = system.generalized_momentum(q, v)
            for i in twists:  # Cᵀ v holds what turns the axes; with twists held, ∂L/∂q does not
                block = slice(i, i + 6)
                g[block] -= _ad(v[block]).T @ momentum[block]
            g += system.applied_effort(t + 0.5 * h, q, v, z)
            start, end = _momenta(momentum, g, h, v, twists)
            residual = np.where(free, p0 - start, 0.0)
            if len(z):
                system.derivative(t + 0.5 * h, np.concatenate((q, v, z)), rate)
                z = z0 + 0.5 * h * rate[nq + nv :]
            size = float(np.max(np.abs(residual), initial=0.0))
            if not math.isfinite(size):
                raise self._diverged(t, h)
            stalled = 0 if size < 0.5 * best else stalled + 1
            best = min(best, size)
            if size <= scale or (stalled >= 3 and size <= 1e3 * scale):  # the second: as good as rounding allows
                break
            v[free] += np.linalg.solve(system.mass_matrix(q)[np.ix_(free, free)], residual[free])
        else:
            raise self._diverged(t, h)
        y1 = np.zeros_like(y)
        system.integrate(q0, h * v, y1[:nq])
        M = system.mass_matrix(y1[:nq])
        y1[nq : nq + nv][free] = np.linalg.solve(M[np.ix_(free, free)], end[free])
        y1[nq + nv :] = 2.0 * z - z0
        system.normalize(y1)
        return y1

    @staticmethod
    def _diverged(t: float, h: float) -> SimulationError:
        problem = f"the implicit equations of a step of {h:g} s at t = {t:g} s do not converge"
        remedy = "Use a smaller dt or more substeps."
        return SimulationError(problem, where="integrator 'variational'", got=h, remedy=remedy)


def _momenta(P: Array, g: Array, h: float, v: Array, twists: list[int]) -> tuple[Array, Array]:
    """(nv,), (nv,) momenta at the two ends of the step."""
    start, end = P - 0.5 * h * g, P + 0.5 * h * g
    for i in twists:
        block = slice(i, i + 6)
        ad = _ad(h * v[block])
        s = P[block] + 0.5 * h * _series(-0.5 * ad, 1).T @ g[block]
        end[block] = np.linalg.solve(_series(-ad, 1).T, s)
        start[block] = np.linalg.solve(_series(ad, 1).T, s) - h * _series(-0.5 * ad, 0).T @ g[block]
    return start, end


def _ad(twist: Array) -> Array:
    """(6, 6) Lie bracket with a twist [ω; v]."""
    wx, wy, wz, vx, vy, vz = twist
    out = np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = [[0.0, -wz, wy], [wz, 0.0, -wx], [-wy, wx, 0.0]]
    out[3:, :3] = [[0.0, -vz, vy], [vz, 0.0, -vx], [-vy, vx, 0.0]]
    return out


def _series(A: Array, shift: int) -> Array:
    """Σ Aᵏ / (k + shift)!, for the small A of one step: exp with shift 0, dexp with shift 1."""
    term = np.eye(6)
    total = term.copy()
    for k in range(1, 40):
        term = term @ A / (k + shift)
        total += term
        if np.abs(term).max() < 1e-18:
            break
    return total
