"""Explicit Runge-Kutta methods as data.

Sources: Hairer, Nørsett, Wanner, *Solving Ordinary Differential Equations I*, 2nd ed., tables II.1.2 and II.1.3;
Butcher, *Numerical Methods for Ordinary Differential Equations*, 3rd ed., sections 232-236 (orders 3, 5 and 6);
the tables of orders 5(4) and 8(5,3) by Dormand and Prince are SciPy's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from robot_dynamics_ros.model.description import Array, frozen_array


@dataclass(frozen=True, slots=True, eq=False)
class Tableau:
    """Coefficients of one explicit method.

    Attributes:
        name: its name.
        order: order of convergence.
        A: (s, s) strictly lower triangular stage coefficients.
        b: (s,) weights.
        c: (s,) stage times.
    """

    name: str
    order: int
    A: Array
    b: Array
    c: Array

    @property
    def stages(self) -> int:
        """Number of evaluations per step."""
        return len(self.b)

    def stability_limit(self) -> float:
        """How far the region of stability reaches along the negative real axis: steps need h |λ| below it.

        The stability function is R(z) = 1 + z bᵀ (I − z A)⁻¹ 1 (Hairer and Wanner II, eq. IV.2.10 ff.).
        """
        identity, ones = np.eye(self.stages), np.ones(self.stages)
        x = 0.0
        while x < 50.0:
            z = -(x + 0.01)
            if abs(1.0 + z * self.b @ np.linalg.solve(identity - z * self.A, ones)) > 1.0 + 1e-9:
                break
            x += 0.01
        return x


def _tableau(name: str, order: int, rows: Sequence[Sequence[float]], weights: Sequence[float]) -> Tableau:
    s = len(weights)
    A = np.zeros((s, s))
    for i, row in enumerate(rows, start=1):
        A[i, : len(row)] = row
    return Tableau(name, order, frozen_array(A, (s, s)), frozen_array(weights, (s,)), frozen_array(A.sum(axis=1), (s,)))


@cache
def _from_scipy(name: str, order: int, method: str) -> Tableau:
    from scipy import integrate  # takes longer to import than the rest of a node

    table = getattr(integrate, method)
    return _tableau(name, order, [list(table.A[i, :i]) for i in range(1, len(table.B))], list(table.B))


_SCIPYS = {"rk5": (5, "RK45"), "rk8": (8, "DOP853")}
_OURS = {
    tableau.name: tableau
    for tableau in (
        _tableau("euler", 1, [], [1.0]),
        _tableau("midpoint", 2, [[1 / 2]], [0.0, 1.0]),
        _tableau("heun", 2, [[1.0]], [1 / 2, 1 / 2]),
        _tableau("rk3", 3, [[1 / 2], [-1.0, 2.0]], [1 / 6, 2 / 3, 1 / 6]),
        _tableau("rk4", 4, [[1 / 2], [0.0, 1 / 2], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        _tableau(
            "rk6",
            6,
            [
                [1 / 3],
                [0.0, 2 / 3],
                [1 / 12, 1 / 3, -1 / 12],
                [-1 / 16, 9 / 8, -3 / 16, -3 / 8],
                [0.0, 9 / 8, -3 / 8, -3 / 4, 1 / 2],
                [9 / 44, -9 / 11, 63 / 44, 18 / 11, 0.0, -16 / 11],
            ],
            [11 / 120, 0.0, 27 / 40, 27 / 40, -4 / 15, -4 / 15, 11 / 120],
        ),
    )
}


_NAMES = ("euler", "midpoint", "heun", "rk3", "rk4", "rk5", "rk6", "rk8")


class _Tableaus(Mapping[str, Tableau]):
    """SciPy's tables are read when they are asked for."""

    def __getitem__(self, name: str) -> Tableau:
        return _from_scipy(name, *_SCIPYS[name]) if name in _SCIPYS else _OURS[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


TABLEAUS: Mapping[str, Tableau] = _Tableaus()
"""The explicit methods by name."""
