"""Everything brought to the root frame once: what pairwise algorithms start from.

In the root frame composite quantities are plain sums over subtrees, and every entry of a joint-space matrix is a
product between quantities of the deeper joint and of its ancestor.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.spatial import Force, Motion, RigidInertia, Transform

__all__ = ["RootFrame"]


class RootFrame:
    """Subspaces, motions, inertias, forces and Coriolis operators of all bodies in the root frame.

    Attributes:
        S: by body, columns of the motion subspace as (index into v, Motion) pairs.
        v, a: spatial velocity and acceleration (gravity included, as the root's acceleration).
        inertia, force: composite inertia and force of the subtree behind each joint.
        B: composite Coriolis operator of the subtree, 6 columns of :class:`Force`.
    """

    def __init__(
        self, tree: Any, q: Any, v: Any = None, a: Any = None, external: Any = None, coriolis: bool = False
    ) -> None:
        self.tree = tree
        self.S, self.v, self.a = tree.field(), tree.field(), tree.field()
        self.inertia, self.force, self.B = tree.field(), tree.field(), tree.field()
        self.pose = tree.field()
        self.pose[tree.root] = Transform.identity()
        self.v[tree.root], self.a[tree.root] = tree.base_velocity(), tree.gravity_motion()
        self.inertia[tree.root], self.force[tree.root] = RigidInertia.zero(), Force.zero()
        self.B[tree.root] = [Force.zero()] * 6
        for i in tree.outward():
            self.pose[i] = i.transform(q).compose(self.pose[i.parent])
            self.S[i] = [(dof, self.pose[i].motion_back(S)) for dof, S in i.columns]
            self.inertia[i] = own = self.pose[i].rigid_back(i.inertia)
            if v is None:
                continue
            vJ = _combine(self.S[i], v)
            self.v[i] = self.v[i.parent] + vJ
            if coriolis:
                self.B[i] = coriolis_operator(own, self.v[i])
            if a is not None:
                self.a[i] = self.a[i.parent] + _combine(self.S[i], a) + self.v[i].cross(vJ)
                self.force[i] = own.mul(self.a[i]) + self.v[i].cross_force(own.mul(self.v[i]))
                if external is not None:
                    self.force[i] = self.force[i] - self.pose[i].force_back(external[i])
        for i in tree.inward():
            self.inertia[i.parent] = self.inertia[i.parent] + self.inertia[i]
            if coriolis:
                self.B[i.parent] = [x + y for x, y in zip(self.B[i.parent], self.B[i], strict=True)]
            if a is not None:
                self.force[i.parent] = self.force[i.parent] + self.force[i]

    def subspace_rate(self, i: Any) -> list[Motion]:
        """Ṡ = v × S of each column of a joint."""
        return [self.v[i].cross(S) for _, S in self.S[i]]

    def times_B(self, i: Any, x: Motion) -> Force:
        """B x with the composite operator."""
        total = Force.zero()
        for column, value in zip(self.B[i], x.parts(), strict=True):
            total = total + column * value
        return total

    def B_times(self, i: Any, x: Motion) -> Force:
        """Bᵀ x."""
        return Force.of([x.dot(column) for column in self.B[i]])


def _combine(columns: list[tuple[Any, Motion]], x: Any) -> Motion:
    total = Motion.zero()
    for dof, S in columns:
        total = total + S * x[dof]
    return total


def coriolis_operator(inertia: RigidInertia, v: Motion) -> list[Force]:
    """Columns of B(I, v) = ½ [(v×*) I − I (v×) + (I v)×̄*], with (f ×̄*) m = m ×* f.

    Source: Echeandia and Wensing, *Numerical methods to compute the Coriolis matrix and Christoffel symbols for rigid-body
    systems* (2021); the factorization of v ×* I v that makes Ṁ − 2C skew.
    """
    momentum = inertia.mul(v)
    columns = []
    for k in range(6):
        e = Motion.of([1.0 if j == k else 0.0 for j in range(6)])
        columns.append((v.cross_force(inertia.mul(e)) - inertia.mul(v.cross(e)) + e.cross_force(momentum)) * 0.5)
    return columns
