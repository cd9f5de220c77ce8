"""The Coriolis matrix that belongs to the Christoffel symbols."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame

__all__ = ["coriolis_matrix"]


def coriolis_matrix(tree: Any, q: Any, v: Any) -> Any:
    """C(q, v), with C v the velocity-dependent efforts and Ṁ − 2C skew-symmetric.

    Source: Echeandia and Wensing (2021), algorithm 1, in the root frame.
    """
    at = RootFrame(tree, q, v, coriolis=True)
    C = tree.square()
    for j in tree.inward():
        for (dof, S), rate in zip(at.S[j], at.subspace_rate(j), strict=True):
            forward = at.inertia[j].mul(rate) + at.times_B(j, S)
            momentum = at.inertia[j].mul(S)
            backward = at.B_times(j, S)
            for other, T in at.S[j]:
                C[other][dof] = C[other][dof] + T.dot(forward)
            for i in tree.ancestors(j):
                for (other, T), T_rate in zip(at.S[i], at.subspace_rate(i), strict=True):
                    C[other][dof] = C[other][dof] + T.dot(forward)
                    C[dof][other] = C[dof][other] + (T_rate.dot(momentum) + T.dot(backward))
    return C
