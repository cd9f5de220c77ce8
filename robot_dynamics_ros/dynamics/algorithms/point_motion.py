"""Motion of a point of a link as a moving observer sees it, and the observer's share in the forces on a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.algorithms.frames import FrameChoice, Placement, reduced
from robot_dynamics_ros.dynamics.algorithms.function import function
from robot_dynamics_ros.dynamics.algorithms.joint_wrench import JointWrenches, to_link
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Vec3

__all__ = ["PARTS", "Seen", "balance", "seen_from"]

PARTS = ("joint", "dynamic", "dalembert", "euler", "centrifugal", "coriolis", "gravity", "distal", "external")
"""Rows of :func:`balance`."""


class Seen(NamedTuple):
    """A frame B at a point P, as seen from a frame A; vectors in A's axes, derivatives as seen in A."""

    position: Vec3
    rotation: Mat3
    velocity: Vec3
    acceleration: Vec3
    angular_velocity: Vec3
    angular_acceleration: Vec3


def seen_from(A: Placement, B: Placement, r: Vec3) -> Seen:
    """B and the point ``r`` of B (its coordinates), seen from A.

    An observer who rotates with ω and α sees ṙ = v − v_A − ω × d and r̈ = a − a_A − α × d − ω × (ω × d) − 2 ω × ṙ.
    """
    p, v, a = B.point(r)
    d = p - A.p
    dot = v - A.v - A.omega.cross(d)
    ddot = a - A.a - A.alpha.cross(d) - A.omega.cross(A.omega.cross(d)) - A.omega.cross(dot) * 2.0
    omega = B.omega - A.omega
    alpha = B.alpha - A.alpha - A.omega.cross(omega)
    R = A.R
    return Seen(R.tmul(d), R.T.matmul(B.R), *(R.tmul(x) for x in (dot, ddot, omega, alpha)))


def balance(tree: Tree[S], wrenches: JointWrenches, link: int, own: Placement, observer: Placement) -> list[Force]:
    """The balance of wrenches of one link in an observer's frame, about the origin of the joint above the link.

    dynamic = joint + D'Alembert + Euler + centrifugal + Coriolis + gravity + distal + external

    Args:
        wrenches: of the state.
        own: placement of the link.

    Returns:
        the wrenches :data:`PARTS`, in the observer's axes.
    """
    m, c, about_com = tree.link_inertia(link)
    seen = seen_from(observer, own, c)
    A, R = observer.R, seen.rotation
    arm = R.mul(c)  # from the joint's origin to the mass centre

    def at_joint(force: Vec3, moment: Vec3 | None = None) -> Force:
        moment_of_force = arm.cross(force)
        return Force(moment_of_force if moment is None else moment_of_force + moment, force)

    omega, alpha = A.tmul(observer.omega), A.tmul(observer.alpha)
    omega_B, alpha_B = A.tmul(own.omega), A.tmul(own.alpha)  # of the link, absolute
    I = R.T.congruence(about_com)  # noqa: E741 - the book's name
    dynamic = at_joint(seen.acceleration * m, I.mul(alpha_B) + omega_B.cross(I.mul(omega_B)))
    g = A.tmul(tree.gravity())
    parts = [
        dynamic,
        at_joint(A.tmul(observer.a) * -m),
        at_joint(alpha.cross(seen.position) * -m),
        at_joint(omega.cross(omega.cross(seen.position)) * -m),
        at_joint(omega.cross(seen.velocity) * (-2.0 * m)),
        at_joint(g * m),
    ]
    body, at = link_placement(tree, link)
    carried = Force.zero()
    for child in wrenches.links.children[link]:
        carried = carried + wrenches.carried(child, body)
    pushed = wrenches.external.get(link, Force.zero())
    for f in (carried * -1.0, pushed):
        f = to_link(at, f)
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
    options: Mapping[str, Any],
) -> list[Force]:
    frames = FrameChoice(tree, options, q, v, a)
    A, own = frames.observer(observer), frames.link(options["link"])
    moved = None if options["about"] == "joint" else A.R.tmul(own.p - frames.point(options["about"], about))
    rotation = None if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    wrenches = JointWrenches(tree, q, v, a, link_external)
    return [reduced(f, moved, rotation) for f in balance(tree, wrenches, options["link"], own, A)]


@function(
    "point_motion",
    "q v a point base observer axes",
    {
        "position": (3,),
        "rotation": (3, 3),
        "velocity": (3,),
        "acceleration": (3,),
        "angular_velocity": (3,),
        "angular_acceleration": (3,),
        "turn": (3, 3),
    },
)
def _point_motion(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    point: Sequence[S],
    observer: Sequence[S],
    axes: Sequence[S],
    *,
    options: Mapping[str, Any],
) -> tuple[Any, ...]:
    frames = FrameChoice(tree, options, q, v, a)
    A = frames.observer(observer)
    seen = seen_from(A, frames.link(options["link"]), Vec3.of(point))
    rotation = Mat3.identity() if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    position, *rates = (rotation.mul(x) for x in (seen.position, *seen[2:]))
    return position, seen.rotation, *rates, rotation
