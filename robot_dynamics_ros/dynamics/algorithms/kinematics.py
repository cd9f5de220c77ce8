"""Where the links are and how they move: placements, velocities, accelerations, Jacobians and their rates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.function import Export, function
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import Body, S, Tree, Vector
from robot_dynamics_ros.spatial import Mat3, Motion, Transform, Vec3

__all__ = ["jacobian_and_rate", "link_placement", "motion_of_point", "placements"]


def link_placement(tree: Tree[S], link: int) -> tuple[Body[S] | None, Transform]:
    """The body a link belongs to (``None`` for the root body), and the body-to-link transform."""
    return tree.model_body(int(tree.model.link_body[link])), tree.link_frame(link)


def placements(tree: Tree[S], q: Vector[S], links: Iterable[int]) -> list[Transform]:
    """World-to-link transforms of the given links."""
    placed = ForwardKinematics(tree, q, pose_of_root=tree.base_transform())
    found = []
    for link in links:
        body, at = link_placement(tree, link)
        found.append(at.compose(placed.pose[placed.reach(body)]))
    return found


def motion_of_point(
    tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S], links: Iterable[int], point: Vec3
) -> list[tuple[Motion, Motion]]:
    """Velocity [ω; ṗ] and acceleration [ω̇; p̈] of a point fixed to each link, in world axes.

    The pass carries spatial accelerations; p̈ is their linear part plus ω × ṗ (Featherstone 2008, section 2.11).
    """
    motion = ForwardKinematics(tree, q, v, a, gravity=False, pose_of_root=tree.base_transform())
    found: list[tuple[Motion, Motion]] = []
    for link in links:
        body, at = link_placement(tree, link)
        motion.reach(body)
        here = Transform(at.E, at.r + at.E.tmul(point))
        velocity, spatial = here.motion(motion.v[body]), here.motion(motion.a[body])
        acceleration = Motion(spatial.ang, spatial.lin + velocity.ang.cross(velocity.lin))
        to_world = here.compose(motion.pose[body]).E
        in_world = [Motion(to_world.tmul(m.ang), to_world.tmul(m.lin)) for m in (velocity, acceleration)]
        found.append((in_world[0], in_world[1]))
    return found


def jacobian_and_rate(
    tree: Tree[S], q: Vector[S], v: Vector[S] | None, link: int, point: Vec3, frame: str
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Geometric Jacobian of a point of a link, and its time derivative (zero if ``v`` is ``None``).

    Args:
        frame: ``"world"`` or ``"link"`` axes.

    Returns:
        two (6, nv) nested lists.
    """
    body, at = link_placement(tree, link)
    motion = ForwardKinematics(tree, q, v, pose_of_root=tree.base_transform())
    columns: list[tuple[int, Motion, Motion]] = []  # about the world origin, in world axes
    for i in motion.outward(tree.path(body)):
        for dof, column in i.columns:
            rate = motion.v[i].cross(column) if v is not None else Motion.zero()
            columns.append((dof, motion.pose[i].motion_back(column), motion.pose[i].motion_back(rate)))
    pose = motion.pose[body]
    here = Transform(at.E, at.r + at.E.tmul(point)).compose(pose)
    moving = Transform(Mat3.identity(), here.r)
    total = moving.motion(pose.motion_back(motion.v[body])) if v is not None else Motion.zero()
    omega, p_rate = total.ang, total.lin
    J: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    J_rate: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    for dof, S_i, S_rate in columns:
        column = moving.motion(S_i)
        rate = moving.motion(S_rate)
        rate = Motion(rate.ang, rate.lin + S_i.ang.cross(p_rate))
        if frame == "link":
            rate = Motion(rate.ang - omega.cross(column.ang), rate.lin - omega.cross(column.lin))
            column, rate = (Motion(here.E.mul(m.ang), here.E.mul(m.lin)) for m in (column, rate))
        for row, value in zip(J, column.parts(), strict=True):
            row[dof] = row[dof] + value
        for row, value in zip(J_rate, rate.parts(), strict=True):
            row[dof] = row[dof] + value
    return J, J_rate


def _homogeneous(pose: Transform) -> list[Any]:
    R, p = pose.E.T, pose.r
    return [*R.a.parts(), p.x, *R.b.parts(), p.y, *R.c.parts(), p.z, 0.0, 0.0, 0.0, 1.0]


@function(
    "link_pose",
    "q",
    {"pose": (4, 4)},
    per_body=65,
    options=("link",),
    exports=(Export("Placement of the link in the world.", {"pose": "homogeneous matrix"}),),
)
def _link_pose(tree: Tree[S], q: Vector[S], *, options: Mapping[str, Any]) -> list[Any]:
    (pose,) = placements(tree, q, [options["link"]])
    return _homogeneous(pose)


@function("link_poses", "q", {"poses": ("nl", 4, 4)}, per_body=110)
def _link_poses(tree: Tree[S], q: Vector[S]) -> list[list[Any]]:
    return [_homogeneous(pose) for pose in placements(tree, q, range(len(tree.model.link_names)))]


@function("link_motions", "q v a", {"velocities": ("nl", 6), "accelerations": ("nl", 6)})
def _link_motions(tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S]) -> tuple[list[Motion], list[Motion]]:
    found = motion_of_point(tree, q, v, a, range(len(tree.model.link_names)), Vec3.zero())
    return [velocity for velocity, _ in found], [acceleration for _, acceleration in found]


@function(
    "jacobian",
    "q point",
    {"J": (6, "nv")},
    per_body=90,
    options=("frame", "link"),
    exports=(
        Export(
            "Jacobian of the link's origin: J v = [angular; linear] velocity, world axes.",
            {"J": "Jacobian, angular rows first"},
            default=True,
        ),
    ),
)
def _jacobian(tree: Tree[S], q: Vector[S], point: Sequence[S], *, options: Mapping[str, Any]) -> list[list[Any]]:
    return jacobian_and_rate(tree, q, None, options["link"], Vec3.of(point), options["frame"])[0]


@function(
    "jacobian_rate",
    "q v point",
    {"Jdot": (6, "nv")},
    per_body=160,
    options=("frame", "link"),
    exports=(Export("Time derivative of the Jacobian.", {"Jdot": "derivative of the Jacobian"}),),
)
def _jacobian_rate(
    tree: Tree[S], q: Vector[S], v: Vector[S], point: Sequence[S], *, options: Mapping[str, Any]
) -> list[list[Any]]:
    return jacobian_and_rate(tree, q, v, options["link"], Vec3.of(point), options["frame"])[1]
