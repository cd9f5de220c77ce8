"""Spatial vector algebra: the one place that fixes conventions.

Six-dimensional vectors are [angular; linear]: a motion is [ω; v], a force is [moment; force]
(Featherstone, *Rigid Body Dynamics Algorithms*, 2008, chapter 2).  A :class:`Transform` is the
Plücker transform ``B_X_A`` from frame A to frame B, held as the rotation ``E`` (coordinates of A to
coordinates of B) and ``r``, the origin of B in A coordinates (table A.2 there).

Every component is a *scalar of any kind that can add and multiply*: a Python float, a NumPy array
holding a whole batch of states, or a symbol of
:mod:`robot_dynamics_ros.dynamics.engine.codegen.graph`.  So one statement of an algorithm runs on
numbers, on batches, and on symbols from which machine code is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, cast

import numpy as np


class Scalar(Protocol):
    """A number as algorithms see it: a float, an array that holds a batch, or a symbol of a
    trace.
    """

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...


S = TypeVar("S", bound=Scalar)
"""The scalars an algorithm runs on."""


QUATERNION_TOLERANCE = 1e-6
"""Largest deviation of a unit quaternion's squared norm from one, in arguments."""


def _elementary(name: str) -> Any:
    on_float = getattr(math, name)
    on_array = getattr(np, name)

    def function(x: Scalar) -> Scalar:
        if isinstance(x, float):
            return on_float(x)
        if isinstance(x, np.ndarray):
            return on_array(x)
        method = getattr(x, name, None)
        return on_float(x) if method is None else method()

    function.__name__ = name
    function.__doc__ = f"{name} of a float, an array or a symbol."
    return function


sin = _elementary("sin")
cos = _elementary("cos")
sqrt = _elementary("sqrt")
exp = _elementary("exp")
tanh = _elementary("tanh")


def minimum(x: S, bound: Scalar) -> S:
    """The smaller of two; a NaN in ``x`` stays."""
    a = cast("Any", x)
    b = cast("Any", bound)
    if isinstance(x, float):
        return b if a > b else a
    if isinstance(x, np.ndarray):
        return np.minimum(a, b)
    return a.minimum(b)


def maximum(x: S, bound: Scalar) -> S:
    """The larger of two; a NaN in ``x`` stays."""
    a = cast("Any", x)
    b = cast("Any", bound)
    if isinstance(x, float):
        return b if a < b else a
    if isinstance(x, np.ndarray):
        return np.maximum(a, b)
    return a.maximum(b)


class Vec3:
    """Three components in some frame."""

    __slots__ = ("x", "y", "z")

    def __init__(self, x: Scalar, y: Scalar, z: Scalar) -> None:
        self.x = x
        self.y = y
        self.z = z

    @staticmethod
    def zero() -> Vec3:
        return Vec3(0.0, 0.0, 0.0)

    @staticmethod
    def of(values: Sequence[Scalar]) -> Vec3:
        x, y, z = values
        return Vec3(x, y, z)

    def parts(self) -> list[Scalar]:
        return [self.x, self.y, self.z]

    def __add__(self, o: Vec3) -> Vec3:
        return Vec3(self.x + o.x, self.y + o.y, self.z + o.z)

    def __sub__(self, o: Vec3) -> Vec3:
        return Vec3(self.x - o.x, self.y - o.y, self.z - o.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __mul__(self, s: Scalar) -> Vec3:
        return Vec3(self.x * s, self.y * s, self.z * s)

    def dot(self, o: Vec3) -> Scalar:
        return self.x * o.x + self.y * o.y + self.z * o.z

    def cross(self, o: Vec3) -> Vec3:
        return Vec3(
            self.y * o.z - self.z * o.y, self.z * o.x - self.x * o.z, self.x * o.y - self.y * o.x
        )


class Mat3:
    """A 3 × 3 matrix, by rows."""

    __slots__ = ("a", "b", "c")

    def __init__(self, a: Vec3, b: Vec3, c: Vec3) -> None:
        self.a = a
        self.b = b
        self.c = c

    @staticmethod
    def identity() -> Mat3:
        return Mat3(Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))

    @staticmethod
    def zero() -> Mat3:
        return Mat3(Vec3.zero(), Vec3.zero(), Vec3.zero())

    @staticmethod
    def diagonal(s: Scalar) -> Mat3:
        return Mat3(Vec3(s, 0.0, 0.0), Vec3(0.0, s, 0.0), Vec3(0.0, 0.0, s))

    @staticmethod
    def of(rows: Sequence[Sequence[Scalar]]) -> Mat3:
        a, b, c = rows
        return Mat3(Vec3.of(a), Vec3.of(b), Vec3.of(c))

    @staticmethod
    def symmetric(
        xx: Scalar,
        xy: Scalar,
        xz: Scalar,
        yy: Scalar,
        yz: Scalar,
        zz: Scalar,
    ) -> Mat3:
        return Mat3(Vec3(xx, xy, xz), Vec3(xy, yy, yz), Vec3(xz, yz, zz))

    @staticmethod
    def outer(x: Vec3, y: Vec3) -> Mat3:
        """x yᵀ."""
        return Mat3(y * x.x, y * x.y, y * x.z)

    @staticmethod
    def skew(r: Vec3) -> Mat3:
        """r× as a matrix."""
        return Mat3(Vec3(0.0, -r.z, r.y), Vec3(r.z, 0.0, -r.x), Vec3(-r.y, r.x, 0.0))

    def parts(self) -> list[Scalar]:
        return self.a.parts() + self.b.parts() + self.c.parts()

    def upper(self) -> list[Scalar]:
        """xx, xy, xz, yy, yz, zz."""
        return [self.a.x, self.a.y, self.a.z, self.b.y, self.b.z, self.c.z]

    @property
    def T(self) -> Mat3:
        a = self.a
        b = self.b
        c = self.c
        return Mat3(Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z))

    def __add__(self, o: Mat3) -> Mat3:
        return Mat3(self.a + o.a, self.b + o.b, self.c + o.c)

    def __sub__(self, o: Mat3) -> Mat3:
        return Mat3(self.a - o.a, self.b - o.b, self.c - o.c)

    def mul(self, x: Vec3) -> Vec3:
        """M x."""
        return Vec3(self.a.dot(x), self.b.dot(x), self.c.dot(x))

    def tmul(self, x: Vec3) -> Vec3:
        """Mᵀ x."""
        a = self.a
        b = self.b
        c = self.c
        return Vec3(
            a.x * x.x + b.x * x.y + c.x * x.z,
            a.y * x.x + b.y * x.y + c.y * x.z,
            a.z * x.x + b.z * x.y + c.z * x.z,
        )

    def matmul(self, o: Mat3) -> Mat3:
        return Mat3(o.tmul(self.a), o.tmul(self.b), o.tmul(self.c))

    def congruence(self, sym: Mat3) -> Mat3:
        """Mᵀ S M of a symmetric S: only the upper half is computed."""
        p = sym.matmul(self)
        t = self.T
        u = t.a
        v = t.b
        w = t.c
        q = p.T
        return Mat3.symmetric(
            u.dot(q.a), u.dot(q.b), u.dot(q.c), v.dot(q.b), v.dot(q.c), w.dot(q.c)
        )


def rotation_about_z(angle: Scalar) -> Mat3:
    """Rotation matrix of a rotation about z."""
    s = sin(angle)
    c = cos(angle)
    return Mat3(Vec3(c, -s, 0.0), Vec3(s, c, 0.0), Vec3(0.0, 0.0, 1.0))


def rotation_of_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """Rotation matrix of a unit quaternion (x, y, z, w)."""
    x2 = 2.0 * x
    y2 = 2.0 * y
    z2 = 2.0 * z
    xx = x2 * x
    yy = y2 * y
    zz = z2 * z
    xy = x2 * y
    xz = x2 * z
    yz = y2 * z
    wx = x2 * w
    wy = y2 * w
    wz = z2 * w
    return Mat3(
        Vec3(1.0 - yy - zz, xy - wz, xz + wy),
        Vec3(xy + wz, 1.0 - xx - zz, yz - wx),
        Vec3(xz - wy, yz + wx, 1.0 - xx - yy),
    )


def free_joint_rate(q: Sequence[Scalar], v: Sequence[Scalar]) -> list[Scalar]:
    """Rates of a free joint's [p; x, y, z, w] from its twist [ω; v] in the body's axes: R v and ½
    quaternion ⊗ ω.

    The quaternion may have any length but 0, as within a step of an integrator.
    """
    x, y, z, w = q[3:7]
    a, b, c = v[:3]
    n = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    velocity = rotation_of_quaternion(n * x, n * y, n * z, n * w).mul(Vec3.of(v[3:6]))
    return [
        *velocity.parts(),
        0.5 * (w * a + y * c - z * b),
        0.5 * (w * b + z * a - x * c),
        0.5 * (w * c + x * b - y * a),
        -0.5 * (x * a + y * b + z * c),
    ]


_V = TypeVar("_V", bound="_SpatialVector")


class _SpatialVector:
    """[angular; linear], a motion or a force."""

    __slots__ = ("ang", "lin")

    def __init__(self, ang: Vec3, lin: Vec3) -> None:
        self.ang = ang
        self.lin = lin

    @classmethod
    def zero(cls: type[_V]) -> _V:
        return cls(Vec3.zero(), Vec3.zero())

    @classmethod
    def of(cls: type[_V], values: Sequence[Scalar]) -> _V:
        return cls(Vec3.of(values[:3]), Vec3.of(values[3:]))

    def parts(self) -> list[Scalar]:
        return self.ang.parts() + self.lin.parts()

    def __add__(self: _V, o: _V) -> _V:
        return type(self)(self.ang + o.ang, self.lin + o.lin)

    def __sub__(self: _V, o: _V) -> _V:
        return type(self)(self.ang - o.ang, self.lin - o.lin)

    def __mul__(self: _V, s: Scalar) -> _V:
        return type(self)(self.ang * s, self.lin * s)


class Motion(_SpatialVector):
    """A spatial motion vector [ω; v]."""

    __slots__ = ()

    def cross(self, o: Motion) -> Motion:
        """v × m (equation 2.33)."""
        return Motion(self.ang.cross(o.ang), self.ang.cross(o.lin) + self.lin.cross(o.ang))

    def cross_force(self, f: Force) -> Force:
        """v ×* f (equation 2.34)."""
        return Force(self.ang.cross(f.ang) + self.lin.cross(f.lin), self.ang.cross(f.lin))

    def dot(self, f: Force) -> Scalar:
        """m · f: power, if m is a velocity."""
        return self.ang.dot(f.ang) + self.lin.dot(f.lin)


class Force(_SpatialVector):
    """A spatial force vector [moment; force]."""

    __slots__ = ()


class RigidInertia:
    """Spatial inertia of a rigid body: mass, first moment h = m c, rotational inertia I about the
    frame's origin.
    """

    __slots__ = ("I", "h", "m")

    def __init__(self, m: Scalar, h: Vec3, I: Mat3) -> None:  # noqa: E741 - the book's name
        self.m = m
        self.h = h
        self.I = I

    @staticmethod
    def zero() -> RigidInertia:
        return RigidInertia(0.0, Vec3.zero(), Mat3.zero())

    @staticmethod
    def of(values: Sequence[Scalar]) -> RigidInertia:
        return RigidInertia(values[0], Vec3.of(values[1:4]), Mat3.symmetric(*values[4:]))

    def parts(self) -> list[Scalar]:
        return [self.m, *self.h.parts(), *self.I.upper()]

    def __add__(self, o: RigidInertia) -> RigidInertia:
        return RigidInertia(self.m + o.m, self.h + o.h, self.I + o.I)

    def mul(self, v: Motion) -> Force:
        """I v: momentum, if v is the velocity (equation 2.63)."""
        return Force(self.I.mul(v.ang) + self.h.cross(v.lin), v.lin * self.m - self.h.cross(v.ang))

    def articulated(self) -> ArticulatedInertia:
        return ArticulatedInertia(self.I, Mat3.skew(self.h), Mat3.diagonal(self.m))


class ArticulatedInertia:
    """A general symmetric 6 × 6 inertia [[I, H], [Hᵀ, M]]."""

    __slots__ = ("H", "I", "M")

    def __init__(self, I: Mat3, H: Mat3, M: Mat3) -> None:  # noqa: E741 - the book's name
        self.I = I
        self.H = H
        self.M = M

    @staticmethod
    def of(values: Sequence[Scalar]) -> ArticulatedInertia:
        v = list(values)
        return ArticulatedInertia(
            Mat3.symmetric(*v[:6]), Mat3.of([v[6:9], v[9:12], v[12:15]]), Mat3.symmetric(*v[15:])
        )

    def parts(self) -> list[Scalar]:
        return self.I.upper() + self.H.parts() + self.M.upper()

    def __add__(self, o: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.I + o.I, self.H + o.H, self.M + o.M)

    def mul(self, v: Motion) -> Force:
        return Force(self.I.mul(v.ang) + self.H.mul(v.lin), self.H.tmul(v.ang) + self.M.mul(v.lin))

    def minus_outer(self, u: Force, w: Force) -> ArticulatedInertia:
        """Self − u wᵀ, for u ∥ w so that the result stays symmetric."""
        I = self.I - Mat3.outer(u.ang, w.ang)  # noqa: E741 - the book's name
        M = self.M - Mat3.outer(u.lin, w.lin)
        return ArticulatedInertia(
            Mat3.symmetric(*I.upper()),
            self.H - Mat3.outer(u.ang, w.lin),
            Mat3.symmetric(*M.upper()),
        )


class Transform:
    """Plücker transform B_X_A from coordinates A to B: rotation ``E`` (A to B), ``r`` = origin of B
    in A.
    """

    __slots__ = ("E", "r")

    def __init__(self, E: Mat3, r: Vec3) -> None:
        self.E = E
        self.r = r

    @staticmethod
    def identity() -> Transform:
        return Transform(Mat3.identity(), Vec3.zero())

    @staticmethod
    def of(values: Sequence[Scalar]) -> Transform:
        return Transform(Mat3.of([values[0:3], values[3:6], values[6:9]]), Vec3.of(values[9:12]))

    def parts(self) -> list[Scalar]:
        return self.E.parts() + self.r.parts()

    def rotate(self, x: Vec3) -> Vec3:
        """E x: a vector's coordinates from A to B."""
        return self.E.mul(x)

    def rotate_back(self, x: Vec3) -> Vec3:
        """Eᵀ x: from B to A."""
        return self.E.tmul(x)

    def rotate_back_symmetric(self, S: Mat3) -> Mat3:
        """Eᵀ S E of a symmetric S."""
        return self.E.congruence(S)

    def rotate_back_matrix(self, H: Mat3) -> Mat3:
        """Eᵀ H E."""
        return self.E.T.matmul(H.matmul(self.E))

    def motion(self, m: Motion) -> Motion:
        """B_X_A m."""
        return Motion(self.rotate(m.ang), self.rotate(m.lin - self.r.cross(m.ang)))

    def motion_back(self, m: Motion) -> Motion:
        """A_X_B m."""
        ang = self.rotate_back(m.ang)
        return Motion(ang, self.rotate_back(m.lin) + self.r.cross(ang))

    def force_back(self, f: Force) -> Force:
        """A_X_B* f = (B_X_A)ᵀ f: a force given in B, expressed in A."""
        lin = self.rotate_back(f.lin)
        return Force(self.rotate_back(f.ang) + self.r.cross(lin), lin)

    def compose(self, parent: Transform) -> Transform:
        """C_X_A from self = C_X_B and parent = B_X_A."""
        return Transform(self.E.matmul(parent.E), parent.r + parent.E.tmul(self.r))

    def rigid_back(self, i: RigidInertia) -> RigidInertia:
        """Rigid inertia given in B, expressed in A (equation 2.66): X^T I X."""
        h = self.rotate_back(i.h)
        rot = self.rotate_back_symmetric(i.I)
        r = self.r
        m = i.m
        # first moment about A's origin
        g = h + r * m
        # −(r×)(h×) − (g×)(r×): the parallel-axis terms, with (a×)(b×) = b aᵀ − (a·b) 1
        shift = Mat3.diagonal(r.dot(h) + r.dot(g)) - (Mat3.outer(h, r) + Mat3.outer(r, g))
        return RigidInertia(m, g, Mat3.symmetric(*(rot + shift).upper()))

    def articulated_back(self, a: ArticulatedInertia) -> ArticulatedInertia:
        """X^T I^A X."""
        I = self.rotate_back_symmetric(a.I)  # noqa: E741 - the book's name
        M = self.rotate_back_symmetric(a.M)
        H = self.rotate_back_matrix(a.H)
        rx = Mat3.skew(self.r)
        rM = rx.matmul(M)
        # H (r×) = −H (r×)ᵀ
        HrT = H.matmul(rx)
        full = (rx.matmul(H.T) - HrT) - rM.matmul(rx)
        return ArticulatedInertia(I + Mat3.symmetric(*full.upper()), H + rM, M)
