"""Recorded motion and efforts, turned into the rows of a regression.

Positions are smoothed and differentiated by local polynomials.  Rows of the regressor and efforts are then averaged
over blocks, both alike, so that white noise of the efforts stays white from block to block and nothing is delayed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.columns import Columns
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.smoothing import derivatives, segments

__all__ = ["Blocks", "Motion", "blocks"]

_CHUNK = 4000


@dataclass(frozen=True, eq=False)
class Motion:
    """Smoothed motion at the times of the samples.

    Attributes:
        t: (n,) s.
        q, v, a: (n, nv) position, velocity, acceleration.
        effort: (n, nv) as recorded.
        parts: stretches without gaps.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    effort: Array
    parts: tuple[slice, ...]

    @classmethod
    def of(cls, model: RobotModel, t: Any, q: Any, effort: Any, *, window: float = 0.1, order: int = 4) -> Motion:
        """Smooth and differentiate.

        Args:
            t: (n,) increasing times, s.
            q, effort: (n, nv) recorded positions and motor efforts.
            window: s, length of the local polynomials; at least ``order`` + 2 samples are taken.
            order: of the polynomials.

        Raises:
            ArgumentError: wrong shapes, values not finite, times not increasing, fewer than 20 samples.
        """
        t, q, effort = (np.asarray(x, dtype=np.float64) for x in (t, q, effort))
        n = len(t) if t.ndim == 1 else -1
        for name, array, shape in (("t", t, (n,)), ("q", q, (n, model.nv)), ("effort", effort, (n, model.nv))):
            if array.shape != shape or n < 0:
                wanted = "(n,)" if name == "t" else f"(n, {model.nv})"
                raise ArgumentError(
                    f"expected {wanted}, got {array.shape}",
                    where=name,
                    got=array.shape,
                    remedy="One row a sample, one column a joint, in the order of joint_names.",
                )
            bad = ~np.isfinite(array)
            if bad.any():
                row = int(np.argwhere(bad)[0][0])
                raise ArgumentError(
                    f"row {row} is not finite", where=name, got=array[row], remedy="Leave such rows out."
                )
        if n < 20:
            raise ArgumentError(
                f"{n} samples are too few", where="t", got=n, remedy="Record some tens of seconds of motion."
            )
        if not (window > 0.0 and np.isfinite(window)):
            raise ArgumentError(f"expected a positive number of seconds, got {window!r}", where="window", got=window)
        step = float(np.median(np.diff(t)))
        samples = max(round(window / step) if step > 0.0 else 0, order + 2) | 1
        smooth = derivatives(t, q, window=min(samples, (n - 1) | 1), order=order, up_to=2)
        parts = tuple(p for p in segments(t) if p.stop - p.start > 2 * (order + 2))
        if not parts:
            raise ArgumentError("there is no stretch without gaps", where="t", remedy="Record at a steady rate.")
        return cls(t, smooth[0], smooth[1], smooth[2], effort, parts)

    @property
    def step(self) -> float:
        """Usual time between two samples, s."""
        return float(np.median(np.diff(self.t)))

    def states(self, part: slice, delay: float) -> tuple[Array, Array, Array]:
        """(m, nv) position, velocity and acceleration ``delay`` s before the samples of a stretch."""
        q, v, a = self.q[part], self.v[part], self.a[part]
        if delay == 0.0:
            return q, v, a
        from scipy.interpolate import CubicHermiteSpline, interp1d

        t = self.t[part]
        at = np.clip(t - delay, t[0], t[-1])
        return CubicHermiteSpline(t, q, v)(at), CubicHermiteSpline(t, v, a)(at), interp1d(t, a, axis=0)(at)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of the regression, averaged.

    Attributes:
        Y: (m, nv, p) regressor of all columns.
        effort: (m, nv) efforts, less those that are known.
        use: (m, nv) False where a joint was too slow for its friction to be a function of its speed.
        v: (m, nv) mean velocity.
        part: (m,) number of the stretch each block is from.
    """

    Y: Array
    effort: Array
    use: NDArray[np.bool_]
    v: Array
    part: NDArray[np.int64]


def blocks(columns: Columns, motion: Motion, *, length: float = 0.05, slow: Array, delay: float = 0.0) -> Blocks:
    """Average over blocks.

    Args:
        length: of a block, s.
        slow: (nv,) speed below which dry friction may hold a joint: blocks with such samples are not used for it.
        delay: s, how late the recorded efforts are.
    """
    D = max(1, round(length / motion.step))
    Ys, taus, uses, vs, parts = [], [], [], [], []
    for number, part in enumerate(motion.parts):
        q, v, a = motion.states(part, delay)
        tau = motion.effort[part] - columns.known(v, a)
        count = len(q) // D
        per = max(1, _CHUNK // D)
        for first in range(0, count, per):
            m = min(per, count - first)
            rows = slice(first * D, (first + m) * D)
            Y = columns.regressor(q[rows], v[rows], a[rows])
            Ys.append(Y.reshape(m, D, *Y.shape[1:]).mean(axis=1))
        rows = slice(0, count * D)
        taus.append(tau[rows].reshape(count, D, -1).mean(axis=1))
        speed = v[rows].reshape(count, D, -1)
        steady = (np.abs(speed) >= slow).all(axis=1) & (np.sign(speed) == np.sign(speed[:, :1])).all(axis=1)
        uses.append(steady | (slow == 0.0))
        vs.append(speed.mean(axis=1))
        parts.append(np.full(count, number))
    return Blocks(*(np.concatenate(x) for x in (Ys, taus, uses, vs, parts)))
