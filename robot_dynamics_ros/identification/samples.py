"""Recorded motion and efforts, turned into the rows of a regression.

Positions are smoothed and differentiated by local polynomials.  Rows of the regressor and efforts are then averaged
over blocks, both alike, so that white noise of the efforts stays white from block to block and nothing is delayed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.dynamics import joint_torque_regressor
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.smoothing import choose_window, derivatives, segments

__all__ = ["Blocks", "Motion", "blocks"]

_CHUNK = 1000


@dataclass(frozen=True, eq=False)
class Motion:
    """Smoothed motion at the times of the samples, without the stretches that are too short for a polynomial.

    Attributes:
        t: (n,) s.
        q, v, a: (n, nv) position, velocity, acceleration.
        effort: (n, nv) as recorded.
        parts: stretches without gaps.
        samples: number of samples in a local polynomial.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    effort: Array
    parts: tuple[slice, ...]
    samples: int = 0

    @classmethod
    def of(
        cls, model: RobotModel, t: Any, q: Any, effort: Any, *, window: float | None = None, order: int = 4
    ) -> Motion:
        """Smooth and differentiate.

        Args:
            t: (n,) increasing times, s.
            q, effort: (n, nv) recorded positions and motor efforts.
            window: s, length of the local polynomials, of which at least ``order`` + 2 samples are taken; ``None``:
                chosen from the data.
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
        if window is None:
            window = choose_window(model, t, q, effort, order=order)
        if not (window > 0.0 and np.isfinite(window)):
            raise ArgumentError(f"expected a positive number of seconds, got {window!r}", where="window", got=window)
        step = float(np.median(np.diff(t)))
        samples = max(round(window / step) if step > 0.0 else 0, order + 2) | 1
        samples = min(samples, (n - 1) | 1)
        q, v, a = derivatives(t, q, window=samples, order=order, up_to=2)
        long = [p for p in segments(t) if p.stop - p.start > 2 * (order + 2)]
        if not long:
            raise ArgumentError("there is no stretch without gaps", where="t", remedy="Record at a steady rate.")
        rows = np.concatenate([np.arange(p.start, p.stop) for p in long])
        ends = np.cumsum([p.stop - p.start for p in long])
        parts = tuple(slice(int(end) - (p.stop - p.start), int(end)) for p, end in zip(long, ends, strict=True))
        return cls(t[rows], q[rows], v[rows], a[rows], effort[rows], parts, samples)

    @property
    def step(self) -> float:
        """Usual time between two samples, s."""
        return float(np.median(np.diff(self.t)))

    def earlier(self, delay: float) -> Motion:
        """The same efforts with the motion ``delay`` s before them."""
        if delay == 0.0:
            return self
        from scipy.interpolate import CubicHermiteSpline, interp1d

        q, v, a = (np.array(x) for x in (self.q, self.v, self.a))
        for part in self.parts:
            t = self.t[part]
            at = np.clip(t - delay, t[0], t[-1])
            q[part] = CubicHermiteSpline(t, self.q[part], self.v[part])(at)
            v[part] = CubicHermiteSpline(t, self.v[part], self.a[part])(at)
            a[part] = interp1d(t, self.a[part], axis=0)(at)
        return Motion(self.t, q, v, a, self.effort, self.parts, self.samples)

    def mean(self, x: Array, length: float) -> Array:
        """(m, ...) averages of (n, ...) rows over blocks of ``length`` s; a stretch's last rows that fill no block are
        left out."""
        D = self._rows(length)
        parts = [x[p.start : p.start + (p.stop - p.start) // D * D] for p in self.parts]
        return np.concatenate([rows.reshape(-1, D, *x.shape[1:]).mean(axis=1) for rows in parts])

    def block_parts(self, length: float) -> NDArray[np.int64]:
        """(m,) number of the stretch each block is from."""
        D = self._rows(length)
        return np.repeat(np.arange(len(self.parts)), [(p.stop - p.start) // D for p in self.parts])

    def _rows(self, length: float) -> int:
        return max(1, round(length / self.step))

    def mean_regressor(self, model: RobotModel, length: float) -> Array:
        """(m, nv, 10 nb) block averages of the regressor of the bodies."""
        D = self._rows(length)
        out = []
        for part in self.parts:
            count = (part.stop - part.start) // D
            per = max(1, _CHUNK // D)
            for first in range(0, count, per):
                rows = slice(part.start + first * D, part.start + min(first + per, count) * D)
                Y = np.asarray(joint_torque_regressor(model, self.q[rows], self.v[rows], self.a[rows]))
                out.append(Y.reshape(-1, D, *Y.shape[1:]).mean(axis=1))
        return np.concatenate(out)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of the regression, averaged.

    Attributes:
        Y: (m, nv, p) regressor of all parameters.
        effort: (m, nv) efforts, less those that are known.
        use: (m, nv) False where a joint stood, or was too slow for its friction to be a function of its motion.
        v: (m, nv) mean velocity.
        part: (m,) number of the stretch each block is from.
    """

    Y: Array
    effort: Array
    use: NDArray[np.bool_]
    v: Array
    part: NDArray[np.int64]

    def with_parameters(self, parameters: EffortParameters, motion: Motion, length: float) -> Blocks:
        """The same blocks with other columns for the joints; ``motion`` is the one that they were made from."""
        bodies = self.Y[..., parameters.bodies]
        joints = motion.mean(parameters.joint_columns(motion.q, motion.v, motion.a, motion.parts), length)
        return dataclasses.replace(self, Y=np.concatenate([bodies, joints], axis=-1))


def blocks(parameters: EffortParameters, motion: Motion, *, length: float = 0.05, slow: Array) -> Blocks:
    """Average over blocks.

    Args:
        length: of a block, s.
        slow: (nv,) rad/s or m/s; a joint's block is left out if it is slower than this half of the time.
    """
    bodies = motion.mean_regressor(parameters.model, length)
    joints = motion.mean(parameters.joint_columns(motion.q, motion.v, motion.a, motion.parts), length)
    still = motion.mean((np.abs(motion.v) < slow).astype(np.float64), length)
    return Blocks(
        np.concatenate([bodies, joints], axis=-1),
        motion.mean(motion.effort - parameters.known(motion.v, motion.a), length),
        still <= 0.5,
        motion.mean(motion.v, length),
        motion.block_parts(length),
    )
