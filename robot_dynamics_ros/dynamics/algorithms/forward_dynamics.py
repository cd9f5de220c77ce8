"""Forward dynamics: the articulated-body algorithm."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.linear_solve import back_substitute, factorize, is_zero, solve_symmetric
from robot_dynamics_ros.dynamics.algorithms.tree import Kind
from robot_dynamics_ros.spatial import ArticulatedInertia, Force, Motion, Transform

__all__ = ["articulated_body"]


def articulated_body(tree: Any, q: Any, v: Any, tau: Any, external: Any = None) -> Any:
    """q̈ = M(q)⁻¹ (τ − C v − g + Σ Jᵀ f_ext)  (Featherstone 2008, table 7.1).

    The tree must be free of mimic joints: they tie branches together, which no recursion over a tree can see.

    Returns:
        accelerations, (nv,).
    """
    X, vel, c = tree.field(Transform), tree.field(Motion), tree.field(Motion)
    IA, pA = tree.field(ArticulatedInertia), tree.field(Force)
    U, D, u = tree.field(list), tree.field(list), tree.field(list)
    vel[tree.root] = tree.base_velocity()
    IA[tree.root] = ArticulatedInertia.of([0.0] * 21)
    pA[tree.root] = Force.zero()

    # Pass 1, outward: velocities and rigid-body terms
    for i in tree.outward():
        X[i] = i.transform(q)
        vJ = i.along(v)
        vel[i] = X[i].motion(vel[i.parent]) + vJ
        c[i] = vel[i].cross(vJ)
        IA[i] = i.inertia.articulated()
        pA[i] = vel[i].cross_force(i.inertia.mul(vel[i]))
        if external is not None:
            pA[i] = pA[i] - external[i]

    # Pass 2, inward: articulated inertias and bias forces
    for i in tree.inward():
        if i.kind is Kind.FREE:
            u[i] = [tau[dof] - S.dot(pA[i]) for dof, S in i.columns]
            rotor = [tree.armature(dof) for dof, _ in i.columns]
            if all(is_zero(x) for x in rotor):  # a free joint hands on its own effort and no inertia
                pA[i.parent] = pA[i.parent] + X[i].force_back(Force.of([tau[dof] for dof, _ in i.columns]))
            else:
                Ia, push = _behind_free_joint(IA[i], rotor, u[i])
                IA[i.parent] = IA[i.parent] + X[i].articulated_back(Ia)
                pA[i.parent] = pA[i.parent] + X[i].force_back(pA[i] + Ia.mul(c[i]) + push)
            continue
        ((dof, S),) = i.columns
        Ui = IA[i].mul(S)
        Di = 1.0 / (S.dot(Ui) + tree.armature(dof))
        ui = tau[dof] - S.dot(pA[i])
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
        ahead = X[i].motion(acc[i.parent]) + c[i]
        if i.kind is Kind.FREE:
            x = solve_symmetric(
                [
                    [S.dot(IA[i].mul(T)) + (tree.armature(dof) if S is T else 0.0) for _, T in i.columns]
                    for dof, S in i.columns
                ],
                [r - S.dot(IA[i].mul(ahead)) for (_, S), r in zip(i.columns, u[i], strict=True)],
            )
        else:
            x = [(u[i][0] - ahead.dot(Force.of(U[i]))) * D[i][0]]
        for (dof, _), value in zip(i.columns, x, strict=True):
            qdd[dof] = value
        acc[i] = ahead + i.along(qdd)
    return qdd


def _behind_free_joint(IA: ArticulatedInertia, rotor: list[Any], u: list[Any]) -> tuple[ArticulatedInertia, Force]:
    """I − I (I + R)⁻¹ I and I (I + R)⁻¹ u for a joint of six degrees of freedom with inertia R at its coordinates."""
    rows = [IA.mul(Motion.of([1.0 if j == k else 0.0 for j in range(6)])).parts() for k in range(6)]
    D = [[rows[j][k] + (rotor[j] if j == k else 0.0) for k in range(6)] for j in range(6)]
    factors = factorize(D)
    solved = [back_substitute(*factors, row) for row in rows]
    left = [[rows[j][k] - sum((rows[j][m] * solved[k][m] for m in range(6)), 0.0) for k in range(6)] for j in range(6)]
    x = back_substitute(*factors, u)
    push = Force.of([sum((rows[j][m] * x[m] for m in range(6)), 0.0) for j in range(6)])
    upper = [left[j][k] for j in range(3) for k in range(j, 3)]
    cross = [left[j][k] for j in range(3) for k in range(3, 6)]
    lower = [left[j][k] for j in range(3, 6) for k in range(j, 6)]
    return ArticulatedInertia.of([*upper, *cross, *lower]), push
