"""Links one by one, fixed ones included: which hang behind which, and how they move and what they carry.

The recursions of this package run over bodies, in which links joined by fixed joints are merged.  What is asked about a
single link comes from its body: a fixed joint carries the part of the body behind it and every moving joint attached to
that part.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.model.per_model import once_per_model
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force, Mat3, Motion, RigidInertia, Transform, Vec3

__all__ = ["BodyPass", "LinkTree", "group_inertia", "link_forces", "link_tree", "on_bodies", "point_mass", "to_link"]


class LinkTree:
    """The links of a model as a tree.  Constant; made once per model.

    Attributes:
        joint_names: every joint, fixed and mimic ones included, in the order of ``model.link_names[1:]``.
        joint_of: by link number, the name of the joint above it; ``""`` for the root.
        link_of: joint name → number of its child link.
        children: by link number, the numbers of the links right behind it.
        parent: by link number, the link before it; −1 for the root.
    """

    def __init__(self, model: RobotModel) -> None:
        n = len(model.link_names)
        self.parent = [-1] * n
        self.children: list[list[int]] = [[] for _ in range(n)]
        self.joint_of = [""] * n
        self.fixed = [True] * n
        for joint in model.description.joints:
            child, parent = model.link_index(joint.child), model.link_index(joint.parent)
            self.parent[child] = parent
            self.joint_of[child] = joint.name
            self.fixed[child] = joint.name in model.fixed_joint_names
        for child in range(1, n):
            self.children[self.parent[child]].append(child)
        self.joint_names = tuple(self.joint_of[1:])
        self.link_of = {name: k for k, name in enumerate(self.joint_of) if name}

    def welded(self, link: int) -> list[int]:
        """The link and the links behind it that belong to the same body."""
        found = [link]
        for k in found:
            found += [c for c in self.children[k] if self.fixed[c]]
        return found

    def moving_behind(self, link: int) -> list[int]:
        """Links of moving joints attached to :meth:`welded` of a link."""
        return [c for k in self.welded(link) for c in self.children[k] if not self.fixed[c]]

    def behind(self, link: int) -> list[int]:
        """The link and everything behind it."""
        found = [link]
        for k in found:
            found += self.children[k]
        return found


@once_per_model
def link_tree(model: RobotModel) -> LinkTree:
    """The model's link tree, made on first use."""
    return LinkTree(model)


def group_inertia(tree: Any, links: list[int]) -> RigidInertia:
    """Inertia of some links of one body together, in the body's frame (the root link's for the root body)."""
    total = RigidInertia.zero()
    for k in links:
        _, X = link_placement(tree, k)
        m, c, I = tree.link_inertia(k)  # noqa: E741 - the book's name
        r = X.r + X.E.tmul(c)
        total = total + RigidInertia(m, r * m, X.E.congruence(I) + point_mass(m, r))
    return total


def point_mass(m: Any, r: Vec3) -> Mat3:
    """m (rᵀr 1 − r rᵀ): the inertia of a point mass at r about the origin."""
    x, y, z = (r * m).parts()
    return Mat3.symmetric(y * r.y + z * r.z, -(x * r.y), -(x * r.z), x * r.x + z * r.z, -(y * r.z), x * r.x + y * r.y)


def to_link(X: Transform, f: Force) -> Force:
    """B_X_A* f: a force given in A, expressed in B."""
    return Force(X.E.mul(f.ang - X.r.cross(f.lin)), X.E.mul(f.lin))


class BodyPass:
    """Outward pass over all bodies, with what each of them needs to move so, and the sum of that inward.

    Attributes:
        X: parent-to-body transforms; ``vel``, ``acc`` spatial velocity and acceleration in body frames, gravity
            included as the root's acceleration; ``f`` force transmitted through each body's joint.
    """

    def __init__(self, tree: Any, q: Any, v: Any, a: Any, external: Any = None) -> None:
        self.tree = tree
        X, f = tree.field(Transform), tree.field(Force)
        vel, acc = tree.field(Motion), tree.field(Motion)
        vel[tree.root], acc[tree.root] = tree.base_velocity(), tree.gravity_motion()
        f[tree.root] = Force.zero()
        for i in tree.outward():
            X[i] = i.transform(q)
            vJ = i.along(v)
            vel[i] = X[i].motion(vel[i.parent]) + vJ
            acc[i] = X[i].motion(acc[i.parent]) + i.along(a) + vel[i].cross(vJ)
            f[i] = i.inertia.mul(acc[i]) + vel[i].cross_force(i.inertia.mul(vel[i]))
            if external is not None:
                f[i] = f[i] - external[i]
        for i in tree.inward():
            f[i.parent] = f[i.parent] + X[i].force_back(f[i])
        self.X, self.vel, self.acc, self.f = X, vel, acc, f

    def through(self, link: int, external: dict[int, Force]) -> Force:
        """The force through the joint above a link, in the link's frame.

        Args:
            external: force on a link, in its body's frame, by link number.
        """
        body, at = link_placement(self.tree, link)
        return to_link(
            at, self.f[body] if not link_tree(self.tree.model).fixed[link] else self.carried(link, body, external)
        )

    def carried(self, link: int, body: Any, external: dict[int, Force]) -> Force:
        """The force through the joint above a link, in the frame of ``body``: the body of the link before it."""
        tree, links = self.tree, link_tree(self.tree.model)
        if not links.fixed[link]:
            i, _ = link_placement(tree, link)
            f = self.f[i]
            while i is not body:  # more than one step for a planar joint, which is three elementary ones
                f = self.X[i].force_back(f)
                i = i.parent
            return f
        group = links.welded(link)
        inertia = group_inertia(tree, group)
        f = inertia.mul(self.acc[body]) + self.vel[body].cross_force(inertia.mul(self.vel[body]))
        for k in group:
            if k in external:
                f = f - external[k]
        for k in links.moving_behind(link):
            f = f + self.carried(k, body, external)
        return f


def link_forces(tree: Any, values: list[Any]) -> dict[int, Force]:
    """External wrenches on all links (flat (nl, 6), link frames) as forces in the frames of their bodies, by link number."""
    found: dict[int, Force] = {}
    for link in range(len(values) // 6):
        _, X = link_placement(tree, link)
        found[link] = X.force_back(Force.of(values[6 * link : 6 * link + 6]))
    return found


def on_bodies(tree: Any, forces: dict[int, Force]) -> Any:
    """The same, summed by body; ``None`` if there are none."""
    if not forces:
        return None
    found = tree.no_forces()
    for link, f in forces.items():
        body = tree.model_body(int(tree.model.link_body[link]))
        if body is not None:
            found[body] = found[body] + f
    return found
