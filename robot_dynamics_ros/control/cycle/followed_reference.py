"""The reference that the joints follow: one of their own, or that of the tool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from robot_dynamics_ros.control.cycle.cycle import AT_ONCE, start_blend
from robot_dynamics_ros.control.cycle.memory import CycleMemory, bound
from robot_dynamics_ros.control.cycle.reference import take_piece
from robot_dynamics_ros.control.reference.goal import Reason, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import ReferenceGenerator
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.tracks import PREEMPTED
from robot_dynamics_ros.control.reference.trajectory import nanoseconds
from robot_dynamics_ros.dynamics.engine.routines import InterpretedRoutines, Memory, Routines
from robot_dynamics_ros.model.description import Array


class FollowedReference:
    """Loads pieces of the reference in force into the cycle's memory.

    While the joints follow the tool, their own reference stands where the task began. A stop of
    that reference ends the task, whoever asked for it.

    Attributes:
        motion: the joints' own reference.
        tool: moves a tool of the robot, or ``None``.
    """

    tool: ToolReference | None = None

    def __init__(
        self,
        memory: Memory[CycleMemory],
        routines: Routines | InterpretedRoutines,
        motion: ReferenceGenerator,
    ) -> None:
        self.motion = motion
        self._memory = memory
        self._p = memory.python
        self._routines = routines
        # stops of the joints' own reference, counted when the task began
        self._stops_before_task = -1

    def use_tool(self, tool: ToolReference) -> None:
        """Have this tool to move."""
        self.tool = tool
        self._take_tool_piece = bound(self._memory, self._routines, take_piece, tool.piece)
        self.limit_tool()

    def limit_tool(self) -> None:
        """Keep the tool's reference within the limits that are in force."""
        if self.tool is None:
            return
        names = ("lower", "upper", "margin", "velocity_limit", "deceleration", "commanded")
        self.tool.limit_within(*(self._memory[name] for name in names))

    @property
    def follows_tool(self) -> bool:
        """Whether the joints follow the tool's reference, and nothing has stopped them since."""
        active = self.tool is not None and self.tool.active
        return active and self.motion.memory.python.stops[0] == self._stops_before_task

    def begin_task(self, t: int) -> None:
        """The joints follow the tool's reference from ``t``, ns, on, if they do not yet; open goals
        are preempted.
        """
        tool = self.tool
        assert tool is not None
        if not self.follows_tool:
            self.motion.begin(t)
            q, v, _ = self.motion.sample(t)
            # the joints' own reference waits
            self.motion.stop_from(t, q, v, PREEMPTED, Reason.NONE)
            tool.begin(t, q, v)
            self._stops_before_task = self.motion.memory.python.stops[0]
        self._p.due[0] = AT_ONCE

    @contextmanager
    def leaving_task(self, t: int) -> Iterator[None]:
        """The joints follow their own reference again, from where the tool's has led them; what is
        refused within leaves them with the tool's.
        """
        tool = self.tool
        if tool is None or not self.follows_tool:
            yield
            return
        tool.follow(t)
        q, v = tool.piece[:2]
        self.motion.stop_from(t, q, v, PREEMPTED, Reason.NONE)
        try:
            yield
        except TrajectoryRejected:
            self._stops_before_task = self.motion.memory.python.stops[0]
            raise
        self._end_task(tool)

    def _end_task(self, tool: ToolReference) -> None:
        """The joints follow their own reference; a wrench that the tool exerts fades out."""
        tool.end()
        if tool.p.exerts[0] == 1:
            start_blend(self._p)

    def load(self, t: int, q: Array) -> None:
        """Put the piece of the reference that holds at ``t``, ns, into the cycle's memory; ``q``:
        (n,) where the arm is.
        """
        tool = self.tool
        if tool is not None and tool.active:
            if self.follows_tool:
                exerts = tool.p.exerts[0]
                mode = tool.follow(t, q)
                self._take_tool_piece(t + 1, mode, exerts, 0, 0, 0)
                return
            self._end_task(tool)
        motion = self.motion
        motion.begin(t)
        self._load_tolerances()
        now = motion.memory.python
        with_effort = now.with_effort[0] * self._p.takes_efforts[0]
        goal = with_effort, now.open[0], now.active[0], now.goal_end[0]
        self._routines["take_piece"](self._memory, *motion.load(t), *goal)

    def _load_tolerances(self) -> None:
        goal = self.motion.active_goal
        if goal is None:
            return
        tolerances = goal.tolerances
        memory = self._memory
        memory["goal_time"][0] = nanoseconds(tolerances.goal_time)
        memory["path_tolerance"][:] = tolerances.path_position, tolerances.path_velocity
        memory["goal_tolerance"][:] = tolerances.goal_position, tolerances.goal_velocity
