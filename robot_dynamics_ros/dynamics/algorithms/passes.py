"""The passes over the tree that the algorithms share, each written once.

An outward pass goes from the root to the tips and carries motions, an inward pass goes back and
carries forces or inertias.  A pass is an iterator over the bodies: what an algorithm does besides
at each body goes into the loop, so that one loop over the tree does both.

Notation (Featherstone 2008): λ the parent of body i, X = ⁱX_λ, S the motion subspace.  All
quantities of body i are in its own frame, so (..., 6) vectors [angular; linear].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Generic

from robot_dynamics_ros.dynamics.algorithms.tree import Body, Field, S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Motion, RigidInertia, Transform


class ForwardKinematics(Generic[S]):
    """Outward pass: where the bodies are and how they move (table 5.1, pass 1).

        X_i = X_J(q_i) X_T          pose_i = X_i pose_λ
        v_i = X_i v_λ + S_i v       a_i = X_i a_λ + S_i a + v_i × S_i v

    Args:
        v, a: leave them out to leave out velocities, accelerations.
        gravity: whether the root accelerates with −g, so that ``a`` is what forces are made of;
            else ``a`` is the acceleration as seen.
        pose_of_root: transform from some frame (the world, say) to the root; then ``pose`` is from
            that frame.
        products: keep the products v_i × S_i v too.
    """

    # from the parent to each body
    X: Field[Transform]
    # from the chosen frame to each body
    pose: Field[Transform]
    v: Field[Motion]
    a: Field[Motion]
    # v_i × S_i v
    c: Field[Motion]

    def __init__(
        self,
        tree: Tree[S],
        q: Vector[S],
        v: Vector[S] | None = None,
        a: Vector[S] | None = None,
        *,
        gravity: bool = True,
        pose_of_root: Transform | None = None,
        products: bool = False,
    ) -> None:
        self.tree = tree
        self._q = q
        self._v = v
        self._a = a
        self._poses = pose_of_root is not None
        self._products = products
        self.X = tree.field(Transform)
        self._known: set[Body[S]] = set()
        if pose_of_root is not None:
            self.pose = tree.field(Transform)
            self.pose[tree.root] = pose_of_root
        if v is not None:
            self.v = tree.field(Motion)
            self.v[tree.root] = tree.base_velocity()
        if a is not None:
            self.a = tree.field(Motion)
            self.a[tree.root] = tree.gravity_motion() if gravity else tree.base_acceleration()
        if products:
            self.c = tree.field(Motion)

    def outward(self, bodies: Iterable[Body[S]] | None = None) -> Iterator[Body[S]]:
        """Each body (or some, parents first) once it has been placed and moved."""
        for i in self.tree.outward() if bodies is None else bodies:
            # read back from the field: recorded as loops, it knows what is constant
            self.X[i] = i.transform(self._q)
            if self._poses:
                self.pose[i] = self.X[i].compose(self.pose[i.parent])
            if self._v is not None:
                vJ = i.along(self._v)
                self.v[i] = self.X[i].motion(self.v[i.parent]) + vJ
                if self._a is not None:
                    self.a[i] = (
                        self.X[i].motion(self.a[i.parent]) + i.along(self._a) + self.v[i].cross(vJ)
                    )
                elif self._products:
                    self.c[i] = self.v[i].cross(vJ)
            yield i

    def reach(self, body: Body[S] | None) -> Body[S] | None:
        """Place a body and whatever carries it, where that has not been done yet; returns the
        body.
        """
        for i in self.outward([i for i in self.tree.path(body) if i not in self._known]):
            self._known.add(i)
        return body


def net_force(inertia: RigidInertia, v: Motion, a: Motion) -> Force:
    """I a + v ×* I v: the force that moves a body so."""
    return inertia.mul(a) + v.cross_force(inertia.mul(v))


def transmit(
    tree: Tree[S],
    X: Field[Transform],
    *forces: Field[Force],
) -> Iterator[Body[S]]:
    """Inward pass: each body hands what it carries on to its parent, f_λ += Xᵀ f_i.

    Yields each body, children first.
    """
    for i in tree.inward():
        for f in forces:
            f[i.parent] = f[i.parent] + X[i].force_back(f[i])
        yield i


def composite_inertia(
    tree: Tree[S],
    X: Field[Transform],
    inertia: Field[RigidInertia],
) -> Iterator[Body[S]]:
    """Inward pass: I_λ += Xᵀ I_i X, which makes of each inertia that of the whole subtree.

    Yields each body.
    """
    for i in tree.inward():
        inertia[i.parent] = inertia[i.parent] + X[i].rigid_back(inertia[i])
        yield i


def project(body: Body[S], f: Force, tau: list[S]) -> None:
    """τ += Sᵀ f: the efforts of a joint that transmits f to its body."""
    for dof, column in body.columns:
        tau[dof] = tau[dof] + column.dot(f)


def add_rotors(tree: Tree[S], x: Vector[S], out: list[S]) -> None:
    """Add the rotors' inertia times accelerations, or velocities, ``x``; a rotor may turn with two
    joints.
    """
    for dof in tree.degrees():
        out[dof] = out[dof] + tree.armature(dof) * x[dof]
    for i, j, inertia in tree.model.coupled_rotors:
        out[i] = out[i] + inertia * x[j]
        out[j] = out[j] + inertia * x[i]
