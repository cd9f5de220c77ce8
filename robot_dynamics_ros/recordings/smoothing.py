"""Derivatives of recorded signals by local polynomials: Savitzky-Golay, on whatever times there are.

Source: Savitzky and Golay (1964).  On evenly spaced times the result is theirs; recorded times jitter, so the
polynomial is fitted to the times as they are.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from robot_dynamics_ros.dynamics import gravity_forces, inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

GAP = 5.0
"""Steps longer than this many median ones are gaps."""
_CHUNK = 500
#: s, lengths of the local polynomials that are tried
WINDOWS = (0.02, 0.03, 0.045, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4)
_TRIED = 120  # blocks
_ALIKE = 0.15  # of the logarithm of a joint's squared error


def require_increasing(t: Array) -> None:
    """Refuse times that do not increase; the error says where."""
    bad = np.flatnonzero(~(np.diff(t) > 0.0))
    if bad.size:
        k = int(bad[0])
        problem = f"times do not increase: t[{k}] = {t[k]}, t[{k + 1}] = {t[k + 1]}"
        raise ArgumentError(problem, where="t", remedy="Sort the samples, and leave out repeated ones.")


def segments(t: Array, bridge: float = 0.0) -> list[slice]:
    """Stretches of a recording without gaps of more than ``bridge`` s."""
    if len(t) < 3:
        return [slice(0, len(t))]
    steps = np.diff(t)
    ends = np.flatnonzero(steps > max(GAP * float(np.median(steps)), bridge)) + 1
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(t)], strict=True)]


def derivatives(t: Array, x: Array, *, window: int = 21, order: int = 3, up_to: int = 2, bridge: float = 0.0) -> Array:
    """(up_to + 1, n, m) values and derivatives of polynomials fitted to the ``window`` samples around each; NaN in stretches with
    too few samples.

    At both ends, and at those of gaps of more than ``bridge`` s, the last full window serves.

    Args:
        t: (n,) strictly increasing times.  x: (n, m) signals.
        window: number of samples, odd; fewer where a stretch is shorter.
        order: of the polynomials, less than ``window``.

    Raises:
        ArgumentError: times that do not increase, or a window or order that does not fit.
    """
    if window < 3 or window % 2 == 0:
        raise ArgumentError(f"expected an odd number of at least 3, got {window}", where="window")
    if not up_to <= order < window:
        remedy = "The order is at least that of the derivative, and less than the window."
        raise ArgumentError(f"expected {up_to} to {window - 1}, got {order}", where="order", remedy=remedy)
    require_increasing(t)
    out = np.full((up_to + 1, *x.shape), np.nan)
    for part in segments(t, bridge):
        n = part.stop - part.start
        if n > up_to:
            w = min(window, n)
            out[:, part] = _fit(t[part], x[part], w, min(order, w - 1), up_to)
    return out


def _fit(t: Array, x: Array, window: int, order: int, up_to: int, indices: np.ndarray | None = None) -> Array:
    """Values and derivatives at the samples ``at`` (all if not given) of a stretch without gaps."""
    rows = np.arange(len(t)) if indices is None else indices
    out = np.empty((up_to + 1, len(rows), *x.shape[1:]))
    times, signals = (sliding_window_view(y, window, axis=0) for y in (t, x))
    for start in range(0, len(rows), _CHUNK):
        i = rows[start : start + _CHUNK]
        first = np.clip(i - window // 2, 0, len(t) - window)
        dt = times[first] - t[i][:, None]
        scale = np.abs(dt).max(axis=1)
        dt /= scale[:, None]
        A = np.ones((len(i), order + 1, window))
        for k in range(order):
            np.multiply(A[:, k], dt, out=A[:, k + 1])
        powers = np.linalg.solve(A @ A.transpose(0, 2, 1), A @ signals[first].transpose(0, 2, 1))
        for k in range(up_to + 1):
            out[k, start : start + len(i)] = powers[:, k] * (math.factorial(k) / scale[:, None] ** k)
    return out


def choose_window(
    model: RobotModel, t: Array, q: Array, effort: Array | None = None, *, order: int = 4, block: float = 0.05
) -> float:
    """Length of the local polynomials, s, with which motion explains efforts best.

    Short polynomials leave noise in accelerations, long ones leave out motion; both show in what efforts the motion
    does not explain.  The candidates are tried on parts of the recording, each joint's effort being explained by the
    gravity, inertia and velocity terms of the model, each with a factor, and friction.

    Args:
        effort: (n, nv), or ``None``: where the spectrum of the positions (n, nv) falls to its floor of noise decides.
        block: s, over which efforts are averaged.
    """
    part = max(segments(t), key=lambda p: p.stop - p.start)
    t, q = t[part], q[part]
    n, step = len(t), float(np.median(np.diff(t[: max(len(t), 2)]))) if len(t) > 1 else 1.0
    if effort is None or model.nv == 0:
        return _by_spectrum(t, q, order)
    effort = effort[part]
    rows = max(1, round(block / step))
    count = n // rows
    tried = [w for w in WINDOWS if w >= (order + 2) * step and w <= 0.2 * (t[-1] - t[0])]
    if count < 40 or not tried:
        return max(0.1, (order + 2) * step)
    picked = np.unique(np.linspace(0, count - 1, min(count, _TRIED)).astype(int))
    indices = (picked[:, None] * rows + np.arange(rows)).reshape(-1)
    measured = effort[indices].reshape(len(picked), rows, -1).mean(axis=1)
    score = []
    for window in tried:
        samples = min(max(round(window / step), order + 2) | 1, (n - 1) | 1)
        x, v, a = _fit(t, q, samples, order, 2, indices)
        still, fast = (inverse_dynamics(model, x, w, 0.0 * a) for w in (0.0 * v, v))
        inertia = inverse_dynamics(model, x, 0.0 * v, a) - still
        terms = [gravity_forces(model, x), inertia, fast - still, a, v, np.tanh(v / 0.02), np.ones_like(v)]
        W = np.stack([np.asarray(term).reshape(len(picked), rows, -1).mean(axis=1) for term in terms], axis=-1)
        score_sum = 0.0
        for j in range(model.nv):
            A, b = W[:, j], measured[:, j]
            r = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
            score_sum += float(np.log(r @ r / len(r) + 1e-12 * (b @ b) / len(b) + 1e-300))
        score.append(score_sum)
    # the shortest of those that are about as good: a long polynomial flattens what the others leave to see
    return next(w for w, x in zip(tried, score, strict=True) if x <= min(score) + _ALIKE * model.nv)


def _by_spectrum(t: Array, x: Array, order: int) -> float:
    """Where the spectrum falls to its floor of noise lies the cut-off.

    Source: Schafer, IEEE Signal Processing Magazine 28(4), 2011 (cut-off of Savitzky-Golay filters).
    """
    from scipy.signal import welch

    n = len(t)
    step = float((t[-1] - t[0]) / max(n - 1, 1))
    if n < 64 or not step > 0.0:
        return WINDOWS[-1] if step <= 0.0 else float(np.clip((order + 2) * step, WINDOWS[0], WINDOWS[-1]))
    grid = t[0] + step * np.arange(n)
    cutoffs = []
    for signal in x.T:
        regular = np.interp(grid, t, signal)
        regular = np.diff(regular, 2)  # a spectrum without the slope that leaks everywhere
        frequency, power = welch(regular, 1.0 / step, nperseg=min(n - 2, max(64, 1 << round(np.log2(2.0 / step)))))
        gain = np.maximum(2.0 * np.sin(np.pi * np.maximum(frequency, 1e-9) * step), 1e-9) ** 4
        power = power / gain  # of the signal itself
        floor = float(np.median(power[frequency > 0.5 * frequency[-1]]))
        if not power[1:].max(initial=0.0) > 0.0:
            continue  # it stands
        noise = np.flatnonzero(power[1:] <= 3.0 * floor)
        cutoffs.append(float(frequency[1 + int(noise[0])]) if noise.size else float(frequency[-1]))
    if not cutoffs:
        return WINDOWS[-1]
    cutoff = max(float(np.median(cutoffs)), 1e-9)
    return float(np.clip((order + 1) / (3.2 * cutoff), WINDOWS[0], WINDOWS[-1]))
