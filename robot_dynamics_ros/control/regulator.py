"""Control of a linear model: sampled, and under the linear-quadratic regulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import LinearModel
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array


def discretize(A: ArrayLike, B: ArrayLike, dt: float) -> LinearModel:
    """The exact discrete system for sampling every ``dt`` seconds with the input held constant in
    between.

    Args:
        A, B: (nx, nx), (nx, nu); ArgumentError: shapes that do not fit.
        dt: s; ArgumentError: not positive.
    """
    from scipy.linalg import expm

    A, B = _checked(A, B)
    if not (isinstance(dt, (int, float, np.number)) and np.isfinite(dt) and dt > 0.0):
        raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
    n, m = B.shape
    stepped = expm(np.block([[A, B], [np.zeros((m, n + m))]]) * dt)
    return LinearModel(stepped[:n, :n], stepped[:n, n:])


def lqr(
    A: ArrayLike,
    B: ArrayLike,
    Q: ArrayLike,
    R: ArrayLike,
    *,
    discrete: bool = False,
) -> Array:
    """(nu, nx) K of the feedback u = −K x that minimizes ∫ xᵀQ x + uᵀR u dt (or the sum over
    steps).

    Args:
        A, B: (nx, nx), (nx, nu), as :func:`linearize` or :func:`discretize` give them.
        Q: (nx, nx) or its diagonal, positive semi-definite.
        R: (nu, nu) or its diagonal, positive definite.
        discrete: A and B are of a sampled system.

    Raises:
        ArgumentError: shapes that do not fit, weights that are not (semi-)definite, or a system
            that no feedback stabilizes with these weights.
    """
    from scipy.linalg import LinAlgError, solve, solve_continuous_are, solve_discrete_are

    A, B = _checked(A, B)
    Q = _weight(Q, len(A), "Q")
    R = _weight(R, B.shape[1], "R", definite=True)
    try:
        P = (solve_discrete_are if discrete else solve_continuous_are)(A, B, Q, R)
        K = np.asarray(solve(R + B.T @ P @ B, B.T @ P @ A) if discrete else solve(R, B.T @ P))
        poles = np.linalg.eigvals(A - B @ K)
        if discrete:
            stable = np.abs(poles).max() < 1.0
        else:
            stable = poles.real.max() < 0.0
    except LinAlgError:
        stable = False
    if not stable:
        remedy = (
            "Check which joints are driven, and that Q weighs every motion that is not stable by "
            "itself."
        )
        raise ArgumentError(
            "no feedback stabilizes this system with these weights", where="lqr", remedy=remedy
        )
    return K


def _checked(A: ArrayLike, B: ArrayLike) -> tuple[Array, Array]:
    A = as_input(A, (), "A")
    B = as_input(B, (), "B")
    if A.ndim != 2 or A.shape[0] != A.shape[1] or B.ndim != 2 or len(B) != len(A):
        raise ArgumentError(
            f"expected (nx, nx) and (nx, nu), got {A.shape} and {B.shape}", where="A, B"
        )
    return A, B


def _weight(W: ArrayLike, n: int, name: str, *, definite: bool = False) -> Array:
    W = as_input(W, (), name)
    if W.shape == (n,):
        W = np.diag(W)
    if W.shape != (n, n):
        raise ArgumentError(f"expected ({n}, {n}) or ({n},), got {W.shape}", where=name)
    if np.abs(W - W.T).max(initial=0.0) > 1e-12 * max(1.0, np.abs(W).max(initial=0.0)):
        remedy = f"Give ({name} + {name}.T) / 2, or a diagonal."
        raise ArgumentError("must be symmetric", where=name, got=W, remedy=remedy)
    symmetric = (W + W.T) / 2.0
    least = np.linalg.eigvalsh(symmetric)[0]
    if definite:
        remedy = "Give a positive weight to every input."
    else:
        remedy = "Give weights of which none is negative."
    if least <= 0.0 if definite else least < -1e-12 * max(1.0, np.abs(W).max()):
        kind = "definite" if definite else "semi-definite"
        raise ArgumentError(f"must be positive {kind}", where=name, got=W, remedy=remedy)
    return symmetric
