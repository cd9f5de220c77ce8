"""Mistakes of readings: columns of two joints exchanged, or a column with the opposite sign."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robot_dynamics_ros.model.description import Array

_COLUMNS = ("efforts", "positions", "positions and efforts")


@dataclass(frozen=True)
class ReadingMistake:
    """Columns exchanged or with the opposite sign.

    Attributes:
        columns: ``"efforts"``, ``"positions"`` (and their derivatives) or ``"positions and efforts"``.
        joints: numbers of the two that are exchanged, or of those with the opposite sign.
        exchanged: which of both it is.
    """

    columns: str
    joints: tuple[int, ...]
    exchanged: bool

    @property
    def of_efforts(self) -> bool:
        """Whether efforts are concerned."""
        return "efforts" in self.columns

    @property
    def of_positions(self) -> bool:
        """Whether positions are concerned."""
        return "positions" in self.columns

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
            return f"the {self.columns} of joints {names[self.joints[0]]} and {names[self.joints[1]]} are exchanged"
        whose = f"joint {names[self.joints[0]]}" if len(self.joints) == 1 else "all joints"
        return f"the {self.columns} of {whose} have the opposite sign"


def reading_mistakes(nv: int) -> Iterator[ReadingMistake]:
    """Every pair of joints exchanged; the sign of each joint, and of all."""
    for joints, exchanged in (
        *((pair, True) for pair in combinations(range(nv), 2)),
        *(((j,), False) for j in range(nv)),
        *(((tuple(range(nv)), False),) if nv > 1 else ()),
    ):
        for columns in _COLUMNS:
            yield ReadingMistake(columns, joints, exchanged)
