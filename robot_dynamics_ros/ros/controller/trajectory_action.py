"""``~/follow_joint_trajectory``: trajectories as goals, with feedback, cancellation and a result
that says why.

Everything happens in callbacks of the executor's one thread; only the requests are taken in a
thread of their own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.task import Future

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.reference.goal import (
    Goal,
    GoalStatus,
    JointTolerance,
    ResultCode,
    Tolerances,
    TrajectoryRejected,
)
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.controller import trajectory_messages as messages
from robot_dynamics_ros.ros.controller.trajectory_messages import (
    ActionGoal,
    ActionType,
)
from robot_dynamics_ros.ros.transport.apart import apart_action_server
from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds, to_time

if TYPE_CHECKING:
    from control_msgs.msg import JointTolerance as JointToleranceMessage

# s after the end of a goal, as joint_trajectory_controller; rclpy's own is 900 in Jazzy, 10 from
# Kilted on
_RESULT_KEPT = 10


def _goal_of(request: ActionType.Goal | ActionGoal) -> ActionGoal:
    """The goal that the server hands over; rclpy's own has it as a message."""
    if isinstance(request, ActionGoal):
        return request
    return ActionGoal.of(request)


def _by_joint(entries: Sequence[JointToleranceMessage]) -> dict[str, JointTolerance]:
    return {e.name: JointTolerance(e.position, e.velocity, e.acceleration) for e in entries}


def outcome(goal: Goal, cancel_requested: bool) -> tuple[str, int, str]:
    """How the action ends when the controller is done with a goal: final transition,
    ``error_code``, ``error_string``.

    ROS 2 actions know no preemption: a goal that was replaced, or stopped by something other than
    its own cancellation, is aborted, and the text says by what.
    """
    if goal.status is GoalStatus.SUCCEEDED:
        return "succeed", int(ResultCode.SUCCESSFUL), goal.text
    if goal.status is GoalStatus.CANCELED and cancel_requested:
        return "canceled", int(ResultCode.SUCCESSFUL), "canceled: the arm comes to a stop and holds"
    if goal.code is not ResultCode.SUCCESSFUL:
        code = goal.code
    else:
        code = ResultCode.INVALID_GOAL
    return "canceled" if cancel_requested else "abort", int(code), goal.text


@dataclass(slots=True)
class _Pursuit:
    """One accepted action goal, when its points are due (ns from its start), and what became of it
    in the controller.
    """

    handle: ServerGoalHandle
    goal: Goal
    done: Future
    times: np.ndarray

    def point(self, feedback: ActionType.Feedback) -> int:
        """Index of the point that the arm is on its way to."""
        return min(
            bisect_left(self.times, to_nanoseconds(feedback.desired.time_from_start)),
            len(self.times) - 1,
        )


class FollowJointTrajectory:
    """The action server.  It lives as long as its node, and refuses goals while it is not ready: a
    server that is taken down cannot deliver the results of its last goals any more.

    Args:
        begin: starts an action's goal, and calls the function given with it, at once or later, with
            the goal or with the exception that says why it cannot be followed.
        ready: whether goals can be taken now; says why not to the log.
        hold: brings the arm to a stop, which cancels its goals.
        rate: of feedback, Hz; :meth:`poll` should be called at least as often.
    """

    def __init__(
        self,
        node: Node,
        *,
        begin: Callable[[ActionGoal, Callable[[Goal | Exception], None]], None],
        ready: Callable[[], bool],
        hold: Callable[[], None],
        feedback: Callable[[Goal], ActionType.Feedback],
        rate: float,
    ) -> None:
        self._begin = begin
        self._ready = ready
        self._hold = hold
        self._feedback = feedback
        self._log = node.get_logger()
        self._pursuits: list[_Pursuit] = []
        # their trajectories are being prepared
        self._beginning: list[ServerGoalHandle] = []
        self._open = 0
        self._feedback_period = round(1e9 / rate)
        self._feedback_due = 0
        self._server = apart_action_server(
            messages.ActionType,
            ActionGoal.read,
            node,
            "~/follow_joint_trajectory",
            self._execute,
            goal_callback=self._on_goal,
            cancel_callback=self._on_cancel,
            goal_service_qos_profile=MANY_REQUESTS,
            result_service_qos_profile=MANY_REQUESTS,
            cancel_service_qos_profile=MANY_REQUESTS,
            result_timeout=_RESULT_KEPT,
        )

    @property
    def unfinished(self) -> bool:
        """Whether a goal has not got its result yet."""
        return bool(self._open)

    def destroy(self) -> None:
        self._server.destroy()

    def _on_goal(self, request: ActionType.Goal | ActionGoal) -> GoalResponse:
        goal = _goal_of(request)
        fault = ""
        if goal.multi_dof:
            fault = "multi_dof_trajectory is not supported; move its joints to trajectory"
        elif not len(goal.trajectory.times):
            fault = "its trajectory has no points"
        if fault:
            self._log.warning(f"goal rejected: {fault}")
        if not fault and self._ready():
            return GoalResponse.ACCEPT
        return GoalResponse.REJECT

    def _on_cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        if not any(
            known is handle for known in (*self._beginning, *(p.handle for p in self._pursuits))
        ):
            # it has ended just now
            return CancelResponse.REJECT
        self._log.info("the goal is canceled: stopping")
        self._hold()
        return CancelResponse.ACCEPT

    async def _execute(self, handle: ServerGoalHandle) -> ActionType.Result:
        self._open += 1
        try:
            return await self._pursue(handle)
        finally:
            self._open -= 1

    async def _pursue(self, handle: ServerGoalHandle) -> ActionType.Result:
        goal = Goal(0, 0)
        if handle.is_cancel_requested:
            goal.finish(GoalStatus.CANCELED)
        else:
            requested = _goal_of(handle.request)
            begun = Future()
            self._beginning.append(handle)
            self._begin(requested, begun.set_result)
            if begun.done():
                beginning = begun.result()
            else:
                beginning = await begun
            self._beginning.remove(handle)
            if isinstance(beginning, Goal):
                goal = beginning
                pursuit = _Pursuit(handle, beginning, Future(), requested.trajectory.times)
                self._pursuits.append(pursuit)
                self.poll(0)
                await pursuit.done
            else:
                if isinstance(beginning, TrajectoryRejected):
                    code = beginning.code
                else:
                    code = ResultCode.INVALID_GOAL
                goal.finish(GoalStatus.ABORTED, code, str(beginning))
        transition, error_code, text = outcome(goal, handle.is_cancel_requested)
        getattr(handle, transition)()
        return messages.ActionType.Result(error_code=error_code, error_string=text)

    def poll(self, now: int) -> None:
        """Send results of goals that are done, and feedback; ``now`` is of a clock that never
        stands still, ns.
        """
        if not self._pursuits:
            return
        for pursuit in self._pursuits:
            if pursuit.goal.status.done and not pursuit.done.done():
                pursuit.done.set_result(None)
        self._pursuits = [p for p in self._pursuits if not p.goal.status.done]
        if self._pursuits and now >= self._feedback_due:
            self._feedback_due = now + self._feedback_period
            for pursuit in self._pursuits:
                if pursuit.goal.status is GoalStatus.ACTIVE:
                    message = self._feedback(pursuit.goal)
                    # control_msgs 6.3 and later: Lyrical
                    if hasattr(message, "index"):
                        message.index = pursuit.point(message)
                    pursuit.handle.publish_feedback(message)


def goal_tolerances(
    message: ActionGoal,
    defaults: Tolerances,
    joints: Sequence[str],
    logger: RcutilsLogger,
) -> Tolerances:
    """The tolerances that a goal asks for; the default ones, with a log line, if it asks for
    something impossible.
    """
    try:
        return defaults.with_requests(
            joints,
            _by_joint(message.path_tolerance),
            _by_joint(message.goal_tolerance),
            to_nanoseconds(message.goal_time_tolerance) / NANOSECONDS,
        )
    except ArgumentError as error:
        logger.warning(f"the goal's tolerances cannot be used, the default ones are: {error}")
        return defaults


def feedback_message(
    controller: JointController,
    joints: Sequence[str],
    stamp: int,
    goal: Goal,
) -> ActionType.Feedback:
    """Where the joints should be, are, and the difference, in the joint state of time ``stamp``,
    ns.
    """
    index = [controller.model.joint_names.index(name) for name in joints]
    points = {}
    for name, rows in (
        ("desired", controller.reference),
        ("actual", controller.state),
        ("error", controller.error),
    ):
        points[name] = messages.point_message(
            [row[index] for row in rows], max(0, stamp - goal.start)
        )
    message = messages.ActionType.Feedback(joint_names=list(joints), **points)
    message.header.stamp = to_time(stamp)
    return message
