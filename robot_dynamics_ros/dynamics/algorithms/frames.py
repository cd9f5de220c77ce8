"""Where a frame is and how it moves, seen from the world or another frame; frames that options choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics_ros.dynamics.algorithms.function import Options, function
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Scalar, Vec3


class Placement(NamedTuple):
    """Where a frame is and how it moves, in world axes."""

    R: Mat3  # rotation to world axes
    p: Vec3  # origin
    omega: Vec3
    v: Vec3  # of the origin
    alpha: Vec3
    a: Vec3  # of the origin, gravity no part of it

    def point(self, r: Vec3) -> tuple[Vec3, Vec3, Vec3]:
        """Position, velocity and acceleration of a point fixed to the frame; ``r`` in its coordinates."""
        d = self.R.mul(r)
        wd = self.omega.cross(d)
        return self.p + d, self.v + wd, self.a + self.alpha.cross(d) + self.omega.cross(wd)

    def carrying(self, rows: Sequence[Scalar]) -> Placement:
        """The frame placed on this one: ``rows`` are the 24 numbers of :meth:`Frame.rows`."""
        R = Mat3.of([rows[0:3], rows[3:6], rows[6:9]])
        p, omega, v, alpha, a = (Vec3.of(rows[k : k + 3]) for k in range(9, 24, 3))
        position, moving, accelerated = self.point(p)
        omega_here, v_here = self.R.mul(omega), self.R.mul(v)
        return Placement(
            self.R.matmul(R),
            position,
            self.omega + omega_here,
            moving + v_here,
            self.alpha + self.R.mul(alpha) + self.omega.cross(omega_here),
            accelerated + self.R.mul(a) + self.omega.cross(v_here) * 2.0,
        )


class FrameChoice:
    """The frames that the options and inputs of a call name.

    A frame is chosen by a link's number, −1 for the world; an option ``own_…`` says that the frame is placed on that
    link by an input of the function.  Without ``v`` and ``a`` the robot is at rest.
    """

    def __init__(
        self, tree: Tree[S], options: Options, q: Vector[S], v: Vector[S] | None = None, a: Vector[S] | None = None
    ) -> None:
        self.tree, self.options, self._moves = tree, options, v is not None
        self._motion = ForwardKinematics(tree, q, v, a, gravity=False, pose_of_root=tree.base_transform())
        self._known: dict[int, Placement] = {}

    def link(self, number: int) -> Placement:
        """Placement and motion of a link (−1: the world), in world axes."""
        if number not in self._known:
            self._known[number] = self._placed(number)
        return self._known[number]

    def _placed(self, number: int) -> Placement:
        zero = Vec3.zero()
        if number < 0:
            return Placement(Mat3.identity(), zero, zero, zero, zero, zero)
        body, X_link_B = link_placement(self.tree, number)
        motion = self._motion
        motion.reach(body)
        pose = X_link_B.compose(motion.pose[body])
        R = pose.E.T
        if not self._moves:
            return Placement(R, pose.r, zero, zero, zero, zero)
        v, a = X_link_B.motion(motion.v[body]), X_link_B.motion(motion.a[body])
        lin = a.lin + v.ang.cross(v.lin)
        return Placement(R, pose.r, *(R.mul(x) for x in (v.ang, v.lin, a.ang, lin)))

    def observer(self, rows: Sequence[Scalar]) -> Placement:
        """The observer's frame."""
        carrier = self.link(self.options["observer"])
        return carrier.carrying(rows) if rows else carrier

    def axes(self, choice: int, rows: Sequence[Scalar]) -> Mat3:
        """Rotation to world axes of the frame to express results in."""
        R = self.link(choice).R
        return R.matmul(Mat3.of([rows[0:3], rows[3:6], rows[6:9]])) if rows else R

    def point(self, choice: int, rows: Sequence[Scalar]) -> Vec3:
        """Where the point to reduce to is in the world."""
        carrier = self.link(choice)
        return carrier.p + carrier.R.mul(Vec3.of(rows)) if rows else carrier.p


def reduced(f: Force, moved: Vec3 | None, rotation: Mat3 | None) -> Force:
    """A wrench about another point, from which ``moved`` leads to the old one (old axes), in other axes."""
    moment = f.ang if moved is None else f.ang + moved.cross(f.lin)
    return Force(moment, f.lin) if rotation is None else Force(rotation.mul(moment), rotation.mul(f.lin))


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
    options: Options,
) -> tuple[Vec3 | Mat3, ...]:
    frames = FrameChoice(tree, options, q, v, a)
    A = frames.observer(observer)
    seen = seen_from(A, frames.link(options["link"]), Vec3.of(point))
    rotation = Mat3.identity() if options["axes"] == "observer" else frames.axes(options["axes"], axes).T.matmul(A.R)
    position, *rates = (rotation.mul(x) for x in (seen.position, *seen[2:]))
    return position, seen.rotation, *rates, rotation
