"""The Coriolis matrix, derivatives of inverse and forward dynamics, and the linearization made of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.function import Export, Options, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import ElementaryKind, S, Square, Tree, Vector
from robot_dynamics_ros.spatial import Motion, Scalar


@function(
    "coriolis_matrix",
    "q v",
    {"C": ("nv", "nv")},
    per_pair=40,
    loops=3_500,
    exports=(Export("Coriolis matrix of the Christoffel symbols.", {"C": "Coriolis matrix"}),),
)
def coriolis_matrix(tree: Tree[S], q: Vector[S], v: Vector[S]) -> Square:
    """C(q, v): C v the velocity-dependent efforts, Ṁ − 2C skew-symmetric (Echeandia and Wensing
    2021, algorithm 1).
    """
    frame = RootFrame(tree, q, v, coriolis=True)
    C = tree.square()
    rates = tree.each([Motion], frame.subspace_rate)
    inertia = frame.inertia
    B = frame.B
    forces = frame.products(
        lambda j, S_j, rate: inertia[j].mul(rate) + B[j].mul(S_j) * 0.5, frame.S, rates
    )
    momenta = frame.products(lambda j, S_j: inertia[j].mul(S_j), frame.S)
    backward_forces = frame.products(lambda j, S_j: B[j].tmul(S_j) * 0.5, frame.S)
    for j in tree.inward():
        of_j = list(zip(j.columns, forces[j], momenta[j], backward_forces[j], strict=True))
        for (dof, _), forward, _, _ in of_j:
            for (other, _), S_i in zip(j.columns, frame.S[j], strict=True):
                C.add(other, dof, S_i.dot(forward))
        for i in tree.ancestors(j):
            for (other, _), S_i, rate in zip(i.columns, frame.S[i], rates[i], strict=True):
                for (dof, _), forward, momentum, backward in of_j:
                    C.add(other, dof, S_i.dot(forward))
                    C.add(dof, other, rate.dot(momentum) + S_i.dot(backward))
    return C


@function(
    "inverse_dynamics_derivatives",
    "q v a external",
    {"dtau_dq": ("nv", "nv"), "dtau_dv": ("nv", "nv")},
    joint_space=True,
    per_pair=65,
    loops=3_500,
    exports=(Export("Derivatives of inverse dynamics.", {"dtau_dq": "by q", "dtau_dv": "by v"}),),
)
def inverse_dynamics_derivatives(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    external: Forces = None,
) -> tuple[Square, Square]:
    """∂τ/∂q and ∂τ/∂v at (q, v, a), external forces fixed to their links.

    With Ψ̇ = v_λ × S, Ψ̈ = a_λ × S + v_λ × Ψ̇, Ṡ = v × S, and I, B, f of the subtree beyond joint
    i, for joints j ≤ i:

        ∂τ_j/∂q_i = S_jᵀ (2 B Ψ̇_i + I Ψ̈_i + S_i ×* f)      ∂τ_j/∂v_i = S_jᵀ (2 B S_i + I (Ψ̇_i +
        Ṡ_i)) ∂τ_i/∂q_j = S_iᵀ (2 B Ψ̇_j + I Ψ̈_j)                 ∂τ_i/∂v_j = S_iᵀ (2 B S_j + I
        (Ψ̇_j + Ṡ_j))

    The term in f belongs to j < i alone.  For a floating joint the derivative by q is taken along
    the tangent, q ⊕ δ.

    Source: Singh, Russo and Wensing, *Efficient analytical derivatives of rigid-body dynamics using
    spatial vector algebra* (2022), table I, in the root frame.
    """
    return _derivatives(tree, RootFrame(tree, q, v, a, external, coriolis=True))


def _derivatives(tree: Tree[S], frame: RootFrame[S]) -> tuple[Square, Square]:
    """By the formulas of :func:`inverse_dynamics_derivatives`, at the motion of the frame."""
    dtau_dq = tree.square()
    dtau_dv = tree.square()
    # the last: Ψ̇ + Ṡ
    psi_dot = frame.psi_dot
    psi_ddot = tree.field([Motion])
    sums = tree.field([Motion])
    for i in tree.outward():
        v_parent = frame.v[i.parent]
        a_parent = frame.a[i.parent]
        psi_ddot[i] = [
            a_parent.cross(S_i) + v_parent.cross(psi_dot_i)
            for S_i, psi_dot_i in zip(frame.S[i], psi_dot[i], strict=True)
        ]
        sums[i] = [x + S_dot for x, S_dot in zip(psi_dot[i], frame.subspace_rate(i), strict=True)]
    S = frame.S
    inertia = frame.inertia
    B = frame.B
    F_q = frame.products(lambda i, x, y: B[i].mul(x) + inertia[i].mul(y), psi_dot, psi_ddot)
    F_q_f = frame.products(lambda i, x, S_i: x + S_i.cross_force(frame.force[i]), F_q, S)
    F_v = frame.products(lambda i, x, y: B[i].mul(x) + inertia[i].mul(y), S, sums)
    I_S = frame.products(lambda i, S_i: inertia[i].mul(S_i), S)
    B_S = frame.products(lambda i, S_i: B[i].tmul(S_i), S)
    for i in tree.inward():
        of_i = list(zip(i.columns, F_q[i], F_q_f[i], F_v[i], I_S[i], B_S[i], strict=True))
        for (dof_i, _), F_q_i, _, F_v_i, _, _ in of_i:
            for (dof_j, _), S_j in zip(i.columns, S[i], strict=True):
                dtau_dq.add(dof_j, dof_i, S_j.dot(F_q_i))
                dtau_dv.add(dof_j, dof_i, S_j.dot(F_v_i))
        for j in tree.ancestors(i):
            of_j = zip(j.columns, S[j], psi_dot[j], psi_ddot[j], sums[j], strict=True)
            for (dof_j, _), S_j, psi_dot_j, psi_ddot_j, sum_j in of_j:
                for (dof_i, _), _, F_q_f_i, F_v_i, I_S_i, B_S_i in of_i:
                    dtau_dq.add(dof_j, dof_i, S_j.dot(F_q_f_i))
                    dtau_dv.add(dof_j, dof_i, S_j.dot(F_v_i))
                    dtau_dq.add(dof_i, dof_j, psi_dot_j.dot(B_S_i) + psi_ddot_j.dot(I_S_i))
                    dtau_dv.add(dof_i, dof_j, S_j.dot(B_S_i) + sum_j.dot(I_S_i))
    return dtau_dq, dtau_dv


@function(
    "forward_dynamics_derivatives",
    "q v tau external",
    {"da_dq": ("nv", "nv"), "da_dv": ("nv", "nv"), "da_dtau": ("nv", "nv")},
    joint_space=True,
    per_pair=90,
    per_cube=3,
    loops=4_000,
)
def forward_dynamics_derivatives(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    external: Forces = None,
    damping: Sequence[S] | None = None,
) -> Sequence[Square]:
    """∂q̈/∂q = −M⁻¹ ∂τ/∂q, ∂q̈/∂v = −M⁻¹ ∂τ/∂v and ∂q̈/∂τ = M⁻¹ at the resulting acceleration.

    ``damping``: (nv,) viscous friction that ``tau`` must overcome, N m s/rad; none if not given.

    Source: Carpentier and Mansard, *Analytical derivatives of rigid body dynamics algorithms*
    (2018).
    """
    frame = RootFrame(tree, q, v, tree.zeros(), external, coriolis=True)
    bias = tree.vector()
    for i in tree.inward():
        for (dof, _), S_i in zip(i.columns, frame.S[i], strict=True):
            bias[dof] = bias[dof] + S_i.dot(frame.force[i])
    for k, d in enumerate(damping or ()):
        bias[k] = bias[k] + d * v[k]
    M = tree.factors(frame.mass_matrix())
    frame.accelerate(M.solve(tau, bias))
    by_q, by_v = _derivatives(tree, frame)
    for k, d in enumerate(damping or ()):
        by_v.add(k, k, d)
    return M.divide([by_q, by_v])


_OUTPUTS = {"A": "system matrix", "B": "input matrix"}


@function(
    "linearization",
    "q v tau external",
    {"A": ("n2", "n2"), "B": ("n2", "nv")},
    joint_space=True,
    options=("viscous",),
    per_body=960,
    per_pair=180,
    per_cube=4,
    exports=(
        Export(
            "Linearization dx/dt = A x + B u about (q, v, tau), x = [deviation of q; deviation "
            "of v], u that of tau.",
            _OUTPUTS,
            options={"viscous": False},
        ),
        Export(
            "As linearization, with viscous friction at the joints.",
            _OUTPUTS,
            name="linearization_with_friction",
            options={"viscous": True},
        ),
    ),
)
def linearization(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    external: Forces = None,
    *,
    options: Options,
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """A = [0 1; ∂q̈/∂q  ∂q̈/∂v] and B = [0; ∂q̈/∂τ].

    With the option ``viscous`` the joints have their viscous friction.  Deviations of a floating
    joint are counted in a frame that moves with the nominal motion.
    """
    n = tree.nv
    damping: Any = tree.model.damping.tolist() if options["viscous"] else None
    results = forward_dynamics_derivatives(tree, q, v, tau, external, damping)
    by_q, by_v, inverse = (x.rows for x in results)
    A: list[list[Scalar]] = [[0.0] * (2 * n) for _ in range(n)]
    for i in range(n):
        A[i][n + i] = 1.0
    A += [[*row_q, *row_v] for row_q, row_v in zip(by_q, by_v, strict=True)]
    B: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    B += inverse
    for kind, _, first in tree.position_indices():
        if kind is ElementaryKind.FREE:
            _moving_frame(A, first, v)
    return A, B


def _moving_frame(A: list[list[Scalar]], first: int, v: Sequence[Scalar]) -> None:
    """−(v ×) of a floating joint."""
    w = v[first : first + 3]
    u = v[first + 3 : first + 6]
    for row, column, x in ((0, 0, w), (3, 3, w), (3, 0, u)):
        for i, j, value in (
            (0, 1, x[2]),
            (0, 2, -x[1]),
            (1, 0, -x[2]),
            (1, 2, x[0]),
            (2, 0, x[1]),
            (2, 1, -x[0]),
        ):
            A[first + row + i][first + column + j] = value
