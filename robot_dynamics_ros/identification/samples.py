"""Recorded motion and efforts, turned into the rows of a regression.

Positions are smoothed and differentiated by local polynomials.  Rows of the regressor and efforts
are then averaged over blocks, both alike, so that white noise of the efforts stays white from block
to block and nothing is delayed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robot_dynamics_ros.dynamics import joint_torque_regressor
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.damage import copied_efforts, runs, unusable_efforts
from robot_dynamics_ros.recordings.plausible_motion import check_motion
from robot_dynamics_ros.recordings.recording import Recording, require_fast_enough
from robot_dynamics_ros.recordings.smoothing import (
    POLYNOMIAL_ORDER,
    derivatives,
    require_increasing,
    smooth_motion,
)
from robot_dynamics_ros.workers import Workers, run_tasks

# of the usual smoothing speed of friction: a joint that is slower stands
STILL_SMOOTHINGS = 0.2
_SAMPLES_AT_ONCE = 1000
# share by which efforts of all joints differ from velocities, if they are such
_ALIKE = 0.1


def _not_efforts(copied: Sequence[str]) -> ArgumentError:
    problem = f"this is another quantity: the column of {', that of '.join(copied)}"
    remedy = (
        "Record efforts, or name their columns; lock a joint that does not matter: --lock JOINT."
    )
    return ArgumentError(problem, where="effort", remedy=remedy)


@dataclass(frozen=True, eq=False)
class MotionSamples:
    """Smoothed motion at the times of the samples, without the rows whose acceleration cannot be
    relied on.
    """

    # (n,) s, increasing within a stretch
    t: Array
    # (n, nv), as velocities and accelerations
    q: Array
    v: Array
    a: Array
    # (n, nv) as recorded
    effort: Array
    # stretches without gaps
    parts: tuple[slice, ...]
    # s, length of the local polynomials
    window: float
    # what was done to the recording, in sentences
    notes: tuple[str, ...]
    # (n, nv) efforts that were not measured, as frozen and clipped ones
    unusable: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        model: RobotModel,
        t: ArrayLike,
        q: ArrayLike,
        effort: ArrayLike,
        v: ArrayLike | None = None,
        *,
        window: float | None = None,
        check: bool = False,
    ) -> MotionSamples:
        """Smooth and differentiate, see
        :func:`~robot_dynamics_ros.recordings.smoothing.smooth_motion`; ``check`` whether the robot
        can have these positions.

        Raises:
            ArgumentError: wrong shapes, values not finite, times not increasing, fewer than 20
                samples.
            Implausible: positions that the robot cannot have.
        """
        nv = model.nv
        t = as_input(t, (), "t")
        q = as_input(q, (nv,), "q")
        effort = as_input(effort, (nv,), "effort")
        if v is None:
            velocity = None
        else:
            velocity = as_input(v, (nv,), "v")
        for where, array in (("q", q), ("effort", effort), ("v", velocity)):
            if array is not None and (t.ndim != 1 or array.shape != (len(t), nv)):
                problem = f"expected (n,) times and (n, {nv}), got {t.shape} and {array.shape}"
                remedy = "One row a sample, one column a joint, in the order of joint_names."
                raise ArgumentError(problem, where=where, remedy=remedy)
        if len(t) < 20:
            remedy = "Record some tens of seconds of motion."
            raise ArgumentError(f"{len(t)} samples are too few", where="t", remedy=remedy)
        require_increasing(t)
        require_fast_enough(t)
        if check:
            check_motion(model, t, q, velocity)
        unusable, damaged, constant = unusable_efforts(t, q, effort, model.joint_names)
        if constant:
            problem = f"the effort of {', '.join(constant)} is constant while the joint moves"
            remedy = "Record it, or lock the joint if it does not matter: --lock JOINT."
            raise ArgumentError(problem, where="effort", remedy=remedy)
        if velocity is None:
            others = {"position": q}
        else:
            others = {"position": q, "velocity": velocity}
        if copied := copied_efforts(effort, others, model.joint_names):
            raise _not_efforts(copied)
        smooth = smooth_motion(model, t, q, velocity, effort, window=window)
        kept = []
        for part in smooth.parts:
            kept += [slice(part.start + a, part.start + b) for a, b in runs(smooth.good[part])]
        long = [p for p in kept if p.stop - p.start > 2 * (POLYNOMIAL_ORDER + 2)]
        if not long:
            raise ArgumentError(
                "there is no stretch without gaps", where="t", remedy="Record at a steady rate."
            )
        rows = np.concatenate([np.arange(p.start, p.stop) for p in long])
        alike = copied_efforts(
            effort[rows], {"velocity": smooth.v[rows]}, model.joint_names, _ALIKE
        )
        if len(alike) >= model.nv:
            raise _not_efforts(alike)
        ends = np.cumsum([p.stop - p.start for p in long])
        parts = tuple(
            slice(int(end) - (p.stop - p.start), int(end))
            for p, end in zip(long, ends, strict=True)
        )
        notes = [*damaged, *smooth.notes]
        notes += [f"short gaps bridged: {smooth.bridged}"] if smooth.bridged else []
        notes += (
            [f"longer gaps left open: {len(smooth.parts) - 1}"] if len(smooth.parts) > 1 else []
        )
        states = t[rows], smooth.q[rows], smooth.v[rows], smooth.a[rows], effort[rows]
        return cls(*states, parts, smooth.window, tuple(notes), unusable[rows])

    @classmethod
    def of_recordings(
        cls,
        model: RobotModel,
        recordings: Sequence[Recording],
        *,
        window: float | None = None,
        check: bool = False,
        workers: Workers = None,
    ) -> MotionSamples:
        """One motion of several recordings, each a stretch or several of its own; ``workers``
        smooth them side by side.

        Raises:
            ArgumentError: none, one without efforts, or one that :meth:`of` refuses.
        """
        for recording in recordings:
            if recording.effort is None:
                problem = "not every row has the efforts of all joints"
                remedy = "Identification needs measured motor efforts beside the positions."
                raise ArgumentError(problem, where=recording.source, remedy=remedy)
        if not recordings:
            raise ArgumentError("expected at least one", where="recordings")
        motion_of = partial(_motion_of, model, window, check)
        motions = run_tasks(motion_of, recordings, workers if len(recordings) > 1 else None)
        if len(motions) == 1:
            return motions[0]
        notes: list[str] = []
        for r, m in zip(recordings, motions, strict=True):
            notes += [f"{r.source}: {note}" for note in m.notes]
        return dataclasses.replace(cls.joined(motions), notes=tuple(notes))

    @classmethod
    def joined(cls, motions: Sequence[MotionSamples]) -> MotionSamples:
        """Motions one after another, without their notes; smoothed as the longest of them."""
        starts = np.cumsum([0, *(len(m.t) for m in motions)])
        parts = tuple(
            slice(p.start + k, p.stop + k)
            for m, k in zip(motions, starts, strict=False)
            for p in m.parts
        )
        window = max(motions, key=lambda m: len(m.t)).window
        rows = {
            x: np.concatenate([getattr(m, x) for m in motions])
            for x in ("t", "q", "v", "a", "effort", "unusable")
        }
        return cls(**rows, parts=parts, window=window, notes=())

    @property
    def duration(self) -> float:
        """s in all stretches."""
        return float(sum(self.t[p.stop - 1] - self.t[p.start] for p in self.parts))

    def smoothed(self, x: Array, window: float = 0.0, up_to: int = 1) -> Array:
        """(up_to + 1, n, ...) a signal (n, ...) and its derivatives, by polynomials over ``window``
        s or as long as those of the motion.
        """
        out = np.full((up_to + 1, *x.shape), np.nan)
        window = max(window, self.window)
        for part in self.parts:
            n = part.stop - part.start
            step = self._step(part)
            samples = min(max(round(window / step), POLYNOMIAL_ORDER + 2) | 1, (n - 1) | 1)
            out[:, part] = derivatives(
                self.t[part],
                x[part],
                window=samples,
                order=POLYNOMIAL_ORDER,
                up_to=up_to,
                bridge=window,
            )
        return out

    def _step(self, part: slice) -> float:
        return float(np.median(np.diff(self.t[part])))

    def earlier(self, delay: float) -> MotionSamples:
        """The same efforts; the motion at time t is now that at t − ``delay``, s."""
        if delay == 0.0:
            return self
        from scipy.interpolate import CubicHermiteSpline, interp1d

        q, v, a = (np.array(x) for x in (self.q, self.v, self.a))
        for part in self.parts:
            t = self.t[part]
            times = np.clip(t - delay, t[0], t[-1])
            q[part] = CubicHermiteSpline(t, self.q[part], self.v[part])(times)
            v[part] = CubicHermiteSpline(t, self.v[part], self.a[part])(times)
            a[part] = interp1d(t, self.a[part], axis=0)(times)
        return dataclasses.replace(self, q=q, v=v, a=a)

    def mean(self, x: Array, length: float) -> Array:
        """(m, ...) averages of (n, ...) rows over blocks of ``length`` s; a stretch's last rows
        that fill no block are left out.
        """
        return np.concatenate(
            [x[p].reshape(-1, D, *x.shape[1:]).mean(axis=1) for p, D in self._whole(length)]
        )

    def block_parts(self, length: float) -> NDArray[np.int64]:
        """(m,) number of the stretch each block is from."""
        return np.repeat(
            np.arange(len(self.parts)), [(p.stop - p.start) // D for p, D in self._whole(length)]
        )

    def _whole(self, length: float) -> Iterator[tuple[slice, int]]:
        """Rows of each stretch that fill blocks of ``length`` s, and how many one has."""
        for part in self.parts:
            D = max(1, round(length / self._step(part)))
            yield slice(part.start, part.stop - (part.stop - part.start) % D), D

    def mean_regressor(self, model: RobotModel, length: float) -> Array:
        """(m, nv, 10 nb) block averages of the regressor of the bodies."""
        out = []
        for part, D in self._whole(length):
            per = max(1, _SAMPLES_AT_ONCE // D) * D
            for first in range(part.start, part.stop, per):
                rows = slice(first, min(first + per, part.stop))
                Y = np.asarray(
                    joint_torque_regressor(model, self.q[rows], self.v[rows], self.a[rows])
                )
                out.append(Y.reshape(-1, D, *Y.shape[1:]).mean(axis=1))
        return np.concatenate(out)


def _motion_of(
    model: RobotModel,
    window: float | None,
    check: bool,
    recording: Recording,
) -> MotionSamples:
    assert recording.effort is not None
    return MotionSamples.of(
        model, recording.t, recording.q, recording.effort, recording.v, window=window, check=check
    )


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of the regression, averaged."""

    # (m, nv, p) regressor of all parameters
    Y: Array
    # (m, nv) less what is known
    effort: Array
    # (m, nv) False where a joint stood, or was too slow for its friction to follow from its motion
    use: NDArray[np.bool_]
    # (m, nv) mean velocity
    v: Array
    # (m,) number of the stretch each block is from
    part: NDArray[np.int64]

    def rms(self, residual: Array) -> Array:
        """(nv,) root mean square of (m, nv) differences, over the blocks that are used."""
        count = np.maximum(self.use.sum(axis=0), 1)
        return np.asarray(np.sqrt(np.where(self.use, residual**2, 0.0).sum(axis=0) / count))

    def with_parameters(
        self,
        parameters: EffortParameters,
        motion: MotionSamples,
        length: float,
    ) -> Blocks:
        """The same blocks with other columns for the joints; ``motion`` is the one that they were
        made from.
        """
        bodies = self.Y[..., parameters.bodies]
        joints = motion.mean(
            parameters.joint_columns(motion.q, motion.v, motion.a, motion.parts), length
        )
        return dataclasses.replace(self, Y=np.concatenate([bodies, joints], axis=-1))


def blocks(
    parameters: EffortParameters,
    motion: MotionSamples,
    length: float = 0.05,
    slow: Array | None = None,
) -> Blocks:
    """Averages over ``length`` s; a joint's block is left out if it is slower than ``slow`` (nv,),
    rad/s or m/s, half of the time.
    """
    if slow is None:
        slow = STILL_SMOOTHINGS * EffortParameters(parameters.model, parameters.terms).smoothing
    bodies = motion.mean_regressor(parameters.model, length)
    effort = motion.mean(motion.effort - parameters.fixed_effort(motion.v, motion.a), length)
    still = motion.mean((np.abs(motion.v) < slow).astype(np.float64), length)
    use = (still <= 0.5) & (motion.mean(motion.unusable.astype(np.float64), length) == 0.0)
    of_bodies = Blocks(
        bodies, effort, use, motion.mean(motion.v, length), motion.block_parts(length)
    )
    return of_bodies.with_parameters(parameters, motion, length)
