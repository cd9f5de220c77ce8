"""Checks of arguments.  Each error names the argument, the expected shape and the value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.spatial import QUATERNION_TOLERANCE


def as_input(
    values: ArrayLike,
    shape: tuple[int, ...],
    name: str,
    *,
    finite: bool = True,
    contiguous: bool = True,
) -> np.ndarray:
    """``values`` as a float64 array of shape (..., *shape), C-contiguous unless strided ones shall
    stay as they are.

    Lists, integers and strided arrays are converted; what would lose something is refused.
    """
    if type(values) is not np.ndarray or values.dtype != np.float64:
        try:
            values = real_array(values)
        except TypeError:
            raise _no_numbers(values, name, f" of shape {_words(shape)}") from None
    k = len(shape)
    if values.ndim < k or values.shape[values.ndim - k :] != shape:
        raise ArgumentError(
            f"expected shape {_words(shape)}, got {values.shape}",
            where=name,
            got=values.shape,
            remedy=(
                "The last dimensions are the robot's; any dimensions before them are a batch of "
                "states."
            ),
        )
    if finite and not np.isfinite(values).all():
        check_finite(**{name: values})
    if values.ndim and contiguous:
        return np.ascontiguousarray(values)
    return values


def as_output(out: object, shape: tuple[int, ...], name: str) -> np.ndarray:
    """``out`` itself, if results can be written there."""
    if type(out) is not np.ndarray:
        problem = f"expected a numpy array, got {type(out).__name__}"
    elif out.dtype != np.float64:
        problem = f"expected dtype float64, got {out.dtype}"
    elif out.shape != shape:
        problem = f"expected shape {shape}, got {out.shape}"
    elif not out.flags.c_contiguous:
        problem = "expected a C-contiguous array, got a strided one"
    elif not out.flags.writeable:
        problem = "the array is read-only"
    else:
        return out
    raise ArgumentError(problem, where=name, got=out, remedy=f"Use numpy.empty({shape}).")


def common_batch(leads: Mapping[str, tuple[int, ...]], where: str) -> tuple[int, ...]:
    """The batch dimensions of arguments, by name, together."""
    try:
        return np.broadcast_shapes(*leads.values())
    except ValueError:
        raise ArgumentError(
            "the batch dimensions do not fit together: "
            + ", ".join(f"{name} {lead}" for name, lead in leads.items()),
            where=where,
            got=leads,
            remedy="Leading dimensions follow NumPy's broadcasting.",
        ) from None


def check_quaternions(q: np.ndarray, starts: Sequence[int]) -> None:
    """Refuse configurations whose quaternions (x, y, z, w from each start) are not of unit
    length.
    """
    for start in starts:
        part = q[..., start : start + 4]
        square = np.einsum("...i,...i->...", part, part)
        # so that NaN is bad
        bad = ~(np.abs(square - 1.0) <= QUATERNION_TOLERANCE)
        if np.any(bad):
            norm = float(np.sqrt(np.ravel(square)[int(np.argmax(np.ravel(bad)))]))
            raise ArgumentError(
                f"the quaternion q[{start}:{start + 4}] (x, y, z, w) has norm {norm:.9g}, "
                "expected 1",
                where="q",
                got=norm,
                remedy="Divide it by its norm; rd.neutral and rd.integrate keep it unit.",
            )


def check_finite(**arrays: ArrayLike) -> None:
    """Refuse NaN and infinities.

    Args:
        arrays: by name.

    Raises:
        ArgumentError: naming the array, the first bad index and its value.
    """
    for name, values in arrays.items():
        try:
            array = real_array(values)
        except TypeError:
            raise _no_numbers(values, name) from None
        bad = ~np.isfinite(array)
        if bad.any():
            index = tuple(int(k) for k in np.argwhere(bad)[0])
            raise ArgumentError(
                f"expected finite numbers, got {array[index]} at index {list(index)}",
                where=name,
                got=array[index],
                remedy="Find its source; it would make every output not finite.",
            )


def _words(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(["...", *map(str, shape)]) + ")"


def _no_numbers(values: ArrayLike, name: str, shape: str = "") -> ArgumentError:
    try:
        array = np.asarray(values)
        if array.size:
            kind = f"{type(values).__name__} of {array.dtype}"
        else:
            kind = type(values).__name__
    except ValueError:
        kind = type(values).__name__
    return ArgumentError(
        f"expected real numbers{shape}, got {kind}",
        where=name,
        got=values,
        remedy="Pass a float64 array or a list of floats.",
    )
