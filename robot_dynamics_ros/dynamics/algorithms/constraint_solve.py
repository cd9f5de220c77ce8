"""Dynamics under constraints K(q) v = 0: reactions λ, accelerations, and projections onto what the
constraints allow.

    M q̈ + b = τ + Kᵀ λ,    K q̈ = −K̇ v − d K v − p φ

Reactions solve (K M⁻¹ Kᵀ + μ 1) λ = b, refined until μ no longer matters.  Where rows depend on
each other (a planar loop closed by a hinge in space, singular configurations) that gives the
solution of least norm; no row has to be left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic

from robot_dynamics_ros.dynamics.algorithms.constraint_rows import (
    ConstraintRow,
    constraint_rows,
    end_wrenches,
)
from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces, bias_forces
from robot_dynamics_ros.dynamics.algorithms.linear_solve import (
    back_substitute,
    dot,
    factorize,
    is_zero,
    solve_lower,
    solve_upper,
)
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import mass_matrix
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Scalar

REACTION_DAMPING_SHARE = 1e-8
REFINEMENTS = 3
"""μ as a part of the mean diagonal of K M⁻¹ Kᵀ, and how often its effect is corrected: directions
in which that matrix is below about 1e-6 of its mean count as dependent.
"""


class ReactionSolver(Generic[S]):
    """Solves for reactions λ and accelerations a = M⁻¹ (f + Kᵀ λ) with K a given; M and K M⁻¹ Kᵀ
    are factored once.

    ``rows``: numbers of the rows of K that are not zero throughout; the others have no reaction.
    """

    def __init__(
        self,
        tree: Tree[S],
        q: Vector[S],
        constraints: Sequence[ConstraintRow],
    ) -> None:
        # 1. M = Lᵀ D L
        self.L, self.D_inverse = factorize(mass_matrix(tree, q).rows)
        # 2. Y = L⁻ᵀ Kᵀ
        K = [constraint.jacobian for constraint in constraints]
        self.count = len(K)
        self.rows = [k for k, row in enumerate(K) if not all(is_zero(x) for x in row)]
        self.Y = [solve_upper(self.L, K[k]) for k in self.rows]
        # 3. A = Yᵀ D⁻¹ Y, factored with μ on its diagonal
        n = len(self.rows)
        self.A: list[list[Scalar]] = []
        for i, y in enumerate(self.Y):
            weighted = self._weighted(y)
            self.A.append([self.A[j][i] for j in range(i)] + [dot(weighted, z) for z in self.Y[i:]])
        trace: Scalar = 0.0
        for i in range(n):
            trace = trace + self.A[i][i]
        mu = trace * (REACTION_DAMPING_SHARE / max(1, n))
        damped = [
            [x + mu if i == j else x for j, x in enumerate(row)] for i, row in enumerate(self.A)
        ]
        if damped:
            self.factors = factorize(damped)
        else:
            self.factors = ([], [])

    def solve(
        self,
        acceleration: Sequence[Scalar],
        effort: Sequence[Scalar] | None,
    ) -> tuple[list[Scalar], list[Scalar]]:
        """(nc,) λ and (nv,) a = M⁻¹ (f + Kᵀ λ) with K a = ``acceleration``, for the ``effort``
        f.
        """
        # 4. z = L⁻ᵀ f,  b = acceleration − Yᵀ D⁻¹ z: what the reactions have to add
        z = [0.0] * len(self.D_inverse) if effort is None else solve_upper(self.L, effort)
        weighted = self._weighted(z)
        b = [acceleration[k] - dot(y, weighted) for k, y in zip(self.rows, self.Y, strict=True)]
        # 5. A λ = b, refined: what μ took away is solved for again
        x = back_substitute(*self.factors, b)
        for _ in range(REFINEMENTS):
            remainder = [total - dot(row, x) for total, row in zip(b, self.A, strict=True)]
            x = [u + w for u, w in zip(x, back_substitute(*self.factors, remainder), strict=True)]
        # 6. a = L⁻¹ D⁻¹ (z + Y λ)
        for y, reaction in zip(self.Y, x, strict=True):
            z = [u + w * reaction for u, w in zip(z, y, strict=True)]
        a = solve_lower(self.L, self._weighted(z))
        reactions: list[Scalar] = [0.0] * self.count
        for k, reaction in zip(self.rows, x, strict=True):
            reactions[k] = reaction
        return reactions, a

    def _weighted(self, x: Sequence[Scalar]) -> list[Scalar]:
        """D⁻¹ x."""
        return [a * d for a, d in zip(x, self.D_inverse, strict=True)]


@function(
    "constraint_terms",
    "q v",
    {"residual": ("nc",), "K": ("nc", "nv"), "rate": ("nc",)},
    options=("constraints",),
)
def _constraint_terms(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    options: Options,
) -> tuple[list[S], list[list[S]], list[S]]:
    rows = constraint_rows(tree, q, v, options["constraints"])
    return [r.residual for r in rows], [r.jacobian for r in rows], [r.rate for r in rows]


@function(
    "constraint_wrenches", "q reactions", {"wrenches": ("nk", 2, 6)}, options=("constraints",)
)
def _constraint_wrenches(
    tree: Tree[S],
    q: Vector[S],
    reactions: Sequence[S],
    options: Options,
) -> list[Scalar]:
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
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    stabilization: Sequence[S],
    external: Forces = None,
    *,
    options: Options,
) -> tuple[list[Scalar], list[Scalar]]:
    """q̈ and λ under efforts τ and wrenches from the surroundings, with (p, d) of Baumgarte's
    stabilization, 1/s² and 1/s.

    Source: Featherstone (2008), sections 3.2 and 8.5; Carpentier, Budhiraja and Mansard (2021) for
    the damping.
    """
    rows = constraint_rows(tree, q, v, options["constraints"])
    bias = bias_forces(tree, q, v, external)
    p, d = stabilization
    acceleration = [-row.rate - d * row.speed(v) - p * row.residual for row in rows]
    effort = [t - b for t, b in zip(tau, bias, strict=True)]
    reactions, a = ReactionSolver(tree, q, rows).solve(acceleration, effort)
    return a, reactions


@function(
    "constraint_projections",
    "q v",
    {"dq": ("nv",), "v_new": ("nv",), "impulse": ("nc",)},
    joint_space=True,
    options=("constraints",),
    per_body=1200,
)
def projections(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    options: Options,
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """One step dq of Newton back to φ = 0, in velocity coordinates; the velocity v′ = v + M⁻¹ Kᵀ
    impulse that the constraints allow nearest to ``v`` (metric M); the impulse.
    """
    rows = constraint_rows(tree, q, v, options["constraints"])
    solver = ReactionSolver(tree, q, rows)
    _, dq = solver.solve([-row.residual for row in rows], None)
    impulse, change = solver.solve([-row.speed(v) for row in rows], None)
    return dq, [x + c for x, c in zip(v, change, strict=True)], impulse
