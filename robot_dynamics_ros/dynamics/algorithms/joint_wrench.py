"""The wrench of any joint, fixed ones included.

The recursions run over bodies, in which links joined by fixed joints are one.  A moving joint
transmits the force that the Newton-Euler algorithm finds for its body.  A fixed joint carries the
part of the body on its far side (its *fixed-joint group*), and every moving joint attached to that
part.

The balance of wrenches of a link, as a moving observer sets it up, has the fictitious forces of his
frame besides:

| part | force at the mass centre c, as seen from A |
|---|---|
| D'Alembert | −m a_A |
| Euler | −m α_A × r |
| centrifugal | −m ω_A × (ω_A × r) |
| Coriolis | −2 m ω_A × ṙ |

r and ṙ are position and velocity of c in the observer's frame A; a_A, α_A and ω_A are those of A in
an inertial frame.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice, reduced, seen_from
from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.inverse_dynamics import NewtonEuler, newton_euler
from robot_dynamics_ros.dynamics.algorithms.kinematics import Placement, link_placement
from robot_dynamics_ros.dynamics.algorithms.link_tree import link_tree
from robot_dynamics_ros.dynamics.algorithms.passes import net_force
from robot_dynamics_ros.dynamics.algorithms.tree import Body, Field, S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, RigidInertia, Scalar, Transform, Vec3


class JointWrenches:
    """Inverse dynamics, and from it the force through any joint, under (nl, 6) wrenches on all
    links, in their frames.

    ``external``: by link number, the external force on it in the frame of its body.
    """

    def __init__(
        self,
        tree: Tree[S],
        q: Vector[S],
        v: Vector[S],
        a: Vector[S],
        link_external: Sequence[S] = (),
    ) -> None:
        self.tree, self.links = tree, link_tree(tree.model)
        self.external: dict[int, Force] = {}
        for link in range(len(link_external) // 6):
            _, X = link_placement(tree, link)
            self.external[link] = X.force_back(Force.of(link_external[6 * link : 6 * link + 6]))
        self.found: NewtonEuler[Any] = newton_euler(tree, q, v, a, self._on_bodies())

    def _on_bodies(self) -> Field[Force] | None:
        if not self.external:
            return None
        total: Field[Force] = defaultdict(Force.zero)
        for link, f in self.external.items():
            body = self.tree.model_body(int(self.tree.model.link_body[link]))
            if body is not None:
                total[body] = total[body] + f
        return total

    def through(self, link: int) -> Force:
        """The force through the joint above a link, about the joint's origin, in the link's
        frame.
        """
        body, X_link_B = link_placement(self.tree, link)
        return to_link(
            X_link_B, self.carried(link, body) if self.links.fixed[link] else self.found.f[body]
        )

    def carried(self, link: int, body: Body[S] | None) -> Force:
        """The same in the frame of ``body``, the body of the link's parent (``None`` for the root
        body).
        """
        links = self.links
        f = self.found.f
        motion = self.found.motion
        if not links.fixed[link]:
            i, _ = link_placement(self.tree, link)
            total = f[i]
            # more than one step for a planar joint, which is three elementary ones
            while i is not body:
                assert i is not None
                total = motion.X[i].force_back(total)
                i = i.parent
            return total
        group = links.fixed_group(link)
        total = net_force(group_inertia(self.tree, group), motion.v[body], motion.a[body])
        for k in group:
            if k in self.external:
                total = total - self.external[k]
        for k in links.moving_children(link):
            total = total + self.carried(k, body)
        return total


def group_inertia(tree: Tree[S], links: Sequence[int]) -> RigidInertia:
    """Inertia of some links of one body together, in the body's frame (the root link's for the root
    body).
    """
    total = RigidInertia.zero()
    for k in links:
        _, X = link_placement(tree, k)
        m, c, I = tree.link_inertia(k)  # noqa: E741 - the book's name
        r = X.r + X.E.tmul(c)
        total = total + RigidInertia(m, r * m, X.E.congruence(I) + point_mass(m, r))
    return total


def point_mass(m: Scalar, r: Vec3) -> Mat3:
    """m (rᵀr 1 − r rᵀ): the inertia of a point mass at r about the origin."""
    x, y, z = (r * m).parts()
    return Mat3.symmetric(
        y * r.y + z * r.z, -(x * r.y), -(x * r.z), x * r.x + z * r.z, -(y * r.z), x * r.x + y * r.y
    )


def to_link(X: Transform, f: Force) -> Force:
    """B_X_A* f: a force given in A, expressed in B."""
    return Force(X.E.mul(f.ang - X.r.cross(f.lin)), X.E.mul(f.lin))


@function("joint_wrenches", "q v a link_external base axes about", {"wrenches": ("nw", 6)})
def _joint_wrenches(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    link_external: Sequence[S],
    axes: Sequence[S],
    about: Sequence[S],
    *,
    options: Options,
) -> list[Force]:
    """Wrenches of the joints above the links ``joints_of``, about the points and in the axes that
    the options choose.
    """
    wrenches = JointWrenches(tree, q, v, a, link_external)
    frames = FrameChoice(tree, options, q)
    results = []
    for link in options["joints_of"]:
        f = wrenches.through(link)
        moved = None
        rotation = None
        if options["about"] != "joint":
            own = frames.link(link)
            moved = own.R.tmul(own.p - frames.point(options["about"], about))
        if options["axes"] != "child":
            own = frames.link(link)
            parent = wrenches.links.parent[link]
            if options["axes"] == "parent":
                chosen = parent
            else:
                chosen = options["axes"]
            rotation = frames.axes(chosen, axes).T.matmul(own.R)
        results.append(reduced(f, moved, rotation))
    return results


BALANCE_PARTS = (
    "joint",
    "dynamic",
    "dalembert",
    "euler",
    "centrifugal",
    "coriolis",
    "gravity",
    "distal",
    "external",
)
"""Rows of :func:`balance`."""


def balance(
    tree: Tree[S],
    wrenches: JointWrenches,
    link: int,
    own: Placement,
    observer: Placement,
) -> list[Force]:
    """The balance of wrenches of one link in an observer's frame, about the origin of the joint
    above the link.

    dynamic = joint + D'Alembert + Euler + centrifugal + Coriolis + gravity + distal + external

    Returns the wrenches :data:`BALANCE_PARTS`, in the observer's axes; ``own`` is the placement of
    the link.
    """
    m, c, about_com = tree.link_inertia(link)
    seen = seen_from(observer, own.at(c.parts()))
    A = observer.R
    R = seen.R
    # from the joint's origin to the mass centre
    arm = R.mul(c)

    def at_joint(force: Vec3, moment: Vec3 | None = None) -> Force:
        moment_of_force = arm.cross(force)
        return Force(moment_of_force if moment is None else moment_of_force + moment, force)

    omega = A.tmul(observer.omega)
    alpha = A.tmul(observer.alpha)
    # of the link, absolute
    omega_B = A.tmul(own.omega)
    alpha_B = A.tmul(own.alpha)
    I = R.T.congruence(about_com)  # noqa: E741 - the book's name
    dynamic = at_joint(seen.a * m, I.mul(alpha_B) + omega_B.cross(I.mul(omega_B)))
    g = A.tmul(tree.gravity())
    parts = [
        dynamic,
        at_joint(A.tmul(observer.a) * -m),
        at_joint(alpha.cross(seen.p) * -m),
        at_joint(omega.cross(omega.cross(seen.p)) * -m),
        at_joint(omega.cross(seen.v) * (-2.0 * m)),
        at_joint(g * m),
    ]
    body, X_link_B = link_placement(tree, link)
    carried = Force.zero()
    for child in wrenches.links.children[link]:
        carried = carried + wrenches.carried(child, body)
    pushed = wrenches.external.get(link, Force.zero())
    for f in (carried * -1.0, pushed):
        f = to_link(X_link_B, f)
        parts.append(Force(R.mul(f.ang), R.mul(f.lin)))
    joint = parts[0]
    for part in parts[1:]:
        joint = joint - part
    return [joint, *parts]


@function("wrench_balance", "q v a link_external base observer axes about", {"parts": (9, 6)})
def _wrench_balance(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    link_external: Sequence[S],
    observer: Sequence[S],
    axes: Sequence[S],
    about: Sequence[S],
    *,
    options: Options,
) -> list[Force]:
    frames = FrameChoice(tree, options, q, v, a)
    A = frames.observer(observer)
    own = frames.link(options["link"])
    if options["about"] == "joint":
        moved = None
    else:
        moved = A.R.tmul(own.p - frames.point(options["about"], about))
    if options["axes"] == "observer":
        rotation = None
    else:
        rotation = frames.axes(options["axes"], axes).T.matmul(A.R)
    wrenches = JointWrenches(tree, q, v, a, link_external)
    return [reduced(f, moved, rotation) for f in balance(tree, wrenches, options["link"], own, A)]
