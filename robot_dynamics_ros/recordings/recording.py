"""Recorded joint states, row by row, with what is wrong with some of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["BadRow", "Recording", "RowCollector"]

#: what to do with rows that cannot be used
CHOICES = ("skip", "refuse")


class BadRow(NamedTuple):
    """A row that cannot be used: its number in the source, counted from 1, and why."""

    number: int
    why: str


@dataclass(frozen=True, eq=False)
class Recording:
    """Joint states over time, in the order of ``joint_names``.

    Attributes:
        source: where it comes from, for messages.
        joint_names: joints.
        t: (n,) strictly increasing times, s, the first as recorded.
        q: (n, nq) positions.
        v: (n, nv) velocities, or ``None`` where they were not recorded.
        effort: (n, nv) efforts, or ``None``.
        rows: (n,) numbers of the rows in the source.
        bad: rows left out.
        other: rows about other robots' joints, which are nobody's fault.
    """

    source: str
    joint_names: tuple[str, ...]
    t: Array
    q: Array
    v: Array | None
    effort: Array | None
    rows: np.ndarray
    bad: tuple[BadRow, ...] = ()
    other: int = 0

    def __len__(self) -> int:
        return len(self.t)


@dataclass
class RowCollector:
    """Takes rows one after the other and keeps the good ones.

    Args:
        model: the robot; only joints with one coordinate, which is what joint states can tell.
        source: for messages.
        on_bad: ``"skip"`` bad rows and remember them, or ``"refuse"`` the recording at the first.

    Raises:
        ArgumentError: the robot has joints that joint states cannot describe, or ``on_bad`` is neither.
    """

    model: RobotModel
    source: str
    on_bad: str = "skip"
    bad: list[BadRow] = field(default_factory=list)
    other: int = 0

    def __post_init__(self) -> None:
        if self.on_bad not in CHOICES:
            raise ArgumentError(
                f"expected one of {', '.join(CHOICES)}, got {self.on_bad!r}", where="bad rows", got=self.on_bad
            )
        for name in self.model.joint_names:
            kind = self.model.joint(name).type
            if kind.nq != 1:
                raise ArgumentError(
                    f"joint {name!r} is {kind.name.lower()}, and joint states hold one number a joint",
                    where=f"robot {self.model.name!r}",
                    got=name,
                    remedy="Lock the joint, or cut out the subtree.",
                )
        self._columns: tuple[list[float], list[list[float]], list[list[float]], list[list[float]], list[int]] = (
            [],
            [],
            [],
            [],
            [],
        )
        self._last = -math.inf

    def add(
        self,
        number: int,
        t: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float] = (),
        effort: Sequence[float] = (),
    ) -> None:
        """Take one row.

        Raises:
            ArgumentError: it is bad, and bad rows are refused.
        """
        why = self._take(number, t, names, position, velocity, effort)
        if why:
            self.reject(number, why)

    def reject(self, number: int, why: str) -> None:
        """Remember a bad row, or refuse it.

        Raises:
            ArgumentError: bad rows are refused.
        """
        if self.on_bad == "refuse":
            raise ArgumentError(
                f"row {number}: {why}",
                where=self.source,
                got=number,
                remedy="Correct the recording, or have bad rows skipped.",
            )
        self.bad.append(BadRow(number, why))

    def _take(
        self,
        number: int,
        t: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> str:
        wanted = self.model.joint_names
        place: Mapping[str, int] = {name: i for i, name in enumerate(names)}
        missing = [name for name in wanted if name not in place]
        if wanted and len(missing) == len(wanted):
            self.other += 1
            return ""
        if missing:
            return f"joint {missing[0]!r} is missing"
        if len(place) != len(names):
            return "a joint is named twice"
        for what, values in (("position", position), ("velocity", velocity), ("effort", effort)):
            if len(values) not in ((len(names),) if what == "position" else (0, len(names))):
                return f"{len(values)} values of {what} for {len(names)} joints"
        rows = [
            [float(values[place[name]]) for name in wanted] if len(values) else []
            for values in (position, velocity, effort)
        ]
        if not math.isfinite(t):
            return f"the time is {t}"
        for name, value in zip(wanted, rows[0], strict=True):
            if not math.isfinite(value):
                return f"the position of joint {name!r} is {value}"
        if rows[1] and any(map(math.isnan, rows[1])) and not all(map(math.isnan, rows[1])):
            return "some of the velocities are missing"
        if any(map(math.isinf, (*rows[1], *rows[2]))):
            return "a velocity or effort is infinite"
        if t <= self._last:
            return f"the time {t:.9f} s does not come after {self._last:.9f} s"
        self._last = t
        times, *columns, numbers = self._columns
        times.append(t)
        for column, row in zip(columns, rows, strict=True):
            column.append(row or [math.nan] * len(wanted))
        numbers.append(number)
        return ""

    def finish(self) -> Recording:
        """The recording.

        Velocities count as recorded only if all good rows have them; otherwise they follow from positions throughout.

        Raises:
            ArgumentError: no row is good.
        """
        times, positions, velocities, efforts, numbers = self._columns
        if not times:
            seen = f"{len(self.bad)} bad rows, {self.other} of other joints"
            first = f"; the first: row {self.bad[0].number}: {self.bad[0].why}" if self.bad else ""
            raise ArgumentError(
                f"there is no usable row ({seen}{first})",
                where=self.source,
                remedy=f"It has to hold the joints {', '.join(self.model.joint_names)}.",
            )
        n = len(times)
        shape = (n, len(self.model.joint_names))

        def complete(rows: list[list[float]]) -> Array | None:
            table = np.array(rows).reshape(shape)
            return table if np.isfinite(table).all() else None

        return Recording(
            self.source,
            self.model.joint_names,
            np.array(times),
            np.array(positions).reshape(shape),
            complete(velocities),
            complete(efforts),
            np.array(numbers),
            tuple(self.bad),
            self.other,
        )
