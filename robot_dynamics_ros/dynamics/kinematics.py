"""Where the links are and how they move: poses, velocities, accelerations, Jacobians and their rates."""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.spatial import Mat3, Motion, Transform, Vec3

__all__ = ["body_jacobian", "body_motion", "body_pose", "link_placement"]


def link_placement(tree: Any, link: int) -> tuple[Any, Transform]:
    """The body a link belongs to (``None`` for the root body), and the body-to-link transform."""
    model = tree.model
    number = int(model.link_body[link])
    body = tree.model_body(number)
    R, p = model.link_rotation[link], model.link_position[link]
    if body is not None:
        N = tree.layout.normal[body.number]
        R, p = N @ R, N @ p
    return body, Transform(Mat3.of(tree.exact(R.T)), Vec3.of(tree.exact(p)))


def body_pose(tree: Any, q: Any, body: Any) -> Transform:
    """World-to-body transform."""
    pose = tree.base_transform()
    for i in tree.path(body):
        pose = i.transform(q).compose(pose)
    return pose


def body_jacobian(tree: Any, q: Any, body: Any) -> list[tuple[int, Motion]]:
    """Columns of the geometric Jacobian of a body, in world axes about the world origin: (index into v, motion)."""
    columns = []
    pose = tree.base_transform()
    for i in tree.path(body):
        pose = i.transform(q).compose(pose)
        columns += [(dof, pose.motion_back(S)) for dof, S in i.columns]
    return columns


def body_motion(tree: Any, q: Any, v: Any, a: Any, body: Any) -> tuple[Transform, Motion, Motion]:
    """World-to-body transform, spatial velocity and spatial acceleration of a body, in body coordinates.

    The acceleration is the spatial one (the rate of the spatial velocity); a point's acceleration follows from it as
    v̇ + ω × v (section 2.11 of the book).
    """
    pose, vel, acc = tree.base_transform(), Motion.zero(), Motion.zero()
    for i in tree.path(body):
        X = i.transform(q)
        pose = X.compose(pose)
        vJ = i.along(v)
        vel = X.motion(vel) + vJ
        acc = X.motion(acc) + i.along(a) + vel.cross(vJ)
    return pose, vel, acc
