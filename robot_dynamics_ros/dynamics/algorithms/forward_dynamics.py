"""Forward dynamics: the articulated-body algorithm.

| symbol | is | frame |
|---|---|---|
| τ, q̈ (nv) | joint efforts, accelerations | |
| I_i^A, p_i^A | articulated-body inertia, bias force of body i: f_i = I_i^A a_i + p_i^A | body i |
| c_i | v_i × S_i v | body i |
| U_i = I_i^A S_i, D_i = S_iᵀ U_i + rotor inertia, u_i = τ_i − S_iᵀ p_i^A | | body i |
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces, bias_forces
from robot_dynamics_ros.dynamics.algorithms.linear_solve import solve_symmetric
from robot_dynamics_ros.dynamics.algorithms.link_tree import number_of_pairs, tied
from robot_dynamics_ros.dynamics.algorithms.mass_matrix import mass_matrix
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import ElementaryKind, S, Tree, Vector
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
def forward_dynamics(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    external: Forces = None,
) -> list[S]:
    """q̈ = M(q)⁻¹ (τ − C v − g + Σ Jᵀ f_ext).

    By articulated bodies, in a number of operations proportional to that of bodies; by the mass
    matrix where that takes fewer (short or well branched robots), and for :func:`tied` robots.
    """

    def by_mass_matrix() -> list[S]:
        bias = bias_forces(tree, q, v, external)
        return solve_symmetric(
            mass_matrix(tree, q).rows, [t - b for t, b in zip(tau, bias, strict=True)]
        )

    if tied(tree.model):
        return by_mass_matrix()
    if number_of_pairs(tree.model) > DEEP * tree.model.nb:
        return articulated_body(tree, q, v, tau, external)
    return tree.cheapest(
        [lambda: articulated_body(tree, q, v, tau, external), by_mass_matrix], loops=0
    )


DEEP = 8
"""Mean number of joints between a body and the root beyond which the mass matrix cannot take fewer
operations.
"""


def articulated_body(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    external: Forces = None,
) -> list[S]:
    """The algorithm of the table above, for a robot that is not :func:`tied`  (Featherstone 2008,
    table 7.1).
    """
    motion = ForwardKinematics(tree, q, v, products=True)
    X = motion.X
    c = motion.c
    IA = tree.field(ArticulatedInertia)
    pA = tree.field(Force)
    U = tree.field(list)
    D = tree.field(list)
    u = tree.field(list)
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
        if i.kind is ElementaryKind.FREE:
            u[i] = [tau[dof] - S_i.dot(pA[i]) for dof, S_i in i.columns]
            # all that the parent feels of the body
            effort = Force.of([tau[dof] for dof, _ in i.columns])
            pA[i.parent] = pA[i.parent] + X[i].force_back(effort)
            continue
        ((dof, S_i),) = i.columns
        Ui = IA[i].mul(S_i)
        Di = 1.0 / (S_i.dot(Ui) + tree.armature(dof))
        ui = tau[dof] - S_i.dot(pA[i])
        Ia = IA[i].minus_outer(Ui, Ui * Di)
        pa = pA[i] + Ia.mul(c[i]) + Ui * (Di * ui)
        IA[i.parent] = IA[i.parent] + X[i].articulated_back(Ia)
        pA[i.parent] = pA[i.parent] + X[i].force_back(pa)
        U[i] = Ui.parts()
        D[i] = [Di]
        u[i] = [ui]

    # Pass 3, outward: accelerations
    acc = tree.field(Motion)
    acc[tree.root] = tree.gravity_motion()
    qdd = tree.vector()
    for i in tree.outward():
        # a′: with the joint's own acceleration zero
        a_prime = X[i].motion(acc[i.parent]) + c[i]
        if i.kind is ElementaryKind.FREE:
            matrix = [[S_i.dot(IA[i].mul(S_j)) for _, S_j in i.columns] for _, S_i in i.columns]
            x = solve_symmetric(
                matrix,
                [
                    r - S_i.dot(IA[i].mul(a_prime))
                    for (_, S_i), r in zip(i.columns, u[i], strict=True)
                ],
            )
        else:
            x = [(u[i][0] - a_prime.dot(Force.of(U[i]))) * D[i][0]]
        for (dof, _), value in zip(i.columns, x, strict=True):
            qdd[dof] = value
        acc[i] = a_prime + i.along(qdd)
    return qdd
