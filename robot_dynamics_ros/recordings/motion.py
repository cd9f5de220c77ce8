"""From recorded positions, and velocities where they are better, to smooth positions, velocities and accelerations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.smoothing import choose_window, derivatives, segments

VELOCITIES = ("auto", "recorded", "positions")
ORDER = 4
"""Usual order of the local polynomials."""
_HIGHEST_ORDER = 10
_EDGE = 4  # the last window / 4 rows at an edge see the acceleration with several times the noise of the others
_BRIDGED = 0.25  # of the window: longer gaps part a recording
_ROUGH = 0.03  # share by which recorded velocities may differ from those of the positions
_LATE = 2e-3  # s by which they may be late


@dataclass(frozen=True, eq=False)
class SmoothMotion:
    """Positions, velocities and accelerations by local polynomials.

    Attributes:
        q, v, a: (n, nv); NaN where a stretch is too short for a polynomial.
        good: (n,) bool: rows that are far enough from the edges of a stretch for their acceleration.
        parts: stretches without gaps that are too long to be bridged.
        bridged: number of gaps of more than five usual steps within the stretches.
        window: s, of the polynomials; ``samples`` of them.
        velocity: ``"recorded"`` or ``"positions"``: what velocities and accelerations are from.
        v_error, a_error: (nv,) standard errors of velocities and accelerations, from what the polynomials leave; white
            noise taken for granted.
        notes: remarks for the reader, in sentences.
    """

    q: Array
    v: Array
    a: Array
    good: np.ndarray
    parts: tuple[slice, ...]
    bridged: int
    window: float
    samples: int
    velocity: str
    v_error: Array
    a_error: Array
    notes: tuple[str, ...] = ()


def smooth_motion(
    model: RobotModel,
    t: Array,
    q: Array,
    v: Array | None = None,
    effort: Array | None = None,
    *,
    window: float | None = None,
    order: int = ORDER,
    velocity: str = "auto",
) -> SmoothMotion:
    """Smooth and differentiate a recording.

    Gaps shorter than a quarter of the window are bridged.  Rows nearer than that to an edge are not ``good``.

    Args:
        t: (n,) increasing times, s.  q: (n, nv) positions.  v, effort: (n, nv) if recorded.
        window: s, length of the polynomials, of which at least ``order`` + 2 samples are taken; ``None``: chosen from
            the data, see :func:`~robot_dynamics_ros.recordings.smoothing.choose_window`.
        velocity: ``"recorded"``, from ``"positions"``, or ``"auto"``: recorded if they are the derivative of the
            positions and the acceleration has less noise by them.

    Raises:
        ArgumentError: a window that is no length, an order that does not fit, times that do not increase.
    """
    if velocity == "recorded" and v is None:
        raise ArgumentError("not every row holds velocities", where="velocity", remedy="Have them made from positions.")
    n = len(t)
    if window is None:
        window = choose_window(model, t, q, effort, order=order)
    if not (window > 0.0 and np.isfinite(window)):
        raise ArgumentError(f"expected a positive number of seconds, got {window!r}", where="window")
    if not 2 <= order <= _HIGHEST_ORDER:
        raise ArgumentError(
            f"expected a whole number from 2 to {_HIGHEST_ORDER}, got {order!r}",
            where="order",
            remedy="Accelerations need 2; from 6 on the polynomials follow the noise.",
        )
    step = float(np.median(np.diff(t))) if n > 1 else 1.0
    samples = max(round(window / step) if step > 0.0 else 0, order + 2) | 1
    samples = max(3, min(samples, (n - 1) | 1))
    order = min(order, samples - 1)
    bridge = _BRIDGED * samples * step
    parts = tuple(segments(t, bridge))
    x = derivatives(t, q, window=samples, order=order, up_to=2, bridge=bridge)
    notes: list[str] = []
    by_velocity = None
    if v is not None and velocity != "positions":
        by_velocity = derivatives(t, v, window=samples, order=order, up_to=1, bridge=bridge)
        if velocity == "auto":
            why = _worse(model, t, q, v, x, by_velocity, step, samples, order)
            if why:
                by_velocity = None
                notes.append(f"recorded velocities are not used: {why}")
    out = x if by_velocity is None else np.stack([x[0], *by_velocity])
    good = np.zeros(n, dtype=bool)
    for part in parts:
        length = part.stop - part.start
        edge = min(samples, length) // _EDGE
        good[part.start + edge : part.stop - edge] = True
    good &= np.isfinite(out).all(axis=(0, 2))
    return SmoothMotion(
        out[0],
        out[1],
        out[2],
        good,
        parts,
        len(segments(t)) - len(parts),
        samples * step,
        samples,
        "positions" if by_velocity is None else "recorded",
        *_errors(q if by_velocity is None else v, out, good, by_velocity is not None, step, samples, order),
        tuple(notes),
    )


def _errors(
    recorded: Array | None, out: Array, good: np.ndarray, velocities: bool, step: float, samples: int, order: int
) -> tuple[Array, Array]:
    """(nv,) each: standard errors of velocity and acceleration."""
    assert recorded is not None
    if not good.any():
        return np.full(recorded.shape[1], np.nan), np.full(recorded.shape[1], np.nan)
    free = max(samples - order - 1, 1) / samples
    noise = np.sqrt(np.mean((recorded[good] - out[1 if velocities else 0, good]) ** 2, axis=0) / free)
    gain = _gains(step, samples, order)
    return (gain[0] * noise, gain[1] * noise) if velocities else (gain[1] * noise, gain[2] * noise)


def _gains(step: float, samples: int, order: int) -> tuple[float, float, float]:
    """Standard errors of value, first and second derivative in the middle of the polynomial, of white noise of one."""
    centre = (np.arange(samples) - samples // 2) * step
    P = np.linalg.pinv((centre / centre[-1])[:, None] ** np.arange(order + 1))
    size = [float(np.linalg.norm(row)) for row in P] + [0.0, 0.0]
    return size[0], size[1] / centre[-1], 2.0 * size[2] / centre[-1] ** 2 if order > 1 else 0.0


def _worse(
    model: RobotModel, t: Array, q: Array, v: Array, x: Array, y: Array, step: float, samples: int, order: int
) -> str:
    """Why recorded velocities are worse than the derivatives of positions; empty if they are not."""
    inner = np.isfinite(x).all(axis=(0, 2)) & np.isfinite(y).all(axis=(0, 2))
    if not inner.any():
        return ""
    fitted = x[:, inner]
    for j, name in enumerate(model.joint_names):
        s, a, r = fitted[1, :, j], fitted[2, :, j], v[inner, j]
        power = float(s @ s)
        if power <= 1e-12 * len(s):
            continue
        A = np.column_stack([s, a])
        (scale, late), *_ = np.linalg.lstsq(A, r, rcond=None)
        if abs(scale - 1.0) > _ROUGH:
            return f"joint {name!r} moves {scale:.3g} times as fast by them as by its positions"
        if abs(late) > max(_LATE, step):
            return f"those of joint {name!r} are {-1e3 * late:.3g} ms late"
    # noise of the acceleration: what the polynomials leave, times what they make of white noise
    gain = _gains(step, samples, order)[1:]
    noise = [
        gain[0] * np.sqrt(np.mean((v[inner] - y[0, inner]) ** 2, axis=0)),
        gain[1] * np.sqrt(np.mean((q[inner] - fitted[0]) ** 2, axis=0)),
    ]
    smallest = 1e-9 + 1e-9 * np.abs(fitted[2]).max(axis=0)
    ratio = float(np.exp(np.mean(np.log((noise[0] + smallest) / (noise[1] + smallest)))))
    return f"accelerations have {ratio:.2g} times the noise by them" if ratio > 1.0 else ""
