"""Derivatives of recorded signals by local polynomials: Savitzky-Golay, on whatever times there are.

Source: Savitzky and Golay (1964).  On evenly spaced times the result is theirs; recorded times jitter, so the
polynomial is fitted to the times as they are.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

__all__ = ["derivatives", "segments"]

GAP = 5.0
"""Steps longer than this many median ones part a recording: no polynomial reaches across."""
_CHUNK = 2000


def segments(t: Array) -> list[slice]:
    """Stretches of a recording without gaps.

    Args:
        t: (n,) strictly increasing times.
    """
    if len(t) < 3:
        return [slice(0, len(t))]
    steps = np.diff(t)
    ends = np.flatnonzero(steps > GAP * np.median(steps)) + 1
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(t)], strict=True)]


def derivatives(t: Array, x: Array, *, window: int = 21, order: int = 3, up_to: int = 2) -> Array:
    """Value and derivatives of polynomials fitted to the ``window`` samples around each.

    At both ends, and at those of gaps, the last full window serves.

    Args:
        t: (n,) strictly increasing times.
        x: (n, m) signals.
        window: number of samples, odd; fewer where a stretch is shorter.
        order: of the polynomials, less than ``window``.
        up_to: the highest derivative.

    Returns:
        (up_to + 1, n, m); NaN in stretches with fewer than ``up_to`` + 1 samples.

    Raises:
        ArgumentError: times that do not increase, or a window or order that does not fit.
    """
    if window < 3 or window % 2 == 0:
        raise ArgumentError(f"expected an odd number of at least 3, got {window}", where="window", got=window)
    if not up_to <= order < window:
        raise ArgumentError(
            f"expected {up_to} to {window - 1}, got {order}",
            where="order",
            got=order,
            remedy="The order is at least that of the derivative, and less than the window.",
        )
    bad = np.flatnonzero(~(np.diff(t) > 0.0))
    if bad.size:
        k = int(bad[0])
        raise ArgumentError(
            f"times do not increase: t[{k}] = {t[k]}, t[{k + 1}] = {t[k + 1]}",
            where="t",
            got=t[k + 1],
            remedy="Sort the samples, and leave out repeated ones.",
        )
    out = np.full((up_to + 1, *x.shape), np.nan)
    for part in segments(t):
        n = part.stop - part.start
        if n > up_to:
            w = min(window, n)
            out[:, part] = _fit(t[part], x[part], w, min(order, w - 1), up_to)
    return out


def _fit(t: Array, x: Array, window: int, order: int, up_to: int) -> Array:
    n = len(t)
    out = np.empty((up_to + 1, *x.shape))
    factorial = np.cumprod([1.0, *range(1, up_to + 1)])
    powers = np.arange(order + 1)
    for start in range(0, n, _CHUNK):
        i = np.arange(start, min(start + _CHUNK, n))
        first = np.clip(i - window // 2, 0, n - window)
        near = first[:, None] + np.arange(window)
        dt = t[near] - t[i][:, None]
        scale = np.abs(dt).max(axis=1)
        A = (dt / scale[:, None])[..., None] ** powers
        weights = np.linalg.pinv(A)[:, : up_to + 1]  # rows: coefficients of the powers
        found = np.einsum("ikw,iwm->kim", weights, x[near])
        for k in range(up_to + 1):
            out[k, i] = found[k] * (factorial[k] / scale[:, None] ** k)
    return out
