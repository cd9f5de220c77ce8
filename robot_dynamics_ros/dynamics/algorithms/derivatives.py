"""Analytical derivatives of inverse dynamics."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import Export, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Motion

__all__ = ["inverse_dynamics_derivatives"]


@function(
    "inverse_dynamics_derivatives",
    "q v a external",
    {"dtau_dq": ("nv", "nv"), "dtau_dv": ("nv", "nv")},
    joint_space=True,
    per_pair=120,
    exports=(Export("Derivatives of inverse dynamics.", {"dtau_dq": "by q", "dtau_dv": "by v"}),),
)
def inverse_dynamics_derivatives(
    tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S], external: Forces = None
) -> tuple[list[list[S]], list[list[S]]]:
    """∂τ/∂q and ∂τ/∂v at (q, v, a), external forces fixed to their links.

    With Ψ̇ = v_λ × S, Ψ̈ = a_λ × S + v_λ × Ψ̇, Ṡ = v × S, and I, B, f of the subtree beyond joint i, for joints j ≤ i:

        ∂τ_j/∂q_i = S_jᵀ (2 B Ψ̇_i + I Ψ̈_i + S_i ×* f)      ∂τ_j/∂v_i = S_jᵀ (2 B S_i + I (Ψ̇_i + Ṡ_i))
        ∂τ_i/∂q_j = S_iᵀ (2 B Ψ̇_j + I Ψ̈_j)                 ∂τ_i/∂v_j = S_iᵀ (2 B S_j + I (Ψ̇_j + Ṡ_j))

    The term in f belongs to j < i alone.  For a floating joint the derivative by q is taken along the tangent, q ⊕ δ.

    Source: Singh, Russo and Wensing, *Efficient analytical derivatives of rigid-body dynamics using spatial vector
    algebra* (2022), table I, in the root frame.
    """
    frame = RootFrame(tree, q, v, a, external, coriolis=True)
    dtau_dq, dtau_dv = tree.square(), tree.square()
    psi_dot, psi_ddot, psi_dot_S_dot = (tree.field([Motion]) for _ in range(3))
    for i in tree.outward():
        v_parent, a_parent = frame.v[i.parent], frame.a[i.parent]
        psi_dot[i] = [v_parent.cross(S_i) for _, S_i in frame.S[i]]
        psi_ddot[i] = [
            a_parent.cross(S_i) + v_parent.cross(psi_dot_i)
            for (_, S_i), psi_dot_i in zip(frame.S[i], psi_dot[i], strict=True)
        ]
        psi_dot_S_dot[i] = [x + S_dot for x, S_dot in zip(psi_dot[i], frame.subspace_rate(i), strict=True)]
    for i in tree.inward():
        inertia = frame.inertia[i]
        of_i = zip(frame.S[i], psi_dot[i], psi_ddot[i], psi_dot_S_dot[i], strict=True)
        for (dof_i, S_i), psi_dot_i, psi_ddot_i, sum_i in of_i:
            F_q = frame.times_B(i, psi_dot_i) * 2.0 + inertia.mul(psi_ddot_i)
            F_v = frame.times_B(i, S_i) * 2.0 + inertia.mul(sum_i)
            F_q_f = F_q + S_i.cross_force(frame.force[i])
            I_S, B_S = inertia.mul(S_i), frame.B_times(i, S_i) * 2.0  # I S_i, 2 Bᵀ S_i
            for j in tree.ancestors(i):
                of_j = zip(frame.S[j], psi_dot[j], psi_ddot[j], psi_dot_S_dot[j], strict=True)
                for (dof_j, S_j), psi_dot_j, psi_ddot_j, sum_j in of_j:
                    dtau_dq[dof_j][dof_i] = dtau_dq[dof_j][dof_i] + S_j.dot(F_q_f)
                    dtau_dv[dof_j][dof_i] = dtau_dv[dof_j][dof_i] + S_j.dot(F_v)
                    dtau_dq[dof_i][dof_j] = dtau_dq[dof_i][dof_j] + (psi_dot_j.dot(B_S) + psi_ddot_j.dot(I_S))
                    dtau_dv[dof_i][dof_j] = dtau_dv[dof_i][dof_j] + (S_j.dot(B_S) + sum_j.dot(I_S))
            for dof_j, S_j in frame.S[i]:
                dtau_dq[dof_j][dof_i] = dtau_dq[dof_j][dof_i] + S_j.dot(F_q)
                dtau_dv[dof_j][dof_i] = dtau_dv[dof_j][dof_i] + S_j.dot(F_v)
    return dtau_dq, dtau_dv
