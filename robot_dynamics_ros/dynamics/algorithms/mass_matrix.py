"""The joint-space inertia matrix: the composite-rigid-body algorithm, in two forms that suit small and large trees."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.engine.codegen.graph import count_operations
from robot_dynamics_ros.spatial import Motion, RigidInertia, Transform

__all__ = ["composite_rigid_body", "composite_rigid_body_best", "composite_rigid_body_world"]


def composite_rigid_body(tree: Any, q: Any) -> Any:
    """M(q) by carrying each joint's force down the tree  (Featherstone 2008, table 6.2)."""
    X, Ic = tree.field(Transform), tree.field(RigidInertia)
    Ic[tree.root] = RigidInertia.zero()
    for i in tree.outward():
        X[i] = i.transform(q)
        Ic[i] = i.inertia
    M = tree.matrix()
    for i in tree.inward():
        Ic[i.parent] = Ic[i.parent] + X[i].rigid_back(Ic[i])
        for dof, S in i.columns:
            F = Ic[i].mul(S)
            for other, T in i.columns:
                if other <= dof:
                    M.add(dof, other, T.dot(F))
            at = i
            for j in tree.ancestors(i):
                F = X[at].force_back(F)
                for other, T in j.columns:
                    M.add_pair(dof, other, T.dot(F))
                at = j
    for dof in tree.degrees():
        M.add(dof, dof, tree.armature(dof))
    return M


def composite_rigid_body_world(tree: Any, q: Any) -> Any:
    """M(q) with subspaces and forces brought to the root frame once: one six-term product for each pair of joints.

    The sum in each entry cancels over the distance from the root, so it is as exact as the form above up to the
    robot's reach over a link's length.  It wins on long chains, where pairs outnumber bodies.
    """
    X, pose = tree.field(Transform), tree.field(Transform)
    Ic, S0 = tree.field(RigidInertia), tree.field([Motion])
    Ic[tree.root] = RigidInertia.zero()
    pose[tree.root] = Transform.identity()
    for i in tree.outward():
        X[i] = i.transform(q)
        pose[i] = X[i].compose(pose[i.parent])
        S0[i] = [pose[i].motion_back(S) for _, S in i.columns]
        Ic[i] = i.inertia
    M = tree.matrix()
    for i in tree.inward():
        Ic[i.parent] = Ic[i.parent] + X[i].rigid_back(Ic[i])
        forces = [(dof, pose[i].force_back(Ic[i].mul(S))) for dof, S in i.columns]
        for dof, F in forces:
            for (other, _), T in zip(i.columns, S0[i], strict=True):
                if other <= dof:
                    M.add(dof, other, T.dot(F))
        for j in tree.ancestors(i):
            for dof, F in forces:
                for (other, _), T in zip(j.columns, S0[j], strict=True):
                    M.add_pair(dof, other, T.dot(F))
    for dof in tree.degrees():
        M.add(dof, dof, tree.armature(dof))
    return M


def composite_rigid_body_best(tree: Any, q: Any) -> Any:
    """M(q) by whichever form takes fewer operations for this tree; only a tree on symbols can tell beforehand."""
    if not tree.symbolic(q):
        return composite_rigid_body(tree, q)
    forms = [composite_rigid_body(tree, q), composite_rigid_body_world(tree, q)]
    return min(forms, key=lambda M: count_operations(M.flat())["total"])
