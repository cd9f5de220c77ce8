"""A link and everything behind it, taken together: mass, centre of mass, inertia, momentum."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.links import group_inertia, link_tree
from robot_dynamics_ros.spatial import Force, Mat3, RigidInertia, Transform, Vec3

__all__ = ["subtree_mass", "subtree_state"]


def subtree_mass(model: Any, link: int) -> float:
    """Mass of a link and everything behind it, kg."""
    return float(sum(model.link(model.link_names[k]).inertia.mass for k in link_tree(model).behind(link)))


def subtree_state(tree: Any, q: Any, v: Any, a: Any, link: int) -> tuple[Vec3, Vec3, Vec3, Mat3, Vec3, Vec3]:
    """Position, velocity, acceleration of the subtree's centre of mass; inertia about it; linear and angular momentum.

    All in world axes; the angular momentum is about the centre of mass.
    """
    links = link_tree(tree.model)
    body, _ = link_placement(tree, link)
    X, vel, acc = {}, {None: tree.base_velocity()}, {None: tree.gravity_motion() - tree.standing_gravity()}
    pose = {None: tree.base_transform()}
    own = {body: group_inertia(tree, links.welded(link))}
    behind = {link_placement(tree, k)[0] for k in links.behind(link)}
    for i in tree.outward():
        if i.parent not in pose:
            continue
        X[i] = i.transform(q)
        vJ = i.along(v)
        pose[i] = X[i].compose(pose[i.parent])
        vel[i] = X[i].motion(vel[i.parent]) + vJ
        acc[i] = X[i].motion(acc[i.parent]) + i.along(a) + vel[i].cross(vJ)
        if i is not body and i in behind:
            own[i] = i.inertia
    total: dict[Any, RigidInertia] = {}
    momentum: dict[Any, Force] = {}
    rate: dict[Any, Force] = {}
    for i in (*tree.inward(), None):
        if i not in own and i not in total:
            continue
        Ic = own.get(i, RigidInertia.zero())
        h = Ic.mul(vel[i])
        f = Ic.mul(acc[i]) + vel[i].cross_force(h)
        total[i] = total.get(i, RigidInertia.zero()) + Ic
        momentum[i] = momentum.get(i, Force.zero()) + h
        rate[i] = rate.get(i, Force.zero()) + f
        if i is body:
            break
        p = i.parent
        total[p] = total.get(p, RigidInertia.zero()) + X[i].rigid_back(total[i])
        momentum[p] = momentum.get(p, Force.zero()) + X[i].force_back(momentum[i])
        rate[p] = rate.get(p, Force.zero()) + X[i].force_back(rate[i])
    return _about_center(pose[body], total[body], momentum[body], rate[body])


def _about_center(
    pose: Transform, inertia: RigidInertia, momentum: Force, rate: Force
) -> tuple[Vec3, Vec3, Vec3, Mat3, Vec3, Vec3]:
    m = inertia.m
    c = inertia.h * (1.0 / m)
    shifted = Transform(Mat3.identity(), c * -1.0).rigid_back(
        RigidInertia(m, inertia.h, inertia.I)
    )  # about the centre of mass: its frame's origin is at c
    angular = momentum.ang - c.cross(momentum.lin)
    R = pose.E.T
    return (
        pose.r + R.mul(c),
        R.mul(momentum.lin) * (1.0 / m),
        R.mul(rate.lin) * (1.0 / m),
        R.T.congruence(shifted.I),
        R.mul(momentum.lin),
        R.mul(angular),
    )
