"""Small symmetric systems in scalars of any kind (floats, batches, symbols)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from robot_dynamics_ros.spatial import S, Scalar


def is_zero(x: Scalar) -> bool:
    """Zero for certain: a float, or a symbol that is a constant; never a batch."""
    if isinstance(x, float):
        return x == 0.0
    return getattr(x, "op", None) == "const" and getattr(x, "a", None) == 0.0


def dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    """Σ xᵢ yᵢ without the terms that are zero for certain."""
    total: Scalar = 0.0
    for a, b in zip(x, y, strict=True):
        if not (is_zero(a) or is_zero(b)):
            total = total + a * b
    return total


def factorize(A: Sequence[Sequence[Scalar]]) -> tuple[list[list[Scalar]], list[Scalar]]:
    """A = Lᵀ D L of a symmetric positive-definite matrix, L unit lower triangular.

    Eliminating from the last row up keeps the zeros that a kinematic tree puts into its mass
    matrix: no entry is filled in (Featherstone 2008, section 6.5). Structural zeros are skipped.
    Returns L below the diagonal and 1/D.
    """
    n = len(A)
    L = [[A[i][j] for j in range(i + 1)] for i in range(n)]
    inverse: list[Scalar] = [0.0] * n
    for k in range(n - 1, -1, -1):
        inverse[k] = 1.0 / L[k][k]
        filled = [i for i in range(k) if not is_zero(L[k][i])]
        scaled = {i: L[k][i] * inverse[k] for i in filled}
        for i in filled:
            for j in filled:
                if j <= i:
                    L[i][j] = L[i][j] - L[k][j] * scaled[i]
        for i in filled:
            L[k][i] = scaled[i]
    return L, inverse


def solve_upper(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> list[Scalar]:
    """L⁻ᵀ b, L unit lower triangular."""
    x = list(b)
    for k in range(len(b) - 1, -1, -1):
        if is_zero(x[k]):
            continue
        for i in range(k):
            if not is_zero(L[k][i]):
                x[i] = x[i] - L[k][i] * x[k]
    return x


def solve_lower(L: Sequence[Sequence[Scalar]], b: Sequence[Scalar]) -> list[Scalar]:
    """L⁻¹ b, L unit lower triangular."""
    x = list(b)
    for k in range(len(b)):
        for i in range(k):
            if not is_zero(L[k][i]):
                x[k] = x[k] - L[k][i] * x[i]
    return x


def back_substitute(
    L: Sequence[Sequence[Scalar]],
    inverse: Sequence[Scalar],
    b: Sequence[Scalar],
) -> list[Scalar]:
    """x with Lᵀ D L x = b."""
    return solve_lower(L, [y * d for y, d in zip(solve_upper(L, b), inverse, strict=True)])


def solve_symmetric(A: Sequence[Sequence[Scalar]], b: Sequence[S]) -> list[S]:
    """x with A x = b, A symmetric and positive definite."""
    return cast("list[S]", back_substitute(*factorize(A), b))


def inverse_of_factors(
    L: Sequence[Sequence[Scalar]], inverse: Sequence[Scalar]
) -> list[list[Scalar]]:
    """(Lᵀ D L)⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ, zeros of L⁻¹ skipped; only one half is computed."""
    n = len(inverse)
    # L⁻¹, lower triangular
    K: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for j in range(n):
        K[j][j] = 1.0
        for i in range(j + 1, n):
            K[i][j] = -dot(L[i][j:i], [K[k][j] for k in range(j, i)])
    result: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
    for i in range(n):
        scaled = [x * d for x, d in zip(K[i], inverse, strict=True)]
        for j in range(i + 1):
            result[i][j] = result[j][i] = dot(scaled[: j + 1], K[j][: j + 1])
    return result
