"""Damage of single channels of a recording: spikes, jumps, values that are held, frozen, clipped or
constant; and mistakes of readings: columns of two joints exchanged, or a column with the opposite
sign.

Source: Hampel, *The influence curve and its role in robust estimation* (1974) (distance from the
running median).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.model.description import Array

# Rows of the running median.
_MEDIAN_ROWS = 7
# A step longer than this many usual ones is a pause.
_PAUSE_STEPS = 5.0
# A spike is farther from the running median than this many usual distances.
_FAR_DISTANCES = 12.0
# A spike of positions is at least this share of the joint's range,
_OF_RANGE = 2e-3
# one of efforts this share: they jump where a motor reverses, and where dry friction changes
# sides.
_OF_EFFORTS = 0.3
# A spike is larger than this many steps between the values that a sensor can give.
_SPIKE_LEVELS = 2.5
# If a larger share of the rows are spikes, none is: the channel is noisy.
_MOST_SPIKES_SHARE = 0.05
# A spike has at most so many rows.
_LONGEST_SPIKE_ROWS = 2
# A channel is frozen if it does not change for so many seconds,
_FROZEN_S = 0.2
# and for so many rows: slower logs repeat values more often,
_FEWEST_UNDAMAGED_ROWS = 20
# while its joint moves by this share of its range.
_MOVES = 0.005
# A position jumps if it moves by more than this many fast steps,
_JUMP_STEPS = 4.0
# and this many times as fast as usual, and as the rows beside it.
_FAST_STEPS = 10.0
# Rows on either side that a step is compared with.
_ROWS_BESIDE = 3
# A channel is slower than the others if this share of its values are held alike long.
_REGULAR = 0.9
# Two channels are the same if they differ by less than this share of the largest value.
_SAME_CHANNEL_SHARE = 1e-4
# A channel is clipped if this share of the rows lies at its largest value:
_AT_BOUND = 0.01
# nearer to it than this share of the range, and
_SPIKE_BAND_SHARE = 0.02
# this many times as many as in the band below: a motion that merely turns there has fewer.
_DAMAGE_FACTOR = 3.0
# s around a row over which its speed is taken.
_SPEED_WINDOW_S = 0.1
# Share of the speed that fast rows have: a slower joint stands.
_REST_SPEED_SHARE = 0.02
_DAMAGED_CHANNELS = ("efforts", "positions", "positions and efforts")


def spikes(t: Array, x: Array, noisy: bool) -> NDArray[np.bool_]:
    """(n, m) single values far from those before and after them; what follows a pause may be far
    from what was before it.  Steps are usual in ``noisy`` channels (efforts): a spike is then one
    only if it is far beyond the range of the others.
    """
    from scipy.ndimage import median_filter

    out = np.zeros(x.shape, dtype=bool)
    if len(x) < _FEWEST_UNDAMAGED_ROWS:
        return out
    steps = np.diff(t)
    pauses = (
        np.flatnonzero(steps > _PAUSE_STEPS * max(float(np.median(steps)), float(np.mean(steps))))
        + 1
    )
    beside = np.zeros(len(x), dtype=bool)
    for k in pauses:
        beside[max(k - _MEDIAN_ROWS // 2, 0) : k + _MEDIAN_ROWS // 2] = True
    for j, column in enumerate(x.T):
        away = np.abs(column - median_filter(column, _MEDIAN_ROWS, mode="nearest"))
        low, high = np.quantile(column, (0.01, 0.99))
        if noisy:
            usual = float(np.quantile(away, 0.9)) / 1.6449
        else:
            usual = 1.4826 * float(np.median(away))
        least = max(
            _FAR_DISTANCES * usual,
            (_OF_EFFORTS if noisy else _OF_RANGE) * float(high - low),
            _levels(column),
            1e-6,
        )
        far = (away > least) & ~beside
        if far.any() and far.mean() <= _MOST_SPIKES_SHARE:
            for a, b in runs(far):
                out[a:b, j] = b - a <= _LONGEST_SPIKE_ROWS and (
                    noisy or _off_curve(column, a, b) > 0.5 * float(away[a:b].max())
                )
    return out


def _levels(column: Array) -> float:
    """By how much values of a coarse sensor change without any damage."""
    return _SPIKE_LEVELS * float(np.min(np.diff(np.unique(column)), initial=np.inf))


def _off_curve(x: Array, first: int, end: int) -> float:
    """How far rows are at most from the polynomial through two rows before and two after them; tips
    of quick motion are near it.
    """
    rows = np.arange(first, end)
    beside = np.array([k for k in (first - 2, first - 1, end, end + 1) if 0 <= k < len(x)])
    curve = np.polynomial.polynomial.polyfit(beside - first, x[beside], len(beside) - 1)
    return float(np.abs(x[rows] - np.polynomial.polynomial.polyval(rows - first, curve)).max())


def jumps(t: Array, q: Array) -> NDArray[np.bool_]:
    """(n − 1, m) whether positions (n, m) jump from a row to the next: another recording begins, or
    an angle is wrapped.
    """
    out = np.zeros((max(len(q) - 1, 0), q.shape[1]), dtype=bool)
    if len(q) < _FEWEST_UNDAMAGED_ROWS:
        return out
    steps = np.diff(t)
    speeds = (
        np.abs(np.diff(q, axis=0)) / np.maximum(steps, max(float(np.median(steps)), 1e-9))[:, None]
    )
    for j, speed in enumerate(speeds.T):
        if speed.any():
            usual = float(np.quantile(speed[speed > 0.0], 0.99))
        else:
            usual = np.inf
        for k in np.flatnonzero(speed > _FAST_STEPS * usual):
            beside = np.r_[speed[max(k - _ROWS_BESIDE, 0) : k], speed[k + 1 : k + 1 + _ROWS_BESIDE]]
            out[k, j] = speed[k] > _FAST_STEPS * float(beside.max())
    return out


def held(t: Array, x: Array) -> NDArray[np.bool_]:
    """(n, m) values that repeat the one before, in channels (n, m) that come at a lower rate than
    the rows.
    """
    out = np.zeros(x.shape, dtype=bool)
    for j, column in enumerate(x.T if len(x) >= _FEWEST_UNDAMAGED_ROWS else ()):
        new = np.flatnonzero(np.r_[True, np.diff(column) != 0.0])
        lengths = np.diff(np.r_[new, len(column)])
        usual = float(np.median(lengths))
        steps = np.abs(np.diff(column[new]))
        regular = (
            len(new) >= _FEWEST_UNDAMAGED_ROWS
            and (np.abs(lengths - usual) <= 1.0).mean() > _REGULAR
        )
        # a coarse sensor changes by single levels
        if usual >= 2.0 and regular and np.median(steps) > _levels(column):
            out[:, j] = np.repeat(lengths <= usual + 1.0, lengths)
            out[new, j] = False
    out[1:] &= (np.diff(t) > 0.0)[:, None]
    return out


def frozen_positions(t: Array, q: Array) -> NDArray[np.bool_]:
    """(n, m) positions that repeat for long although the joint moves: it stops within a row, or
    jumps afterwards.

    A joint that stands repeats its positions, too; it comes to rest and leaves it slowly.
    """
    out = np.zeros(q.shape, dtype=bool)
    for j, x in enumerate(q.T):
        steps = np.abs(np.diff(x))
        moving = steps[steps > 0.0]
        if not len(moving):
            continue
        fast = float(np.quantile(moving, 0.99))
        usual = float(np.median(moving))
        for a, b in runs(np.r_[steps == 0.0, False]):
            if b + 1 - a >= _FEWEST_UNDAMAGED_ROWS and t[b] - t[a] >= _FROZEN_S:
                jumps = b + 1 < len(x) and steps[b] > _JUMP_STEPS * fast
                stops = b + 1 >= len(x) and a > 3 and float(np.min(steps[a - 3 : a])) > usual
                out[a + 1 : b + 1, j] = jumps or stops
    return out


def moves(t: Array, q: Array) -> NDArray[np.bool_]:
    """(n,) whether a joint moves in each row of its positions (n,): in 0.1 s around it, it goes a
    part of the way that it goes at its usual large speed.  The noise of an encoder at rest is no
    motion.
    """
    first = np.searchsorted(t, t - 0.5 * _SPEED_WINDOW_S)
    last = np.minimum(np.searchsorted(t, t + 0.5 * _SPEED_WINDOW_S, side="right"), len(t)) - 1
    # neighbours at least, where rows are rare
    first = np.minimum(first, np.maximum(np.arange(len(t)) - 1, 0))
    last = np.maximum(last, np.minimum(np.arange(len(t)) + 1, len(t) - 1))
    speed = np.abs(q[last] - q[first]) / np.maximum(t[last] - t[first], np.finfo(float).tiny)
    return np.asarray(speed > _REST_SPEED_SHARE * float(np.quantile(speed, 0.95)))


def unusable_efforts(
    t: Array,
    q: Array,
    effort: Array,
    names: Sequence[str],
) -> tuple[NDArray[np.bool_], list[str], list[str]]:
    """Efforts (n, nv) that a sensor or logger did not measure: (n, nv) those frozen or clipped,
    sentences about them, and the names of joints whose effort is constant although they move.
    """
    out = np.zeros(effort.shape, dtype=bool)
    notes = []
    constant = []
    for j, name in enumerate(names):
        x = effort[:, j]
        p = q[:, j]
        span = float(np.ptp(p))
        if np.ptp(x) <= 1e-9 * max(float(np.abs(x).max()), 1e-9):
            constant += [name] if span > 0.05 else []
            continue
        width = max(_SPIKE_BAND_SHARE * float(np.ptp(x)), _levels(x))
        moving = moves(t, p)
        for bound in (float(x.max()), float(x.min())):
            clipped = moving & (x == bound)
            near = moving & (x != bound) & (np.abs(x - bound) <= width)
            if (
                clipped.sum()
                > max(_AT_BOUND * len(x), _DAMAGE_FACTOR * near.sum(), _FEWEST_UNDAMAGED_ROWS)
                and len(runs(clipped)) > 1
            ):
                out[clipped, j] = True
                text = (
                    f"the effort of joint {name} is clipped at {bound:.4g} ({clipped.mean():.0%} "
                    "of the rows)"
                )
                notes.append(f"{text}: these are not used; check the range of its sensor or drive")
        frozen = np.zeros(len(x), dtype=bool)
        for a, b in runs(np.r_[np.diff(x) == 0.0, False]):
            if (
                b + 1 - a >= _FEWEST_UNDAMAGED_ROWS
                and t[b] - t[a] >= _FROZEN_S
                and np.ptp(p[a : b + 1]) > _MOVES * span
            ):
                frozen[a + 1 : b + 1] = ~out[a + 1 : b + 1, j]
        out[frozen, j] = True
        if frozen.any():
            text = (
                f"the effort of joint {name} is frozen for {frozen.mean():.0%} of the rows while "
                "the joint moves"
            )
            notes.append(f"{text}: these are not used; check its sensor, or the logger")
    return out, notes, constant


def copied_efforts(
    effort: Array,
    others: dict[str, Array],
    names: Sequence[str],
    apart: float = _SAME_CHANNEL_SHARE,
) -> list[str]:
    """Efforts that are no efforts, but another quantity (word → values (n, nv)) up to its unit and
    a share ``apart`` of their root mean
    square: ``joint_2 holds the position of joint_3``."""
    usual = np.sqrt(np.mean(effort**2, axis=0))
    out = []
    for word, x in others.items():
        size = np.maximum(np.einsum("ij,ij->j", x, x), np.finfo(float).tiny)
        moving = np.ptp(x, axis=0) > _SAME_CHANNEL_SHARE * np.abs(x).max(axis=0)
        for j, name in enumerate(names):
            differs = np.sqrt(
                np.mean((effort[:, [j]] - x * (effort[:, j] @ x / size)) ** 2, axis=0)
            )
            same = np.flatnonzero(moving & (differs < apart * usual[j])).tolist()
            out += [f"{name} holds the {word} of {names[k]}" for k in same]
    return out


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First row and the one after the last of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@dataclass(frozen=True)
class ReadingMistake:
    """Columns of ``"efforts"``, ``"positions"`` (and their derivatives) or ``"positions and
    efforts"`` that are exchanged, of two joints, or have the opposite sign, of some.
    """

    columns: str
    joints: tuple[int, ...]
    exchanged: bool

    def order(self, nv: int) -> NDArray[np.int64]:
        """(nv,) column that belongs to each joint."""
        order = np.arange(nv)
        if self.exchanged:
            order[list(self.joints)] = self.joints[::-1]
        return order

    def factor(self, nv: int) -> Array:
        """(nv,) 1 or −1 for each joint."""
        factor = np.ones(nv)
        if not self.exchanged:
            factor[list(self.joints)] = -1.0
        return factor

    def sentence(self, names: tuple[str, ...]) -> str:
        """The mistake in words, for joints of these names."""
        if self.exchanged:
            return (
                f"the {self.columns} of joints {names[self.joints[0]]} and "
                f"{names[self.joints[1]]} are exchanged"
            )
        if len(self.joints) == 1:
            whose = f"joint {names[self.joints[0]]}"
        else:
            whose = "all joints"
        return f"the {self.columns} of {whose} have the opposite sign"


def reading_mistakes(nv: int) -> Iterator[ReadingMistake]:
    """Every pair of joints exchanged; the sign of each joint, and of all."""
    for joints, exchanged in (
        *((pair, True) for pair in combinations(range(nv), 2)),
        *(((j,), False) for j in range(nv)),
        *(((tuple(range(nv)), False),) if nv > 1 else ()),
    ):
        for columns in _DAMAGED_CHANNELS:
            yield ReadingMistake(columns, joints, exchanged)
