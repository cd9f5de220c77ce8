"""The reference: trajectories made ready for the joints, set-points, stops, and the goals that
belong to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference import tracks
from robot_dynamics_ros.control.reference.goal import (
    REASONS,
    STATUSES,
    Goal,
    GoalStatus,
    Reason,
    ResultCode,
    Tolerances,
    TrajectoryRejected,
)
from robot_dynamics_ros.control.reference.tracks import NEVER, SET_POINT, TracksMemory
from robot_dynamics_ros.control.reference.trajectory import (
    NANOSECONDS,
    Trajectory,
    TrajectoryPoint,
    nanoseconds,
)
from robot_dynamics_ros.control.reference.upsampling import POSITION_ALONE, REFERENCE_ROUTINES
from robot_dynamics_ros.dynamics.engine.routines import Memory, Routines, make_routines
from robot_dynamics_ros.model.description import Array, JointType
from robot_dynamics_ros.model.robot_model import RobotModel

# rad or m; errors at the goal below this are never remarked on
FAR_OFF = 0.01


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """Properties of the n joints that trajectories need, in the order of the model: which may be
    commanded, which are continuous, (n,) position limits, and velocity limits.
    """

    names: tuple[str, ...]
    commanded: np.ndarray
    continuous: np.ndarray
    lower: Array
    upper: Array
    fastest: ArrayLike = np.inf

    @classmethod
    def of(cls, model: RobotModel, joints: Sequence[str] | None = None) -> JointTable:
        """The table of a model whose joints have one coordinate each; ``joints``: those commanded,
        default all.
        """
        names = model.joint_names
        continuous = np.array([model.joint(name).type is JointType.CONTINUOUS for name in names])
        commanded = np.array([joints is None or name in joints for name in names])
        return cls(names, commanded, continuous, model.lower, model.upper, model.velocity_limit)

    def columns(self, joint_names: Sequence[str], *, allow_partial: bool) -> np.ndarray:
        """(n,) the place of each joint among those named, −1 where it is not; TrajectoryRejected: a
        joint that is unknown or not commanded, or some missing without ``allow_partial``.
        """
        wrong = ResultCode.INVALID_JOINTS
        column_of = {name: i for i, name in enumerate(self.names) if self.commanded[i]}
        for i, name in enumerate(joint_names):
            if name not in column_of:
                problem = f"joint {name!r} is none of the controller's"
                remedy = f"Its joints are {', '.join(column_of)}."
                raise TrajectoryRejected(
                    problem, where=f"joint_names[{i}]", got=name, code=wrong, remedy=remedy
                )
        missing = [name for name in column_of if name not in joint_names]
        if missing and not allow_partial:
            problem = f"joint {missing[0]!r} is missing" + (
                f" and {len(missing) - 1} more" if missing[1:] else ""
            )
            remedy = "Name all joints of the controller, or set allow_partial_joints_goal."
            raise TrajectoryRejected(
                problem, where="joint_names", got=tuple(joint_names), code=wrong, remedy=remedy
            )
        columns = np.full(len(self.names), -1)
        columns[[column_of[name] for name in joint_names]] = np.arange(len(joint_names))
        return columns


@dataclass(slots=True, eq=False)
class PreparedMotion:
    """A trajectory as routines take it: ``fields``, (4 × m × k,) positions, velocities,
    accelerations, efforts, row after row; ``flows``: its positions come alone, and get velocities
    when it is followed; ``segments``, ((m − 1) × k × 8,); ``handed``, ``times`` and ``segments`` as
    routines take them, once it is followed.
    """

    stamp: int
    columns: np.ndarray
    times: np.ndarray
    degree: np.ndarray
    fields: Array
    with_effort: bool
    flows: bool = False
    segments: Array = field(default_factory=lambda: np.zeros(8))
    handed: tuple[Any, ...] = ()

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """Times, degrees, fields and segments."""
        return self.times, self.degree, self.fields, self.segments

    def describe(self, memory: Memory[TracksMemory], slot: int) -> None:
        """Tell the routines about it, under this slot."""
        n = len(self.columns)
        m = len(self.times)
        memory["points"][slot] = m
        memory["width"][slot] = len(self.fields) // (4 * m)
        memory["efforts_given"][slot] = self.with_effort
        memory["column"][slot * n : slot * n + n] = self.columns


_POINT_FIELDS = ("", ".positions", ".velocities", ".accelerations", ".effort", ".time_from_start")


class ReferenceGenerator:
    """Motion that the joints follow, as :mod:`~robot_dynamics_ros.control.reference.tracks` states;
    ``changed`` is called when they follow something else, or a goal has ended; ``deceleration``:
    (n,) of a stop.
    """

    def __init__(
        self,
        table: JointTable,
        options: ControllerOptions,
        deceleration: Array,
        changed: Callable[[], None] = lambda: None,
        *,
        compiled: bool = False,
    ) -> None:
        self.table = table
        self.options = options
        self._changed = changed
        self._compiled = compiled
        self.memory = self._new_memory()
        self.memory["deceleration"][:] = deceleration
        self._routines = routines = make_routines(
            self.memory, REFERENCE_ROUTINES, compiled=compiled
        )
        self._read_joint: Callable[..., int] = (
            routines.held("read_joint") if isinstance(routines, Routines) else tracks.read_joint
        )
        self._nothing = self._handed(self.memory["slot"], self.memory["lower"])
        self._motions: dict[int, PreparedMotion] = {}
        self._goals: dict[int, Goal] = {}
        self._number = 0
        rest = np.zeros(len(table.names))
        self.memory["slot"][:] = -1
        self.stop_from(0, rest, rest, tracks.CANCELED, Reason.NONE)

    def _new_memory(self) -> Memory[TracksMemory]:
        memory = Memory(TracksMemory, {"nv": len(self.table.names)}, compiled=self._compiled)
        t = self.table
        memory["continuous"][:] = t.continuous
        memory["lower"][:] = t.lower
        memory["upper"][:] = t.upper
        memory["velocity_limit"][:] = t.fastest
        memory["max_step"][0] = self.options.max_step
        memory["stream_timeout"][0] = nanoseconds(self.options.stream_timeout)
        return memory

    def _run(self, name: str, *arguments: Any) -> Any:
        return self._routines[name](self.memory, *arguments)

    # -- what is followed --------------------------------------------------------------------------

    def _read(self, memory: Memory[TracksMemory], t: int) -> int:
        """Fill ``now`` of all joints; returns when one of their polynomials is over, or a motion
        begins.
        """
        p = memory.python
        due = NEVER
        where: Any = memory.block.ctypes.data if self._compiled else p
        for i in range(len(self.table.names)):
            slot = p.slot[i]
            times, segments = self._motions[slot].handed if slot >= 0 else self._nothing
            due = min(due, self._read_joint(where, i, t, times, segments))
        return due

    def _handed(self, *arrays: np.ndarray) -> tuple[Any, ...]:
        return tuple(x.ctypes.data if self._compiled else x.data for x in arrays)

    def load(self, t: int) -> tuple[Array, int, int]:
        """(8, n) coefficients of 1, τ … τ⁵ of position and of 1, τ of effort, τ in s from ``t`` on;
        until when they hold, ns; and
        the number of the mode: HOLD, TRAJECTORY or STREAM."""
        due = self._read(self.memory, t)
        return self.memory["now"], due, tracks.mode_at(self.memory.python, t)

    def sample(self, t: int) -> Array:
        """(3, n) position, velocity, acceleration at ``t``, as things stand now."""
        memory = self.memory
        if memory["waiting"][0] and t >= memory["start"][memory["queue"][0]]:
            memory = self._new_memory()
            memory.block[:] = self.memory.block
            self._begin(memory, t)
        self._read(memory, t)
        return memory["now"][:3] * np.array([[1.0], [1.0], [2.0]])

    @property
    def active_goal(self) -> Goal | None:
        """The goal that is followed now."""
        p = self.memory.python
        return self._goals[p.active[0]] if p.open[0] else None

    @property
    def goal(self) -> Goal | None:
        """The active goal, or the next one waiting."""
        p = self.memory.python
        queue = self.memory["queue"][: p.waiting[0]].tolist()
        return self.active_goal or next(
            (self._goals[p.goal[slot]] for slot in queue if p.goal_waits[slot]), None
        )

    # -- requests ----------------------------------------------------------------------------------

    def stop_from(
        self,
        t: int,
        q: Array,
        v: Array,
        status: int,
        reason: Reason,
        text: str = "",
    ) -> None:
        """Decelerate from (``q``, ``v``) and hold; open goals end with ``status`` and ``text``, or
        the reason's words.
        """
        now = self.memory["now"]
        now[0] = q
        now[1] = v
        self._run("stop_all", t, status, int(reason))
        self._take_events(text)

    def prepare(self, trajectory: Trajectory, t: int) -> PreparedMotion:
        """Check a trajectory with points as it would be followed from ``t`` on, and make it ready;
        changes nothing, so that any thread may call it.  TrajectoryRejected: joints do not match;
        its last point moves although it may not; numbers that cannot be meant, a point outside the
        position limits, a way that no joint covers in the time given for it.
        """
        memory = self._new_memory()
        motion = self._checked(
            trajectory, memory, t, at_rest=not self.options.allow_nonzero_velocity_at_trajectory_end
        )
        motion.segments = np.zeros(2 * len(motion.fields))
        alone = len(trajectory) > 1 and bool((motion.degree == POSITION_ALONE).all())
        motion.flows = alone and self.options.positions_upsampling == "spline"
        if not motion.flows:
            self._routines["make_segments"](memory, SET_POINT, *motion.arrays)
        return motion

    def _checked(
        self,
        trajectory: Trajectory,
        memory: Memory[TracksMemory],
        t: int,
        *,
        at_rest: bool = False,
    ) -> PreparedMotion:
        """The motion of a trajectory, described to the routines as that of a set-point, and
        checked.
        """
        x = trajectory
        columns = self.table.columns(
            x.joint_names, allow_partial=self.options.allow_partial_joints_goal
        )
        if at_rest:
            x.check_rest()
        if x.effort is None:
            effort = np.zeros_like(x.positions)
        else:
            effort = x.effort
        fields = np.concatenate(
            [y.ravel() for y in (x.positions, x.velocities, x.accelerations, effort)]
        )
        times = x.times.astype(np.int64)
        degree = x.degree.astype(np.int64)
        motion = PreparedMotion(x.stamp, columns, times, degree, fields, x.effort is not None)
        motion.describe(memory, SET_POINT)
        begin = x.stamp or t
        problem = self._routines["check_points"](
            memory, SET_POINT, begin, max(t, begin), times, fields
        )
        if problem:
            raise self._refusal(memory.python, problem, memory["bad_value"][1])
        return motion

    def _refusal(self, p: TracksMemory, problem: int, within: float) -> TrajectoryRejected:
        """The error for what ``bad_…`` say: ``problem`` as of ``check_points``, 0: a jump;
        ``within``: s for the way.
        """
        i = p.bad_joint[0]
        value = p.bad_value[0]
        joint = f"joint {self.table.names[i]!r}"
        if problem == 0:
            text = f"{joint} would have to jump by {value:.4g}"
            largest = p.bad_value[1]
            remedy = f"Give the point a time_from_start; at once, up to {largest:g} is accepted."
        elif problem == 1:
            text = (
                f"{joint} is sent to {value:.6g}, its limits are {p.lower[i]:.6g} to "
                f"{p.upper[i]:.6g}"
            )
            remedy = "Keep every point within the position limits."
        elif problem == 5:
            text = f"{joint} would have to move by {value:.4g} in {within:.4g} s"
            remedy = "Give the motion more time."
        else:
            text = (
                f"{value:.6g} for {joint} cannot be meant, the most that is accepted is "
                f"{p.bad_value[1]:.6g}"
            )
            remedy = "Check the units: rad or m, s, N m or N."
        return TrajectoryRejected(
            text,
            where=f"points[{p.bad_point[0]}]{_POINT_FIELDS[problem]}",
            got=value,
            remedy=remedy,
        )

    def adopt(self, motion: PreparedMotion, t: int, tolerances: Tolerances) -> Goal:
        """Follow what was prepared; TrajectoryRejected: all points are in the past, the first one
        is too far from the reference, or too many wait.
        """
        self.begin(t)
        p = self.memory.python
        slot = self._run("free_slot")
        if slot < 0:
            raise TrajectoryRejected(
                Reason.BUSY.words, where="trajectory", remedy="Wait until one has begun."
            )
        motion.describe(self.memory, slot)
        if self._run("offer", slot, t, motion.stamp, motion.times):
            problem = f"its last point was due {p.bad_value[0]:.3f} s ago"
            old = ResultCode.OLD_HEADER_TIMESTAMP
            remedy = (
                "Set the stamp to zero (start now) or to the future, and check that the clocks "
                "agree."
            )
            raise TrajectoryRejected(
                problem, where="header.stamp", got=motion.stamp, code=old, remedy=remedy
            )
        begin = p.origin[slot]
        start = p.start[slot]
        within = begin + int(motion.times[p.first[slot]]) - start
        # of what may have begun by then
        self.memory["now"][:2] = self.sample(start)[:2]
        if motion.flows:
            self._run("flow", slot, *motion.arrays)
            self._run("make_segments", slot, *motion.arrays)
        self._number += 1
        p.goal[slot] = self._number
        if self._run("accept", slot, motion.times, motion.fields):
            raise self._refusal(p, 5 if within else 0, within / NANOSECONDS)
        goal = self._goals[self._number] = Goal(
            start, max(start, begin + int(motion.times[-1])), tolerances
        )
        motion.handed = self._handed(motion.times, motion.segments)
        self._motions[slot] = motion
        self._take_events()
        self.begin(t)
        self._changed()
        return goal

    def stream(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one set-point; open goals are preempted.  TrajectoryRejected, and nothing is
        changed: as :meth:`prepare` and :meth:`adopt`.
        """
        trajectory = Trajectory.from_points(joint_names, [point], allow_nonzero_end_velocity=True)
        motion = self._checked(trajectory, self.memory, t)
        self.begin(t)
        self._read(self.memory, t)
        within = int(motion.times[0])
        if self.options.positions_upsampling == "spline":
            within = self._run("complete_point", t, within, motion.degree, motion.fields)
        if self._run("stream", t, within, int(motion.degree[0]), motion.fields):
            raise self._refusal(self.memory.python, 5 if within else 0, within / NANOSECONDS)
        self._take_events()

    def begin(self, t: int) -> None:
        """Follow what waits and whose time has come."""
        if self._begin(self.memory, t):
            self._take_events()

    def _begin(self, memory: Memory[TracksMemory], t: int) -> bool:
        p = memory.python
        began = False
        while p.waiting[0] and p.start[p.queue[0]] <= t:
            motion = self._motions[p.queue[0]]
            self._read(memory, p.start[p.queue[0]])
            self._routines["begin_next"](memory, motion.times, motion.degree, motion.fields)
            began = True
        return began

    # -- goals -------------------------------------------------------------------------------------

    def _take_events(self, text: str = "", *, first: bool = False) -> None:
        """Bring goals up to date, and forget what is no longer followed; ``text``: instead of a
        reason's words, of all goals that end or of the ``first``.
        """
        p = self.memory.python
        for k in range(0, 5 * p.events[0], 5):
            number = p.event[k]
            status = p.event[k + 1]
            reason = p.event[k + 2]
            if status == tracks.ACTIVE:
                self._goals[number].status = GoalStatus.ACTIVE
            else:
                words = text or REASONS[reason].words
                self._goals.pop(number).finish(
                    GoalStatus(STATUSES[status]), REASONS[reason].code, words
                )
                text = "" if first else text
        p.events[0] = 0
        for slot in [k for k in self._motions if p.state[k] == tracks.RELEASED_SLOT]:
            del self._motions[slot]
            p.state[slot] = tracks.FREE_SLOT
        self._changed()

    def end_goals(self, cycle: Memory[CycleMemory], text: str) -> None:
        """End goals as a cycle has put down; ``text`` instead of a reason's words, of the active
        goal if a cycle ends that alone.
        """
        active = bool(cycle["ended"][0])
        outcome = (
            cycle[name] for name in ("ended", "stopped", "bad_joint", "bad_field", "bad_value")
        )
        self._run("end_goals", *outcome, cycle.python.last[0], cycle["q"], cycle["v"])
        self._take_events(text, first=active)

    def remark(self, e: Array) -> str:
        """About a goal that is reached with position errors ``e`` (n,): a joint that no tolerance
        watches and that is off by more than half of its own motion, or "".
        """
        goal = self.active_goal
        assert goal is not None
        size = np.abs(e)
        travel = self.memory["travel"]
        missed = (goal.tolerances.goal_position == 0.0) & (size > np.maximum(0.5 * travel, FAR_OFF))
        if not missed.any():
            return ""
        i = int(np.argmax(np.where(missed, size, 0.0)))
        name = self.table.names[i]
        return (
            f"done by the clock only: joint {name!r} is {size[i]:.3g} from its goal, its "
            "reference moved by "
            f"{travel[i]:.3g}, and no tolerance watches it (set constraints.{name}.goal)"
        )
