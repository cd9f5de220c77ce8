"""Where the links are and how they move: placements, velocities, accelerations, Jacobians and their
rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple

from robot_dynamics_ros.dynamics.algorithms.function import Export, Options, function
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import Body, S, Tree, Vector
from robot_dynamics_ros.spatial import Mat3, Motion, Scalar, Transform, Vec3


def link_placement(tree: Tree[S], link: int) -> tuple[Body[S] | None, Transform]:
    """The body a link belongs to (``None`` for the root body), and the body-to-link transform."""
    return tree.model_body(int(tree.model.link_body[link])), tree.link_frame(link)


class Placement(NamedTuple):
    """Where a frame is and how it moves, in world axes."""

    # rotation to world axes
    R: Mat3
    # origin
    p: Vec3
    omega: Vec3 = Vec3.zero()
    # of the origin
    v: Vec3 = Vec3.zero()
    alpha: Vec3 = Vec3.zero()
    # of the origin, gravity no part of it
    a: Vec3 = Vec3.zero()

    def moved(self, d: Vec3) -> Placement:
        """The frame fixed to this one, of the same axes, whose origin is ``d`` (world axes) away
        now.
        """
        wd = self.omega.cross(d)
        a = self.a + self.alpha.cross(d) + self.omega.cross(wd)
        return self._replace(p=self.p + d, v=self.v + wd, a=a)

    def at(self, r: Sequence[Scalar]) -> Placement:
        """The same at a point ``r`` of this frame."""
        return self.moved(self.R.mul(Vec3.of(r)))

    def carrying(self, rows: Sequence[Scalar]) -> Placement:
        """The frame placed on this one: ``rows`` are the 24 numbers of :meth:`Frame.rows`."""
        here = self.at(rows[9:12])
        omega, v, alpha, a = (self.R.mul(Vec3.of(rows[k : k + 3])) for k in range(12, 24, 3))
        return Placement(
            self.R.matmul(Mat3.of([rows[0:3], rows[3:6], rows[6:9]])),
            here.p,
            self.omega + omega,
            here.v + v,
            self.alpha + alpha + self.omega.cross(omega),
            here.a + a + self.omega.cross(v) * 2.0,
        )


class LinkMotions(Generic[S]):
    """Placements of links, and, with ``v`` and ``a``, how they move, each computed once."""

    def __init__(
        self,
        tree: Tree[S],
        q: Vector[S],
        v: Vector[S] | None = None,
        a: Vector[S] | None = None,
    ) -> None:
        self.tree = tree
        self.q = q
        self.v = tree.zeros() if v is None else v
        self._moves = v is not None
        self._motion = ForwardKinematics(
            tree, q, v, a, gravity=False, pose_of_root=tree.base_transform()
        )
        self._known = {-1: Placement(Mat3.identity(), Vec3.zero())}

    def link(self, number: int) -> Placement:
        """Placement and motion of a link (−1: the world).

        The pass carries spatial accelerations; p̈ is their linear part plus ω × ṗ (Featherstone
        2008, section 2.11).
        """
        if number not in self._known:
            body, X_link_B = link_placement(self.tree, number)
            motion = self._motion
            pose = X_link_B.compose(motion.pose[motion.reach(body)])
            R = pose.E.T
            rates: list[Vec3] = []
            if self._moves:
                v = X_link_B.motion(motion.v[body])
                a = X_link_B.motion(motion.a[body])
                rates = [R.mul(x) for x in (v.ang, v.lin, a.ang, a.lin + v.ang.cross(v.lin))]
            self._known[number] = Placement(R, pose.r, *rates)
        return self._known[number]


def jacobian_and_rate(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S] | None,
    link: int,
    point: Vec3,
    axes: str,
) -> tuple[list[list[Scalar]], list[list[Scalar]]]:
    """Geometric Jacobian of a point P of a link, and its time derivative (zero if ``v`` is
    ``None``).

    | frame | origin | axes |
    |---|---|---|
    | 0 | world's | world |
    | i, B | of body i, of the link's body | of that body |
    | P | the point P | world |
    | L | the point P | of the link |

    Both are (6, nv) nested lists, in the ``axes`` ``"world"`` (columns in frame P) or ``"link"``
    (in frame L).
    """
    body, X_link_B = link_placement(tree, link)
    motion = ForwardKinematics(tree, q, v, pose_of_root=tree.base_transform())

    # 1. The joints' axes and their rates v_i × S_i in frame 0
    columns: list[tuple[int, Motion, Motion]] = []
    for i in motion.outward(tree.path(body)):
        for dof, S_i in i.columns:
            if v is not None:
                S_rate = motion.v[i].cross(S_i)
            else:
                S_rate = Motion.zero()
            columns.append(
                (dof, motion.pose[i].motion_back(S_i), motion.pose[i].motion_back(S_rate))
            )

    # 2. The frames P and L, and how P moves: ω, ṗ in world axes
    X_B0 = motion.pose[body]
    X_L0 = Transform(X_link_B.E, X_link_B.r + X_link_B.E.tmul(point)).compose(X_B0)
    X_P0 = Transform(Mat3.identity(), X_L0.r)
    if v is not None:
        v_P = X_P0.motion(X_B0.motion_back(motion.v[body]))
    else:
        v_P = Motion.zero()
    omega = v_P.ang
    p_rate = v_P.lin

    # 3. Each column in frame P, which moves with ṗ: d(X_P0 S)/dt = X_P0 Ṡ + [0; S_ang × ṗ].  Frame
    # L turns with ω too
    J: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    J_rate: list[list[Any]] = [[0.0] * tree.nv for _ in range(6)]
    for dof, S_0, S_rate_0 in columns:
        column = X_P0.motion(S_0)
        rate = X_P0.motion(S_rate_0)
        rate = Motion(rate.ang, rate.lin + S_0.ang.cross(p_rate))
        if axes == "link":
            rate = Motion(rate.ang - omega.cross(column.ang), rate.lin - omega.cross(column.lin))
            column, rate = (Motion(X_L0.E.mul(m.ang), X_L0.E.mul(m.lin)) for m in (column, rate))
        for row, value in zip(J, column.parts(), strict=True):
            row[dof] = row[dof] + value
        for row, value in zip(J_rate, rate.parts(), strict=True):
            row[dof] = row[dof] + value
    return J, J_rate


def _homogeneous(link: Placement) -> list[Scalar]:
    R = link.R
    p = link.p
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
    return _homogeneous(LinkMotions(tree, q).link(options["link"]))


def _all_links(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S] | None = None,
    a: Vector[S] | None = None,
) -> list[Placement]:
    links = LinkMotions(tree, q, v, a)
    return [links.link(number) for number in range(len(tree.model.link_names))]


@function("link_poses", "q", {"poses": ("nl", 4, 4)}, per_body=110)
def _link_poses(tree: Tree[S], q: Vector[S]) -> list[list[Scalar]]:
    return [_homogeneous(link) for link in _all_links(tree, q)]


@function("link_velocities", "q v", {"velocities": ("nl", 6)})
def _link_velocities(tree: Tree[S], q: Vector[S], v: Vector[S]) -> list[Motion]:
    return [Motion(link.omega, link.v) for link in _all_links(tree, q, v, tree.zeros())]


@function("link_accelerations", "q v a", {"accelerations": ("nl", 6)})
def _link_accelerations(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
) -> list[Motion]:
    return [Motion(link.alpha, link.a) for link in _all_links(tree, q, v, a)]


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
def _jacobian(
    tree: Tree[S],
    q: Vector[S],
    point: Sequence[S],
    *,
    options: Options,
) -> list[list[Scalar]]:
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
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    point: Sequence[S],
    *,
    options: Options,
) -> list[list[Scalar]]:
    return jacobian_and_rate(tree, q, v, options["link"], Vec3.of(point), options["frame"])[1]
