"""Everything brought to the root frame once: what pairwise algorithms start from.

In the root frame composite quantities are plain sums over subtrees, and every entry of a
joint-space matrix is a product between quantities of the deeper joint and of its ancestor.  The
outward pass is that of :class:`~robot_dynamics_ros.dynamics.algorithms.passes.ForwardKinematics`
with all X = 1: v_i = v_λ + S_i v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic

from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import Forces
from robot_dynamics_ros.dynamics.algorithms.passes import net_force
from robot_dynamics_ros.dynamics.algorithms.tree import Body, Field, S, Tree, TreeMatrix, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Motion, RigidInertia, Scalar, Transform, Vec3


class CoriolisOperator:
    """Twice the operator B(I, v) = ½ [(v×*) I − I (v×) + (I v)×̄*] of a body or a subtree, with (f
    ×̄*) m = m ×* f.

    Written out, two of its four blocks vanish, and the others hold the rate of the rotational
    inertia about the frame's origin, J̇ = ω×J + (ω×J)ᵀ + 2 (v·h) 1 − h vᵀ − v hᵀ, and the momentum
    [n; p].  For m = [ω; v]:

        2 B m = [J̇ ω − n × ω; −2 p × ω]        2 Bᵀ m = [J̇ ω + n × ω + 2 p × v; 0]

    Source: Echeandia and Wensing, *Numerical methods to compute the Coriolis matrix and Christoffel
    symbols for rigid-body systems* (2021), for B; the factorization of v ×* I v that makes Ṁ − 2C
    skew.
    """

    __slots__ = ("inertia_rate", "momentum")

    def __init__(self, inertia_rate: Mat3, momentum: Force) -> None:
        self.inertia_rate = inertia_rate
        self.momentum = momentum

    @staticmethod
    def of_body(inertia: RigidInertia, v: Motion) -> CoriolisOperator:
        """The operator of a body that moves with spatial velocity ``v``."""
        turned = Mat3.skew(v.ang).matmul(inertia.I)
        outer = Mat3.outer(inertia.h, v.lin)
        rate = turned + turned.T - outer - outer.T + Mat3.diagonal(v.lin.dot(inertia.h) * 2.0)
        return CoriolisOperator(rate, inertia.mul(v))

    @staticmethod
    def of(values: Sequence[Scalar]) -> CoriolisOperator:
        return CoriolisOperator(Mat3.symmetric(*values[:6]), Force.of(values[6:]))

    def parts(self) -> list[Scalar]:
        return [*self.inertia_rate.upper(), *self.momentum.parts()]

    def __add__(self, o: CoriolisOperator) -> CoriolisOperator:
        return CoriolisOperator(self.inertia_rate + o.inertia_rate, self.momentum + o.momentum)

    def mul(self, m: Motion) -> Force:
        """2 B m."""
        n = self.momentum.ang
        p = self.momentum.lin
        return Force(self.inertia_rate.mul(m.ang) - n.cross(m.ang), p.cross(m.ang) * -2.0)

    def tmul(self, m: Motion) -> Force:
        """2 Bᵀ m."""
        n = self.momentum.ang
        p = self.momentum.lin
        return Force(
            self.inertia_rate.mul(m.ang) + n.cross(m.ang) + p.cross(m.lin) * 2.0, Vec3.zero()
        )


def with_rotors(tree: Tree[S], M: TreeMatrix) -> TreeMatrix:
    """The matrix with rotor inertia on its diagonal, and beside it where a rotor turns with two
    joints.
    """
    for dof in tree.degrees():
        M.add(dof, dof, tree.armature(dof))
    for i, j, inertia in tree.model.coupled_rotors:
        M.add(i, j, inertia)
    return M


class RootFrame(Generic[S]):
    """Subspaces, motions, inertias, forces and Coriolis operators of all bodies in the root frame.

    Attributes:
        S: by body, columns of the motion subspace.
        psi_dot: Ψ̇ = v_λ × S, how they move with the parent.
        v, a: spatial velocity and acceleration (gravity included, as the root's acceleration).
        own: inertia of the body.
        inertia, force: composite inertia and force of the subtree beyond each joint.
        B: twice the composite Coriolis operator of the subtree.
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
        self.S, self.psi_dot = tree.field([Motion]), tree.field([Motion])
        self.v, self.a = tree.field(Motion), tree.field(Motion)
        self.pose, applied = tree.field(Transform), tree.field(Force)
        self.pose[tree.root] = Transform.identity()
        self.v[tree.root], self.a[tree.root] = tree.base_velocity(), tree.gravity_motion()
        for i in tree.outward():
            self.pose[i] = i.transform(q).compose(self.pose[i.parent])
            self.S[i] = [self.pose[i].motion_back(column) for _, column in i.columns]
            if v is None:
                continue
            v_parent = self.v[i.parent]
            self.psi_dot[i] = [v_parent.cross(S_i) for S_i in self.S[i]]
            self.v[i] = v_parent + _along(i, self.S[i], v)
            if a is not None:
                # v × S v = Ψ̇ v
                self.a[i] = (
                    self.a[i.parent] + _along(i, self.S[i], a) + _along(i, self.psi_dot[i], v)
                )
                if external is not None:
                    applied[i] = self.pose[i].force_back(external[i])
        self.own = own = tree.each(RigidInertia, lambda i: self.pose[i].rigid_back(i.inertia))
        self.inertia = tree.each(RigidInertia, lambda i: own[i])
        self.inertia[tree.root] = RigidInertia.zero()
        if coriolis:
            self.B = tree.each(
                CoriolisOperator, lambda i: CoriolisOperator.of_body(own[i], self.v[i])
            )
            self.B[tree.root] = CoriolisOperator(Mat3.zero(), Force.zero())
        if a is not None:
            no_force = Force.zero()
            self.force = tree.each(
                Force,
                lambda i: (
                    net_force(own[i], self.v[i], self.a[i])
                    - (no_force if external is None else applied[i])
                ),
            )
            self.force[tree.root] = no_force
        for i in tree.inward():
            self.inertia[i.parent] = self.inertia[i.parent] + self.inertia[i]
            if coriolis:
                self.B[i.parent] = self.B[i.parent] + self.B[i]
            if a is not None:
                self.force[i.parent] = self.force[i.parent] + self.force[i]

    def mass_matrix(self) -> TreeMatrix:
        """M_ji = S_jᵀ I_i S_i for joint i and its ancestors j: one six-term product for each pair.

        The sum in each entry cancels over the distance from the root, so M is exact up to the
        robot's reach over a link's length.
        """
        tree, M = self.tree, self.tree.matrix()
        for i in tree.inward():
            forces = [
                (dof, self.inertia[i].mul(S_i))
                for (dof, _), S_i in zip(i.columns, self.S[i], strict=True)
            ]
            for dof, F in forces:
                for (other, _), S_j in zip(i.columns, self.S[i], strict=True):
                    if other <= dof:
                        M.add(dof, other, S_j.dot(F))
            for j in tree.ancestors(i):
                for dof, F in forces:
                    for (other, _), S_j in zip(j.columns, self.S[j], strict=True):
                        M.add_pair(dof, other, S_j.dot(F))
        return with_rotors(tree, M)

    def accelerate(self, x: Vector[S]) -> None:
        """Add joint accelerations to the motions and the forces of a frame that was made without
        any.
        """
        tree = self.tree
        change = tree.field(Motion)
        change[tree.root] = Motion.zero()
        for i in tree.outward():
            change[i] = change[i.parent] + _along(i, self.S[i], x)
            self.a[i] = self.a[i] + change[i]
        force = tree.each(Force, lambda i: self.own[i].mul(change[i]))
        force[tree.root] = Force.zero()
        for i in tree.inward():
            self.force[i] = self.force[i] + force[i]
            force[i.parent] = force[i.parent] + force[i]

    def products(
        self,
        product: Callable[..., Force],
        *columns: Field[Any],
    ) -> Field[list[Force]]:
        """A force for each column of each joint, from the body and its part of each of
        ``columns``.
        """
        return self.tree.each(
            [Force],
            lambda i: [product(i, *parts) for parts in zip(*(x[i] for x in columns), strict=True)],
        )

    def subspace_rate(self, i: Body[S]) -> list[Motion]:
        """Ṡ = v × S of each column of a joint; of a single one Ψ̇, for S × S = 0."""
        columns = self.S[i]
        if len(columns) == 1:
            return self.psi_dot[i]
        return [self.v[i].cross(S_i) for S_i in columns]


def _along(i: Body[S], columns: Sequence[Motion], x: Vector[S]) -> Motion:
    """The columns of a joint times its part of ``x``."""
    total = Motion.zero()
    for (dof, _), column in zip(i.columns, columns, strict=True):
        total = total + column * x[dof]
    return total
