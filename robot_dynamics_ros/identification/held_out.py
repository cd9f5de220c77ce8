"""Prediction of each stretch of a recording from the others: by bodies that can exist, and by plain least squares.

Where least squares predict a joint's efforts better than bodies do, predictions take a share of them.  The share is the one
with the least error of prediction, between 0 and 1 (Breiman, *Stacked regressions*, Machine Learning 24, 1996).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.identification.identifiable import Identifiable
from robot_dynamics_ros.identification.least_squares import BaseEstimate
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

__all__ = ["FOLDS", "better", "held_out", "held_out_least_squares", "root_mean_square", "share_of", "stretches"]

FOLDS = 12
GAIN = 0.02  # of a joint's squared error of prediction that more parameters must explain
_MOST = 0.55  # of the stretches: seven of twelve
_HELD = 1e-3  # share, compared with fast random motion, below which a direction stays as it was


def stretches(m: int) -> NDArray[np.int64]:
    """(m,) number of the stretch of each block."""
    return np.arange(m) * FOLDS // max(m, 1)


def held_out(data: Blocks, fit: Callable[[Blocks], Array]) -> Array:
    """(m, nv) recorded less predicted efforts, N m or N; NaN where a block is not used.

    Args:
        fit: all parameters (p,) from the blocks that are used.
    """
    fold, out = stretches(len(data.effort)), np.full(data.effort.shape, np.nan)
    for f in range(FOLDS):
        own = (fold == f)[:, None]
        x = fit(dataclasses.replace(data, use=data.use & ~own))
        out = np.where(data.use & own, data.effort - data.Y @ x, out)
    return out


def held_out_least_squares(
    known: Identifiable, data: Blocks, base: BaseEstimate, prior: Array, without: NDArray[np.bool_] | None = None
) -> Array:
    """The same of least squares for the base parameters, each joint weighted by its noise.

    Args:
        prior: (nbase,) values that directions not seen keep.
        without: (nbase,) parameters that are left out: zero.
    """
    kept = np.ones(len(known), dtype=bool) if without is None else ~without
    scale = known.sensitivity[kept]
    Y = np.where(data.use[..., None], known.base.regressor(data.Y)[..., kept] / base.noise[:, None] / scale, 0.0)
    y = np.where(data.use, data.effort / base.noise, 0.0)
    rows = [stretches(len(y)) == f for f in range(FOLDS)]
    G = np.stack([np.einsum("mja,mjb->ab", Y[r], Y[r], optimize=True) for r in rows])
    c = np.stack([np.einsum("mja,mj->a", Y[r], y[r]) for r in rows])
    hold = _HELD**2 * len(y) * known.information[np.ix_(kept, kept)] / np.outer(scale, scale)
    x = np.linalg.solve(G.sum(axis=0) - G + hold, (c.sum(axis=0) - c + hold @ (scale * prior[kept]))[..., None])[..., 0]
    left = np.concatenate([y[r] - Y[r] @ own for r, own in zip(rows, x, strict=True)]) * base.noise
    return np.asarray(np.where(data.use, left, np.nan))


def root_mean_square(left: Array) -> Array:
    """(nv,) of (m, nv) differences, NaN where a block is not used."""
    count = np.maximum((~np.isnan(left)).sum(axis=0), 1)
    return np.asarray(np.sqrt(np.nansum(left**2, axis=0) / count))


def share_of(bodies: Array, least_squares: Array) -> Array:
    """(nv,) share of least squares, from 0 to 1, in the prediction of each joint's efforts.

    Args:
        bodies, least_squares: (m, nv) see :func:`held_out`.
    """
    out, fold = np.zeros(bodies.shape[1]), stretches(len(bodies))
    for j, (r, s) in enumerate(zip(np.nan_to_num(bodies).T, np.nan_to_num(least_squares).T, strict=True)):
        power = float((r - s) @ (r - s))
        share = min(max(float(r @ (r - s)) / power, 0.0), 1.0) if power > 0.0 else 0.0
        mixed, alone = (np.bincount(fold, x**2, FOLDS) for x in (r + share * (s - r), r))
        out[j] = share if better(mixed, alone, GAIN, 0.0) else 0.0
    return out


def better(new: Array, old: Array, gain: float, least: float) -> bool:
    """Whether (folds,) squared errors are less in all, by a share of the old ones, and in most stretches."""
    won = float(old.sum() - new.sum())
    return bool(won > max(gain * float(old.sum()), least) and (new < old).mean() >= _MOST)
