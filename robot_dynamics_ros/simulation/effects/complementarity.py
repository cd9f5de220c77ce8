"""The box-constrained linear complementarity problem behind dry friction, stops and impacts.

Find x with lo ≤ x ≤ hi and w = A x + b such that, in every row,

    lo < x < hi:  w = 0          x = lo:  w ≥ 0          x = hi:  w ≤ 0

For friction x is the friction impulse and w the velocity after it; for a stop lo = 0, hi = ∞.  A is symmetric positive
definite (a block of M⁻¹), so that the solution exists and is unique.  (Cottle, Pang, Stone, *The Linear Complementarity
Problem*, ch. 4; the safeguarded block pivoting is Júdice and Pires, Computers & OR 21(5), 1994.)
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.model.description import Array

__all__ = ["boxed_lcp"]


def boxed_lcp(
    A: Array, b: Array, lo: Array, hi: Array, guess: np.ndarray | None = None
) -> tuple[Array, Array, np.ndarray]:
    """Solve it by block principal pivoting, falling back on least-index single pivots, which cannot cycle.

    Args:
        A: (n, n) symmetric positive definite.
        b: (n,).
        lo, hi: (n,) bounds, lo ≤ hi, possibly infinite.
        guess: (n,) which side each row will be on, as in the third result; by the sign of ``b`` if not given.

    Returns:
        x, w, and (n,) int where −1 marks x = lo, +1 marks x = hi and 0 a row with w = 0 (then w is exactly zero).

    Raises:
        SimulationError: the pivots do not end (A is not positive definite).
    """
    n = len(b)
    x: Array = np.zeros(n)
    # without any x, w = b: rows that want to move one way are pushed back by the bound on the other side
    side = -np.sign(b).astype(np.int64) if guess is None else guess.astype(np.int64)
    side[((side < 0) & np.isneginf(lo)) | ((side > 0) & np.isposinf(hi))] = 0
    scale = 1e-13 * (1.0 + float(np.max(np.abs(b), initial=0.0)))
    fewest, patience = n + 1, 10
    for _ in range(50 + 20 * n):
        free = side == 0
        inside = free.nonzero()[0]
        np.copyto(x, lo, where=side < 0)
        np.copyto(x, hi, where=side > 0)
        if len(inside):
            x[inside] = 0.0
            # LAPACK itself: NumPy's wrapper costs more than the work on matrices of this size
            block = A if len(inside) == n else A[inside[:, None], inside]
            rest = b + A @ x
            _, solution, bad = dposv(block, -rest[inside], lower=1)
            if bad:
                break
            x[inside] = solution
        w = A @ x + b
        w[inside] = 0.0
        low, high = free & (x < lo), free & (x > hi)
        release = ((side < 0) & (w < -scale)) | ((side > 0) & (w > scale))
        wrong = low | high | release
        count = int(np.count_nonzero(wrong))
        if count == 0:
            return x, w, side
        if count < fewest:
            fewest, patience = count, 10
        elif patience > 0:
            patience -= 1
        else:
            last = np.zeros(n, dtype=bool)
            last[np.flatnonzero(wrong)[-1]] = True
            low, high, release = low & last, high & last, release & last
        side[low], side[high], side[release] = -1, 1, 0
    raise SimulationError(
        "friction and stop forces cannot be resolved",
        where="complementarity problem",
        remedy="Check that the mass matrix is positive definite: masses, inertias, armatures.",
    )
