"""Forward dynamics: the articulated-body algorithm.

| symbol | is | frame |
|---|---|---|
| τ, q̈ (nv) | joint efforts, accelerations | |
| I_i^A, p_i^A | articulated-body inertia and bias force of body i: f_i = I_i^A a_i + p_i^A | body i |
| c_i | v_i × S_i v | body i |
| U_i = I_i^A S_i, D_i = S_iᵀ U_i + rotor inertia, u_i = τ_i − S_iᵀ p_i^A | | body i |
"""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces, bias_forces
from robot_dynamics_ros.dynamics.algorithms.linear_solve import back_substitute, factorize, is_zero, solve_symmetric
from robot_dynamics_ros.dynamics.algorithms.link_tree import number_of_pairs
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import composite_rigid_body, mass_matrix
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import Body, Kind, Matrix, S, Tree, Vector
from robot_dynamics_ros.spatial import ArticulatedInertia, Force, Motion


@function(
    "forward_dynamics",
    "q v tau external base",
    {"a": ("nv",)},
    joint_space=True,
    loops=LARGE,
    common=True,
    exports=(Export("Accelerations under given efforts.", {"a": "accelerations"}, default=True),),
)
def forward_dynamics(tree: Tree[S], q: Vector[S], v: Vector[S], tau: Vector[S], external: Forces = None) -> list[S]:
    """q̈ = M(q)⁻¹ (τ − C v − g + Σ Jᵀ f_ext).

    By articulated bodies, in a number of operations proportional to that of bodies; by the mass matrix where that takes
    fewer (short or well branched robots), and where mimic joints or rotors tie joints together, which no recursion over a
    tree can see.
    """

    def by_articulated_bodies() -> list[S]:
        return articulated_body(tree, q, v, tau, external)

    def by_mass_matrix(M: Callable[[Tree[S], Vector[S]], Matrix]) -> list[S]:
        bias = bias_forces(tree, q, v, external)
        return solve_symmetric(M(tree, q).rows, [t - b for t, b in zip(tau, bias, strict=True)])

    if tree.model.has_mimic or tree.model.coupled_rotors:
        return by_mass_matrix(mass_matrix)
    if number_of_pairs(tree.model) > DEEP * tree.model.nb:
        return by_articulated_bodies()
    return tree.cheapest([by_articulated_bodies, lambda: by_mass_matrix(composite_rigid_body)], loops=0)


DEEP = 8
"""Mean number of joints between a body and the root beyond which the mass matrix cannot take fewer operations."""


def articulated_body(tree: Tree[S], q: Vector[S], v: Vector[S], tau: Vector[S], external: Forces = None) -> list[S]:
    """The algorithm of the table above, for a tree without mimic joints  (Featherstone 2008, table 7.1)."""
    motion = ForwardKinematics(tree, q, v, products=True)
    X, c = motion.X, motion.c
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    U, D, u = tree.field(list), tree.field(list), tree.field(list)
    IA[tree.root] = ArticulatedInertia.of([0.0] * 21)
    pA[tree.root] = Force.zero()

    # Pass 1, outward: velocities and rigid-body terms
    for i in motion.outward():
        IA[i] = i.inertia.articulated()
        pA[i] = motion.v[i].cross_force(i.inertia.mul(motion.v[i]))
        if external is not None:
            pA[i] = pA[i] - external[i]

    # Pass 2, inward: articulated inertias and bias forces
    for i in tree.inward():
        if i.kind is Kind.FREE:
            u[i] = [tau[dof] - S_i.dot(pA[i]) for dof, S_i in i.columns]
            Ia, pa = _beyond_free_joint(tree, i, tau, IA[i], pA[i], c[i], u[i])
            if Ia is not None:
                IA[i.parent] = IA[i.parent] + X[i].articulated_back(Ia)
            pA[i.parent] = pA[i.parent] + X[i].force_back(pa)
            continue
        ((dof, S_i),) = i.columns
        Ui = IA[i].mul(S_i)
        Di = 1.0 / (S_i.dot(Ui) + tree.armature(dof))
        ui = tau[dof] - S_i.dot(pA[i])
        Ia = IA[i].minus_outer(Ui, Ui * Di)
        pa = pA[i] + Ia.mul(c[i]) + Ui * (Di * ui)
        IA[i.parent] = IA[i.parent] + X[i].articulated_back(Ia)
        pA[i.parent] = pA[i.parent] + X[i].force_back(pa)
        U[i], D[i], u[i] = Ui.parts(), [Di], [ui]

    # Pass 3, outward: accelerations
    acc = tree.field(Motion)
    acc[tree.root] = tree.gravity_motion()
    qdd = tree.vector()
    for i in tree.outward():
        a_prime = X[i].motion(acc[i.parent]) + c[i]  # a′: with the joint's own acceleration zero
        if i.kind is Kind.FREE:
            x = _free_acceleration(tree, i, IA[i], a_prime, u[i])
        else:
            x = [(u[i][0] - a_prime.dot(Force.of(U[i]))) * D[i][0]]
        for (dof, _), value in zip(i.columns, x, strict=True):
            qdd[dof] = value
        acc[i] = a_prime + i.along(qdd)
    return qdd


def _beyond_free_joint(
    tree: Tree[S], i: Body[S], tau: Vector[S], IA: ArticulatedInertia, pA: Force, c: Motion, u: list[S]
) -> tuple[ArticulatedInertia | None, Force]:
    """I^a and p^a that a free joint hands on to its parent; without rotors no inertia, and its own effort."""
    rotor = [tree.armature(dof) for dof, _ in i.columns]
    if all(is_zero(x) for x in rotor):
        return None, Force.of([tau[dof] for dof, _ in i.columns])
    Ia, push = _with_rotors(IA, rotor, u)
    return Ia, pA + Ia.mul(c) + push


def _free_acceleration(tree: Tree[S], i: Body[S], IA: ArticulatedInertia, a_prime: Motion, u: list[S]) -> list[S]:
    """D⁻¹ (u − Uᵀ a′) of a joint of six degrees of freedom."""
    D = [
        [S_i.dot(IA.mul(S_j)) + (tree.armature(dof) if S_i is S_j else 0.0) for _, S_j in i.columns]
        for dof, S_i in i.columns
    ]
    return solve_symmetric(D, [r - S_i.dot(IA.mul(a_prime)) for (_, S_i), r in zip(i.columns, u, strict=True)])


def _with_rotors(IA: ArticulatedInertia, rotor: list[S], u: list[S]) -> tuple[ArticulatedInertia, Force]:
    """I − I (I + R)⁻¹ I and I (I + R)⁻¹ u for a joint of six degrees of freedom with inertia R at its coordinates."""
    rows = [IA.mul(Motion.of([1.0 if j == k else 0.0 for j in range(6)])).parts() for k in range(6)]
    D = [[rows[j][k] + (rotor[j] if j == k else 0.0) for k in range(6)] for j in range(6)]
    factors = factorize(D)
    solved = [back_substitute(*factors, row) for row in rows]
    Ia = [[rows[j][k] - sum((rows[j][m] * solved[k][m] for m in range(6)), 0.0) for k in range(6)] for j in range(6)]
    x = back_substitute(*factors, u)
    push = Force.of([sum((rows[j][m] * x[m] for m in range(6)), 0.0) for j in range(6)])
    upper = [Ia[j][k] for j in range(3) for k in range(j, 3)]
    cross = [Ia[j][k] for j in range(3) for k in range(3, 6)]
    lower = [Ia[j][k] for j in range(3, 6) for k in range(j, 6)]
    return ArticulatedInertia.of([*upper, *cross, *lower]), push
