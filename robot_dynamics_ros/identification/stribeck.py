"""The rise of friction towards rest: breakaway friction and Stribeck speed, joint by joint.

    F(v) = d v + [F_c + (F_s − F_c) exp(−(v/v_s)²)] tanh(v/smoothing) + offset

Linear in everything but v_s, which is searched for in one dimension, the rest being solved for each time (variable
projection).  Source of the curve: Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica 30 (1994).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.model.description import Array

__all__ = ["Stribeck", "fit_stribeck"]

_FEWEST = 30


class Stribeck(NamedTuple):
    """Friction of one joint.

    Attributes:
        viscous, coulomb, breakaway: N m s/rad, N m, N m (or N s/m, N, N).
        speed: Stribeck speed, rad/s or m/s.
        offset: N m or N.
        gain: by which factor the sum of squares of the residual fell against friction without the rise; 1: not used.
    """

    viscous: float
    coulomb: float
    breakaway: float
    speed: float
    offset: float
    gain: float


def fit_stribeck(
    v: Array,
    effort: Array,
    smoothing: float,
    *,
    with_viscous: bool = True,
    with_offset: bool = True,
    limit: float = 0.95,
) -> Stribeck | None:
    """Fit the curve to friction efforts.

    Args:
        v: (m,) velocities, well away from zero.
        effort: (m,) efforts that friction takes.
        smoothing: speed over which the step at zero is smoothed.
        with_viscous, with_offset: whether there are such terms.
        limit: the rise is kept only if the sum of squares falls below this share of what it is without.

    Returns:
        The fit, or ``None`` if there are too few samples, the rise does not show, or it would be a fall.
    """
    from scipy.optimize import minimize_scalar, nnls

    speeds = np.abs(v)
    if len(v) < _FEWEST or speeds.max() < 3.0 * max(speeds.min(), smoothing):
        return None
    step = np.tanh(v / smoothing)
    plain = [step, *([v] if with_viscous else []), *([np.ones_like(v), -np.ones_like(v)] if with_offset else [])]

    def solve(columns: list[Array]) -> tuple[Array, float]:
        x, norm = nnls(np.column_stack(columns), effort)
        return x, norm * norm

    _, without = solve(plain)

    def rise(log_speed: float) -> list[Array]:
        return [step * np.exp(-((v / np.exp(log_speed)) ** 2)), *plain]

    low, high = np.log(max(0.5 * speeds.min(), 2.0 * smoothing)), np.log(speeds.max())
    if not low < high:
        return None
    grid = np.linspace(low, high, 15)
    best = int(np.argmin([solve(rise(x))[1] for x in grid]))
    found = minimize_scalar(
        lambda x: solve(rise(x))[1], method="bounded", bounds=(grid[max(best - 1, 0)], grid[min(best + 1, 14)])
    )
    x, left = solve(rise(float(found.x)))
    if without <= 0.0 or left > limit * without or x[0] <= 0.0:
        return None
    after = 2 + int(with_viscous)
    offset = float(x[after] - x[after + 1]) if with_offset else 0.0
    return Stribeck(
        float(x[2]) if with_viscous else 0.0,
        float(x[1]),
        float(x[0] + x[1]),
        float(np.exp(found.x)),
        offset,
        without / max(left, 1e-300),
    )
