"""Where a frame is and how it moves, seen from the world."""

from __future__ import annotations

from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.spatial import Mat3, Vec3

__all__ = ["Placement", "placement_of"]


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

    def carrying(self, rows: list[Any]) -> Placement:
        """The frame placed on this one: ``rows`` are the 24 numbers of :meth:`Frame.rows`."""
        R = Mat3.of([rows[0:3], rows[3:6], rows[6:9]])
        p, omega, v, alpha, a = (Vec3.of(rows[k : k + 3]) for k in range(9, 24, 3))
        at, moving, accelerated = self.point(p)
        turn, slide = self.R.mul(omega), self.R.mul(v)
        return Placement(
            self.R.matmul(R),
            at,
            self.omega + turn,
            moving + slide,
            self.alpha + self.R.mul(alpha) + self.omega.cross(turn),
            accelerated + self.R.mul(a) + self.omega.cross(slide) * 2.0,
        )


def placement_of(tree: Any, q: Any, v: Any, a: Any, link: int) -> Placement:
    """Placement and motion of a link (−1: the world) in world axes; ``v`` and ``a`` may be ``None`` for rest."""
    zero = Vec3.zero()
    if link < 0:
        return Placement(Mat3.identity(), zero, zero, zero, zero, zero)
    body, at = link_placement(tree, link)
    pose = tree.base_transform()
    vel, acc = tree.base_velocity(), tree.gravity_motion() - tree.standing_gravity()
    for i in tree.path(body):
        X = i.transform(q)
        pose = X.compose(pose)
        if v is not None:
            vJ = i.along(v)
            vel = X.motion(vel) + vJ
            acc = X.motion(acc) + i.along(a) + vel.cross(vJ)
    pose = at.compose(pose)
    R = pose.E.T
    if v is None:
        return Placement(R, pose.r, zero, zero, zero, zero)
    vel, acc = at.motion(vel), at.motion(acc)
    lin = acc.lin + vel.ang.cross(vel.lin)
    return Placement(R, pose.r, *(R.mul(x) for x in (vel.ang, vel.lin, acc.ang, lin)))
