"""The balance of wrenches of a link as a moving observer sets it up, with the fictitious forces of his frame.

| part | force at the mass centre c, as seen from A |
|---|---|
| D'Alembert | −m a_A |
| Euler | −m α_A × r |
| centrifugal | −m ω_A × (ω_A × r) |
| Coriolis | −2 m ω_A × ṙ |

r and ṙ are position and velocity of c in the observer's frame A; a_A, α_A and ω_A are those of A in an inertial frame.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice, reduced, seen_from
from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.joint_wrench import JointWrenches, to_link
from robot_dynamics_ros.dynamics.algorithms.kinematics import Placement, link_placement
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Vec3

PARTS = ("joint", "dynamic", "dalembert", "euler", "centrifugal", "coriolis", "gravity", "distal", "external")
"""Rows of :func:`balance`."""


def balance(tree: Tree[S], wrenches: JointWrenches, link: int, own: Placement, observer: Placement) -> list[Force]:
    """The balance of wrenches of one link in an observer's frame, about the origin of the joint above the link.

    dynamic = joint + D'Alembert + Euler + centrifugal + Coriolis + gravity + distal + external

    Returns the wrenches :data:`PARTS`, in the observer's axes; ``own`` is the placement of the link.
    """
    m, c, about_com = tree.link_inertia(link)
    seen = seen_from(observer, own.at(c.parts()))
    A, R = observer.R, seen.R
    arm = R.mul(c)  # from the joint's origin to the mass centre

    def at_joint(force: Vec3, moment: Vec3 | None = None) -> Force:
        moment_of_force = arm.cross(force)
        return Force(moment_of_force if moment is None else moment_of_force + moment, force)

    omega, alpha = A.tmul(observer.omega), A.tmul(observer.alpha)
    omega_B, alpha_B = A.tmul(own.omega), A.tmul(own.alpha)  # of the link, absolute
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
    A, own = frames.observer(observer), frames.link(options["link"])
    moved = None if options["about"] == "joint" else A.R.tmul(own.p - frames.point(options["about"], about))
    rotation = None if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    wrenches = JointWrenches(tree, q, v, a, link_external)
    return [reduced(f, moved, rotation) for f in balance(tree, wrenches, options["link"], own, A)]
