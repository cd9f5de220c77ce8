"""Integrators with one small interface: a pure step of a mechanical system.

The state is one vector y = [q; v; z]: configuration, velocity, and whatever else has a rate (motor currents).  Its
rate is [N(q) v; a; ż].  N is the identity except for floating joints, where positions move with R v and unit
quaternions with ½ q ⊗ ω; the methods integrate the quaternion's four components as they are, which keeps their order,
and :meth:`~robot_dynamics_ros.simulation.integrators.protocols.MechanicalSystem.normalize` puts it back on the unit sphere after each step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.adaptive import Adaptive
from robot_dynamics_ros.simulation.integrators.implicit import Rosenbrock2
from robot_dynamics_ros.simulation.integrators.protocols import Integrator, MechanicalSystem
from robot_dynamics_ros.simulation.integrators.tableaus import TABLEAUS
from robot_dynamics_ros.simulation.integrators.variational import VariationalMidpoint


class ExplicitRungeKutta:
    """A fixed-step explicit Runge-Kutta method, by its name in :data:`~robot_dynamics_ros.simulation.integrators.tableaus.TABLEAUS`.

    kᵢ = f(t + cᵢ h, y + h Σⱼ aᵢⱼ kⱼ),  y₁ = y + h Σ bᵢ kᵢ
    """

    def __init__(self, method: str) -> None:
        self.tableau = tableau = TABLEAUS[method]
        self.name = tableau.name
        self.order = tableau.order
        self.stability_limit = tableau.stability_limit()

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        A, c = self.tableau.A, self.tableau.c
        k = np.empty((self.tableau.stages, len(y)))
        system.derivative(t, y, k[0])
        for i in range(1, len(k)):
            system.derivative(t + c[i] * h, y + h * (A[i, :i] @ k[:i]), k[i])
        y1: Array = y + h * (self.tableau.b @ k)
        system.normalize(y1)
        return y1


class SemiImplicitEuler:
    """v₁ = v + h a(q, v),  q₁ = q ⊕ h v₁:  first order, one evaluation, energy bounded where Euler's grows."""

    name = "semi_implicit_euler"
    order = 1
    stability_limit = 2.0

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        nq, nv = system.nq, system.nv
        rate = np.empty_like(y)
        system.derivative(t, y, rate)
        y1 = np.empty_like(y)
        y1[nq:] = y[nq:] + h * rate[nq:]
        system.integrate(y[:nq], h * y1[nq : nq + nv], y1[:nq])
        return y1


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
        if not hasattr(integrator, "step"):
            raise ArgumentError(
                "expected an integrator's name or an object with a step method",
                where="integrator",
                got=integrator,
                remedy=f"The names are {', '.join(INTEGRATORS)}.",
            )
        return integrator
    if integrator not in INTEGRATORS:
        raise UnknownNameError("integrator", integrator, INTEGRATORS)
    factory = INTEGRATORS[integrator]
    try:
        return factory(**options)
    except TypeError:
        raise ArgumentError(
            f"integrator {integrator!r} does not take {sorted(options)}",
            where="integrator options",
            got=options,
            remedy="Leave them out, or choose an integrator that takes them.",
        ) from None


INTEGRATORS: dict[str, Callable[..., Integrator]] = {
    "semi_implicit_euler": SemiImplicitEuler,
    "moreau": partial(VariationalMidpoint, "moreau"),
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
DEFAULT_INTEGRATOR, DEFAULT_STEP = "moreau", 1e-3
"""Everywhere: exact with dry friction and stops, no drift of the energy, one call of machine code a step; s."""
