"""Where the links are and how they move: placements, velocities, accelerations, Jacobians and their rates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robot_dynamics_ros.spatial import Mat3, Motion, Transform, Vec3

__all__ = ["jacobian_and_rate", "link_placement", "motion_of_point", "placements"]


def link_placement(tree: Any, link: int) -> tuple[Any, Transform]:
    """The body a link belongs to (``None`` for the root body), and the body-to-link transform."""
    return tree.model_body(int(tree.model.link_body[link])), tree.link_frame(link)


def placements(tree: Any, q: Any, links: Iterable[int]) -> list[Transform]:
    """World-to-link transforms of the given links."""
    pose = {None: tree.base_transform()}
    found = []
    for link in links:
        body, at = link_placement(tree, link)
        for i in tree.path(body):
            if i not in pose:
                pose[i] = i.transform(q).compose(pose[i.parent])
        found.append(at.compose(pose[body]))
    return found


def motion_of_point(
    tree: Any, q: Any, v: Any, a: Any, links: Iterable[int], point: Vec3
) -> list[tuple[Motion, Motion]]:
    """Velocity [ω; ṗ] and acceleration [ω̇; p̈] of a point fixed to each link, in world axes.

    The recursion carries spatial accelerations; p̈ is their linear part plus ω × ṗ (Featherstone 2008, section 2.11).
    """
    pose = {None: tree.base_transform()}
    vel, acc = {None: Motion.zero()}, {None: Motion.zero()}
    found: list[tuple[Motion, Motion]] = []
    for link in links:
        body, at = link_placement(tree, link)
        for i in tree.path(body):
            if i in pose:
                continue
            X = i.transform(q)
            vJ = i.along(v)
            pose[i] = X.compose(pose[i.parent])
            vel[i] = X.motion(vel[i.parent]) + vJ
            acc[i] = X.motion(acc[i.parent]) + i.along(a) + vel[i].cross(vJ)
        here = Transform(at.E, at.r + at.E.tmul(point))
        velocity, spatial = here.motion(vel[body]), here.motion(acc[body])
        acceleration = Motion(spatial.ang, spatial.lin + velocity.ang.cross(velocity.lin))
        turn = here.compose(pose[body]).E
        in_world = [Motion(turn.tmul(m.ang), turn.tmul(m.lin)) for m in (velocity, acceleration)]
        found.append((in_world[0], in_world[1]))
    return found


def jacobian_and_rate(
    tree: Any, q: Any, v: Any, link: int, point: Vec3, frame: str
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Geometric Jacobian of a point of a link, and its time derivative (zero if ``v`` is ``None``).

    Args:
        frame: ``"world"`` or ``"link"`` axes.

    Returns:
        two (6, nv) nested lists.
    """
    body, at = link_placement(tree, link)
    pose, vel = tree.base_transform(), Motion.zero()
    columns: list[tuple[int, Motion, Motion]] = []  # about the world origin, in world axes
    for i in tree.path(body):
        X = i.transform(q)
        pose = X.compose(pose)
        if v is not None:
            vel = X.motion(vel) + i.along(v)
        for dof, S in i.columns:
            rate = vel.cross(S) if v is not None else Motion.zero()
            columns.append((dof, pose.motion_back(S), pose.motion_back(rate)))
    here = Transform(at.E, at.r + at.E.tmul(point)).compose(pose)
    p = here.r
    moving = Transform(Mat3.identity(), p)
    total = moving.motion(pose.motion_back(vel)) if v is not None else Motion.zero()
    omega, p_rate = total.ang, total.lin
    J = [[0.0] * tree.nv for _ in range(6)]
    J_rate = [[0.0] * tree.nv for _ in range(6)]
    for dof, S, S_rate in columns:
        column = moving.motion(S)
        rate = moving.motion(S_rate)
        rate = Motion(rate.ang, rate.lin + S.ang.cross(p_rate))
        if frame == "link":
            rate = Motion(rate.ang - omega.cross(column.ang), rate.lin - omega.cross(column.lin))
            column, rate = (Motion(here.E.mul(m.ang), here.E.mul(m.lin)) for m in (column, rate))
        for row, value in zip(J, column.parts(), strict=True):
            row[dof] = row[dof] + value
        for row, value in zip(J_rate, rate.parts(), strict=True):
            row[dof] = row[dof] + value
    return J, J_rate
