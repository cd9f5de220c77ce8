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

    For a floating joint the derivative by q is taken along the tangent, q ⊕ δ.

    Source: Singh, Russo and Wensing, *Efficient analytical derivatives of rigid-body dynamics using spatial vector
    algebra* (2022), table I, in the root frame.
    """
    at = RootFrame(tree, q, v, a, external, coriolis=True)
    by_q, by_v = tree.square(), tree.square()
    psi, psi_rate, along = (tree.field([Motion]) for _ in range(3))
    for i in tree.outward():
        before_v, before_a = at.v[i.parent], at.a[i.parent]
        psi[i] = [before_v.cross(S_i) for _, S_i in at.S[i]]
        psi_rate[i] = [before_a.cross(S_i) + before_v.cross(p) for (_, S_i), p in zip(at.S[i], psi[i], strict=True)]
        along[i] = [p + rate for p, rate in zip(psi[i], at.subspace_rate(i), strict=True)]
    for i in tree.inward():
        inertia = at.inertia[i]
        for (dof, S_i), p, p_rate, d in zip(at.S[i], psi[i], psi_rate[i], along[i], strict=True):
            # what moving joint i does to the efforts of the joints before it
            turned = at.times_B(i, p) * 2.0 + inertia.mul(p_rate)
            sped = at.times_B(i, S_i) * 2.0 + inertia.mul(d)
            carried = turned + S_i.cross_force(at.force[i])
            # what moving the joints before it does to the effort of joint i
            momentum, row = inertia.mul(S_i), at.B_times(i, S_i) * 2.0
            for j in tree.ancestors(i):
                for (other, S_j), r, r_rate, e in zip(at.S[j], psi[j], psi_rate[j], along[j], strict=True):
                    by_q[other][dof] = by_q[other][dof] + S_j.dot(carried)
                    by_v[other][dof] = by_v[other][dof] + S_j.dot(sped)
                    by_q[dof][other] = by_q[dof][other] + (r.dot(row) + r_rate.dot(momentum))
                    by_v[dof][other] = by_v[dof][other] + (S_j.dot(row) + e.dot(momentum))
            for other, S_j in at.S[i]:
                by_q[other][dof] = by_q[other][dof] + S_j.dot(turned)
                by_v[other][dof] = by_v[other][dof] + S_j.dot(sped)
    return by_q, by_v
