"""The joint-space inertia matrix: the composite-rigid-body algorithm, in two forms that suit small
and large trees.

| symbol | is | frame |
|---|---|---|
| M (nv, nv) | mass matrix, rotor inertia on its diagonal | |
| I_i^c | composite inertia: of body i and everything beyond | body i |
| F = I_i^c S_i | force for one unit of joint i on its subtree | body i, then each ancestor |
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.linear_solve import back_substitute, factorize
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics, composite_inertia
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame, with_rotors
from robot_dynamics_ros.dynamics.algorithms.tree import S, Square, Tree, TreeMatrix, Vector
from robot_dynamics_ros.spatial import RigidInertia, Scalar


def composite_rigid_body(tree: Tree[S], q: Vector[S]) -> TreeMatrix:
    """M(q) by carrying each joint's force down the tree: M_ji = S_jᵀ F  (Featherstone 2008, table
    6.2).
    """
    Ic = tree.field(RigidInertia)
    Ic[tree.root] = RigidInertia.zero()
    placed = ForwardKinematics(tree, q)
    for i in placed.outward():
        Ic[i] = i.inertia
    M = tree.matrix()
    for i in composite_inertia(tree, placed.X, Ic):
        for dof, S_i in i.columns:
            F = Ic[i].mul(S_i)
            for other, S_j in i.columns:
                if other <= dof:
                    M.add(dof, other, S_j.dot(F))
            ancestor = i
            for j in tree.ancestors(i):
                F = placed.X[ancestor].force_back(F)
                for other, S_j in j.columns:
                    M.add_pair(dof, other, S_j.dot(F))
                ancestor = j
    return with_rotors(tree, M)


@function(
    "mass_matrix",
    "q",
    {"M": ("nv", "nv")},
    joint_space=True,
    per_body=60,
    per_pair=25,
    loops=LARGE,
    common=True,
    exports=(
        Export(
            "Joint-space inertia matrix M(q), rotor inertia included.",
            {"M": "mass matrix"},
            default=True,
        ),
    ),
)
def mass_matrix(tree: Tree[S], q: Vector[S]) -> TreeMatrix:
    """M(q) by whichever form takes fewer operations for this robot."""
    return tree.cheapest(
        [lambda: composite_rigid_body(tree, q), lambda: RootFrame(tree, q).mass_matrix()]
    )


@function(
    "mass_matrix_factors", "q", {"L": ("nv", "nv"), "D": ("nv",)}, joint_space=True, per_pair=40
)
def _mass_matrix_factors(tree: Tree[S], q: Vector[S]) -> tuple[list[list[Scalar]], list[Scalar]]:
    L, inverse = factorize(mass_matrix(tree, q).rows)
    n = tree.nv
    # L holds what is below the diagonal; the factor has ones on it and zeros above
    full = [[*L[i][:i], 1.0, *[0.0] * (n - i - 1)] for i in range(n)]
    return full, [1.0 / d for d in inverse]


@function(
    "mass_matrix_inverse",
    "q",
    {"Minv": ("nv", "nv")},
    joint_space=True,
    per_pair=60,
    loops=30_000,
    exports=(Export("Inverse of the mass matrix.", {"Minv": "inverse of M"}),),
)
def mass_matrix_inverse(tree: Tree[S], q: Vector[S]) -> Square:
    """M(q)⁻¹ from the sparse factors."""
    (inverse,) = tree.factors(mass_matrix(tree, q)).divide([])
    return inverse


@function("mass_matrix_solve", "q tau", {"x": ("nv",)}, joint_space=True, per_pair=45)
def _mass_matrix_solve(tree: Tree[S], q: Vector[S], tau: Vector[S]) -> list[Scalar]:
    return back_substitute(*factorize(mass_matrix(tree, q).rows), tau)
