"""Prediction of each stretch of a recording from the others: by bodies that can exist, and by plain
least squares.

Stretches are those of :func:`~robot_dynamics_ros.identification.least_squares.pieces`: where a
motion repeats, a stretch is left out in all repetitions. Otherwise it would be predicted from
itself.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.identification.consistent import ConsistentEstimate, consistent_parameters
from robot_dynamics_ros.identification.least_squares import (
    FOLDS,
    BaseEstimate,
    Identifiable,
    pieces,
)
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

# More parameters must explain this share of a joint's squared error of prediction,
GAIN = 0.01
# and more than this share of the usual efforts: less is not worth a parameter.
LEAST_EFFORT_SHARE = 2e-3
# They must gain in this share of the stretches: seven of twelve.
_MOST_STRETCHES_SHARE = 0.55
# A direction that the motion shows less than this share of a fast random one stays as it was.
_HELD_MOTION_SHARE = 1e-3


def held_out_least_squares(
    identifiable: Identifiable,
    data: Blocks,
    base: BaseEstimate,
    *,
    instruments: Array | None = None,
    without: NDArray[np.bool_] | None = None,
) -> Array:
    """(m, nv) recorded less predicted efforts, N m or N, of least squares for the base parameters;
    NaN where a block is not used.

    Args:
        instruments: see
            :func:`~robot_dynamics_ros.identification.least_squares.weighted_least_squares`.
        without: (nbase,) parameters that are left out: zero.
    """
    if without is None:
        kept = np.ones(len(identifiable), dtype=bool)
    else:
        kept = ~without
    scale = identifiable.sensitivity[kept]
    use = data.use[..., None]
    Y = np.where(use, identifiable.base.regressor(data.Y)[..., kept] / scale, 0.0)
    if instruments is None:
        Z = Y / base.noise[:, None] ** 2
    else:
        Z = np.where(use, instruments[..., kept] / scale, 0.0)
    y = np.where(data.use, data.effort, 0.0)
    fold = pieces(data)
    rows = [fold == f for f in range(FOLDS)]
    G = np.stack([np.einsum("mja,mjb->ab", Z[r], Y[r], optimize=True) for r in rows])
    c = np.stack([np.einsum("mja,mj->a", Z[r], y[r]) for r in rows])
    hold = identifiable.information[np.ix_(kept, kept)] / np.outer(scale, scale)
    hold = hold * (_HELD_MOTION_SHARE**2 * np.trace(G.sum(axis=0)) / np.trace(hold))
    x = np.linalg.solve(
        G.sum(axis=0) - G + hold,
        (c.sum(axis=0) - c + hold @ (scale * identifiable.prior[kept]))[..., None],
    )[..., 0]
    residual = y - np.einsum("mja,ma->mj", Y, x[fold])
    return np.asarray(np.where(data.use, residual, np.nan))


def held_out_bodies(
    identifiable: Identifiable,
    data: Blocks,
    noise: Array,
    full: ConsistentEstimate,
) -> Array:
    """The same of bodies that can exist; ``full`` is the estimate from all blocks, for how far
    these may be from the prior.
    """
    fold = pieces(data)
    out = np.full(data.effort.shape, np.nan)
    for f in range(FOLDS):
        own = (fold == f)[:, None]
        rest = dataclasses.replace(data, use=data.use & ~own)
        x = consistent_parameters(
            identifiable,
            rest,
            noise,
            spread=full.spread,
            share=full.share,
            begin=full.free,
            evaluations=10,
        )
        out = np.where(data.use & own, data.effort - data.Y @ x.values, out)
    return out


def stretch_squares(residual: Array, fold: NDArray[np.int64]) -> Array:
    """(folds,) sums of squared differences (m, ...), NaN where a block is not used; ``fold`` (m,)
    is the stretch of each block.
    """
    return np.array([np.nansum(residual[fold == f] ** 2) for f in range(FOLDS)])


def root_mean_square(residual: Array) -> Array:
    """(nv,) of (m, nv) differences, NaN where a block is not used."""
    count = np.maximum((~np.isnan(residual)).sum(axis=0), 1)
    return np.asarray(np.sqrt(np.nansum(residual**2, axis=0) / count))


def better(new: Array, old: Array, gain: float, least: float) -> bool:
    """Whether (folds,) squared errors are less in all, by a share of the old ones, and in most
    stretches.
    """
    won = float(old.sum() - new.sum())
    return bool(
        won > max(gain * float(old.sum()), least) and (new < old).mean() >= _MOST_STRETCHES_SHARE
    )
