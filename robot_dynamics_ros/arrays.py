"""One reading of numbers: real ones are taken, whatever would lose something on the way to doubles
is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


def real_array(values: object) -> npt.NDArray[np.float64]:
    """A new array of doubles from numbers, lists and arrays of floats, integers or booleans.

    Raises:
        TypeError: complex numbers, text, dates, objects, or lists of unequal length.  NaN and
            infinities are taken.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return values.copy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TypeError(str(error)) from None
    if array.dtype.kind not in "fiub":
        raise TypeError(f"expected real numbers, got {array.dtype}")
    return array.astype(np.float64)


def real_array_or_nan(values: object) -> npt.NDArray[np.float64]:
    """The same, and one NaN, of shape (), for what :func:`real_array` refuses: callers check shape
    and values anyway.
    """
    try:
        return real_array(values)
    except TypeError:
        return np.full((), np.nan)


def real_number(value: object) -> float:
    """One number as a float.

    Raises:
        TypeError: see :func:`real_array`; or not one number.
    """
    array = real_array(value)
    if array.ndim:
        raise TypeError(f"expected one number, got an array of shape {array.shape}")
    return float(array)


def plain(x: object) -> object:
    """Values as JSON has them: lists for arrays, null for numbers that are not finite."""
    if isinstance(x, Mapping):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, np.ndarray | np.generic):
        return plain(x.tolist())
    if isinstance(x, list | tuple):
        return [plain(value) for value in x]
    if isinstance(x, float) and not math.isfinite(x):
        return None
    return x


def aligned_zeros(size: int) -> npt.NDArray[np.float64]:
    """(size,) zeros that begin where a cache line does, so that no vector lies across two of
    them.
    """
    room = np.zeros(size + 8)
    start = -room.ctypes.data // 8 % 8
    return room[start : start + size]
