"""A trajectory made ready for the joints of one controller: its joints found, its points checked, its polynomials computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros.control.reference.result import ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.tracks import TracksMemory
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory
from robot_dynamics_ros.dynamics.engine.routines import InterpretedRoutines, Memory, Routines
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """Properties of the joints that trajectories need.

    Attributes:
        names: the n joints, in the order of the model.
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
        """(n,) the place of each joint among those named, −1 where it is not.

        Raises:
            TrajectoryRejected: a joint that is unknown or not commanded; some missing and ``allow_partial`` false.
        """
        column_of = {name: i for i, name in enumerate(self.names) if self.commanded[i]}
        for i, name in enumerate(joint_names):
            if name not in column_of:
                raise TrajectoryRejected(
                    f"joint {name!r} is none of the controller's",
                    where=f"joint_names[{i}]",
                    got=name,
                    code=ResultCode.INVALID_JOINTS,
                    remedy=f"Its joints are {', '.join(column_of)}.",
                )
        missing = [name for name in column_of if name not in joint_names]
        if missing and not allow_partial:
            raise TrajectoryRejected(
                f"joint {missing[0]!r} is missing" + (f" and {len(missing) - 1} more" if missing[1:] else ""),
                where="joint_names",
                got=tuple(joint_names),
                code=ResultCode.INVALID_JOINTS,
                remedy="Name all joints of the controller, or set allow_partial_joints_goal.",
            )
        columns = np.full(len(self.names), -1)
        columns[[column_of[name] for name in joint_names]] = np.arange(len(joint_names))
        return columns


_FIELDS = ("", "positions", "velocities", "accelerations", "effort", "time_from_start")


@dataclass(slots=True, eq=False)
class Motion:
    """A trajectory as routines take it.

    Attributes:
        stamp: see :class:`Trajectory`.
        columns: see :meth:`JointTable.columns`.
        times, degree: (m,) int64.
        fields: (4 × m × k,) positions, velocities, accelerations, efforts, row after row.
        segments: ((m − 1) × k × 8,) see :func:`~robot_dynamics_ros.control.reference.tracks.make_segments`.
        with_effort: whether efforts were given.
        handed: ``times`` and ``segments`` as routines take them, once it is followed.
    """

    stamp: int
    columns: np.ndarray
    times: np.ndarray
    degree: np.ndarray
    fields: Array
    with_effort: bool
    segments: Array = field(default_factory=lambda: np.zeros(8))
    handed: tuple[Any, ...] = ()

    @classmethod
    def of(cls, trajectory: Trajectory, table: JointTable, *, allow_partial: bool) -> Motion:
        """Not checked yet.

        Raises:
            TrajectoryRejected: as :meth:`JointTable.columns`.
        """
        columns = table.columns(trajectory.joint_names, allow_partial=allow_partial)
        t = trajectory
        effort = np.zeros_like(t.positions) if t.effort is None else t.effort
        fields = np.concatenate([x.ravel() for x in (t.positions, t.velocities, t.accelerations, effort)])
        times, degree = t.times.astype(np.int64), t.degree.astype(np.int64)
        return cls(t.stamp, columns, times, degree, fields, t.effort is not None)

    def describe(self, memory: Memory[TracksMemory], slot: int) -> None:
        """Tell the routines about it, under this slot."""
        n, m = len(self.columns), len(self.times)
        memory["points"][slot], memory["width"][slot] = m, len(self.fields) // (4 * m)
        memory["efforts_given"][slot] = self.with_effort
        memory["column"][slot * n : slot * n + n] = self.columns

    def check(
        self,
        memory: Memory[TracksMemory],
        routines: Routines | InterpretedRoutines,
        table: JointTable,
        slot: int,
        t: int,
    ) -> None:
        """Check the points as they would be followed from ``t`` on.

        Raises:
            TrajectoryRejected: numbers that cannot be meant, a point outside the position limits, a way that no joint covers in
                the time given for it.
        """
        self.describe(memory, slot)
        begin = self.stamp or t
        problem = routines["check_points"](memory, slot, begin, max(t, begin), self.times, self.fields)
        if not problem:
            return
        p = memory.python
        joint, value, bound = p.bad_joint[0], p.bad_value[0], p.bad_value[1]
        where = f"points[{p.bad_point[0]}].{_FIELDS[problem]}"
        name = table.names[joint]
        if problem == 1:
            raise TrajectoryRejected(
                f"joint {name!r} is sent to {value:.6g}, its limits are {table.lower[joint]:.6g} to "
                f"{table.upper[joint]:.6g}",
                where=where,
                got=value,
                remedy="Keep every point within the position limits.",
            )
        if problem == 5:
            raise too_fast(name, value, bound, p.bad_point[0])
        raise TrajectoryRejected(
            f"{value:.6g} for joint {name!r} cannot be meant, the most that is accepted is {bound:.6g}",
            where=where,
            got=value,
            remedy="Check the units: rad or m, s, N m or N.",
        )

    def make_segments(self, memory: Memory[TracksMemory], routines: Routines | InterpretedRoutines, slot: int) -> None:
        """Fill ``segments``, for one that :meth:`describe` was called for."""
        self.segments = np.zeros(2 * len(self.fields))
        routines["make_segments"](memory, slot, self.times, self.degree, self.fields, self.segments)


def too_fast(name: str, way: float, time: float, point: int) -> TrajectoryRejected:
    """The error for a way that no joint covers in the time given for it."""
    return TrajectoryRejected(
        f"joint {name!r} would have to move by {way:.4g} in {time:.4g} s",
        where=f"points[{point}].time_from_start",
        got=way,
        remedy="Give the motion more time.",
    )


def not_near(motion: Motion, memory: Memory[TracksMemory], table: JointTable, within: int) -> TrajectoryRejected:
    """The error for a first point that is too far from the reference."""
    p = memory.python
    name, way, point = table.names[p.bad_joint[0]], p.bad_value[0], p.bad_point[0]
    if within > 0:
        return too_fast(name, way, within / NANOSECONDS, point)
    return TrajectoryRejected(
        f"joint {name!r} would have to jump by {way:.4g}",
        where=f"points[{point}]",
        got=way,
        remedy=f"Give the point a time_from_start; at once, up to {p.bad_value[1]:g} is accepted.",
    )
