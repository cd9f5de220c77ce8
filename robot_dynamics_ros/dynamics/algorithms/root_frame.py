"""Everything brought to the root frame once: what pairwise algorithms start from.

In the root frame composite quantities are plain sums over subtrees, and every entry of a joint-space matrix is a
product between quantities of the deeper joint and of its ancestor.  The outward pass is that of
:class:`~robot_dynamics_ros.dynamics.algorithms.passes.ForwardKinematics` with all X = 1: v_i = v_λ + S_i v.
"""

from __future__ import annotations

from typing import Any, Generic

from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces
from robot_dynamics_ros.dynamics.algorithms.passes import net_force
from robot_dynamics_ros.dynamics.algorithms.tree import Body, S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Motion, RigidInertia, Transform

__all__ = ["RootFrame"]


class RootFrame(Generic[S]):
    """Subspaces, motions, inertias, forces and Coriolis operators of all bodies in the root frame.

    Attributes:
        S: by body, columns of the motion subspace as (index into v, Motion) pairs.
        v, a: spatial velocity and acceleration (gravity included, as the root's acceleration).
        inertia, force: composite inertia and force of the subtree beyond each joint.
        B: composite Coriolis operator of the subtree, 6 columns of :class:`Force`.
    """

    def __init__(
        self,
        tree: Tree[S],
        q: Vector[S],
        v: Vector[S] | None = None,
        a: Vector[S] | None = None,
        external: Forces = None,
        coriolis: bool = False,
    ) -> None:
        self.tree = tree
        columns: Any = list[tuple[int, Motion]]
        self.S, self.v, self.a = tree.field(columns), tree.field(Motion), tree.field(Motion)
        self.inertia, self.force, self.B = tree.field(RigidInertia), tree.field(Force), tree.field([Force])
        self.pose = tree.field(Transform)
        self.pose[tree.root] = Transform.identity()
        self.v[tree.root], self.a[tree.root] = tree.base_velocity(), tree.gravity_motion()
        self.inertia[tree.root], self.force[tree.root] = RigidInertia.zero(), Force.zero()
        self.B[tree.root] = [Force.zero()] * 6
        for i in tree.outward():
            self.pose[i] = i.transform(q).compose(self.pose[i.parent])
            self.S[i] = [(dof, self.pose[i].motion_back(column)) for dof, column in i.columns]
            self.inertia[i] = own = self.pose[i].rigid_back(i.inertia)
            if v is None:
                continue
            vJ = _combine(self.S[i], v)
            self.v[i] = self.v[i.parent] + vJ
            if coriolis:
                self.B[i] = coriolis_operator(own, self.v[i])
            if a is not None:
                self.a[i] = self.a[i.parent] + _combine(self.S[i], a) + self.v[i].cross(vJ)
                self.force[i] = net_force(own, self.v[i], self.a[i])
                if external is not None:
                    self.force[i] = self.force[i] - self.pose[i].force_back(external[i])
        for i in tree.inward():
            self.inertia[i.parent] = self.inertia[i.parent] + self.inertia[i]
            if coriolis:
                self.B[i.parent] = [x + y for x, y in zip(self.B[i.parent], self.B[i], strict=True)]
            if a is not None:
                self.force[i.parent] = self.force[i.parent] + self.force[i]

    def subspace_rate(self, i: Body[S]) -> list[Motion]:
        """Ṡ = v × S of each column of a joint."""
        return [self.v[i].cross(column) for _, column in self.S[i]]

    def times_B(self, i: Body[S], x: Motion) -> Force:
        """B x with the composite operator."""
        total = Force.zero()
        for column, value in zip(self.B[i], x.parts(), strict=True):
            total = total + column * value
        return total

    def B_times(self, i: Body[S], x: Motion) -> Force:
        """Bᵀ x."""
        return Force.of([x.dot(column) for column in self.B[i]])


def _combine(columns: list[tuple[int, Motion]], x: Vector[S]) -> Motion:
    total = Motion.zero()
    for dof, column in columns:
        total = total + column * x[dof]
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
