"""Times of a recording as loggers write them: stamps that jitter, rows written twice, rows that
never arrived.

A robot is sampled by its own clock, at a steady rate. A logger on another computer stamps rows when
it gets to them: late by some of a sample, in bursts after a pause, or in steps of its clock; or it
asks for the newest state at a rate of its own, and gets some twice and some never. The steady times
are found again from the numbers of the samples, which the least late stamps tell, or how far the
joints have moved. They are taken only if the positions are smoother on them than on the times as
recorded: those of one half of the joints if the other half tells the times, and the other way
round.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.model.description import Array

# what to do with times that jitter and rows that are repeated
REPAIRS = ("repair", "keep")
# Fewer rows do not show their rate.
_FEWEST_ROWS_OF_A_RATE = 50
# s: what is recorded after a longer pause may have another phase.
_PHASE_PAUSE_S = 0.25
# Among so many rows one is stamped without delay.
_UNDELAYED_AMONG_ROWS = 50
# Rows were lost if the stamps stay later than this share of a step.
_LOST_ROW_STEPS = 0.6
# Share of a row's lateness that the estimate takes over: the clocks run at rates of their own.
_CLOCK_FOLLOWING_SHARE = 0.02
# How far from a whole number of steps a motion may be, in steps.
_WHOLE_STEP_TOLERANCE = 0.2
# s, over which the two clocks run at constant rates.
_CLOCK_RATE_KNOT_S = 2.0
# Times that are off by less than this share of a step do not jitter.
_JITTER_STEPS = 0.01
# Roughness of the positions on repaired times over that on recorded times: without a clear gain,
# the times stay as they were recorded.
_SMOOTHER_RATIO = 0.95
# Roughness is what a polynomial over so many samples leaves,
_SMOOTHNESS_FIT = 15
# of this order: motions of robots are that smooth within some samples.
_SMOOTHNESS_ORDER = 4
# Rows by which roughness is judged, and of which speeds are fitted at a time.
_ROWS_AT_A_TIME = 2000
# A joint tells how many steps there were if it moves by this many noises of its position in one.
_CLEAR_STEP_NOISES = 5.0
# rad or m: no position is read more finely.
_FINEST_POSITION = 1e-8
# Equal rows are repeated ones if the joints have moved by this share of the way that their speed
# before and after takes them; else the robot stands.
_MOVES_ON_SHARE = 0.15


@dataclass(frozen=True, eq=False)
class RepairedTimes:
    """Times after repair."""

    # (n,) s
    t: Array
    # whether they are steady times; otherwise as given
    steady: bool
    jitter: (
        # s, root mean square difference of given and steady times; 0 where they are as given
        float
    )
    # s between two samples
    step: float
    # rows that are missing between those that are there
    lost: int
    # times as rough are positions on the times as given
    smoother: float = 1.0


def repair_times(t: Array, q: Array) -> RepairedTimes:
    """Times at which a robot was sampled, from the stamps that a logger gave: steady ones where
    positions (n, m) are smoother on them, or where stamps (n,), which do not decrease, repeat;
    otherwise the times as given.
    """
    t = np.asarray(t, dtype=np.float64)
    as_given = RepairedTimes(t, False, 0.0, float(np.median(np.diff(t))) if len(t) > 1 else 0.0, 0)
    step = _step(t)
    if len(t) < _FEWEST_ROWS_OF_A_RATE or not step > 0.0:
        return as_given
    ends = np.flatnonzero(np.diff(t) > max(_PHASE_PAUSE_S, 20.0 * step)) + 1
    parts = [slice(int(a), int(b)) for a, b in zip([0, *ends], [*ends, len(t)], strict=True)]
    repeated = bool((np.diff(t) <= 0.0).any())
    rough = _roughness(t, q)
    best = as_given
    least = np.inf if repeated else _SMOOTHER_RATIO * rough
    like = t
    for by_motion in (False, True):
        if by_motion and not _motion_tells(parts, t, like, q, step):
            continue
        steady, lost = _steady(parts, t, like, q if by_motion else None, step)
        if not (np.diff(steady) > 0.0).all():
            continue
        jitter = float(np.sqrt(np.mean((steady - t) ** 2)))
        now = _roughness(steady, q)
        if jitter > _JITTER_STEPS * step and now < least:
            spacing = float(np.median(np.diff(steady)))
            best = RepairedTimes(steady, True, jitter, spacing, lost, rough / now)
            least = _SMOOTHER_RATIO * now
            like = steady
    return best


def _steady(
    parts: list[slice],
    t: Array,
    like: Array,
    q: Array | None,
    step: float,
) -> tuple[Array, int]:
    """Steady times (n,), and the number of rows that are missing: by how far joints ``q`` (n, m)
    moved, or by stamps.
    """
    steady = np.empty(len(t))
    lost = 0
    for part in parts:
        n = part.stop - part.start
        if n < _FEWEST_ROWS_OF_A_RATE:
            steady[part] = t[part]
            continue
        if q is None:
            number = np.arange(n) + _lost(t[part], step)
        else:
            number = _numbers_by_motion(like[part], q[part], step)
        steady[part] = _line(number, t[part], step)
        lost += int(number[-1]) - (n - 1)
    return steady, lost


def _motion_tells(parts: list[slice], t: Array, like: Array, q: Array, step: float) -> bool:
    """Cross-validation: whether times by how far one half of the joints moved make the other half
    smoother, both ways.
    """
    moved = np.argsort(-np.ptp(q, axis=0), kind="stable")
    for some, others in ((moved[::2], moved[1::2]), (moved[1::2], moved[::2])):
        if not len(some) or not np.ptp(q[:, others], axis=0).any():
            return False
        steady, _ = _steady(parts, t, like, q[:, some], step)
        if not (np.diff(steady) > 0.0).all() or _roughness(
            steady, q[:, others]
        ) > _SMOOTHER_RATIO * _roughness(like, q[:, others]):
            return False
    return True


def _step(t: Array) -> float:
    """Usual step, s."""
    if len(t) < 2:
        return 0.0
    steps = np.diff(t)
    one = float(np.median(steps))
    over = min(_UNDELAYED_AMONG_ROWS, len(t) - 1)
    # stamps may repeat, or have few digits
    many = float(np.median(t[over:] - t[:-over])) / over
    if one > 0.0 and 0.8 < many / one < 1.2 and (steps == 0.0).mean() < 0.01:
        return one
    return many


def _lost(t: Array, step: float) -> np.ndarray:
    """(n,) rows lost before each.

    A stamp is late, never early: of some tens of rows the one least late tells how many rows are
    missing.
    """
    from scipy.ndimage import minimum_filter1d

    late = t - step * np.arange(len(t))
    ahead = min(_UNDELAYED_AMONG_ROWS, len(t))
    # of this row and those after it
    least = minimum_filter1d(late, ahead, origin=-((ahead - 1) // 2), mode="nearest")
    if ahead % 2 == 0:
        least = np.minimum(least, late)
    out = np.zeros(len(t), dtype=np.int64)
    lost = 0
    base = float(least[0])
    for k, x in enumerate(least.tolist()):
        if x - base > _LOST_ROW_STEPS * step:
            more = max(1, round((x - base) / step))
            lost = lost + more
            base = base + more * step
        base += _CLOCK_FOLLOWING_SHARE * (x - base)
        out[k] = lost
    return out


def _numbers_by_motion(t: Array, q: Array, step: float) -> np.ndarray:
    """(n,) number of each row's sample: by how far the joints moved where that is clear, else by
    its stamp.
    """
    passed = _passed(t, q, step)
    whole = np.round(passed)
    clear = (np.abs(passed - whole) < _WHOLE_STEP_TOLERANCE) & (whole >= 1)
    # base: the stamp of sample 0 by rows so far
    out = np.zeros(len(t), dtype=np.int64)
    last = 0
    base = float(t[0])
    for k, (time, steps, sure) in enumerate(
        zip(t[1:].tolist(), whole.tolist(), clear.tolist(), strict=True), start=1
    ):
        last += int(steps) if sure else max(1, round((time - base) / step) - last)
        if sure:
            base += _CLOCK_FOLLOWING_SHARE * (time - step * last - base)
        out[k] = last
    return out


def _passed(t: Array, q: Array, step: float) -> Array:
    """(n − 1,) steps between neighbouring rows by how far the joints moved; NaN where they are too
    slow to tell.
    """
    n = len(t)
    w = min(2 * _SMOOTHNESS_FIT + 1, n)
    first = np.clip(np.arange(n - 1) + 1 - w // 2, 0, n - w)
    speed = np.empty((n - 1, q.shape[1]))
    for start in range(0, n - 1, _ROWS_AT_A_TIME):
        k = np.arange(start, min(start + _ROWS_AT_A_TIME, n - 1))
        rows = first[k][:, None] + np.arange(w)
        x = (t[rows] - 0.5 * (t[k] + t[k + 1])[:, None]) / (w * step)
        A = np.stack([np.ones_like(x), x, x * x, x * x * x], axis=-1)
        At = A.transpose(0, 2, 1)
        # a step, at the middle
        speed[k] = np.linalg.solve(At @ A + 1e-12 * np.eye(4), At @ q[rows])[:, 1] / w
    moved = np.diff(q, axis=0)
    # where acceleration and times matter least
    slow = np.abs(speed[1:]) <= np.median(np.abs(speed), axis=0)
    second = np.abs(np.diff(moved, axis=0))
    noise = np.array(
        [1.5 * np.median(x[s]) if s.any() else 0.0 for x, s in zip(second.T, slow.T, strict=True)]
    )
    noise = np.maximum(noise, _FINEST_POSITION)
    ahead = np.sum((speed / noise) ** 2, axis=1)
    passed = np.sum(moved * speed / noise**2, axis=1) / np.maximum(ahead, 1e-300)
    return np.where(ahead > _CLEAR_STEP_NOISES**2, passed, np.nan)


def _line(number: np.ndarray, t: Array, step: float) -> Array:
    """Times as a function of the numbers of the samples, straight between knots, by the rows that
    are not late.
    """
    from scipy.interpolate import make_lsq_spline

    x = number.astype(np.float64)
    # with rows enough for each
    pieces = max(
        1, min(int((x[-1] - x[0]) * step / _CLOCK_RATE_KNOT_S), len(x) // _UNDELAYED_AMONG_ROWS)
    )
    inner = np.linspace(x[0], x[-1], pieces + 1)[1:-1]
    knots = np.concatenate([[x[0]] * 2, inner, [x[-1]] * 2])
    weight = np.ones(len(t))
    out = t
    for _ in range(5):
        out = make_lsq_spline(x, t, knots, k=1, w=weight)(x)
        # a knot without rows
        if not np.isfinite(out).all():
            return np.asarray(t)
        residual = t - out
        scale = max(1.5 * float(np.median(np.abs(residual))), 1e-3 * step)
        # Huber
        weight = np.sqrt(1.0 / np.maximum(1.0, np.abs(residual) / scale))
    return np.asarray(out)


def _roughness(t: Array, q: Array) -> float:
    """Geometric mean over joints of what local polynomials leave of the positions."""
    n = len(t)
    starts = np.unique(
        np.linspace(0, n - _SMOOTHNESS_FIT, min(_ROWS_AT_A_TIME, n - _SMOOTHNESS_FIT + 1)).astype(
            int
        )
    )
    rows = starts[:, None] + np.arange(_SMOOTHNESS_FIT)
    dt = t[rows] - t[starts + _SMOOTHNESS_FIT // 2][:, None]
    x = dt / np.maximum(np.abs(dt).max(axis=1, keepdims=True), 1e-300)
    Q, _ = np.linalg.qr(x[..., None] ** np.arange(_SMOOTHNESS_ORDER + 1))
    y = q[rows]
    residual = y - Q @ (Q.transpose(0, 2, 1) @ y)
    usual = np.mean(np.sqrt(np.sum(residual**2, axis=1)), axis=0)[np.ptp(q, axis=0) > 0.0]
    if len(usual):
        return float(np.exp(np.mean(np.log(usual + 1e-15))))
    return 1.0


def frozen_rows(t: Array, q: Array) -> np.ndarray:
    """(n,) bool: rows that repeat the positions of the one before them although the robot moves on.

    A logger that asks faster than the robot answers writes states several times.  A robot that
    stands repeats its positions as well: there the first row after them is no farther on.

    Args:
        t: (n,) times, s.
        q: (n, joints) positions.
    """
    n = len(t)
    out = np.zeros(n, dtype=bool)
    if n < _FEWEST_ROWS_OF_A_RATE:
        return out
    same = (np.diff(q, axis=0) == 0.0).all(axis=1)
    if not same.any():
        return out
    # the first row of each run of equal rows, and n
    first = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
    step = _step(t)
    if step > 0.0:
        passed = np.nan_to_num(_passed(t, q, step))
    else:
        passed = np.ones(n - 1)
    for k in np.flatnonzero(np.diff(first) > 1):
        a = int(first[k])
        b = int(first[k + 1])
        if b < n and passed[a:b].sum() > _MOVES_ON_SHARE * (b - a):
            out[a + 1 : b] = True
    return out
