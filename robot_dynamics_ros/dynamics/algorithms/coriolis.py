"""The Coriolis matrix that belongs to the Christoffel symbols."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import Export, function
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector

__all__ = ["coriolis_matrix"]


@function(
    "coriolis_matrix",
    "q v",
    {"C": ("nv", "nv")},
    per_pair=60,
    exports=(Export("Coriolis matrix of the Christoffel symbols.", {"C": "Coriolis matrix"}),),
)
def coriolis_matrix(tree: Tree[S], q: Vector[S], v: Vector[S]) -> list[list[S]]:
    """C(q, v), with C v the velocity-dependent efforts and Ṁ − 2C skew-symmetric.

    Source: Echeandia and Wensing (2021), algorithm 1, in the root frame.
    """
    frame = RootFrame(tree, q, v, coriolis=True)
    C = tree.square()
    for j in tree.inward():
        for (dof, S_j), rate in zip(frame.S[j], frame.subspace_rate(j), strict=True):
            forward = frame.inertia[j].mul(rate) + frame.times_B(j, S_j)
            momentum = frame.inertia[j].mul(S_j)
            backward = frame.B_times(j, S_j)
            for other, S_i in frame.S[j]:
                C[other][dof] = C[other][dof] + S_i.dot(forward)
            for i in tree.ancestors(j):
                for (other, S_i), S_rate in zip(frame.S[i], frame.subspace_rate(i), strict=True):
                    C[other][dof] = C[other][dof] + S_i.dot(forward)
                    C[dof][other] = C[dof][other] + (S_rate.dot(momentum) + S_i.dot(backward))
    return C
