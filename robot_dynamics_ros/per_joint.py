"""Settings, and values given once for all joints or one for each: checked in one place."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array


def expect(
    good: bool,
    kind: str,
    value: object,
    where: str,
    remedy: str = "Correct the setting.",
) -> None:
    """Raise an ArgumentError that says of which ``kind`` the value must be, unless it is
    ``good``.
    """
    if not good:
        raise ArgumentError(
            f"expected {kind}, got {value!r}", where=where, got=value, remedy=remedy
        )


_S = TypeVar("_S")


def settings_or_default(kind: type[_S], value: _S | None, where: str) -> _S:
    """The settings given, or those of the class if there are none."""
    if value is None:
        return kind()
    remedy = f"Write {where}={kind.__name__}(…), with what differs from the defaults."
    expect(isinstance(value, kind), f"{kind.__name__} or None", value, where, remedy)
    return value


def generator(seed: int | np.random.Generator | None, where: str = "seed") -> np.random.Generator:
    """The generator given, or one from a seed; ``None``: another one each time."""
    if isinstance(seed, np.random.Generator):
        return seed
    whole = isinstance(seed, Integral) and not isinstance(seed, bool)
    good = seed is None or (whole and seed >= 0)  # type: ignore[operator]
    expect(good, "a whole number of at least 0, or a generator", seed, where)
    return np.random.default_rng(seed)


def non_negative(
    value: ArrayLike,
    where: str,
    *,
    size: int | None = None,
    positive: bool = False,
    infinite: bool = False,
    signed: bool = False,
    remedy: str = "",
) -> Array:
    """Read-only array of one non-negative number, or of several: ``size`` if given.

    ``positive`` refuses zero, ``infinite`` accepts infinity, ``signed`` negative numbers; errors
    name ``where`` and the remedy.
    """
    array = real_array_or_nan(value)
    if size is not None:
        good = array.shape in ((), (size,))
    else:
        good = array.ndim <= 1
    good = good and not np.isnan(array).any() and bool(signed or (array >= 0.0).all())
    good = good and (array.all() or not positive) and (infinite or not np.isinf(array).any())
    if positive:
        kind = "positive "
    elif signed:
        kind = ""
    else:
        kind = "non-negative "
    if not infinite:
        kind = f"finite {kind}"
    if size is not None:
        several = f"{size} of them"
    else:
        several = "one for each joint"
    remedy = remedy or "Give one value a joint, in model order and SI units."
    expect(bool(good), f"one {kind}number or {several}", value, where, remedy)
    array.setflags(write=False)
    return array


def per_joint(
    value: ArrayLike,
    n: int,
    where: str,
    *,
    positive: bool = False,
    infinite: bool = False,
    remedy: str = "",
) -> Array:
    """(n,) read-only array from one non-negative number or n of them; the rest as for
    :func:`non_negative`.
    """
    array = np.array(
        np.broadcast_to(
            non_negative(value, where, size=n, positive=positive, infinite=infinite, remedy=remedy),
            (n,),
        )
    )
    array.setflags(write=False)
    return array


def vector(
    values: ArrayLike,
    n: int,
    where: str,
    *,
    joints: Sequence[str] = (),
    remedy: str = "",
) -> Array:
    """(n,) array of finite numbers; errors name the joints, or the remedy where the values do not
    belong to joints.
    """
    array = real_array_or_nan(values)
    good = array.shape == (n,) and bool(np.isfinite(array).all())
    expect(
        good,
        f"{n} finite numbers",
        values,
        where,
        remedy or f"Give one value for each of {', '.join(joints)}.",
    )
    return array
