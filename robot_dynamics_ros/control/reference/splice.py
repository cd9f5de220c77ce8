"""From a trajectory to the path that the arm will follow: joint mapping, start state, stamps, replacement.

The rules are the documented ones of joint_trajectory_controller: points that are due in the past are left out, the path
up to the start of the new trajectory is kept, and from there the reference goes from the state it has then to the first
point left.  Position and velocity of the reference never jump, except for the steps that a trajectory itself contains
(positions without velocities between points; a single point that is due at once).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.hold import stop_path
from robot_dynamics_ros.control.reference import polynomial
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.result import ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, slices
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["JointTable", "splice", "stream_path"]


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """Properties of the joints that splicing needs.

    Attributes:
        names: the n joints, in the order of the path.
        commanded: (n,) which of them may be commanded.
        continuous: (n,) which of them are continuous joints, whose angles repeat after 2π.
        lower, upper: (n,) position limits.
        fastest: (n,) velocity limits, or ``None``.
    """

    names: tuple[str, ...]
    commanded: np.ndarray
    continuous: np.ndarray
    lower: Array
    upper: Array
    fastest: Array | None = None

    @classmethod
    def of(cls, model: RobotModel, joints: Sequence[str] | None = None) -> JointTable:
        """The table of a model whose joints have one coordinate each; ``joints``: those commanded, default all."""
        continuous = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
        commanded = [joints is None or name in joints for name in model.joint_names]
        return cls(
            model.joint_names, np.array(commanded), np.array(continuous), model.lower, model.upper, model.velocity_limit
        )

    def columns(self, joint_names: Sequence[str], *, allow_partial: bool) -> np.ndarray:
        """Where the named joints are in the path.

        Raises:
            TrajectoryRejected: a joint that is unknown or not commanded; some missing and ``allow_partial`` false.
        """
        known = {name: i for i, name in enumerate(self.names) if self.commanded[i]}
        for i, name in enumerate(joint_names):
            if name not in known:
                raise TrajectoryRejected(
                    f"joint {name!r} is none of the controller's",
                    where=f"joint_names[{i}]",
                    got=name,
                    code=ResultCode.INVALID_JOINTS,
                    remedy=f"Its joints are {', '.join(known)}.",
                )
        missing = [name for name in known if name not in joint_names]
        if missing and not allow_partial:
            raise TrajectoryRejected(
                f"joint {missing[0]!r} is missing" + (f" and {len(missing) - 1} more" if missing[1:] else ""),
                where="joint_names",
                got=tuple(joint_names),
                code=ResultCode.INVALID_JOINTS,
                remedy="Name all joints of the controller, or set allow_partial_joints_goal.",
            )
        return np.array([known[name] for name in joint_names], dtype=np.intp)


def splice(
    current: Path,
    trajectory: Trajectory,
    now: int,
    table: JointTable,
    *,
    allow_partial: bool = False,
    max_step: float = math.inf,
) -> tuple[Path, int, int]:
    """Put ``trajectory`` onto ``current``.

    Args:
        current: the path followed so far, of all joints of ``table``.
        trajectory: with at least one point.
        now: present time, ns.
        allow_partial: accept a trajectory for some of the commanded joints; the others stay on ``current``.
        max_step: largest step of a trajectory whose only point left is due at once, rad or m.

    Returns:
        The new path, its start (``now`` or the stamp), and the time of the last point, ns.

    Raises:
        TrajectoryRejected: joints do not match, all points are in the past, a point lies outside the position limits,
            or the step is too large.
    """
    if not len(trajectory):
        raise TrajectoryRejected("the trajectory is empty", where="points", remedy="An empty one means hold.")
    columns = table.columns(trajectory.joint_names, allow_partial=allow_partial)
    _check_sense(trajectory, columns, table)
    begin = trajectory.stamp or now
    start = max(now, begin)
    due = begin + trajectory.times
    left = np.flatnonzero(due > start)
    if not len(left) and due[-1] < start:
        raise TrajectoryRejected(
            f"its last point was due {(start - int(due[-1])) / NANOSECONDS:.3f} s ago",
            where="header.stamp",
            got=trajectory.stamp,
            code=ResultCode.OLD_HEADER_TIMESTAMP,
            remedy="Set the stamp to zero (start now) or to the future, and check that the clocks agree.",
        )
    q0, v0, a0 = (row[columns] for row in current.sample(start))
    first = int(left[0]) if len(left) else len(trajectory) - 1
    turns = np.where(
        table.continuous[columns], np.rint((q0 - trajectory.positions[first]) / (2.0 * np.pi)) * 2.0 * np.pi, 0.0
    )
    knots = np.concatenate([[start], due[first:]])
    before = q0
    for rows in slices(len(due) - first):
        positions, where = trajectory.positions[first:][rows] + turns, first + rows.start
        _check_limits(positions, where, columns, table)
        if len(left):
            _check_pace(
                np.vstack([before, positions]), knots[rows.start : rows.stop + 1], where, columns, table, max_step
            )
        before = positions[-1]
    e0 = current.effort_at(start)[0][columns]
    efforts = None if trajectory.effort is None else trajectory.effort[first:]
    if not len(left):
        position = trajectory.positions[first] + turns
        step = np.abs(position - q0)
        worst = int(np.argmax(step))
        if step[worst] > max_step:
            raise TrajectoryRejected(
                f"joint {trajectory.joint_names[worst]!r} would have to jump by {step[worst]:.4g}",
                where=f"points[{first}]",
                got=float(step[worst]),
                remedy=f"Give the point a time_from_start; at once, up to {max_step:g} is accepted.",
            )
        held = None if efforts is None else np.stack([efforts[0], np.zeros(len(columns))])[None]
        new = Path([start], polynomial.constant(position)[None], held)
    else:
        points = tuple(x[first:] for x in (trajectory.positions, trajectory.velocities, trajectory.accelerations))
        new = _through(knots, (q0, v0, a0, e0), points, turns, trajectory.degree[first:], efforts)
    return current.overlaid(new, columns, now), start, max(start, int(due[-1]))


def stream_path(
    current: Path,
    trajectory: Trajectory,
    now: int,
    table: JointTable,
    timeout: int,
    deceleration: Array,
    *,
    allow_partial: bool = True,
    max_step: float = math.inf,
) -> Path:
    """Follow one streamed set-point, go on with its velocity, and come to a stop if no other arrives in time.

    Args:
        trajectory: of one point.
        timeout: ns from ``now`` until the stop begins (or from when the point is due, if that is later).
        deceleration: (n,) of the stop.

    Raises:
        TrajectoryRejected: as :func:`splice`.
    """
    columns = table.columns(trajectory.joint_names, allow_partial=allow_partial)
    _check_sense(trajectory, columns, table)
    reached, _, due = splice(current, trajectory, now, table, allow_partial=True, max_step=max_step)
    q = reached.sample(due)[0][columns]
    v, a = trajectory.velocities[0], trajectory.accelerations[0]
    stop = max(due, now + timeout)
    x = (stop - due) / NANOSECONDS
    new = stop_path(
        stop, q + x * (v + 0.5 * x * a), v + x * a, deceleration[columns], table.lower[columns], table.upper[columns]
    )
    if stop > due:
        ahead = polynomial.extrapolation(q, v, a)[None]
        new = Path([due, *new.knots], np.concatenate([ahead, new.coefficients]))
    if reached.effort_coefficients is not None:
        held = np.zeros((len(new.knots), 2, len(columns)))
        held[:, 0] = reached.effort_at(due)[0, columns]
        new = Path(new.knots, new.coefficients, held)
    return reached.overlaid(new, columns, now)


def _through(
    knots: np.ndarray,
    state: tuple[Array, Array, Array, Array],
    points: tuple[Array, ...],
    turns: Array,
    degree: np.ndarray,
    efforts: Array | None,
) -> Path:
    """The path from the start state through the points to rest at the last one.

    Args:
        knots: (m + 1,) ns, of the start and the m points.
        state: (k,) position, velocity, acceleration and effort at the start.
        points: (m, k) positions, velocities, accelerations.
        turns: (k,) to be added to the positions.
        degree: (m,) see :class:`Trajectory`.
        efforts: (m, k), or ``None``.
    """
    q0, v0, _, e0 = state
    m, k = points[0].shape
    offsets: tuple[Array | float, ...] = (turns, 0.0, 0.0)
    durations = (np.diff(knots) / NANOSECONDS)[:, None]
    degrees = np.minimum(np.concatenate([degree[:1], degree[:-1]]), degree)  # the smaller one of a segment's ends
    pieces = np.empty((m + 1, 6, k))
    effort_pieces = None if efforts is None else np.empty((m + 1, 2, k))
    polynomials: dict[int, Callable[..., Array]] = {
        5: polynomial.quintic,
        3: polynomial.cubic,
        1: polynomial.linear,
    }
    last = state
    for rows in slices(m):
        after = [x[rows] + offset for x, offset in zip(points, offsets, strict=True)]
        before = [np.vstack([x0, x[:-1]]) for x0, x in zip(last, after, strict=False)]
        T, out = durations[rows], pieces[rows]
        for d, through in polynomials.items():
            terms = (d + 1) // 2
            some = np.flatnonzero(degrees[rows] == d)
            if len(some):
                ends = (*(x[some] for x in before[:terms]), *(x[some] for x in after[:terms]))
                out[some] = np.moveaxis(through(*ends, T[some]), 0, 1)
        effort = e0
        if efforts is not None and effort_pieces is not None:
            levels = np.vstack([last[3], efforts[rows]])
            effort_pieces[rows, 0] = levels[:-1]
            effort_pieces[rows, 1] = np.diff(levels, axis=0) / T
            effort = levels[-1]
        last = (after[0][-1], after[1][-1], after[2][-1], effort)
    end, T0 = last[0], float(durations[0, 0])
    if degrees[0] == 1 and v0.any():
        # joints that move already would have their velocity jump at the start of a straight line
        q1 = points[0][0] + turns
        leaving = polynomial.cubic(q0, v0, q1, (q1 - q0) / T0, T0)
        pieces[0] = np.where(v0 != 0.0, leaving, pieces[0])
    pieces[m] = polynomial.constant(end)
    if effort_pieces is not None:
        effort_pieces[m] = last[3], np.zeros(k)
    return Path(knots, pieces, effort_pieces)


#: How many times a joint's velocity limit a velocity may be that is taken for meant; where there is no limit, and for
#: accelerations and efforts, the largest numbers so taken, rad/s, rad/s², N m (or m/s, …).
FASTEST_SHARE, FASTEST, SHARPEST, STRONGEST = 10.0, 1e4, 1e7, 1e7


def _check_sense(trajectory: Trajectory, columns: np.ndarray, table: JointTable) -> None:
    """Refuse numbers that are finite and cannot be meant: they would overflow in the law, a fault for nothing."""
    fastest = _fastest(columns, table)
    for rows in slices(len(trajectory)):
        for name, values, largest in (
            ("velocities", trajectory.velocities, fastest),
            ("accelerations", trajectory.accelerations, SHARPEST),
            ("effort", trajectory.effort, STRONGEST),
        ):
            if values is None:
                continue
            bad = np.abs(values[rows]) > largest
            if bad.any():
                i, j = _first(bad)
                i += rows.start
                raise TrajectoryRejected(
                    f"{float(values[i, j]):.6g} for joint {table.names[columns[j]]!r} cannot be meant, the most that is "
                    f"accepted is {float(np.broadcast_to(largest, len(columns))[j]):.6g}",
                    where=f"points[{i}].{name}",
                    got=float(values[i, j]),
                    remedy="Check the units: rad or m, s, N m or N.",
                )


def _first(bad: np.ndarray) -> tuple[int, int]:
    """Row and column of the first entry that is true."""
    i, j = np.argwhere(bad)[0]
    return int(i), int(j)


def _fastest(columns: np.ndarray, table: JointTable) -> Array:
    """The largest velocities that are taken for meant."""
    if table.fastest is None:
        return np.full(len(columns), FASTEST)
    return np.where(np.isfinite(table.fastest), FASTEST_SHARE * table.fastest, FASTEST)[columns]


def _check_pace(
    positions: Array, times: np.ndarray, first: int, columns: np.ndarray, table: JointTable, max_step: float
) -> None:
    """Refuse a way between two points, the start among them, that no joint covers in the time given for it."""
    way = np.abs(np.diff(positions, axis=0))
    bad = way * NANOSECONDS > _fastest(columns, table) * np.diff(times)[:, None]
    bad &= way > max_step
    if bad.any():
        i, j = _first(bad)
        raise TrajectoryRejected(
            f"joint {table.names[columns[j]]!r} would have to move by {way[i, j]:.4g} in "
            f"{(times[i + 1] - times[i]) / NANOSECONDS:.4g} s",
            where=f"points[{first + i}].time_from_start",
            got=float(way[i, j]),
            remedy="Give the motion more time.",
        )


def _check_limits(positions: Array, first: int, columns: np.ndarray, table: JointTable) -> None:
    slack = 1e-6
    lower, upper = table.lower[columns], table.upper[columns]
    bad = (positions < lower - slack) | (positions > upper + slack)
    if bad.any():
        i, j = _first(bad)
        raise TrajectoryRejected(
            f"joint {table.names[columns[j]]!r} is sent to {positions[i, j]:.6g}, its limits are "
            f"{lower[j]:.6g} to {upper[j]:.6g}",
            where=f"points[{first + i}].positions",
            got=float(positions[i, j]),
            remedy="Keep every point within the position limits.",
        )
