"""Inverse dynamics: the recursive Newton-Euler algorithm, with every joint's wrench on the way."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.spatial import Force, Motion, Transform

__all__ = ["external_efforts", "newton_euler"]


def newton_euler(tree: Any, q: Any, v: Any, a: Any, external: Any = None) -> Any:
    """τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext  (Featherstone 2008, table 5.1).

    Args:
        tree: what to run on; see :mod:`robot_dynamics_ros.dynamics.algorithms.tree`.
        q, v, a: coordinates, indexable.
        external: forces on bodies in body frames, by body; ``None`` for none.

    Returns:
        (τ, f): efforts, and the force transmitted through each joint in the body's frame.
    """
    X, f = tree.field(Transform), tree.field(Force)
    vel, acc = tree.field(Motion), tree.field(Motion)
    vel[tree.root] = tree.base_velocity()
    acc[tree.root] = tree.gravity_motion()
    f[tree.root] = Force.zero()

    # Pass 1, outward: velocities, accelerations, and the force that moves each body
    for i in tree.outward():
        X[i] = i.transform(q)
        vJ = i.along(v)
        vel[i] = X[i].motion(vel[i.parent]) + vJ
        acc[i] = X[i].motion(acc[i.parent]) + i.along(a) + vel[i].cross(vJ)
        f[i] = i.inertia.mul(acc[i]) + vel[i].cross_force(i.inertia.mul(vel[i]))
        if external is not None:
            f[i] = f[i] - external[i]

    # Pass 2, inward: each joint carries its body and everything behind it
    tau = tree.vector()
    for i in tree.inward():
        for dof, S in i.columns:
            tau[dof] = tau[dof] + S.dot(f[i])
        f[i.parent] = f[i.parent] + X[i].force_back(f[i])
    for dof in tree.degrees():
        tau[dof] = tau[dof] + tree.armature(dof) * a[dof]
    return tau, f


def external_efforts(tree: Any, q: Any, external: Any) -> Any:
    """Σ Jᵀ f_ext: what wrenches from the surroundings do at the joints, by carrying them inward.

    Args:
        tree: see :func:`newton_euler`.
        external: forces on bodies in body frames, by body; ``None`` for none.

    Returns:
        efforts (nv,).
    """
    tau = tree.vector()
    if external is None:
        return tau
    X, f = tree.field(Transform), tree.field(Force)
    f[tree.root] = Force.zero()
    for i in tree.outward():
        X[i], f[i] = i.transform(q), external[i]
    for i in tree.inward():
        for dof, S in i.columns:
            tau[dof] = tau[dof] + S.dot(f[i])
        f[i.parent] = f[i.parent] + X[i].force_back(f[i])
    return tau
