"""The Coriolis matrix that belongs to the Christoffel symbols."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import S, Square, Tree, Vector
from robot_dynamics_ros.spatial import Motion


@function(
    "coriolis_matrix",
    "q v",
    {"C": ("nv", "nv")},
    per_pair=40,
    loops=LARGE,
    exports=(Export("Coriolis matrix of the Christoffel symbols.", {"C": "Coriolis matrix"}),),
)
def coriolis_matrix(tree: Tree[S], q: Vector[S], v: Vector[S]) -> Square:
    """C(q, v), with C v the velocity-dependent efforts and Ṁ − 2C skew-symmetric.

    Source: Echeandia and Wensing (2021), algorithm 1, in the root frame.
    """
    frame = RootFrame(tree, q, v, coriolis=True)
    C = tree.square()
    rates = tree.field([Motion])
    for i in tree.outward():
        rates[i] = frame.subspace_rate(i)
    for j in tree.inward():
        inertia, B = frame.inertia[j], frame.B[j]
        of_j = [
            (dof, inertia.mul(rate) + B.mul(S_j) * 0.5, inertia.mul(S_j), B.tmul(S_j) * 0.5)
            for (dof, _), S_j, rate in zip(j.columns, frame.S[j], rates[j], strict=True)
        ]
        for dof, forward, _, _ in of_j:
            for (other, _), S_i in zip(j.columns, frame.S[j], strict=True):
                C.add(other, dof, S_i.dot(forward))
        for i in tree.ancestors(j):
            for (other, _), S_i, rate in zip(i.columns, frame.S[i], rates[i], strict=True):
                for dof, forward, momentum, backward in of_j:
                    C.add(other, dof, S_i.dot(forward))
                    C.add(dof, other, rate.dot(momentum) + S_i.dot(backward))
    return C
