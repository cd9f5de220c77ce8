"""All parameters at once: bodies that can exist, friction that brakes, as near to what was known as the data allow.

The least-squares problem of the base parameters has no unique solution in the full ones.  Here the efforts' misfit, in
units of their noise, and the bodies' distance from the prior, in units of ``spread``, are made least together: what the
data show is taken from the data, and the rest stays as it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.identification.columns import Columns
from robot_dynamics_ros.identification.pseudo_inertia import BodyShape
from robot_dynamics_ros.identification.samples import Blocks
from robot_dynamics_ros.model.description import Array

__all__ = ["ConsistentEstimate", "consistent_parameters"]

_SIGNED = ("offset",)
_MASS_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class ConsistentEstimate:
    """Full parameters of bodies that exist.

    Attributes:
        values: (p,) in the order of :class:`~robot_dynamics_ros.identification.columns.Columns`.
        distance: (nb,) Riemannian distance of each body from its prior; 0.7 is about a factor of 2 in mass or one
            principal moment.
        converged: whether the optimisation ended by itself.
    """

    values: Array
    distance: Array
    converged: bool


def consistent_parameters(
    columns: Columns, data: Blocks, noise: Array, prior: Array, *, spread: float = 0.5, evaluations: int = 300
) -> ConsistentEstimate:
    """Maximum a posteriori estimate of all parameters.

    Args:
        noise: (nv,) standard deviation of one block's efforts.
        prior: (p,) what was known.
        spread: how far from the prior a body may well be, as a Riemannian distance.
    """
    from scipy.optimize import least_squares

    nb, p = columns.model.nb, len(columns)
    joint = np.broadcast_to(np.arange(columns.model.nv), data.effort.shape)[data.use]
    w = 1.0 / noise[joint]
    stacked = np.column_stack([data.Y[data.use] * w[:, None], data.effort[data.use] * w])
    # the misfit depends on the data through this triangle alone
    R = np.asarray(np.linalg.qr(stacked, mode="r")) if len(stacked) > p else stacked
    A, b = R[:, :p], R[:, p]
    masses = prior[: 10 * nb : 10]
    least = _MASS_SHARE * max(float(masses.sum()) / max(nb, 1), 1e-3)
    shapes = [BodyShape(prior[10 * k : 10 * k + 10], least) for k in range(nb)]
    start = np.concatenate([np.zeros(10 * nb), prior[10 * nb :]])
    low = np.full(p, -np.inf)
    for kind in columns.kinds:
        if kind not in _SIGNED:
            low[columns.of(kind)] = 0.0
    start = np.maximum(start, np.where(np.isfinite(low), 1e-12, -np.inf))
    # joints' parameters are weakly held: a hundred times what would explain all of a joint's efforts
    norm = np.linalg.norm(A[:, 10 * nb :], axis=0)
    hold = 0.01 * np.where(norm > 0.0, norm, 1.0) / max(float(np.linalg.norm(b)), 1e-12)

    def full(x: Array) -> Array:
        bodies = [shape.parameters(x[10 * k : 10 * k + 10]) for k, shape in enumerate(shapes)]
        return np.concatenate([*bodies, x[10 * nb :]])

    def misfit(x: Array) -> Array:
        away = [shape.distance(x[10 * k : 10 * k + 10]) / spread for k, shape in enumerate(shapes)]
        return np.concatenate([A @ full(x) - b, *away, hold * (x[10 * nb :] - start[10 * nb :])])

    weights = np.tile(np.concatenate([np.full(4, 2.0), np.full(6, math.sqrt(2.0))]) / spread, nb)
    below = np.diag(np.concatenate([weights, hold]))

    def slope(x: Array) -> Array:
        by_x = np.zeros((p, p))
        for k, shape in enumerate(shapes):
            part = slice(10 * k, 10 * k + 10)
            by_x[part, part] = shape.derivative(x[part])
        by_x[10 * nb :, 10 * nb :] = np.eye(p - 10 * nb)
        return np.vstack([A @ by_x, below])

    found = least_squares(
        misfit,
        start,
        slope,
        bounds=(low, np.inf),
        method="trf",
        x_scale="jac",
        max_nfev=evaluations,
        ftol=1e-12,
        xtol=1e-10,
        gtol=1e-10,
    )
    free = found.x[: 10 * nb].reshape(nb, 10)
    distance = np.array([np.linalg.norm(BodyShape.distance(x)) for x in free])
    return ConsistentEstimate(full(found.x), distance, bool(found.status > 0))
