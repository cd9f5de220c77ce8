"""Interfaces of integrators: the method, and the system that it steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from robot_dynamics_ros.model.description import Array


class MechanicalSystem(Protocol):
    """The system that an integrator steps.

    Attributes:
        twists: first numbers in v of floating joints, whose six velocities are a twist [ω; v] in the body's frame.
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
        stability_limit: largest h |λ| on the negative real axis; infinite for implicit and adaptive methods.

    A plant steps those of :data:`~robot_dynamics_ros.simulation.integrators.methods.TIME_STEPPING` by its own routines, friction and stops included.
    """

    name: str
    order: int
    stability_limit: float

    def step(self, system: MechanicalSystem, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
