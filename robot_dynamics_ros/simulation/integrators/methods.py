"""Integrators with one small interface: a pure step of a mechanical system.

The state is one vector y = [q; v; z]: configuration, velocity, and whatever else has a rate (motor
currents).  Its rate is [N(q) v; a; ż].  The methods integrate the four components of quaternions as
they are, which keeps their order, and :meth:`MechanicalSystem.normalize` gives them unit length
after each step.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, SimulationError, check_name
from robot_dynamics_ros.model.description import Array


class MechanicalSystem(Protocol):
    """The system that an integrator steps.

    Attributes:
        twists: first numbers in v of floating joints, whose six velocities are a twist [ω; v] in
            the body's frame.
        locked: numbers in v of joints held at rest.
    """

    nq: int
    nv: int
    nz: int
    twists: list[int]
    locked: np.ndarray

    def derivative(self, t: float, y: Array, out: Array) -> None:
        """Write ẏ = [N(q) v; a; ż] to ``out``, (nq + nv + nz,)."""

    def integrate(self, q: Array, dq: Array, out: Array) -> None:
        """Write q ⊕ dq to ``out``, (nq,): move along the tangent ``dq``, (nv,)."""

    def normalize(self, y: Array) -> None:
        """Give the quaternions in ``y`` unit length, in place."""

    def mass_matrix(self, q: Array) -> Array:
        """(nv, nv) M(q)."""

    def generalized_momentum(self, q: Array, v: Array) -> tuple[Array, Array]:
        """(nv,), (nv,) M(q) v, and its rate but for the efforts that act: Cᵀ v − g."""

    def applied_effort(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """(nv,) right-hand side of M a + b = τ."""

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h`` by time stepping; ``y`` is not changed."""


class Integrator(Protocol):
    """One method.

    Attributes:
        name: its name.
        order: order of convergence on smooth problems.
        stability_limit: largest h |λ| on the negative real axis; infinite for implicit and adaptive
            methods.

    A plant steps those of :data:`TIME_STEPPING` by its own routines, friction and stops included.
    """

    name: str
    order: int
    stability_limit: float

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""


TABLEAUS: dict[str, tuple[int, list[list[float]] | str, list[float]]] = {
    "euler": (1, [], [1.0]),
    "midpoint": (2, [[1 / 2]], [0.0, 1.0]),
    "heun": (2, [[1.0]], [1 / 2, 1 / 2]),
    "rk3": (3, [[1 / 2], [-1.0, 2.0]], [1 / 6, 2 / 3, 1 / 6]),
    "rk4": (4, [[1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    "rk5": (5, "RK45", []),
    "rk6": (
        6,
        [
            [1 / 3],
            [0.0, 2 / 3],
            [1 / 12, 1 / 3, -1 / 12],
            [-1 / 16, 9 / 8, -3 / 16, -3 / 8],
            [0.0, 9 / 8, -3 / 8, -3 / 4, 1 / 2],
            [9 / 44, -9 / 11, 63 / 44, 18 / 11, 0.0, -16 / 11],
        ],
        [11 / 120, 0.0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120],
    ),
    "rk8": (8, "DOP853", []),
}
"""Explicit method → order, coefficients of the stages below the first, weights; or SciPy's class
that has them.

Sources: Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, 2nd ed., tables
II.1.2 and II.1.3; Butcher, *Numerical Methods for Ordinary Differential Equations*, 3rd ed.,
sections 232-236 (orders 3, 5 and 6).
"""


class ExplicitRungeKutta:
    """A fixed-step explicit Runge-Kutta method, by its name in :data:`TABLEAUS`.

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ),  y₁ = y + h Σ bᵢ kᵢ
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.order, rows, weights = TABLEAUS[name]
        if isinstance(rows, str):
            # takes longer to import than the rest of a node
            from scipy import integrate

            table = getattr(integrate, rows)
            rows = [list(table.A[i, :i]) for i in range(1, len(table.B))]
            weights = list(table.B)
        self.b = np.array(weights)
        self.A = np.zeros((len(weights), len(weights)))
        for i, row in enumerate(rows, start=1):
            self.A[i, : len(row)] = row
        self.c = self.A.sum(axis=1)
        self.stability_limit = self._stability_limit()

    def _stability_limit(self) -> float:
        """Where |R(z)| exceeds 1, R(z) = 1 + z bᵀ (I − z A)⁻¹ 1 (Hairer and Wanner II, eq.

        IV.2.10 ff.).
        """
        z = -0.01 * np.arange(1, 5000)
        k = np.linalg.solve(
            np.eye(len(self.b)) - z[:, None, None] * self.A, np.ones((len(self.b), 1))
        )[..., 0]
        return 0.01 * int(np.argmax(np.abs(1.0 + z * (k @ self.b)) > 1.0 + 1e-9))

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        A = self.A
        c = self.c
        k = np.empty((len(c), len(y)))
        system.derivative(t, y, k[0])
        for i in range(1, len(k)):
            system.derivative(t + c[i] * h, y + h * (A[i, :i] @ k[:i]), k[i])
        y1: Array = y + h * (self.b @ k)
        system.normalize(y1)
        return y1


class TimeStepping:
    """A method of :mod:`~robot_dynamics_ros.simulation.integrators.timestepping`, which a plant
    runs by itself.
    """

    stability_limit = 2.0

    def __init__(self, name: str, order: int) -> None:
        self.name = name
        self.order = order

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        return system.advance(t, y, h)


class Adaptive:
    """Integrates each step to a tolerance with a method of SciPy: ``"RK23"``, ``"RK45"``,
    ``"DOP853"`` or ``"Radau"``.

    The first inner step tried is the whole step, so that nothing is remembered between steps and a
    step is a pure function of the state.  ``rtol`` and ``atol`` limit the local error of every
    inner step.
    """

    stability_limit = math.inf

    def __init__(
        self,
        method: str = "DOP853",
        rtol: float = 1e-10,
        atol: float = 1e-12,
    ) -> None:
        orders = {"RK23": 3, "RK45": 5, "DOP853": 8, "Radau": 5}
        check_name("adaptive method", method, orders)
        if not (rtol > 0.0 and atol > 0.0):
            raise ArgumentError("must be positive", where="rtol, atol", got=(rtol, atol))
        self.name = {"RK45": "dopri5"}.get(method, method.lower())
        self.method = method
        self.order = orders[method]
        self.rtol = float(rtol)
        self.atol = float(atol)
        # takes longer to import than the rest of a node
        from scipy.integrate import solve_ivp

        self._solve = solve_ivp

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        def rate(time: float, state: Array) -> Array:
            out = np.empty_like(y)
            system.derivative(t + time, np.ascontiguousarray(state), out)
            return out

        solution = self._solve(
            rate,
            (0.0, h),
            y,
            method=self.method,
            rtol=self.rtol,
            atol=self.atol,
            first_step=h,
            t_eval=(h,),
        )
        if not solution.success:
            problem = f"{self.method} gave up in the step from t = {t:.6g} s: {solution.message}"
            remedy = (
                "Loosen the tolerances, soften the stiffest spring or stop, or use the "
                "integrator 'radau'."
            )
            raise SimulationError(problem, where=f"integrator {self.name!r}", remedy=remedy)
        y1: Array = np.ascontiguousarray(solution.y[:, -1])
        system.normalize(y1)
        return y1


class Rosenbrock2:
    """The two-stage Rosenbrock method ROS2: second order, L-stable, no iteration, for stiff
    springs, stops and friction.

        (I − γ h J) k₁ = f(t, y) + γ h ∂f/∂t
        (I − γ h J) k₂ = f(t + h, y + h k₁) − 2 k₁ − γ h ∂f/∂t          y₁ = y + h (3 k₁ + k₂) / 2

    with γ = 1 − 1/√2 (Verwer, Spee, Blom, Hundsdorfer, SIAM J. Sci. Comput. 20, 1999).  J = ∂f/∂y
    is taken by differences; the method keeps its order for an inexact J, only stability rests on
    it.
    """

    name = "rosenbrock"
    order = 2
    stability_limit = math.inf

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        n = len(y)
        gamma = 1.0 - math.sqrt(0.5)
        f0 = np.empty(n)
        f1 = np.empty(n)
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
        time_part = gamma * h * (f1 - f0) / dt

        A = np.eye(n) - gamma * h * J
        k1 = np.linalg.solve(A, f0 + time_part)
        system.derivative(t + h, y + h * k1, f1)
        k2 = np.linalg.solve(A, f1 - 2.0 * k1 - time_part)
        y1: Array = y + h * (1.5 * k1 + 0.5 * k2)
        system.normalize(y1)
        return y1


class VariationalMidpoint:
    """The variational midpoint rule: implicit, symplectic, momentum keeping, no drift of the energy
    over long runs.

    The action over a step is approximated by one evaluation at its middle, L_d = h L(q_m, v_m) with
    q₁ = q₀ ⊕ ξ, q_m = q₀ ⊕ ½ ξ, v_m = ξ / h, and Hamilton's principle is applied to the sum
    (Marsden and West, *Acta Numerica* 10, 2001, secs. 1.5 and 3.2).  Where coordinates add up this
    reads, with momenta p = M v and g = ∂L/∂q + τ taken at (q_m, v_m),

        p₀ = M(q_m) v_m − ½ h g        (solved for v_m)              p₁ = M(q_m) v_m + ½ h g

    For floating joints ξ is a twist.  Variations η of the ends move it by δξ = dexp⁻¹(−ξ) η₁ −
    dexp⁻¹(ξ) η₀ and the middle by Ad(exp(−½ξ)) η₀ + ½ dexp(−½ξ) δξ, so that (Bou-Rabee and Marsden,
    *Found. Comput. Math.* 9, 2009)

        p₁ = dexp⁻¹(−ξ)ᵀ s,    p₀ = dexp⁻¹(ξ)ᵀ s − h Ad(exp(−½ξ))ᵀ g,
        s = M(q_m) v_m + ½ h dexp(−½ξ)ᵀ g
    """

    name = "variational"
    order = 2
    # the iteration contracts only below about this, although the method itself is stable beyond
    stability_limit = 2.0

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        nq = system.nq
        nv = system.nv
        q0 = y[:nq]
        v0 = y[nq : nq + nv]
        z0 = y[nq + nv :]
        free = np.ones(nv, dtype=bool)
        free[system.locked] = False
        twists = system.twists
        p0 = system.mass_matrix(q0) @ v0
        scale = 1e-14 * float(np.max(np.abs(p0), initial=1e-3))
        v = v0.copy()
        z = z0.copy()
        q = np.empty(nq)
        rate = np.empty_like(y)
        best = math.inf
        stalled = 0
        done = False
        for _ in range(60):
            system.integrate(q0, 0.5 * h * v, q)
            momentum, g = system.generalized_momentum(q, v)
            # Cᵀ v holds what turns the axes; with twists held, ∂L/∂q does not
            for i in twists:
                block = slice(i, i + 6)
                g[block] -= _ad(v[block]).T @ momentum[block]
            g += system.applied_effort(t + 0.5 * h, q, v, z)
            start, end = _momenta(momentum, g, h, v, twists)
            residual = np.where(free, p0 - start, 0.0)
            if len(z):
                system.derivative(t + 0.5 * h, np.concatenate((q, v, z)), rate)
                z = z0 + 0.5 * h * rate[nq + nv :]
            size = float(np.max(np.abs(residual), initial=0.0))
            stalled = 0 if size < 0.5 * best else stalled + 1
            best = min(best, size)
            # the second: as good as rounding allows
            done = size <= scale or (stalled >= 3 and size <= 1e3 * scale)
            if done or not math.isfinite(size):
                break
            v[free] += np.linalg.solve(system.mass_matrix(q)[np.ix_(free, free)], residual[free])
        if not done:
            problem = f"the implicit equations of a step of {h:g} s at t = {t:g} s do not converge"
            remedy = "Use a smaller dt or more substeps."
            raise SimulationError(problem, where="integrator 'variational'", got=h, remedy=remedy)
        y1 = np.zeros_like(y)
        system.integrate(q0, h * v, y1[:nq])
        M = system.mass_matrix(y1[:nq])
        y1[nq : nq + nv][free] = np.linalg.solve(M[np.ix_(free, free)], end[free])
        y1[nq + nv :] = 2.0 * z - z0
        system.normalize(y1)
        return y1


def _momenta(
    P: Array,
    g: Array,
    h: float,
    v: Array,
    twists: list[int],
) -> tuple[Array, Array]:
    """(nv,), (nv,) momenta at the two ends of the step."""
    start = P - 0.5 * h * g
    end = P + 0.5 * h * g
    for i in twists:
        block = slice(i, i + 6)
        dexp, dexp_back, dexp_half, exp_half = _series(_ad(h * v[block]))
        s = P[block] + 0.5 * h * dexp_half.T @ g[block]
        end[block] = np.linalg.solve(dexp_back.T, s)
        start[block] = np.linalg.solve(dexp.T, s) - h * exp_half.T @ g[block]
    return start, end


def _ad(twist: Array) -> Array:
    """(6, 6) Lie bracket with a twist [ω; v]."""
    a, b, c, x, y, z = twist.tolist()
    return np.array(
        [
            [0.0, -c, b, 0.0, 0.0, 0.0],
            [c, 0.0, -a, 0.0, 0.0, 0.0],
            [-b, a, 0.0, 0.0, 0.0, 0.0],
            [0.0, -z, y, 0.0, -c, b],
            [z, 0.0, -x, c, 0.0, -a],
            [-y, x, 0.0, -b, a, 0.0],
        ]
    )


_MOST_TERMS = 40
_SERIES_TERMS = range(_MOST_TERMS)
# rows: dexp(A), dexp(−A), dexp(−½ A), exp(−½ A); columns: the powers of A
_SERIES_COEFFICIENTS = np.array(
    [
        *([x**k / math.factorial(k + 1) for k in _SERIES_TERMS] for x in (1.0, -1.0, -0.5)),
        [(-0.5) ** k / math.factorial(k) for k in _SERIES_TERMS],
    ]
)


def _series(A: Array) -> Array:
    """(4, 6, 6) dexp(A), dexp(−A), dexp(−½ A) and exp(−½ A), for the small A of one step; dexp =
    Σ Aᵏ / (k + 1)!.
    """
    norm = float(np.abs(A).sum(axis=1).max())
    powers = [np.eye(6)]
    # of what is left out
    bound = norm
    while bound > 1e-18 and len(powers) < _MOST_TERMS:
        powers.append(powers[-1] @ A)
        bound *= norm / len(powers)
    sums = _SERIES_COEFFICIENTS[:, : len(powers)] @ np.reshape(powers, (-1, 36))
    return sums.reshape(4, 6, 6)


def _check_contract(integrator: object) -> None:
    """Refuse an object that :class:`Integrator` does not describe: some of it is used only with
    contacts, or long after the start.
    """
    kind = type(integrator).__name__
    remedy = f"Name one of {', '.join(INTEGRATORS)}, or give an object with a method 'step'."
    if isinstance(integrator, type):
        remedy = f"Give an object: {integrator.__name__}(…)."
        raise ArgumentError("is a class", where="integrator", got=integrator, remedy=remedy)
    if not callable(getattr(integrator, "step", None)):
        problem = f"{kind} has no method 'step'"
        raise ArgumentError(problem, where="integrator", got=integrator, remedy=remedy)
    for name, described in (
        ("name", "a text for messages"),
        ("order", "the order of convergence"),
        ("stability_limit", "the largest h |λ| on the negative real axis, float('inf') for none"),
    ):
        if not hasattr(integrator, name):
            problem = f"{kind} has no attribute {name!r}"
            remedy = f"Add {name}: {described}."
            raise ArgumentError(problem, where="integrator", got=integrator, remedy=remedy)
    limit: object = integrator.stability_limit  # type: ignore[attr-defined]
    if not isinstance(limit, (int, float)) or not limit > 0.0:
        remedy = "It is float('inf') for a method without a limit."
        problem = f"{kind}.stability_limit is no positive number"
        raise ArgumentError(problem, where="integrator", got=limit, remedy=remedy)


def make_integrator(integrator: str | Integrator, **options: object) -> Integrator:
    """An integrator by name; an integrator object is returned as it is.

    Args:
        integrator: one of :data:`INTEGRATORS`, or an object with a ``step``.
        options: of the method, for example tolerances.

    Raises:
        UnknownNameError: no integrator has that name.
        ArgumentError: the method has no such option.
    """
    if not isinstance(integrator, str):
        _check_contract(integrator)
        return integrator
    check_name("integrator", integrator, INTEGRATORS)
    factory = INTEGRATORS[integrator]
    try:
        return factory(**options)
    except TypeError:
        problem = f"integrator {integrator!r} does not take {sorted(options)}"
        remedy = "Leave them out, or choose an integrator that takes them."
        raise ArgumentError(
            problem, where="integrator options", got=options, remedy=remedy
        ) from None


INTEGRATORS: dict[str, Callable[..., Integrator]] = {
    "semi_implicit_euler": partial(TimeStepping, "semi_implicit_euler", 1),
    "moreau": partial(TimeStepping, "moreau", 2),
    **{name: partial(ExplicitRungeKutta, name) for name in TABLEAUS},
    "dopri5": partial(Adaptive, "RK45"),
    "dop853": partial(Adaptive, "DOP853"),
    "radau": partial(Adaptive, "Radau"),
    "rosenbrock": Rosenbrock2,
    "variational": VariationalMidpoint,
}
"""Name → factory of every integrator."""
TIME_STEPPING = ("moreau", "semi_implicit_euler")
"""Names of the methods that a plant runs as time stepping; the others go from event to event."""
DEFAULT_INTEGRATOR = "moreau"
DEFAULT_STEP = 1e-3
"""Everywhere: exact with dry friction and stops, no drift of the energy, one call of machine code a
step; s.
"""
