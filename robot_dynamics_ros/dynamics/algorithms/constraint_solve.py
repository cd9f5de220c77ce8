"""Dynamics under constraints K(q) v = 0: reactions λ, accelerations, and projections onto what the constraints allow.

    M q̈ + b = τ + Kᵀ λ,    K q̈ = −K̇ v − d K v − p φ

Reactions solve (K M⁻¹ Kᵀ + μ 1) λ = …, refined until μ no longer matters; where rows depend on each other (a planar loop
closed by a hinge in space, singular configurations) that gives the solution of least norm, and no row has to be found
out and left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.constraint_rows import Row, constraint_rows, end_wrenches
from robot_dynamics_ros.dynamics.algorithms.function import function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import bias_forces
from robot_dynamics_ros.dynamics.algorithms.linear_solve import back_substitute, factorize, is_zero
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import mass_matrix

__all__ = ["constrained_acceleration", "projections"]

DAMPING, REFINEMENTS = 1e-8, 3
"""μ as a part of the mean diagonal of K M⁻¹ Kᵀ, and how often its effect is corrected: directions in which that matrix is
below about 1e-6 of its mean count as dependent."""


class _Reactions:
    """Solves for reactions, with the mass matrix factored once: M = Lᵀ D L."""

    def __init__(self, tree: Any, q: Any, rows: Sequence[Row]) -> None:
        self.n = tree.nv
        self.L, self.inverse = factorize(mass_matrix(tree, q).rows)
        self.K = [row.jacobian for row in rows]
        self.there = [k for k, row in enumerate(self.K) if not all(is_zero(x) for x in row)]
        self.Z = {k: self._half(self.K[k]) for k in self.there}
        A = [[self._dot(self.Z[i], self.Z[j]) for j in self.there] for i in self.there]
        for i in range(len(A)):
            for j in range(i):
                A[i][j] = A[j][i]
        self.A = A
        total: Any = 0.0
        for i in range(len(A)):
            total = total + A[i][i]
        mu = total * (DAMPING / max(1, len(A)))
        damped = [[x + mu if i == j else x for j, x in enumerate(row)] for i, row in enumerate(A)]
        self.factors = factorize(damped) if damped else ([], [])

    def _half(self, b: Sequence[Any]) -> list[Any]:
        """L⁻ᵀ b."""
        x = list(b)
        for k in range(self.n - 1, -1, -1):
            if is_zero(x[k]):
                continue
            for i in range(k):
                if not is_zero(self.L[k][i]):
                    x[i] = x[i] - self.L[k][i] * x[k]
        return x

    def _dot(self, x: Sequence[Any], y: Sequence[Any]) -> Any:
        """xᵀ D⁻¹ y."""
        total: Any = 0.0
        for a, d, b in zip(x, self.inverse, y, strict=True):
            if not (is_zero(a) or is_zero(b)):
                total = total + a * d * b
        return total

    def solve(self, wanted: Sequence[Any], driven: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
        """λ and M⁻¹ (f + Kᵀ λ) with K of that = ``wanted``.

        Args:
            wanted: one number a row.
            driven: efforts f; ``None`` for none.
        """
        y = [0.0] * self.n if driven is None else self._half(driven)
        b = [wanted[k] - self._dot(self.Z[k], y) for k in self.there]
        x = back_substitute(*self.factors, b)
        for _ in range(REFINEMENTS):
            left = []
            for i, row in enumerate(self.A):
                total = b[i]
                for j, value in enumerate(row):
                    if not is_zero(value):
                        total = total - value * x[j]
                left.append(total)
            x = [u + w for u, w in zip(x, back_substitute(*self.factors, left), strict=True)]
        for k, value in zip(self.there, x, strict=True):
            y = [u + z * value for u, z in zip(y, self.Z[k], strict=True)]
        a = [u * d for u, d in zip(y, self.inverse, strict=True)]
        for k in range(self.n):
            for i in range(k):
                if not is_zero(self.L[k][i]):
                    a[k] = a[k] - self.L[k][i] * a[i]
        reactions = [0.0] * len(self.K)
        for k, value in zip(self.there, x, strict=True):
            reactions[k] = value
        return reactions, a


@function(
    "constraint_terms", "q v", {"residual": ("nc",), "K": ("nc", "nv"), "rate": ("nc",)}, options=("constraints",)
)
def _constraint_terms(tree: Any, q: Any, v: Any, options: Mapping[str, Any]) -> Any:
    rows = constraint_rows(tree, q, v, options["constraints"])
    return [r.residual for r in rows], [r.jacobian for r in rows], [r.rate for r in rows]


@function("constraint_wrenches", "q reactions", {"wrenches": ("nk", 2, 6)}, options=("constraints",))
def _constraint_wrenches(tree: Any, q: Any, reactions: Any, options: Mapping[str, Any]) -> Any:
    return end_wrenches(tree, q, reactions, options["constraints"])


@function(
    "constrained_forward_dynamics",
    "q v tau stabilization external",
    {"a": ("nv",), "reactions": ("nc",)},
    joint_space=True,
    options=("constraints",),
    per_body=1200,
)
def constrained_acceleration(
    tree: Any,
    q: Any,
    v: Any,
    tau: Any,
    stabilization: Sequence[Any],
    external: Any = None,
    *,
    options: Mapping[str, Any],
) -> tuple[list[Any], list[Any]]:
    """q̈ and λ under efforts τ and wrenches from the surroundings.

    Args:
        stabilization: (p, d) of Baumgarte's stabilization, 1/s² and 1/s; zeros for none.
        options: ``constraints``.

    Returns:
        (q̈, λ).

    Source: Featherstone (2008), sections 3.2 and 8.5; Carpentier, Budhiraja and Mansard (2021) for the damping.
    """
    rows = constraint_rows(tree, q, v, options["constraints"])
    bias = bias_forces(tree, q, v, external)
    p, d = stabilization
    wanted = []
    for row in rows:
        speed: Any = 0.0
        for x, w in zip(row.jacobian, v, strict=True):
            speed = speed + x * w
        wanted.append(-row.rate - d * speed - p * row.residual)
    reactions, a = _Reactions(tree, q, rows).solve(wanted, [t - b for t, b in zip(tau, bias, strict=True)])
    return a, reactions


@function(
    "constraint_projections",
    "q v",
    {"dq": ("nv",), "v_new": ("nv",), "impulse": ("nc",)},
    joint_space=True,
    options=("constraints",),
    per_body=1200,
)
def projections(tree: Any, q: Any, v: Any, options: Mapping[str, Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """One step of Newton back to φ = 0, and the velocity that the constraints allow nearest to ``v`` (metric M).

    Returns:
        (dq, v′, impulse): dq in velocity coordinates; v′ = v + M⁻¹ Kᵀ impulse.
    """
    rows = constraint_rows(tree, q, v, options["constraints"])
    solver = _Reactions(tree, q, rows)
    _, dq = solver.solve([-row.residual for row in rows], None)
    wanted = []
    for row in rows:
        speed: Any = 0.0
        for x, w in zip(row.jacobian, v, strict=True):
            speed = speed + x * w
        wanted.append(-speed)
    impulse, change = solver.solve(wanted, None)
    return dq, [x + c for x, c in zip(v, change, strict=True)], impulse
