"""Centre of mass and momentum of the whole robot, seen from the world."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.algorithms.energy import mass_moment
from robot_dynamics_ros.dynamics.algorithms.root_frame import RootFrame
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr
from robot_dynamics_ros.errors import ModelError
from robot_dynamics_ros.spatial import Force, Motion, Vec3

__all__ = ["centroidal_matrix", "mass_center", "mass_center_motion"]


def _total(tree: Any) -> Any:
    total = tree.layout.root[0] + sum(tree.layout.mass)
    if isinstance(total, Expr):  # masses that are symbols: their sum has no sign yet
        return total
    if total <= 0.0:
        raise ModelError(
            "the robot has no mass, so it has no centre of mass",
            where=f"robot {tree.model.name!r}",
            remedy="Give at least one link an <inertial>.",
        )
    return float(total)


def mass_center(tree: Any, q: Any) -> Vec3:
    """Centre of mass in the world frame, the root link included."""
    _, moment = mass_moment(tree, q)
    return moment * (1.0 / _total(tree))


def centroidal_matrix(tree: Any, q: Any) -> tuple[list[list[Any]], Vec3]:
    """A with A v = [angular momentum about the centre of mass; linear momentum] in world axes, and that centre.

    Source: Orin, Goswami and Lee, *Centroidal dynamics of a humanoid robot* (2013); in the root frame each column is
    composite inertia times subspace.
    """
    at = RootFrame(tree, q)
    c = mass_center(tree, q)
    base = tree.base_transform()
    rows = [[0.0] * tree.nv for _ in range(6)]
    for i in tree.outward():
        for dof, S in at.S[i]:
            h = base.force_back(at.inertia[i].mul(S))
            about_c = Force(h.ang - c.cross(h.lin), h.lin)
            for row, value in zip(rows, about_c.parts(), strict=True):
                row[dof] = row[dof] + value
    return rows, c


def mass_center_motion(tree: Any, q: Any, v: Any, a: Any) -> tuple[Vec3, Vec3, Vec3]:
    """Position, velocity and acceleration of the centre of mass in the world frame."""
    X, vel, acc = tree.field(), tree.field(), tree.field()
    p, rate = tree.field(), tree.field()
    vel[tree.root], acc[tree.root] = Motion.zero(), Motion.zero()
    p[tree.root], rate[tree.root] = Force.zero(), Force.zero()
    for i in tree.outward():
        X[i] = i.transform(q)
        vJ = i.along(v)
        vel[i] = X[i].motion(vel[i.parent]) + vJ
        acc[i] = X[i].motion(acc[i.parent]) + i.along(a) + vel[i].cross(vJ)
        p[i] = i.inertia.mul(vel[i])
        rate[i] = i.inertia.mul(acc[i]) + vel[i].cross_force(p[i])
    for i in tree.inward():
        p[i.parent] = p[i.parent] + X[i].force_back(p[i])
        rate[i.parent] = rate[i.parent] + X[i].force_back(rate[i])
    turn = tree.base_transform().E
    scale = 1.0 / _total(tree)
    return mass_center(tree, q), turn.tmul(p[tree.root].lin) * scale, turn.tmul(rate[tree.root].lin) * scale
