"""A joint trajectory: named joints, points, times; checked once, then constant.

The meaning follows trajectory_msgs/JointTrajectory as joint_trajectory_controller of ros2_controllers documents it.
How a controller follows it is stated in :mod:`~robot_dynamics_ros.control.reference.tracks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.result import ResultCode, TrajectoryRejected
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

__all__ = ["NANOSECONDS", "SLICE", "Trajectory", "TrajectoryPoint", "nanoseconds", "slices"]

NANOSECONDS = 1_000_000_000

#: Points of a long trajectory that are dealt with together, even.  NumPy holds the interpreter's lock in much of what it
#: does, and the control cycle, in another thread, should not wait for it longer than some 0.1 ms.
SLICE = 4096


def slices(n: int) -> Iterator[slice]:
    """0 … n in slices."""
    return (slice(i, min(i + SLICE, n)) for i in range(0, n, SLICE))


#: A speed at the last point that still counts as rest, rad/s or m/s (single-precision rounding of a zero).
REST_SPEED = 1.2e-7


def nanoseconds(seconds: float) -> int:
    """Seconds as an integer number of nanoseconds.

    Args:
        seconds: s.

    Raises:
        ArgumentError: not a finite number.
    """
    if not (isinstance(seconds, (int, float, np.integer, np.floating)) and math.isfinite(seconds)):
        raise ArgumentError("expected a finite number of seconds", where="seconds", got=seconds)
    return round(seconds * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One point, as in trajectory_msgs/JointTrajectoryPoint; an empty field is one that is not given.

    Attributes:
        time_from_start: ns after the trajectory's start.
        positions, velocities, accelerations, effort: one value a joint, in the order of the joint names, SI.
    """

    time_from_start: int
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A checked trajectory of k joints through n points.

    Make one with :meth:`from_points` or :meth:`from_waypoints`.

    Attributes:
        joint_names: the k joints.
        times: (n,) int64, ns after the start, strictly increasing.
        positions, velocities, accelerations: (n, k); rows of values that were not given are zero.
        degree: (n,) how each point was specified: 1 position; 3 and velocity; 5 and acceleration.  A segment is a
            polynomial of the smaller degree of its two ends: linear, cubic or quintic.
        effort: (n, k) feed-forward effort, or ``None`` if no point has any.
        stamp: ns, the time at which the trajectory starts; 0: when it is accepted.
    """

    joint_names: tuple[str, ...]
    times: np.ndarray
    positions: Array
    velocities: Array
    accelerations: Array
    degree: np.ndarray
    effort: Array | None = None
    stamp: int = 0

    def __len__(self) -> int:
        return len(self.times)

    @property
    def duration(self) -> float:
        """Time of the last point after the start, s; 0 for an empty trajectory."""
        return float(self.times[-1]) / NANOSECONDS if len(self.times) else 0.0

    @classmethod
    def from_points(
        cls,
        joint_names: Sequence[str],
        points: Iterable[TrajectoryPoint],
        *,
        stamp: int = 0,
        allow_nonzero_end_velocity: bool = False,
    ) -> Trajectory:
        """Check points and freeze them.  No points make an empty trajectory, which means: hold.

        Raises:
            TrajectoryRejected: a name twice, no names, a field of the wrong length, a value that is not finite, no
                positions (alone with velocities or effort included), a negative or not increasing time, a last point
                that moves although ``allow_nonzero_end_velocity`` is false.
        """
        names = _checked_names(joint_names)
        rows = list(points)
        _check_stamp(stamp)
        if rows and not names:
            raise TrajectoryRejected(
                "the trajectory has points and no joint names",
                where="joint_names",
                code=ResultCode.INVALID_JOINTS,
                remedy="Name the joints that the columns of each point belong to.",
            )
        gathered = _gather(rows, len(names)) if len(rows) >= FEW else None
        times, fields, given = gathered or _one_by_one(rows, names)
        return cls._of(names, times, fields, given, stamp, allow_nonzero_end_velocity)

    @classmethod
    def from_arrays(
        cls,
        joint_names: Sequence[str],
        times: np.ndarray,
        fields: Array,
        given: np.ndarray,
        *,
        stamp: int = 0,
        allow_nonzero_end_velocity: bool = False,
    ) -> Trajectory:
        """The same from whole arrays; the caller gives them away.

        Args:
            joint_names: the k joints.
            times: (n,) int64 ns after the start.
            fields: (4, n, k) positions, velocities, accelerations, efforts.
            given: (4, n) whether a point has the field; where it has not, ``fields`` is zero.

        Raises:
            TrajectoryRejected: as :meth:`from_points`.
        """
        names = _checked_names(joint_names)
        if not (len(names) and _sound(times, fields, given)):  # find out what is wrong, and where
            rows = [
                TrajectoryPoint(int(t), *(tuple(fields[f, i].tolist()) if given[f, i] else () for f in range(4)))
                for i, t in enumerate(times)
            ]
            return cls.from_points(
                joint_names, rows, stamp=stamp, allow_nonzero_end_velocity=allow_nonzero_end_velocity
            )
        _check_stamp(stamp)
        return cls._of(names, times, fields, given, stamp, allow_nonzero_end_velocity)

    @classmethod
    def _of(
        cls,
        names: tuple[str, ...],
        times: np.ndarray,
        fields: Array,
        given: np.ndarray,
        stamp: int,
        allow_nonzero_end_velocity: bool,
    ) -> Trajectory:
        n = len(times)
        degree = np.where(given[1], np.where(given[2], 5, 3), 1).astype(np.int8)
        if n and not allow_nonzero_end_velocity:
            worst = int(np.argmax(np.abs(fields[1, -1])))
            if abs(fields[1, -1, worst]) > REST_SPEED:
                raise TrajectoryRejected(
                    f"joint {names[worst]!r} still moves with {fields[1, -1, worst]:g} at the last point",
                    where=f"points[{n - 1}].velocities",
                    got=float(fields[1, -1, worst]),
                    remedy="End at rest, or set allow_nonzero_velocity_at_trajectory_end.",
                )
        for array in (times, fields, degree):
            array.setflags(write=False)
        effort = fields[3] if given[3].any() else None
        return cls(names, times, fields[0], fields[1], fields[2], degree, effort, int(stamp))

    @classmethod
    def from_waypoints(
        cls,
        joint_names: Sequence[str],
        times: Sequence[float],
        positions: Sequence[ArrayLike] | Array,
        velocities: Sequence[ArrayLike] | Array | None = None,
        accelerations: Sequence[ArrayLike] | Array | None = None,
        *,
        effort: Sequence[ArrayLike] | Array | None = None,
        stamp: int = 0,
        allow_nonzero_end_velocity: bool = False,
    ) -> Trajectory:
        """The same from whole arrays: ``times`` (n,) in seconds, the others (n, k).

        Raises:
            TrajectoryRejected: as :meth:`from_points`, or arrays of unlike length.
        """

        for i, time in enumerate(times):
            if not math.isfinite(time):
                raise TrajectoryRejected(
                    f"the time is {time}", where=f"times[{i}]", got=time, remedy="Give seconds as finite numbers."
                )
        columns: list[list[tuple[float, ...]]] = []
        for name, rows in zip(_FIELDS, (positions, velocities, accelerations, effort), strict=True):
            if rows is not None and len(rows) != len(times):
                raise TrajectoryRejected(
                    f"{len(rows)} rows for {len(times)} times", where=name, got=len(rows), remedy="Give one row a time."
                )
            given = [np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in (() if rows is None else rows)]
            columns.append([tuple(row.tolist()) for row in given] or [()] * len(times))
        points = [TrajectoryPoint(nanoseconds(t), *fields) for t, *fields in zip(times, *columns, strict=True)]
        return cls.from_points(joint_names, points, stamp=stamp, allow_nonzero_end_velocity=allow_nonzero_end_velocity)

    def smoothed(self, start: Sequence[float] | None = None) -> Trajectory:
        """The same points with velocities, so that the motion through them has continuous acceleration.

        The velocities are those of the cubic spline through the positions that is at rest at both ends; whatever
        velocities and accelerations were given are replaced.

        Args:
            start: (k,) positions at the start of the trajectory, where the first point is not at time 0; without it
                the arm rests at the first point.

        Raises:
            TrajectoryRejected: fewer than two positions to go through, or ``start`` of the wrong length.

        Source: de Boor, A Practical Guide to Splines (1978), chapter IV (complete spline).
        """
        from scipy.interpolate import CubicSpline

        times, positions = self.times / NANOSECONDS, np.array(self.positions)
        prepend = start is not None and len(self) > 0 and self.times[0] > 0
        if prepend:
            first = np.asarray(start, dtype=np.float64)
            if first.shape != (len(self.joint_names),) or not np.isfinite(first).all():
                raise TrajectoryRejected(
                    f"expected {len(self.joint_names)} finite positions, got {start!r}",
                    where="start",
                    got=start,
                    remedy="Give one position a joint.",
                )
            times, positions = np.concatenate([[0.0], times]), np.vstack([first, positions])
        if len(times) < 2:
            raise TrajectoryRejected(
                "there is only one position", where="points", remedy="Give at least two, or a start."
            )
        velocities = CubicSpline(times, positions, bc_type="clamped")(times, 1)[1 if prepend else 0 :]
        velocities[-1] = 0.0
        zeros, degree = np.zeros_like(velocities), np.full(len(self), 3, dtype=np.int8)
        for array in (velocities, zeros, degree):
            array.setflags(write=False)
        return replace(self, velocities=velocities, accelerations=zeros, degree=degree)


#: Below this many points a loop is faster than arrays.
FEW = 16

_FIELDS = ("positions", "velocities", "accelerations", "effort")


def _check_stamp(stamp: object) -> None:
    if not isinstance(stamp, (int, np.integer)) or stamp < 0:
        raise TrajectoryRejected(
            f"expected a non-negative integer number of nanoseconds, got {stamp!r}",
            where="header.stamp",
            got=stamp,
            remedy="Zero means: start when accepted.",
        )


def _sound(times: np.ndarray, fields: Array, given: np.ndarray) -> bool:
    """Whether :func:`_one_by_one` would find nothing wrong."""
    return bool(
        given[0].all()
        and (times[:1] >= 0).all()
        and (np.diff(times) > 0).all()
        and all(np.isfinite(fields[:, rows].sum()) for rows in slices(len(times)))
    )


def _gather(rows: Sequence[TrajectoryPoint], k: int) -> tuple[np.ndarray, Array, np.ndarray] | None:
    """Times, fields and which are given of many points at once; ``None`` if anything is out of the ordinary."""
    n = len(rows)
    fields, given = np.zeros((4, n, k)), np.zeros((4, n), dtype=bool)
    try:
        times = np.array([row.time_from_start for row in rows])
        if times.dtype != np.int64:
            return None
        for f, name in enumerate(_FIELDS):
            values = [getattr(row, name) for row in rows]
            lengths = np.array([len(x) for x in values])
            given[f] = lengths == k
            if not (given[f] | (lengths == 0)).all():
                return None
            if given[f].any():
                fields[f, given[f]] = np.array([x for x in values if len(x)], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return (times, fields, given) if _sound(times, fields, given) else None


def _one_by_one(rows: Sequence[TrajectoryPoint], names: tuple[str, ...]) -> tuple[np.ndarray, Array, np.ndarray]:
    """The same, point by point.

    Raises:
        TrajectoryRejected: says which point, which field, which joint.
    """
    n, k = len(rows), len(names)
    times = np.zeros(n, dtype=np.int64)
    fields, given = np.zeros((4, n, k)), np.zeros((4, n), dtype=bool)
    for i, point in enumerate(rows):
        where = f"points[{i}]"
        times[i] = _checked_time(point.time_from_start, where, previous=int(times[i - 1]) if i else None)
        for f, name in enumerate(_FIELDS):
            given[f, i] = _fill(fields[f, i], getattr(point, name), f"{where}.{name}", names)
        if not given[0, i]:
            what = "effort only" if given[3, i] and not (given[1, i] or given[2, i]) else "no positions"
            raise TrajectoryRejected(
                f"the point has {what}",
                where=where,
                remedy="Give every point positions; velocities and accelerations are not integrated.",
            )
    return times, fields, given


def _checked_names(joint_names: Sequence[str]) -> tuple[str, ...]:
    names = tuple(joint_names)
    seen: set[str] = set()
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise TrajectoryRejected(
                f"{name!r} is no joint name",
                where=f"joint_names[{i}]",
                got=name,
                code=ResultCode.INVALID_JOINTS,
                remedy="Name each joint.",
            )
        if name in seen:
            raise TrajectoryRejected(
                f"joint {name!r} is named twice",
                where=f"joint_names[{i}]",
                got=name,
                code=ResultCode.INVALID_JOINTS,
                remedy="Name each joint once.",
            )
        seen.add(name)
    return names


def _checked_time(time: object, where: str, previous: int | None) -> int:
    where = f"{where}.time_from_start"
    if isinstance(time, bool) or not isinstance(time, (int, np.integer)):
        raise TrajectoryRejected(
            f"expected an integer number of nanoseconds, got {time!r}",
            where=where,
            got=time,
            remedy="Convert seconds with nanoseconds().",
        )
    if time < 0:
        raise TrajectoryRejected(
            f"the time is negative ({time / NANOSECONDS:g} s)",
            where=where,
            got=int(time),
            remedy="Times count from the start of the trajectory.",
        )
    if previous is not None and time <= previous:
        raise TrajectoryRejected(
            f"{time / NANOSECONDS:.9g} s does not come after the point before ({previous / NANOSECONDS:.9g} s)",
            where=where,
            got=int(time),
            remedy="Times must be strictly increasing.",
        )
    return int(time)


def _fill(out: Array, values: Sequence[float], where: str, names: tuple[str, ...]) -> bool:
    """Copy one field of a point into ``out``; False if it is empty, i.e. not given."""
    if len(values) == 0:
        return False
    if len(values) != len(names):
        raise TrajectoryRejected(
            f"{len(values)} values for {len(names)} joints",
            where=where,
            got=len(values),
            remedy="Give one value for each of joint_names, or leave the field empty.",
        )
    try:
        out[:] = values
    except (TypeError, ValueError):
        raise TrajectoryRejected(f"not numbers: {values!r}", where=where, got=values, remedy="Give floats.") from None
    for name, value in zip(names, out, strict=True):
        if not math.isfinite(value):
            raise TrajectoryRejected(
                f"the value of joint {name!r} is {value}",
                where=where,
                got=float(value),
                remedy="Give finite numbers; leave the field empty if it is not specified.",
            )
    return True
