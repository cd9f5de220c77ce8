"""Motion of a point of a link as a moving observer sees it, and the observer's share in the forces on a link."""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.links import BodyPass, link_forces, link_tree, on_bodies, to_link
from robot_dynamics_ros.dynamics.algorithms.placement import Placement
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

    An observer who turns with ω and α sees ṙ = v − v_A − ω × d and r̈ = a − a_A − α × d − ω × (ω × d) − 2 ω × ṙ.
    """
    p, v, a = B.point(r)
    d = p - A.p
    dot = v - A.v - A.omega.cross(d)
    ddot = a - A.a - A.alpha.cross(d) - A.omega.cross(A.omega.cross(d)) - A.omega.cross(dot) * 2.0
    omega = B.omega - A.omega
    alpha = B.alpha - A.alpha - A.omega.cross(omega)
    R = A.R
    return Seen(R.tmul(d), R.T.matmul(B.R), *(R.tmul(x) for x in (dot, ddot, omega, alpha)))


def balance(
    tree: Any, q: Any, v: Any, a: Any, values: list[Any], link: int, own: Placement, observer: Placement
) -> list[Force]:
    """The balance of wrenches of one link in an observer's frame, about the origin of the joint above the link.

    dynamic = joint + D'Alembert + Euler + centrifugal + Coriolis + gravity + distal + external

    Args:
        values: external wrenches on all links, flat; empty for none.
        own: placement of the link.

    Returns:
        the wrenches :data:`PARTS`, in the observer's axes.
    """
    model = tree.model
    m, c, about_com = tree.link_inertia(link)
    seen = seen_from(observer, own, c)
    A, R = observer.R, seen.rotation
    arm = R.mul(c)  # from the joint's origin to the mass centre

    def at_joint(force: Vec3, moment: Vec3 | None = None) -> Force:
        turning = arm.cross(force)
        return Force(turning if moment is None else turning + moment, force)

    omega, alpha = A.tmul(observer.omega), A.tmul(observer.alpha)
    turn, spin = A.tmul(own.omega), A.tmul(own.alpha)  # of the link, absolute
    I = R.T.congruence(about_com)  # noqa: E741 - the book's name
    dynamic = at_joint(seen.acceleration * m, I.mul(spin) + turn.cross(I.mul(turn)))
    g = A.tmul(Vec3.of(tree.layout.gravity.tolist()))
    parts = [
        dynamic,
        at_joint(A.tmul(observer.a) * -m),
        at_joint(alpha.cross(seen.position) * -m),
        at_joint(omega.cross(omega.cross(seen.position)) * -m),
        at_joint(omega.cross(seen.velocity) * (-2.0 * m)),
        at_joint(g * m),
    ]
    body, at = link_placement(tree, link)
    forces = link_forces(tree, values)
    done = BodyPass(tree, q, v, a, on_bodies(tree, forces))
    links = link_tree(model)
    carried, pushed = Force.zero(), Force.zero()
    for child in links.children[link]:
        carried = carried + done.carried(child, body, forces)
    if link in forces:
        pushed = forces[link]
    for f in (carried * -1.0, pushed):
        f = to_link(at, f)
        parts.append(Force(R.mul(f.ang), R.mul(f.lin)))
    joint = parts[0]
    for part in parts[1:]:
        joint = joint - part
    return [joint, *parts]
