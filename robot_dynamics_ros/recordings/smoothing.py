"""Derivatives of recorded signals by local polynomials: Savitzky-Golay, on whatever times there
are.

Source: Savitzky and Golay (1964). On evenly spaced times the result is theirs; recorded times
jitter, so the polynomial is fitted to the times as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from robot_dynamics_ros.dynamics import gravity_forces, inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect

VELOCITIES = ("auto", "recorded", "positions")
POLYNOMIAL_ORDER = 4
"""Usual order of the local polynomials."""
HIGHEST_ORDER = 9
"""Beyond it the equations of a fit have no accurate solution in double precision."""
_HIGHEST_ORDER = 10
# the last window / 4 rows at an edge see the acceleration with several times the noise of the
# others
_EDGE = 4
# Gaps longer than this share of the window part a recording.
_BRIDGED = 0.25
# Share by which recorded velocities may differ from those of the positions.
_ROUGH = 0.03
# s by which they may be late.
_LATEST_SAMPLE_S = 2e-3
GAP_STEPS = 5.0
"""Steps longer than this many median ones are gaps."""
# Rows whose polynomials are fitted together: more of them fill the processor's caches.
_SMOOTHED_ROWS_AT_ONCE = 500
# s, lengths of the local polynomials that are tried
WINDOWS = (0.02, 0.03, 0.045, 0.07, 0.1, 0.14, 0.2, 0.28, 0.4)
# Blocks of efforts that a window is judged by: more take longer and choose the same.
_TRIED = 120
# s of one block, over which efforts are averaged: the same as in identification.
_SMOOTHING_BLOCK_S = 0.05
# Windows are about as good if the logarithm of a joint's squared error is larger by less than
# this; the shortest of them is taken.
_ALIKE_LOG_ERROR = 0.15


def require_increasing(t: Array) -> None:
    """Refuse times that do not increase; the error says where."""
    bad = np.flatnonzero(~(np.diff(t) > 0.0))
    if bad.size:
        k = int(bad[0])
        problem = f"times do not increase: t[{k}] = {t[k]}, t[{k + 1}] = {t[k + 1]}"
        raise ArgumentError(
            problem, where="t", remedy="Sort the samples, and leave out repeated ones."
        )


def segments(t: Array, bridge: float = 0.0) -> list[slice]:
    """Stretches of a recording without gaps of more than ``bridge`` s."""
    if len(t) < 3:
        return [slice(0, len(t))]
    steps = np.diff(t)
    ends = np.flatnonzero(steps > max(GAP_STEPS * float(np.median(steps)), bridge)) + 1
    return [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(t)], strict=True)]


def derivatives(
    t: Array,
    x: Array,
    *,
    window: int = 21,
    order: int = 3,
    up_to: int = 2,
    bridge: float = 0.0,
) -> Array:
    """(up_to + 1, n, m) values and derivatives of polynomials fitted to the ``window`` samples
    around each; NaN in stretches with too few samples.

    At both ends, and at those of gaps of more than ``bridge`` s, the last full window serves.

    Args:
        t: (n,) strictly increasing times.  x: (n, m) signals.
        window: number of samples, odd; fewer where a stretch is shorter.
        order: of the polynomials, at least ``up_to`` and less than ``window``.

    Raises:
        ArgumentError: times that do not increase.
    """
    require_increasing(t)
    check_order(order, up_to)
    out = np.full((up_to + 1, *x.shape), np.nan)
    for part in segments(t, bridge):
        n = part.stop - part.start
        if n > up_to:
            w = min(window, n)
            out[:, part] = _fit(t[part], x[part], w, min(order, w - 1), up_to)
    return out


def check_order(order: int, least: int = 2) -> None:
    """Refuse an order of local polynomials that has no derivatives, or amplifies noise alone."""
    if not least <= order <= HIGHEST_ORDER:
        raise ArgumentError(
            f"expected {least} to {HIGHEST_ORDER}",
            where="order",
            got=order,
            remedy="3 or 4 are usual: polynomials of higher order follow the noise.",
        )


def _fit(
    t: Array,
    x: Array,
    window: int,
    order: int,
    up_to: int,
    indices: np.ndarray | None = None,
) -> Array:
    """Values and derivatives at some samples (all if not given) of a stretch without gaps."""
    rows = np.arange(len(t)) if indices is None else indices
    out = np.empty((up_to + 1, len(rows), *x.shape[1:]))
    times, signals = (sliding_window_view(y, window, axis=0) for y in (t, x))
    for start in range(0, len(rows), _SMOOTHED_ROWS_AT_ONCE):
        i = rows[start : start + _SMOOTHED_ROWS_AT_ONCE]
        first = np.clip(i - window // 2, 0, len(t) - window)
        dt = times[first] - t[i][:, None]
        scale = np.abs(dt).max(axis=1)
        dt /= scale[:, None]
        A = np.ones((len(i), order + 1, window))
        for k in range(order):
            np.multiply(A[:, k], dt, out=A[:, k + 1])
        powers = np.linalg.solve(A @ A.transpose(0, 2, 1), A @ signals[first].transpose(0, 2, 1))
        for k in range(up_to + 1):
            out[k, start : start + len(i)] = powers[:, k] * (
                math.factorial(k) / scale[:, None] ** k
            )
    return out


def choose_window(
    model: RobotModel,
    t: Array,
    q: Array,
    effort: Array | None = None,
    *,
    order: int = POLYNOMIAL_ORDER,
) -> float:
    """Length of the local polynomials, s, with which motion explains efforts best.

    Short polynomials leave noise in accelerations, long ones leave out motion; both show in what
    efforts the motion does not explain.  The candidates are tried on parts of the recording, each
    joint's effort being explained by the gravity, inertia and velocity terms of the model, each
    with a factor, and friction.

    Args:
        effort: (n, nv), or ``None``: where the spectrum of the positions (n, nv) falls to its floor
            of noise decides.
    """
    part = max(segments(t), key=lambda p: p.stop - p.start)
    t = t[part]
    q = q[part]
    n = len(t)
    if len(t) > 1:
        step = float(np.median(np.diff(t[: max(len(t), 2)])))
    else:
        step = 1.0
    if effort is None or model.nv == 0:
        return _by_spectrum(t, q, order)
    effort = effort[part]
    rows = max(1, round(_SMOOTHING_BLOCK_S / step))
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
        terms = [
            gravity_forces(model, x),
            inertia,
            fast - still,
            a,
            v,
            np.tanh(v / 0.02),
            np.ones_like(v),
        ]
        W = np.stack(
            [np.asarray(term).reshape(len(picked), rows, -1).mean(axis=1) for term in terms],
            axis=-1,
        )
        total = 0.0
        for A, b in zip(W.transpose(1, 0, 2), measured.T, strict=True):
            r = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
            total += float(np.log(r @ r / len(r) + 1e-12 * (b @ b) / len(b) + 1e-300))
        score.append(total)
    # the shortest of those that are about as good: a long polynomial flattens what the others leave
    # to see
    return next(
        w
        for w, x in zip(tried, score, strict=True)
        if x <= min(score) + _ALIKE_LOG_ERROR * model.nv
    )


def _by_spectrum(t: Array, x: Array, order: int) -> float:
    """Where the spectrum falls to its floor of noise lies the cut-off.

    Source: Schafer, IEEE Signal Processing Magazine 28(4), 2011 (cut-off of Savitzky-Golay
    filters).
    """
    from scipy.signal import welch

    n = len(t)
    step = float((t[-1] - t[0]) / max(n - 1, 1))
    if n < 64 or not step > 0.0:
        if step <= 0.0:
            return WINDOWS[-1]
        return float(np.clip((order + 2) * step, WINDOWS[0], WINDOWS[-1]))
    grid = t[0] + step * np.arange(n)
    cutoffs = []
    for signal in x.T:
        regular = np.interp(grid, t, signal)
        # a spectrum without the slope that leaks everywhere
        regular = np.diff(regular, 2)
        # some two seconds, a power of two
        samples = max(64, 1 << round(np.log2(2.0 / step)))
        frequency, power = welch(regular, 1.0 / step, nperseg=min(n - 2, samples))
        gain = np.maximum(2.0 * np.sin(np.pi * np.maximum(frequency, 1e-9) * step), 1e-9) ** 4
        # of the signal itself
        power = power / gain
        floor = float(np.median(power[frequency > 0.5 * frequency[-1]]))
        if not power[1:].max(initial=0.0) > 0.0:
            # it stands
            continue
        # the first frequency at which there is noise alone
        noise = np.flatnonzero(power[1:] <= 3.0 * floor)
        first = 1 + int(noise[0]) if noise.size else -1
        cutoffs.append(float(frequency[first]))
    if not cutoffs:
        return WINDOWS[-1]
    cutoff = max(float(np.median(cutoffs)), 1e-9)
    return float(np.clip((order + 1) / (3.2 * cutoff), WINDOWS[0], WINDOWS[-1]))


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """Positions, velocities and accelerations by local polynomials."""

    # (n, nv), as v and a; NaN where a stretch is too short for a polynomial
    q: Array
    v: Array
    a: Array
    # (n,) bool: rows that are far enough from the edges of a stretch for their acceleration
    good: np.ndarray
    # stretches without gaps that are too long to be bridged
    parts: tuple[slice, ...]
    # gaps of more than five usual steps within the stretches
    bridged: int
    # s, of the polynomials
    window: float
    # of one polynomial
    samples: int
    # "recorded" or "positions": what velocities and accelerations are from
    velocity: str
    # (nv,) standard errors, from what the polynomials leave, taken for white noise
    v_error: Array
    a_error: Array
    # remarks for the reader, in sentences
    notes: tuple[str, ...]


def _check_polynomials(window: float, order: int) -> None:
    good = window > 0.0 and math.isfinite(window)
    expect(good, "a positive number of seconds", window, "window", "")
    remedy = "Accelerations need 2; from 6 on the polynomials follow the noise."
    words = f"a whole number from 2 to {_HIGHEST_ORDER}"
    expect(2 <= order <= _HIGHEST_ORDER, words, order, "order", remedy)


def smooth_motion(
    model: RobotModel,
    t: Array,
    q: Array,
    v: Array | None = None,
    effort: Array | None = None,
    *,
    window: float | None = None,
    order: int = POLYNOMIAL_ORDER,
    velocity: str = "auto",
) -> SmoothMotion:
    """Smooth and differentiate a recording.

    Gaps shorter than a quarter of the window are bridged.  Rows nearer than that to an edge are not
    ``good``.

    Args:
        t: (n,) increasing times, s.  q: (n, nv) positions.  v, effort: (n, nv) if recorded.
        window: s, length of the polynomials, of which at least ``order`` + 2 samples are taken;
            ``None``: :func:`~robot_dynamics_ros.recordings.smoothing.choose_window` chooses it from
            the data.
        velocity: ``"recorded"``, from ``"positions"``, or ``"auto"``: recorded if they are the
            derivative of the positions and the acceleration has less noise by them.
    """
    if velocity == "recorded" and v is None:
        remedy = "Have them made from positions."
        raise ArgumentError("not every row holds velocities", where="velocity", remedy=remedy)
    n = len(t)
    if window is None:
        window = choose_window(model, t, q, effort, order=order)
    _check_polynomials(window, order)
    step = float(np.median(np.diff(t))) if n > 1 else 1.0
    samples = max(round(window / step) if step > 0.0 else 0, order + 2) | 1
    samples = max(3, min(samples, (n - 1) | 1))
    order = min(order, samples - 1)
    bridge = _BRIDGED * samples * step
    parts = tuple(segments(t, bridge))
    x = derivatives(t, q, window=samples, order=order, up_to=2, bridge=bridge)
    notes = list[str]()
    by_velocity = None
    remaining = q - x[0]
    gains = _gains(step, samples, order)[1:]
    if v is not None and velocity != "positions":
        polynomials = derivatives(t, v, window=samples, order=order, up_to=order, bridge=bridge)
        late = 0.0
        if velocity == "auto":
            late = _lateness(x, polynomials, step, samples)
        by_velocity = _earlier(polynomials, late)
        noise = np.stack([v - polynomials[0], remaining])
        own = _gains(step, samples, order, late)[:2]
        why = ""
        if velocity == "auto":
            why = _worse(model, x, by_velocity, noise, (own[1], gains[1]), step)
        if why:
            by_velocity = None
            notes.append(f"recorded velocities are not used: {why}")
        else:
            remaining = noise[0]
            gains = own
            if late:
                how = f"{1e3 * late:.3g} ms late"
                notes.append(f"recorded velocities are {how}: they are taken that much earlier")
    out = x
    source = "positions"
    if by_velocity is not None:
        out = np.stack([x[0], *by_velocity])
        source = "recorded"
    good = np.zeros(n, dtype=bool)
    for part in parts:
        edge = min(samples, part.stop - part.start) // _EDGE
        good[part.start + edge : part.stop - edge] = True
    good &= np.isfinite(out).all(axis=(0, 2))
    free = max(samples - order - 1, 1) / samples
    if good.any():
        noise = np.sqrt(np.mean(remaining[good] ** 2, axis=0) / free)
    else:
        noise = np.full(q.shape[1], np.nan)
    q, v, a = out
    bridged = len(segments(t)) - len(parts)
    errors = (gains[0] * noise, gains[1] * noise)
    return SmoothMotion(
        q, v, a, good, parts, bridged, samples * step, samples, source, *errors, tuple(notes)
    )


def _gains(
    step: float,
    samples: int,
    order: int,
    late: float = 0.0,
) -> tuple[float, float, float]:
    """Standard errors of value, first and second derivative of the polynomial ``late`` s after its
    middle, of white noise of one.
    """
    apart = (np.arange(samples) - samples // 2) * step - late
    scale = float(np.abs(apart).max())
    P = np.linalg.pinv((apart / scale)[:, None] ** np.arange(order + 1))
    size = [float(np.linalg.norm(row)) for row in P] + [0.0, 0.0]
    return size[0], size[1] / scale, 2.0 * size[2] / scale**2 if order > 1 else 0.0


def _against_positions(x: Array, v: Array) -> tuple[Array, Array]:
    """(nv,) each: times as fast, and s by how much later, a joint moves by velocities (n, nv) than
    by positions and their derivatives ``x`` (3, n, nv); NaN where it stands.
    """
    fitted = np.isfinite(x).all(axis=(0, 2))
    out = np.full((2, v.shape[1]), np.nan)
    for j in range(v.shape[1]):
        A = x[1:, fitted, j].T
        if A[:, 0] @ A[:, 0] > 1e-12 * len(A):
            out[:, j] = np.linalg.lstsq(A, v[fitted, j], rcond=None)[0]
    return out[0], -out[1]


def _lateness(x: Array, y: Array, step: float, samples: int) -> float:
    """s by which the velocities of most joints are late, as after a filter; 0 if that is too little
    to tell, or too much; of polynomials (k, n, nv) of positions and of velocities, with their
    derivatives.
    """
    late = 0.0
    for _ in range(3):
        more = _against_positions(x, _earlier(y, late)[0])[1]
        late += float(np.nanmedian(more)) if np.isfinite(more).any() else 0.0
    if max(_LATEST_SAMPLE_S, step) < abs(late) <= samples * step / _EDGE:
        return late
    return 0.0


def _earlier(y: Array, late: float) -> Array:
    """(2, n, nv) values and first derivatives of polynomials (k, n, nv) ``late`` s after each
    row.
    """
    factors = np.array([late**k / math.factorial(k) for k in range(len(y))])
    return np.stack([np.tensordot(factors[: len(y) - d], y[d:], 1) for d in (0, 1)])


def _worse(
    model: RobotModel,
    x: Array,
    y: Array,
    remaining: Array,
    gains: tuple[float, float],
    step: float,
) -> str:
    """Why recorded velocities are worse than the derivatives of positions; empty if they are not;
    ``x, y`` see :func:`_lateness`, and what polynomials leave of both, (2, n, nv), and make of
    white noise of both in the acceleration.
    """
    inner = np.isfinite(x).all(axis=(0, 2)) & np.isfinite(y).all(axis=(0, 2))
    if not inner.any():
        return ""
    for name, scale, late in zip(
        model.joint_names, *_against_positions(x[:, inner], y[0, inner]), strict=True
    ):
        if abs(scale - 1.0) > _ROUGH:
            return f"joint {name!r} moves {scale:.3g} times as fast by them as by its positions"
        if abs(late) > max(_LATEST_SAMPLE_S, step):
            return f"those of joint {name!r} are {1e3 * late:.3g} ms late"
    noise = np.array(gains)[:, None] * np.sqrt(np.mean(remaining[:, inner] ** 2, axis=1))
    smallest = 1e-9 + 1e-9 * np.abs(x[2, inner]).max(axis=0)
    ratio = float(np.exp(np.mean(np.log((noise[0] + smallest) / (noise[1] + smallest)))))
    if ratio > 1.0:
        return f"accelerations have {ratio:.2g} times the noise by them"
    return ""
