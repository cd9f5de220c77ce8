"""Exact numbers for a robot's constants.

A proof needs constants that are what they claim to be: a rotation must be orthogonal to the last
digit, not to the sixteenth.  Decimals become the fractions that they are written as; rotations
become an exact rotation that differs by less than rounding does, with 1/2, √2/2 and √3/2 kept as
such.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Root:
    """``factor`` · √``radicand``."""

    factor: Fraction
    radicand: int


@dataclass(frozen=True)
class Parameter:
    """``sign`` (±1) times a symbol, by name, that stands for ``value`` in this robot."""

    symbol: str
    value: float
    sign: int = 1


Entry = Fraction | Root | Parameter
"""A constant of a robot: known exactly, or a symbol."""

# How far an entry of a rotation may be from a number such as √2/2 to stand for it: π with 14
# digits is closer.
LEAST_FRACTION_ERROR = 1e-14
# How far the fractions of a quaternion may be from its numbers.
QUATERNION_ROUNDING = 2.0**-54


def fraction_of(x: float) -> Fraction:
    """The fraction that the shortest decimal of ``x`` spells: 0.1 is one tenth."""
    return Fraction(repr(float(x)))


def value_of(entry: Entry) -> float:
    """The number an entry stands for."""
    if isinstance(entry, Root):
        return float(entry.factor) * math.sqrt(entry.radicand)
    if isinstance(entry, Parameter):
        return entry.sign * entry.value
    return float(entry)


_HALVES = (Fraction(1, 2), Fraction(-1, 2))
_SPECIAL_FRACTIONS: list[Entry] = [
    *map(Fraction, (0, 1, -1)),
    *_HALVES,
    *(Root(half, k) for half, k in itertools.product(_HALVES, (2, 3))),
]


def _special(x: float) -> Entry | None:
    return next(
        (entry for entry in _SPECIAL_FRACTIONS if abs(x - value_of(entry)) <= LEAST_FRACTION_ERROR),
        None,
    )


def _simple_fraction(x: float) -> Fraction:
    """A fraction with a small denominator that is ``x`` within ``QUATERNION_ROUNDING``; near 0 and
    1 too, where few such exist.
    """
    exact = Fraction(x)
    digits = 9
    while abs((fraction := exact.limit_denominator(10**digits)) - exact) > QUATERNION_ROUNDING:
        digits += 1
    return fraction


def exact_rotation(R: ArrayLike) -> list[list[Entry]]:
    """An exactly orthogonal (3, 3) matrix that is a rotation matrix within 1e-15.

    Where all entries are 0, ±1, ±1/2, ±√2/2 or ±√3/2 within 1e-14, they are these numbers: products
    that sum to less than rounding then sum to zero.  Else the rotation is that of a quaternion of
    fractions.
    """
    R = np.asarray(R, dtype=float)
    special = [[_special(float(x)) for x in row] for row in R]
    if all(x is not None for x in itertools.chain.from_iterable(special)):
        return special  # type: ignore[return-value]
    from robot_dynamics_ros.dynamics.kinematics import quaternion_of

    quaternion = quaternion_of(R)
    largest = quaternion[int(np.argmax(np.abs(quaternion)))]
    x, y, z, w = (_simple_fraction(float(c / largest)) for c in quaternion)
    n = x * x + y * y + z * z + w * w
    return [
        [(w * w + x * x - y * y - z * z) / n, 2 * (x * y - z * w) / n, 2 * (x * z + y * w) / n],
        [2 * (x * y + z * w) / n, (w * w - x * x + y * y - z * z) / n, 2 * (y * z - x * w) / n],
        [2 * (x * z - y * w) / n, 2 * (y * z + x * w) / n, (w * w - x * x - y * y + z * z) / n],
    ]
