"""The reference: the path being followed, its goals, and the events that end them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from robot_dynamics_ros.control.hold import stop_path
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.path import Path
from robot_dynamics_ros.control.reference.result import Goal, GoalStatus, ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.splice import JointTable, splice, stream_path
from robot_dynamics_ros.control.reference.tolerances import Tolerances, Violation
from robot_dynamics_ros.control.reference.trajectory import REST_SPEED, Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.model.description import Array

__all__ = ["Proposal", "ReferenceGenerator"]

#: Errors at the goal below this are never remarked on, rad or m.
FAR_OFF = 0.01


class Proposal(NamedTuple):
    """A path made from a trajectory, not followed yet.

    Attributes:
        path: the path.
        goal: its goal.
        replaces: the path that it was spliced onto.
    """

    path: Path
    goal: Goal
    replaces: Path


class ReferenceGenerator:
    """The path, and the trajectory goals that it was made from.

    Attributes:
        goal: the active goal, or the next one waiting, or ``None``.
        streaming: whether the path came from a streamed set-point.
    """

    def __init__(
        self, table: JointTable, options: ControllerOptions, deceleration: Array, changed: Callable[[], None]
    ) -> None:
        self.table = table
        self.options = options
        self.deceleration = deceleration
        self._changed = changed
        self._path = Path.hold(0, np.zeros(len(table.names)))
        self.streaming = False
        self._active: Goal | None = None
        self._waiting: list[Goal] = []

    @property
    def path(self) -> Path:
        """The path that is followed now, of all joints."""
        return self._path

    @path.setter
    def path(self, path: Path) -> None:
        self._path = path
        self._changed()

    @property
    def active_goal(self) -> Goal | None:
        """The goal that is followed now."""
        return self._active

    @property
    def next_start(self) -> int:
        """When the next goal begins, ns; far away if none waits."""
        return self._waiting[0].start if self._waiting else 2**62

    @property
    def goal(self) -> Goal | None:
        """The active goal, or the next one waiting."""
        return self._active or (self._waiting[0] if self._waiting else None)

    def moving(self, t: int) -> bool:
        """Whether the path has not ended yet, or a goal is open."""
        return t < self.path.end or self.goal is not None

    def stop_from(
        self, t: int, q: Array, v: Array, status: GoalStatus, code: ResultCode = ResultCode.SUCCESSFUL, text: str = ""
    ) -> None:
        """Decelerate from (``q``, ``v``) and hold; open goals end with ``status``."""
        self.path = stop_path(t, q, v, self.deceleration, self.table.lower, self.table.upper)
        self._close(status, code, text)

    def _close(self, status: GoalStatus, code: ResultCode = ResultCode.SUCCESSFUL, text: str = "") -> None:
        for goal in (self._active, *self._waiting):
            if goal is not None:
                goal.finish(status, code, text)
        self._active, self._waiting, self.streaming = None, [], False
        self._changed()

    def accept(self, trajectory: Trajectory, t: int, tolerances: Tolerances) -> Goal:
        """Put a trajectory with points onto the path.

        Raises:
            TrajectoryRejected: see :func:`~robot_dynamics_ros.control.reference.splice.splice`; nothing is changed then.
        """
        proposal = self.propose(trajectory, t, tolerances)
        self.adopt(proposal, t)
        return proposal.goal

    def propose(self, trajectory: Trajectory, t: int, tolerances: Tolerances) -> Proposal:
        """The path that would be followed if the trajectory were accepted at ``t``; changes nothing, so that any thread
        may call it.

        Raises:
            TrajectoryRejected: as :meth:`accept`.
        """
        o, present = self.options, self.path
        if not o.allow_nonzero_velocity_at_trajectory_end and (np.abs(trajectory.velocities[-1]) > REST_SPEED).any():
            worst = int(np.argmax(np.abs(trajectory.velocities[-1])))
            raise TrajectoryRejected(
                f"joint {trajectory.joint_names[worst]!r} still moves at the last point",
                where=f"points[{len(trajectory) - 1}].velocities",
                got=float(trajectory.velocities[-1, worst]),
                remedy="End at rest, or set allow_nonzero_velocity_at_trajectory_end.",
            )
        path, start, end = splice(
            present, trajectory, t, self.table, allow_partial=o.allow_partial_joints_goal, max_step=o.max_step
        )
        goal = Goal(start, end, tolerances)
        goal.travel = np.abs(path.sample(end)[0] - path.sample(start)[0])
        return Proposal(path, goal, present)

    def adopt(self, proposal: Proposal, t: int) -> bool:
        """Follow what was proposed, from ``t`` on; False, and nothing changed, if the path has changed meanwhile, or time
        has gone by its start."""
        if proposal.replaces is not self.path or t > proposal.goal.start:
            return False
        self.path, goal = proposal.path, proposal.goal
        for other in [g for g in self._waiting if g.start >= goal.start]:
            other.finish(GoalStatus.PREEMPTED, text="replaced by a newer trajectory")
            self._waiting.remove(other)
        self._waiting.append(goal)
        self.begin(t)
        self._changed()
        return True

    def stream(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Put one set-point onto the path; open goals are preempted.

        Raises:
            TrajectoryRejected: see :func:`~robot_dynamics_ros.control.reference.splice.stream_path`; nothing is changed then.
        """
        trajectory = Trajectory.from_points(joint_names, [point], allow_nonzero_end_velocity=True)
        self.path = stream_path(
            self.path,
            trajectory,
            t,
            self.table,
            nanoseconds(self.options.stream_timeout),
            self.deceleration,
            allow_partial=self.options.allow_partial_joints_goal,
            max_step=self.options.max_step,
        )
        self._close(GoalStatus.PREEMPTED, text="replaced by a streamed set-point")
        self.streaming = True

    def begin(self, t: int) -> None:
        """Make the goal whose time has come the active one."""
        while self._waiting and self._waiting[0].start <= t:
            if self._active is not None:
                self._active.finish(GoalStatus.PREEMPTED, text="replaced by a newer trajectory")
            self._active = self._waiting.pop(0)
            self._active.status = GoalStatus.ACTIVE
            self.streaming = False

    def reached(self, e: Array) -> None:
        """The active goal is reached, with position errors ``e`` (n,)."""
        goal = self._take_active()
        goal.finish(GoalStatus.SUCCEEDED, text=self._far_off(goal, e))

    def violated(self, verdict: Violation, t: int, *, late: bool) -> None:
        """The active goal ends: a tolerance of the path is violated, or ``late``, after its time, one of the goal."""
        goal = self._take_active()
        text = verdict.text(self.table.names)
        if late:
            delay = (t - goal.end) / 1e9
            code = ResultCode.GOAL_TOLERANCE_VIOLATED
            goal.finish(GoalStatus.ABORTED, code, f"goal not reached in time: {text} {delay:.3f} s after it was due")
        else:
            goal.finish(GoalStatus.ABORTED, ResultCode.PATH_TOLERANCE_VIOLATED, f"path tolerance violated: {text}")

    def _take_active(self) -> Goal:
        goal, self._active = self._active, None
        assert goal is not None
        self._changed()
        return goal

    def _far_off(self, goal: Goal, e: Array) -> str:
        """A remark on a joint that no tolerance watches and that is off by more than half of its own motion."""
        size = np.abs(e)
        missed = (goal.tolerances.goal_position == 0.0) & (size > np.maximum(0.5 * goal.travel, FAR_OFF))
        if not missed.any():
            return ""
        i = int(np.argmax(np.where(missed, size, 0.0)))
        name = self.table.names[i]
        return (
            f"done by the clock only: joint {name!r} is {size[i]:.3g} from its goal, its reference moved by "
            f"{goal.travel[i]:.3g}, and no tolerance watches it (set constraints.{name}.goal)"
        )
