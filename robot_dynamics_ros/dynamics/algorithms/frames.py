"""Where a frame is and how it moves, seen from the world; the frames that the options of a function choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from robot_dynamics_ros.dynamics.algorithms.function import Options
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.passes import ForwardKinematics
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Mat3, Scalar, Vec3


class Placement(NamedTuple):
    """Where a frame is and how it moves, in world axes.

    Attributes:
        R: rotation to world axes; p: origin; omega, v: angular velocity and velocity of the origin; alpha, a: their
            derivatives, gravity no part of them.
    """

    R: Mat3
    p: Vec3
    omega: Vec3
    v: Vec3
    alpha: Vec3
    a: Vec3

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
