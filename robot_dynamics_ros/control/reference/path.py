"""A reference in absolute time: piecewise polynomials of all joints, sampled once a cycle."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.control.cycle.memory import PathPiece
from robot_dynamics_ros.control.cycle.reference import sample
from robot_dynamics_ros.control.reference import polynomial
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, slices
from robot_dynamics_ros.model.description import Array

__all__ = ["Path"]


class Path:
    """Piecewise polynomials of n joints; the last piece has no end (it is a constant in every path made here).

    The coefficients never change; a new path is spliced onto the old one.

    Attributes:
        knots: ns, the start of each of the m pieces, strictly increasing.
        coefficients: (m, 6, n) of 1, τ … τ⁵, τ in s since the piece's knot.
        effort_coefficients: (m, 2, n) feed-forward effort, linear in τ, or ``None``: none.
    """

    __slots__ = ("coefficients", "effort_coefficients", "knots")

    def __init__(
        self, knots: Sequence[int] | np.ndarray, coefficients: Array, effort_coefficients: Array | None = None
    ) -> None:
        self.knots: list[int] = []
        for rows in slices(len(knots)):
            part = knots[rows]
            self.knots += part.tolist() if isinstance(part, np.ndarray) else [int(k) for k in part]
        self.coefficients = np.ascontiguousarray(coefficients, dtype=np.float64)
        self.effort_coefficients = effort_coefficients

    @classmethod
    def hold(cls, t: int, q: Array) -> Path:
        """Stay at ``q`` (n,) from ``t`` on."""
        return cls([t], polynomial.constant(np.asarray(q, dtype=np.float64))[None])

    @property
    def n(self) -> int:
        """Number of joints."""
        return int(self.coefficients.shape[2])

    @property
    def end(self) -> int:
        """When the last piece begins, ns."""
        return self.knots[-1]

    def piece(self, t: int) -> tuple[int, float]:
        """Number of the piece at time ``t`` and s since its start; before the first piece, its start."""
        i = bisect_right(self.knots, t) - 1
        if i < 0:
            return 0, 0.0
        return i, (t - self.knots[i]) / NANOSECONDS

    def sample(self, t: int, out: Array | None = None) -> Array:
        """(3, n) position, velocity, acceleration at ``t`` ns, written to ``out`` if given."""
        if out is None:
            out = np.empty((3, self.n))
        i, _ = self.piece(t)
        p = PathPiece()
        p.nv, p.knot, p.time = self.n, [self.knots[i]], [t]
        p.piece, p.reference = self.coefficients[i], out
        sample(p)
        return out

    def at(self, t: int) -> Array:
        """(6, n) coefficients of the piece at ``t`` with τ counted from ``t``."""
        i, x = self.piece(t)
        return polynomial.shifted(self.coefficients[i], x)

    def effort_at(self, t: int) -> Array:
        """(2, n) the same for the effort; zero if the path has none."""
        if self.effort_coefficients is None:
            return np.zeros((2, self.n))
        i, x = self.piece(t)
        return polynomial.shifted(self.effort_coefficients[i], x)

    def overlaid(self, new: Path, columns: Sequence[int] | np.ndarray, now: int) -> Path:
        """This path, with ``new`` taking over the joints ``columns`` when it begins; what is over ``now`` is dropped.

        Args:
            new: a path of ``len(columns)`` joints.
            columns: which joints of this path they are; the others go on as here.
        """
        start = new.knots[0]
        columns = np.asarray(columns, dtype=np.intp)
        begin = max(now, self.knots[0])
        kept: list[int] = []
        if start > begin:
            kept = [begin, *self.knots[bisect_right(self.knots, begin) : bisect_left(self.knots, start)]]
        if len(columns) == self.n:
            return self._replaced(kept, new, columns)
        later = np.union1d(_as_array(new.knots), _as_array(self.knots[bisect_right(self.knots, start) :]))
        knots = np.concatenate([np.array(kept, dtype=np.int64), later])
        coefficients = np.empty((len(knots), 6, self.n))
        with_effort = self.effort_coefficients is not None or new.effort_coefficients is not None
        efforts = np.empty((len(knots), 2, self.n)) if with_effort else None
        own_knots, new_knots = _as_array(self.knots), _as_array(new.knots)
        for rows in slices(len(knots)):
            times = knots[rows]
            after = np.flatnonzero(times >= start)
            for out, own, others in (
                (coefficients, self.coefficients, new.coefficients),
                (efforts, self.effort_coefficients, new.effort_coefficients),
            ):
                if out is None:
                    continue
                part = _moved(own, own_knots, times, out.shape[1:])
                part[np.ix_(after, np.arange(out.shape[1]), columns)] = _moved(
                    others, new_knots, times[after], (out.shape[1], len(columns))
                )
                out[rows] = part
        return Path(knots, coefficients, efforts)

    def _replaced(self, kept: list[int], new: Path, columns: np.ndarray) -> Path:
        """The pieces of this path at the knots ``kept``, then ``new``, which has all joints in another order."""
        others = new.effort_coefficients
        with_effort = self.effort_coefficients is not None or others is not None
        order = np.argsort(columns)
        in_order = np.array_equal(columns, np.arange(self.n))
        if in_order and not kept and with_effort == (others is not None):
            return new
        first, m = len(kept), len(new.knots)
        coefficients = np.empty((first + m, 6, self.n))
        efforts = np.empty((first + m, 2, self.n)) if with_effort else None
        for i, k in enumerate(kept):
            coefficients[i] = self.at(k)
            if efforts is not None:
                efforts[i] = self.effort_at(k)
        for rows in slices(m):
            coefficients[first:][rows] = new.coefficients[rows] if in_order else new.coefficients[rows][:, :, order]
            if efforts is not None:
                efforts[first:][rows] = 0.0 if others is None else others[rows][:, :, order]
        return Path(kept + new.knots, coefficients, efforts)


def _as_array(knots: Sequence[int]) -> np.ndarray:
    return np.concatenate(
        [np.zeros(0, np.int64), *(np.array(knots[rows], dtype=np.int64) for rows in slices(len(knots)))]
    )


def _moved(coefficients: Array | None, knots: np.ndarray, times: np.ndarray, shape: tuple[int, ...]) -> Array:
    """(m, …) coefficients of the pieces at ``times`` (m,) with τ counted from there; zero without coefficients."""
    if coefficients is None:
        return np.zeros((len(times), *shape))
    piece = np.searchsorted(knots, times, side="right") - 1
    since = np.where(piece < 0, 0, times - knots[piece]) / NANOSECONDS
    return np.moveaxis(polynomial.shifted(np.moveaxis(coefficients[np.maximum(piece, 0)], 1, 0), since[:, None]), 0, 1)
