"""The Coriolis matrix that belongs to the Christoffel symbols."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import Export, function
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.algorithms.tree import S, Square, Tree, Vector
from robot_dynamics_ros.spatial import Motion


@function(
    "coriolis_matrix",
    "q v",
    {"C": ("nv", "nv")},
    per_pair=40,
    loops=3_500,
    exports=(Export("Coriolis matrix of the Christoffel symbols.", {"C": "Coriolis matrix"}),),
)
def coriolis_matrix(tree: Tree[S], q: Vector[S], v: Vector[S]) -> Square:
    """C(q, v), with C v the velocity-dependent efforts and Ṁ − 2C skew-symmetric.

    Source: Echeandia and Wensing (2021), algorithm 1, in the root frame.
    """
    frame = RootFrame(tree, q, v, coriolis=True)
    C = tree.square()
    rates = tree.each([Motion], frame.subspace_rate)
    inertia, B = frame.inertia, frame.B
    forces = frame.products(lambda j, S_j, rate: inertia[j].mul(rate) + B[j].mul(S_j) * 0.5, frame.S, rates)
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
