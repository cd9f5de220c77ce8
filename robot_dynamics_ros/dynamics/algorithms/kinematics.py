"""Where the links are and how they move: placements, velocities, accelerations, Jacobians and their rates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.function import Export, Options, function
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import Body, S, Tree, Vector
from robot_dynamics_ros.spatial import Mat3, Motion, Scalar, Transform, Vec3


def link_placement(tree: Tree[S], link: int) -> tuple[Body[S] | None, Transform]:
    """The body a link belongs to (``None`` for the root body), and the body-to-link transform."""
    return tree.model_body(int(tree.model.link_body[link])), tree.link_frame(link)


def placements(tree: Tree[S], q: Vector[S], links: Iterable[int]) -> list[Transform]:
    """World-to-link transforms of the given links."""
    placed = ForwardKinematics(tree, q, pose_of_root=tree.base_transform())
    poses = []
    for link in links:
        body, X_link_B = link_placement(tree, link)
        poses.append(X_link_B.compose(placed.pose[placed.reach(body)]))
    return poses


def motion_of_point(
    tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S], links: Iterable[int], point: Vec3
) -> list[tuple[Motion, Motion]]:
    """Velocity [ω; ṗ] and acceleration [ω̇; p̈] of a point fixed to each link, in world axes.

    The pass carries spatial accelerations; p̈ is their linear part plus ω × ṗ (Featherstone 2008, section 2.11).
    """
    motion = ForwardKinematics(tree, q, v, a, gravity=False, pose_of_root=tree.base_transform())
    motions: list[tuple[Motion, Motion]] = []
    for link in links:
        body, X_link_B = link_placement(tree, link)
        motion.reach(body)
        X_LB = Transform(X_link_B.E, X_link_B.r + X_link_B.E.tmul(point))  # L: link's axes, origin at the point
        velocity, spatial = X_LB.motion(motion.v[body]), X_LB.motion(motion.a[body])
        acceleration = Motion(spatial.ang, spatial.lin + velocity.ang.cross(velocity.lin))
        R = X_LB.compose(motion.pose[body]).E  # from world axes to the link's
        in_world = [Motion(R.tmul(m.ang), R.tmul(m.lin)) for m in (velocity, acceleration)]
        motions.append((in_world[0], in_world[1]))
    return motions


def jacobian_and_rate(
    tree: Tree[S], q: Vector[S], v: Vector[S] | None, link: int, point: Vec3, axes: str
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Geometric Jacobian of a point P of a link, and its time derivative (zero if ``v`` is ``None``).

    | frame | origin | axes |
    |---|---|---|
    | 0 | world's | world |
    | i, B | of body i, of the link's body | of that body |
    | P | the point P | world |
    | L | the point P | of the link |

    Both are (6, nv) nested lists, in the ``axes`` ``"world"`` (columns in frame P) or ``"link"`` (in frame L).
    """
    body, X_link_B = link_placement(tree, link)
    motion = ForwardKinematics(tree, q, v, pose_of_root=tree.base_transform())

    # 1. The joints' axes and their rates v_i × S_i in frame 0
    columns: list[tuple[int, Motion, Motion]] = []
    for i in motion.outward(tree.path(body)):
        for dof, S_i in i.columns:
            S_rate = motion.v[i].cross(S_i) if v is not None else Motion.zero()
            columns.append((dof, motion.pose[i].motion_back(S_i), motion.pose[i].motion_back(S_rate)))

    # 2. The frames P and L, and how P moves: ω, ṗ in world axes
    X_B0 = motion.pose[body]
    X_L0 = Transform(X_link_B.E, X_link_B.r + X_link_B.E.tmul(point)).compose(X_B0)
    X_P0 = Transform(Mat3.identity(), X_L0.r)
    v_P = X_P0.motion(X_B0.motion_back(motion.v[body])) if v is not None else Motion.zero()
    omega, p_rate = v_P.ang, v_P.lin

    # 3. Each column in frame P, which moves with ṗ: d(X_P0 S)/dt = X_P0 Ṡ + [0; S_ang × ṗ].  Frame L turns with ω too
    J: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    J_rate: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    for dof, S_0, S_rate_0 in columns:
        column, rate = X_P0.motion(S_0), X_P0.motion(S_rate_0)
        rate = Motion(rate.ang, rate.lin + S_0.ang.cross(p_rate))
        if axes == "link":
            rate = Motion(rate.ang - omega.cross(column.ang), rate.lin - omega.cross(column.lin))
            column, rate = (Motion(X_L0.E.mul(m.ang), X_L0.E.mul(m.lin)) for m in (column, rate))
        for row, value in zip(J, column.parts(), strict=True):
            row[dof] = row[dof] + value
        for row, value in zip(J_rate, rate.parts(), strict=True):
            row[dof] = row[dof] + value
    return J, J_rate


def _homogeneous(pose: Transform) -> list[Scalar]:
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
def _link_pose(tree: Tree[S], q: Vector[S], *, options: Options) -> list[Scalar]:
    (pose,) = placements(tree, q, [options["link"]])
    return _homogeneous(pose)


@function("link_poses", "q", {"poses": ("nl", 4, 4)}, per_body=110)
def _link_poses(tree: Tree[S], q: Vector[S]) -> list[list[Scalar]]:
    return [_homogeneous(pose) for pose in placements(tree, q, range(len(tree.model.link_names)))]


@function("link_velocities", "q v", {"velocities": ("nl", 6)})
def _link_velocities(tree: Tree[S], q: Vector[S], v: Vector[S]) -> list[Motion]:
    links = range(len(tree.model.link_names))
    return [velocity for velocity, _ in motion_of_point(tree, q, v, tree.zeros(), links, Vec3.zero())]


@function("link_accelerations", "q v a", {"accelerations": ("nl", 6)})
def _link_accelerations(tree: Tree[S], q: Vector[S], v: Vector[S], a: Vector[S]) -> list[Motion]:
    links = range(len(tree.model.link_names))
    return [acceleration for _, acceleration in motion_of_point(tree, q, v, a, links, Vec3.zero())]


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
def _jacobian(tree: Tree[S], q: Vector[S], point: Sequence[S], *, options: Options) -> list[list[Scalar]]:
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
    tree: Tree[S], q: Vector[S], v: Vector[S], point: Sequence[S], *, options: Options
) -> list[list[Scalar]]:
    return jacobian_and_rate(tree, q, v, options["link"], Vec3.of(point), options["frame"])[1]
