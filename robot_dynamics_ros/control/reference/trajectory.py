"""A joint trajectory: named joints, points, times; checked once, then constant.

The meaning follows trajectory_msgs/JointTrajectory as joint_trajectory_controller of
ros2_controllers documents it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.goal import ResultCode, TrajectoryRejected
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

NANOSECONDS = 1_000_000_000
# rad/s or m/s at the last point that still counts as rest: single-precision rounding of a zero
REST_SPEED = 1.2e-7
POINTS_AT_ONCE = 4096
"""Points of a long trajectory that are dealt with together, even.  NumPy holds the interpreter's
lock in much of what it does, and the control cycle, in another thread, should not wait for it
longer than some 0.1 ms.
"""


def slices(n: int) -> Iterator[slice]:
    """0 … n in slices."""
    return (slice(i, min(i + POINTS_AT_ONCE, n)) for i in range(0, n, POINTS_AT_ONCE))


def nanoseconds(seconds: float) -> int:
    """Seconds as an integer number of nanoseconds; ArgumentError: not a finite number.

    Args:
        seconds: s.
    """
    if not (isinstance(seconds, (int, float, np.integer, np.floating)) and math.isfinite(seconds)):
        raise ArgumentError("expected a finite number of seconds", where="seconds", got=seconds)
    return round(seconds * NANOSECONDS)


@dataclass(frozen=True, slots=True)
class TrajectoryPoint:
    """One point, as in trajectory_msgs/JointTrajectoryPoint: ``time_from_start``, ns, and values in
    the order of the joint names, SI; an empty field is one that is not given.
    """

    time_from_start: int
    positions: Sequence[float] = ()
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()
    effort: Sequence[float] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """A checked trajectory of k joints through n points, made by :meth:`from_points` or
    :meth:`from_waypoints`.

    Attributes:
        joint_names: the k joints.
        times: (n,) int64, ns after the start, strictly increasing.
        positions, velocities, accelerations: (n, k); rows of values that were not given are zero.
        degree: (n,) how each point was specified: 1 position; 3 and velocity; 5 and acceleration.
            A segment is a polynomial of the smaller degree of its two ends: linear, cubic or
            quintic.
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
        if len(self.times):
            return float(self.times[-1]) / NANOSECONDS
        return 0.0

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

        TrajectoryRejected: a name twice, no names, a field of the wrong length, a value that is not
        finite, no positions, a negative or not increasing time, a last point that moves although
        ``allow_nonzero_end_velocity`` is false.
        """
        rows = list(points)
        names = _checked_names(joint_names, needed=bool(rows))
        n = len(rows)
        k = len(names)
        times = np.zeros(n, dtype=np.int64)
        fields = np.zeros((4, n, k))
        present = np.zeros((4, n), dtype=bool)
        for i, point in enumerate(rows):
            time = point.time_from_start
            if isinstance(time, bool) or not isinstance(time, (int, np.integer)):
                problem = f"expected an integer number of nanoseconds, got {time!r}"
                where = f"points[{i}].time_from_start"
                remedy = "Convert seconds with nanoseconds()."
                raise TrajectoryRejected(problem, where=where, got=time, remedy=remedy)
            times[i] = time
            for f, name in enumerate(_TRAJECTORY_FIELDS):
                present[f, i] = _fill(fields[f, i], getattr(point, name), f"points[{i}].{name}")
        return cls.from_arrays(
            names,
            times,
            fields,
            present,
            stamp=stamp,
            allow_nonzero_end_velocity=allow_nonzero_end_velocity,
        )

    @classmethod
    def from_arrays(
        cls,
        joint_names: Sequence[str],
        times: np.ndarray,
        fields: Array,
        present: np.ndarray,
        *,
        stamp: int = 0,
        allow_nonzero_end_velocity: bool = False,
    ) -> Trajectory:
        """The same from whole arrays, which the caller gives away: ``times``, (n,) int64 ns after
        the start; ``fields``, (4, n, k) positions, velocities, accelerations, efforts; ``present``,
        (4, n) whether a point has the field, which else is zero.
        """
        names = _checked_names(joint_names, needed=len(times) > 0)
        wanted = (len(times), len(names))
        if np.shape(fields) != (4, *wanted) or np.shape(present) != (4, len(times)):
            raise TrajectoryRejected(
                f"expected fields (4, {wanted[0]}, {wanted[1]}) and present (4, {wanted[0]}), got "
                f"{np.shape(fields)} and {np.shape(present)}",
                where="trajectory",
                remedy="Give a row of all four fields for each point, and say which are present.",
            )
        if not isinstance(stamp, (int, np.integer)) or stamp < 0:
            problem = f"expected a non-negative integer number of nanoseconds, got {stamp!r}"
            remedy = "Zero means: start when accepted."
            raise TrajectoryRejected(problem, where="header.stamp", got=stamp, remedy=remedy)
        _check(names, times, fields, present)
        degree = np.where(present[1], np.where(present[2], 5, 3), 1).astype(np.int8)
        for array in (times, fields, degree):
            array.setflags(write=False)
        effort = fields[3] if present[3].any() else None
        trajectory = cls(names, times, fields[0], fields[1], fields[2], degree, effort, int(stamp))
        if len(times) and not allow_nonzero_end_velocity:
            trajectory.check_rest()
        return trajectory

    def check_rest(self) -> None:
        """Refuse a trajectory with points whose last one moves; TrajectoryRejected names the
        fastest joint.
        """
        worst = int(np.argmax(np.abs(self.velocities[-1])))
        speed = float(self.velocities[-1, worst])
        if abs(speed) > REST_SPEED:
            problem = (
                f"joint {self.joint_names[worst]!r} still moves with {speed:g} at the last point"
            )
            remedy = "End at rest, or set allow_nonzero_velocity_at_trajectory_end."
            raise TrajectoryRejected(
                problem, where=f"points[{len(self) - 1}].velocities", got=speed, remedy=remedy
            )

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
        """The same from arrays, ``times`` (n,) in seconds, the others (n, k); TrajectoryRejected:
        as there, or unlike lengths.
        """
        for i, time in enumerate(times):
            if not math.isfinite(time):
                remedy = "Give seconds as finite numbers."
                raise TrajectoryRejected(
                    f"the time is {time}", where=f"times[{i}]", got=time, remedy=remedy
                )
        columns: list[list[Array]] = []
        for name, rows in zip(
            _TRAJECTORY_FIELDS, (positions, velocities, accelerations, effort), strict=True
        ):
            if rows is not None and len(rows) != len(times):
                problem = f"{len(rows)} rows for {len(times)} times"
                raise TrajectoryRejected(
                    problem, where=name, got=len(rows), remedy="Give one row a time."
                )
            given = [()] * len(times) if rows is None else rows
            columns.append([np.atleast_1d(np.asarray(row, dtype=np.float64)) for row in given])
        points = [
            TrajectoryPoint(nanoseconds(t), *fields)
            for t, *fields in zip(times, *columns, strict=True)
        ]
        return cls.from_points(
            joint_names, points, stamp=stamp, allow_nonzero_end_velocity=allow_nonzero_end_velocity
        )

    def smoothed(self, start: Sequence[float] | None = None) -> Trajectory:
        """The same points with the velocities of the cubic spline through the positions that is at
        rest at both ends, in place of what was given, so that the motion through them has
        continuous acceleration.

        ``start``: (k,) positions at the start of the trajectory, where the first point is not at
        time 0; without it the arm rests at the first point. TrajectoryRejected: fewer than two
        positions to go through, or ``start`` of the wrong length.

        Source: de Boor, A Practical Guide to Splines (1978), chapter IV (complete spline).
        """
        from scipy.interpolate import CubicSpline

        times = self.times / NANOSECONDS
        positions = self.positions
        prepend = start is not None and len(self) > 0 and self.times[0] > 0
        if prepend:
            first = np.asarray(start, dtype=np.float64)
            if first.shape != (len(self.joint_names),) or not np.isfinite(first).all():
                problem = f"expected {len(self.joint_names)} finite positions, got {start!r}"
                raise TrajectoryRejected(
                    problem, where="start", got=start, remedy="Give one position a joint."
                )
            times = np.concatenate([[0.0], times])
            positions = np.vstack([first, positions])
        if len(times) < 2:
            remedy = "Give at least two, or a start."
            raise TrajectoryRejected("there is only one position", where="points", remedy=remedy)
        velocities = CubicSpline(times, positions, bc_type="clamped")(times, 1)[
            1 if prepend else 0 :
        ]
        velocities[-1] = 0.0
        zeros = np.zeros_like(velocities)
        degree = np.full(len(self), 3, dtype=np.int8)
        for array in (velocities, zeros, degree):
            array.setflags(write=False)
        return replace(self, velocities=velocities, accelerations=zeros, degree=degree)


_TRAJECTORY_FIELDS = ("positions", "velocities", "accelerations", "effort")


def _check(
    names: tuple[str, ...],
    times: np.ndarray,
    fields: Array,
    present: np.ndarray,
) -> None:
    """Check the arrays of :meth:`Trajectory.from_arrays`."""
    if not present[0].all():
        i = int(np.argmin(present[0]))
        if present[3, i] and not (present[1, i] or present[2, i]):
            what = "effort only"
        else:
            what = "no positions"
        remedy = "Give every point positions; velocities and accelerations are not integrated."
        raise TrajectoryRejected(f"the point has {what}", where=f"points[{i}]", remedy=remedy)
    steps = np.diff(times, prepend=-1)
    if (steps <= 0).any():
        i = int(np.argmax(steps <= 0))
        before = f"does not come after the point before ({times[i - 1] / NANOSECONDS:.9g} s)"
        problem = f"{times[i] / NANOSECONDS:.9g} s {before if i else 'is negative'}"
        remedy = "Times count from the start of the trajectory and must be strictly increasing."
        raise TrajectoryRejected(
            problem, where=f"points[{i}].time_from_start", got=int(times[i]), remedy=remedy
        )
    if not np.isfinite(fields.sum()):
        # or their sum overflowed
        for i, f, j in np.argwhere(~np.isfinite(fields.swapaxes(0, 1)))[:1]:
            value = float(fields[f, i, j])
            where = f"points[{i}].{_TRAJECTORY_FIELDS[f]}"
            problem = f"the value of joint {names[j]!r} is {value}"
            remedy = "Give finite numbers; leave the field empty if it is not specified."
            raise TrajectoryRejected(problem, where=where, got=value, remedy=remedy)


def _checked_names(joint_names: Sequence[str], *, needed: bool) -> tuple[str, ...]:
    names = tuple(joint_names)
    if needed and not names:
        problem = "the trajectory has points and no joint names"
        remedy = "Name the joints that the columns of each point belong to."
        raise TrajectoryRejected(
            problem, where="joint_names", code=ResultCode.INVALID_JOINTS, remedy=remedy
        )
    for i, name in enumerate(names):
        good = isinstance(name, str) and bool(name)
        if not good or name in names[:i]:
            if good:
                problem = f"joint {name!r} is named twice"
            else:
                problem = f"{name!r} is no joint name"
            where = f"joint_names[{i}]"
            wrong = ResultCode.INVALID_JOINTS
            remedy = "Name each joint, and once."
            raise TrajectoryRejected(problem, where=where, got=name, code=wrong, remedy=remedy)
    return names


def _fill(out: Array, values: Sequence[float], where: str) -> bool:
    """Copy one field of a point into ``out``; False if it is empty, i.e. not given."""
    if len(values) == 0:
        return False
    if len(values) != len(out):
        problem = f"{len(values)} values for {len(out)} joints"
        remedy = "Give one value for each of joint_names, or leave the field empty."
        raise TrajectoryRejected(problem, where=where, got=len(values), remedy=remedy)
    try:
        out[:] = values
    except (TypeError, ValueError):
        raise TrajectoryRejected(
            f"not numbers: {values!r}", where=where, got=values, remedy="Give floats."
        ) from None
    return True
