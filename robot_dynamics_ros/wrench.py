"""A wrench as a value: force, moment, the point it is reduced to, the frame it is expressed in.

The point is given by its coordinates in that frame, so a wrench can be moved to another point and
turned into another frame without asking a robot.  Messages and arrays do not store point and frame;
this value does, and refuses to mix different ones.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, Pose, Rebuilt, frozen_array
from robot_dynamics_ros.per_joint import expect

POINT_TOLERANCE = 1e-9
"""Metres within which two points count as the same."""


def _in_symbols(values: object) -> bool:
    """Whether an array or list has SymPy expressions; SymPy need not be installed to say no."""
    entries = values if isinstance(values, (list, tuple, np.ndarray)) else ()
    return any(hasattr(x, "free_symbols") for x in np.asarray(entries, dtype=object).ravel())


def _near(x: Array, y: Array, atol: float, rtol: float = 0.0) -> bool:
    """Whether two vectors agree within ``atol`` + ``rtol`` · size; those in symbols: are the
    same.
    """
    if x.dtype == object or y.dtype == object:
        from sympy import simplify

        return all(simplify(difference) == 0 for difference in x - y)
    size = max(np.linalg.norm(x), np.linalg.norm(y))
    return bool(np.abs(x - y).max() <= atol + rtol * size)


def _three(values: ArrayLike, name: str) -> Array:
    """(3,) numbers, or expressions, that cannot be changed; ArgumentError: others."""
    if _in_symbols(values):
        symbols = np.array(values, dtype=object)
        remedy = "Give expressions or numbers."
        expect(symbols.shape == (3,), "three entries", values, f"wrench {name}", remedy)
        symbols.flags.writeable = False
        return symbols
    array = frozen_array(values, (3,))
    good = bool(np.isfinite(array).all())
    remedy = "Find out where they come from."
    expect(good, "three finite numbers", array.tolist(), f"wrench {name}", remedy)
    return array


@dataclass(frozen=True, slots=True, eq=False)
class Wrench(Rebuilt):
    """Force and moment on a body.

    Entries may be SymPy expressions: the wrench is then moved, turned, added and compared in
    symbols.  Functions of numbers do not take it.

    Two wrenches are equal if their frames have the same name and force, moment and point agree to
    rounding (see :meth:`isclose`); wrenches therefore have no hash.

    >>> import robot_dynamics_ros as rd
    >>> push = rd.Wrench(force=(0, 0, -10), point=(0.5, 0, 0), frame="tool0")
    >>> push.translate((0, 0, 0)).moment.tolist()
    [0.0, 5.0, 0.0]
    >>> import sympy
    >>> push = rd.Wrench(force=(0, 0, -sympy.Symbol("F")), point=(sympy.Symbol("l") / 2, 0, 0))
    >>> push.translate((0, 0, 0)).moment.tolist()
    [0, F*l/2, 0]

    Attributes:
        force: (3,) N.
        moment: (3,) N m, about ``point``.
        point: (3,) where it is reduced to, coordinates in ``frame``, m.
        frame: name of the frame whose axes and origin all of these refer to: a link, or
            ``"world"``.

    Raises:
        ArgumentError: not three finite numbers each.
    """

    force: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))
    moment: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))
    point: Array = field(default_factory=lambda: frozen_array(np.zeros(3), (3,)))
    frame: str = "world"

    __hash__ = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        for name in ("force", "moment", "point"):
            object.__setattr__(self, name, _three(getattr(self, name), name))

    @classmethod
    def from_vector(
        cls,
        vector: ArrayLike,
        point: Sequence[float] = (0.0, 0.0, 0.0),
        frame: str = "world",
    ) -> Wrench:
        """From a spatial vector [moment; force], as the dynamics functions return it, or of six
        SymPy expressions.
        """
        six: Any
        if _in_symbols(vector):
            six = np.array(vector, dtype=object)
            expect(six.shape == (6,), "six entries", vector, "wrench vector", "Moment, then force.")
        else:
            six = frozen_array(vector, (6,))
        return cls(force=six[3:], moment=six[:3], point=_three(point, "point"), frame=frame)

    @property
    def vector(self) -> Array:
        """(6,) [moment; force] about ``point``."""
        return np.concatenate([self.moment, self.force])

    def translate(self, point: Sequence[float]) -> Wrench:
        """The same wrench reduced to another point of its frame: the moment changes by r × F, r
        from the new point.
        """
        to = _three(point, "point")
        return Wrench(
            self.force, self.moment + np.cross(self.point - to, self.force), to, self.frame
        )

    def express(
        self,
        frame: str,
        placement: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
    ) -> Wrench:
        """The same wrench, about the same point, in the coordinates of another frame.

        Args:
            frame: name of the other frame.
            placement: of the present frame in the other one: a :class:`Pose` or (4, 4) matrix, e.g.
                ``link_pose`` to go from a link to the world; or a SymPy matrix.
            rotation: (3, 3) instead, if both frames have the same origin.

        Raises:
            ArgumentError: neither or both are given, or it is no placement.
        """
        one = (placement is None) != (rotation is None)
        remedy = "Give that of the wrench's frame in the frame wanted."
        expect(one, "either a placement or a rotation", placement, "express", remedy)
        given: Any = placement if rotation is None else rotation
        R: Any
        p: Any
        if hasattr(given, "free_symbols"):
            size = 4 if rotation is None else 3
            matrix = np.array(given, dtype=object)
            good = matrix.shape == (size, size)
            expect(good, f"a matrix {size} x {size}", matrix.shape, "express", remedy)
            R = matrix[:3, :3]
            p = matrix[:3, 3] if rotation is None else np.zeros(3)
        else:
            pose = Pose.of(placement if rotation is None else Pose(frozen_array(rotation, (3, 3))))
            R = pose.rotation
            p = pose.position
        return Wrench(R @ self.force, R @ self.moment, R @ self.point + p, frame)

    def power(self, twist: ArrayLike) -> float:
        """Power in W along a twist [ω; v]: v is the velocity of ``point``, in the same axes; an
        expression where either is in symbols.
        """
        if _in_symbols(twist) or self.in_symbols:
            rates: Any = np.array(twist, dtype=object)
            expect(rates.shape == (6,), "six entries", twist, "twist", "Angular, then linear.")
            power: Any = self.moment @ rates[:3] + self.force @ rates[3:]
            return power
        six = frozen_array(twist, (6,))
        return float(self.moment @ six[:3] + self.force @ six[3:])

    @property
    def in_symbols(self) -> bool:
        """Whether an entry is a SymPy expression."""
        return any(x.dtype == object for x in (self.force, self.moment, self.point))

    def __add__(self, other: object) -> Wrench:
        if not isinstance(other, Wrench):
            return NotImplemented
        if other.frame != self.frame:
            problem = f"one is expressed in {self.frame!r}, the other in {other.frame!r}"
            remedy = "Bring one into the other's frame with express()."
            raise ArgumentError(problem, where="sum of wrenches", remedy=remedy)
        if not _near(self.point, other.point, POINT_TOLERANCE):
            problem = f"one is about {self.point.tolist()}, the other about {other.point.tolist()}"
            remedy = "Move one to the other's point with translate()."
            raise ArgumentError(problem, where="sum of wrenches", remedy=remedy)
        return Wrench(self.force + other.force, self.moment + other.moment, self.point, self.frame)

    def __neg__(self) -> Wrench:
        return self * -1.0

    def __sub__(self, other: object) -> Wrench:
        if isinstance(other, Wrench):
            return self + -other
        return NotImplemented

    def __mul__(self, factor: float) -> Wrench:
        if hasattr(factor, "free_symbols"):
            return Wrench(self.force * factor, self.moment * factor, self.point, self.frame)
        if not isinstance(factor, numbers.Real):
            return NotImplemented
        k = float(factor)
        return Wrench(self.force * k, self.moment * k, self.point, self.frame)

    __rmul__ = __mul__

    def isclose(self, other: Wrench, *, rtol: float = 1e-9, atol: float = 1e-9) -> bool:
        """Whether frame and point are the same, and force and moment agree within ``atol`` +
        ``rtol`` · size.

        Size is the norm of the larger force or moment; ``atol`` is in N and N m.
        """
        if other.frame != self.frame or not _near(self.point, other.point, POINT_TOLERANCE):
            return False
        pairs = ((self.force, other.force), (self.moment, other.moment))
        return all(_near(x, y, atol, rtol) for x, y in pairs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Wrench):
            return self.isclose(other)
        return NotImplemented
