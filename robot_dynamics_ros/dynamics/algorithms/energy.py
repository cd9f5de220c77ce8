"""Energy, centre of mass and momentum of the whole robot."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.spatial import Force, Motion, Transform, Vec3

__all__ = ["kinetic_energy", "mass_moment", "momentum", "potential_energy"]


def kinetic_energy(tree: Any, q: Any, v: Any) -> Any:
    """½ Σ vᵀ I v over all bodies, rotors included."""
    vel = tree.field(Motion)
    vel[tree.root] = Motion.zero()
    twice: Any = 0.0
    for i in tree.outward():
        vel[i] = i.transform(q).motion(vel[i.parent]) + i.along(v)
        twice = twice + vel[i].dot(i.inertia.mul(vel[i]))
    for dof in tree.degrees():
        twice = twice + (tree.armature(dof) * v[dof]) * v[dof]
    return 0.5 * twice


def mass_moment(tree: Any, q: Any) -> tuple[float, Vec3]:
    """Total mass and Σ m c in the world frame, the root body included."""
    pose = tree.field(Transform)
    pose[tree.root] = tree.base_transform()
    m, h, _ = tree.layout.root
    total, moment = m, _in_world(pose[tree.root], m, Vec3.of(h.tolist()))
    for i in tree.outward():
        pose[i] = i.transform(q).compose(pose[i.parent])
        total += i.inertia.m
        moment = moment + _in_world(pose[i], i.inertia.m, i.inertia.h)
    return total, moment


def _in_world(pose: Transform, m: Any, h: Vec3) -> Vec3:
    return pose.r * m + pose.E.tmul(h)


def potential_energy(tree: Any, q: Any) -> Any:
    """−Σ m gᵀ c, zero where the world origin is; the root body included."""
    _, moment = mass_moment(tree, q)
    return -Vec3.of(tree.layout.gravity.tolist()).dot(moment)


def momentum(tree: Any, q: Any, v: Any) -> Force:
    """Spatial momentum [angular about the world origin; linear] in world axes."""
    X, p, vel = tree.field(Transform), tree.field(Force), tree.field(Motion)
    vel[tree.root], p[tree.root] = Motion.zero(), Force.zero()
    for i in tree.outward():
        X[i] = i.transform(q)
        vel[i] = X[i].motion(vel[i.parent]) + i.along(v)
        p[i] = i.inertia.mul(vel[i])
    for i in tree.inward():
        p[i.parent] = p[i.parent] + X[i].force_back(p[i])
    return tree.base_transform().force_back(p[tree.root])
