"""From a trajectory to the path that the arm will follow: joint mapping, start state, stamps, replacement.

The rules are the documented ones of joint_trajectory_controller: points that are due in the past are left out, the path
up to the start of the new trajectory is kept, and from there the reference goes from the state it has then to the first
point left.  Position and velocity of the reference never jump, save for the steps that a trajectory asks for itself
(positions without velocities between points; a single point that is due at once).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.hold import stop_path
from robot_dynamics_ros.control.reference import polynomial
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.result import ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["JointTable", "splice", "stream_path"]


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """What splicing has to know of the joints.

    Attributes:
        names: the n joints, in the order of the path.
        commanded: (n,) which of them may be commanded.
        continuous: (n,) which of them turn without end, so that angles differ by multiples of 2π.
        lower, upper: (n,) position limits.
    """

    names: tuple[str, ...]
    commanded: np.ndarray
    continuous: np.ndarray
    lower: Array
    upper: Array

    @classmethod
    def of(cls, model: RobotModel, joints: Sequence[str] | None = None) -> JointTable:
        """The table of a model whose joints have one coordinate each; ``joints``: those commanded, default all."""
        continuous = [model.joint(name).type is JointType.CONTINUOUS for name in model.joint_names]
        commanded = [joints is None or name in joints for name in model.joint_names]
        return cls(model.joint_names, np.array(commanded), np.array(continuous), model.lower, model.upper)

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
    positions = trajectory.positions[first:] + turns
    _check_limits(positions, first, columns, table)
    e0 = current.effort_at(start)[0][columns]
    efforts = None if trajectory.effort is None else trajectory.effort[first:]
    if not len(left):
        step = np.abs(positions[0] - q0)
        worst = int(np.argmax(step))
        if step[worst] > max_step:
            raise TrajectoryRejected(
                f"joint {trajectory.joint_names[worst]!r} would have to jump by {step[worst]:.4g}",
                where=f"points[{first}]",
                got=float(step[worst]),
                remedy=f"Give the point a time_from_start; at once, up to {max_step:g} is accepted.",
            )
        held = None if efforts is None else np.stack([efforts[0], np.zeros(len(columns))])[None]
        new = Path([start], polynomial.constant(positions[0])[None], held)
    else:
        rows = slice(first, None)
        new = _through(
            start,
            (q0, v0, a0, e0),
            due[rows],
            positions,
            trajectory.velocities[rows],
            trajectory.accelerations[rows],
            trajectory.degree[rows],
            efforts,
        )
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
    start: int,
    state: tuple[Array, Array, Array, Array],
    due: np.ndarray,
    positions: Array,
    velocities: Array,
    accelerations: Array,
    degree: np.ndarray,
    efforts: Array | None,
) -> Path:
    """The path from the start state through the points to rest at the last one."""
    q0, v0, a0, e0 = state
    m, k = positions.shape
    knots = [start, *due.tolist()]
    pieces = np.empty((m + 1, 6, k))
    effort_pieces = None if efforts is None else np.zeros((m + 1, 2, k))
    degree0 = int(degree[0])
    for i in range(m):
        T = (knots[i + 1] - knots[i]) / NANOSECONDS
        q1, v1, a1 = positions[i], velocities[i], accelerations[i]
        d = min(degree0, int(degree[i]))
        if d == 5:
            pieces[i] = polynomial.quintic(q0, v0, a0, q1, v1, a1, T)
        elif d == 3:
            pieces[i] = polynomial.cubic(q0, v0, q1, v1, T)
        else:
            pieces[i] = polynomial.linear(q0, q1, T)
            if i == 0 and v0.any():
                # joints that move already would have their velocity jump at the start of a straight line
                pieces[i] = np.where(v0 != 0.0, polynomial.cubic(q0, v0, q1, (q1 - q0) / T, T), pieces[i])
        if effort_pieces is not None and efforts is not None:
            effort_pieces[i, 0], effort_pieces[i, 1] = e0, (efforts[i] - e0) / T
            e0 = efforts[i]
        q0, v0, a0, degree0 = q1, v1, a1, int(degree[i])
    pieces[m] = polynomial.constant(positions[-1])
    if effort_pieces is not None:
        effort_pieces[m, 0] = e0
    return Path(knots, pieces, effort_pieces)


def _check_limits(positions: Array, first: int, columns: np.ndarray, table: JointTable) -> None:
    slack = 1e-6
    lower, upper = table.lower[columns], table.upper[columns]
    bad = (positions < lower - slack) | (positions > upper + slack)
    if bad.any():
        i, j = (int(x[0]) for x in np.nonzero(bad))
        raise TrajectoryRejected(
            f"joint {table.names[columns[j]]!r} is sent to {positions[i, j]:.6g}, its limits are "
            f"{lower[j]:.6g} to {upper[j]:.6g}",
            where=f"points[{first + i}].positions",
            got=float(positions[i, j]),
            remedy="Keep every point within the position limits.",
        )
