"""Transforms whose rotation is a sequence of rotations in planes: cheaper to apply to tensors than
a full matrix.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.algorithms.linear_solve import is_zero
from robot_dynamics_ros.spatial import Mat3, Scalar, Transform, Vec3


class PlaneRotation:
    """A rotation about the x or the z axis by an angle of given cosine and sine.

    Any joint's rotation is three of these (Euler's z-x-z), of which two are constant and, where
    axes are parallel or at right angles, cost nothing.  Rotating tensors one plane at a time takes
    far fewer operations than a full matrix does.
    """

    __slots__ = ("about_x", "c", "s")

    def __init__(self, about_x: bool, c: Scalar, s: Scalar) -> None:
        self.about_x = about_x
        self.c = c
        self.s = s

    @property
    def trivial(self) -> bool:
        """Whether the angle is known to be a multiple of a right angle."""
        return is_zero(self.c) or is_zero(self.s)

    def forth(self, v: Vec3) -> Vec3:
        """R v."""
        c = self.c
        s = self.s
        if self.about_x:
            return Vec3(v.x, c * v.y - s * v.z, s * v.y + c * v.z)
        return Vec3(c * v.x - s * v.y, s * v.x + c * v.y, v.z)

    def back(self, v: Vec3) -> Vec3:
        """Rᵀ v."""
        c = self.c
        s = self.s
        if self.about_x:
            return Vec3(v.x, c * v.y + s * v.z, c * v.z - s * v.y)
        return Vec3(c * v.x + s * v.y, c * v.y - s * v.x, v.z)

    def symmetric(self, S: Mat3) -> Mat3:
        """R S Rᵀ of a symmetric S: a deviator in the plane rotations by twice the angle."""
        if self.about_x:
            p = S.b.y
            q = S.c.z
            w = S.b.z
            u1 = S.a.y
            u2 = S.a.z
            axial = S.a.x
        else:
            p = S.a.x
            q = S.b.y
            w = S.a.y
            u1 = S.a.z
            u2 = S.b.z
            axial = S.c.z
        c = self.c
        s = self.s
        if self.trivial:
            cc = c * c
            ss = s * s
            cs = c * s
            p, q, w = (
                cc * p - 2.0 * (cs * w) + ss * q,
                ss * p + 2.0 * (cs * w) + cc * q,
                cs * (p - q) + (cc - ss) * w,
            )
        else:
            cc = (c - s) * (c + s)
            ss = 2.0 * (c * s)
            mean = 0.5 * (p + q)
            half = 0.5 * (p - q)
            rotated = half * cc - w * ss
            w = half * ss + w * cc
            p = mean + rotated
            q = mean - rotated
        u1, u2 = c * u1 - s * u2, s * u1 + c * u2
        if self.about_x:
            return Mat3.symmetric(axial, u1, u2, p, w, q)
        return Mat3.symmetric(p, w, u1, q, u2, axial)

    def matrix(self, H: Mat3) -> Mat3:
        """R H Rᵀ."""
        columns = H.T
        # R H
        rows = Mat3(self.forth(columns.a), self.forth(columns.b), self.forth(columns.c)).T
        return Mat3(self.forth(rows.a), self.forth(rows.b), self.forth(rows.c))


class StagedTransform(Transform):
    """A transform whose rotation is a sequence of plane rotations, Eᵀ = rotations[0]
    rotations[1] …
    """

    __slots__ = ("rotations",)

    def __init__(self, rotations: Sequence[PlaneRotation], r: Vec3) -> None:
        self.rotations = tuple(rotations)
        columns = [
            self.rotate_back(e)
            for e in (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))
        ]
        super().__init__(Mat3(*columns), r)

    def rotate(self, x: Vec3) -> Vec3:
        for stage in self.rotations:
            x = stage.back(x)
        return x

    def rotate_back(self, x: Vec3) -> Vec3:
        for stage in reversed(self.rotations):
            x = stage.forth(x)
        return x

    def compose(self, parent: Transform) -> Transform:
        columns = parent.E.T
        rotated = Mat3(self.rotate(columns.a), self.rotate(columns.b), self.rotate(columns.c)).T
        return Transform(rotated, parent.r + parent.E.tmul(self.r))

    def rotate_back_symmetric(self, S: Mat3) -> Mat3:
        for stage in reversed(self.rotations):
            S = stage.symmetric(S)
        return S

    def rotate_back_matrix(self, H: Mat3) -> Mat3:
        for stage in reversed(self.rotations):
            H = stage.matrix(H)
        return H
