"""Inputs of the controller: trajectories, goals of the action, set-points, external wrenches, and
``~/hold``.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rclpy.subscription import Subscription
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.reference.goal import Goal, Tolerances, TrajectoryRejected
from robot_dynamics_ros.control.reference.trajectory import Trajectory
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.controller import trajectory_action
from robot_dynamics_ros.ros.controller import trajectory_messages as messages
from robot_dynamics_ros.ros.controller.control_loop import ControlLoop
from robot_dynamics_ros.ros.controller.report import ControllerReport
from robot_dynamics_ros.ros.controller.task_inputs import TaskInputs
from robot_dynamics_ros.ros.transport.parameters import ParameterSet
from robot_dynamics_ros.ros.transport.qos import EVENT, MANY_REQUESTS, NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds
from robot_dynamics_ros.ros.transport.topics import spatial_wrench

MOST_TRAJECTORIES = 4
"""Of the trajectories that arrive between two calls of :meth:`ControllerInputs.poll`, so many of
the newest are used.
"""
_NOT_ACTIVE = "the controller is not active, or has no joint state yet"


class ControllerInputs:
    """The action and the query live as long as this object; the topics and ``~/hold`` from
    :meth:`open` to :meth:`close`.
    """

    def __init__(
        self,
        node: Node,
        values: ParameterSet,
        loop: Callable[[], ControlLoop | None],
        report: ControllerReport,
    ) -> None:
        self._node = node
        self._values = values
        self._loop = loop
        self._rejections = report.rejections
        self._report = report
        # arrived, not looked at yet
        self._trajectories: deque[bytes] = deque(maxlen=MOST_TRAJECTORIES)
        self._trajectories_arrived = 0
        self._topics = ExitStack()
        self._action: trajectory_action.FollowJointTrajectory | None = None
        if messages.ActionType is None:
            node.get_logger().info(
                "control_msgs is not installed: no ~/follow_joint_trajectory and no "
                "~/controller_state; everything else works"
            )
        else:
            self._action = trajectory_action.FollowJointTrajectory(
                node,
                begin=self._begin_goal,
                hold=self._stop_arm,
                ready=lambda: self._running_loop("goal") is not None,
                feedback=self._goal_feedback,
                rate=values["action_monitor_rate"],
            )
        if (query := messages.QueryTrajectoryState) is not None:
            node.create_service(query, "~/query_state", self._on_query, qos_profile=MANY_REQUESTS)

    def open(self) -> list[Subscription]:
        """Make the topics and the service; the subscriptions that the executor looks at in every
        wait.
        """
        node = self._node
        self._trajectories.clear()
        hold = node.create_service(Trigger, "~/hold", self._on_hold, qos_profile=MANY_REQUESTS)
        self._topics.callback(node.destroy_service, hold)
        subscriptions = [
            node.create_subscription(
                kind, topic, callback, NEWEST, event_callbacks=QUIET_SUBSCRIPTION
            )
            for kind, topic, callback in (
                (JointTrajectoryPoint, "~/joint_references", self._on_reference),
                (WrenchStamped, "~/external_wrench", self._on_wrench),
            )
        ]
        for subscription in subscriptions:
            self._topics.callback(node.destroy_subscription, subscription)
        loop = self._loop()
        if loop is not None and loop.controller.tool is not None:
            for subscription in TaskInputs(
                node, self._running_loop, self._rejections
            ).subscriptions:
                self._topics.callback(node.destroy_subscription, subscription)
                subscriptions.append(subscription)
        # as bytes: turned into objects, 10 000 points would hold up the cycle by 0.15 s
        trajectories = node.create_subscription(
            JointTrajectory, "~/joint_trajectory", self._on_trajectory_bytes, EVENT, raw=True
        )
        self._topics.callback(node.destroy_subscription, trajectories)
        return [*subscriptions, trajectories]

    def close(self) -> None:
        self._topics.close()

    def destroy(self) -> None:
        self.close()
        if self._action is not None:
            self._action.destroy()

    @property
    def unfinished(self) -> bool:
        return self._action is not None and self._action.unfinished

    def poll(self) -> None:
        """To be called many times a second, but not while a joint state waits: follow the
        trajectories that have arrived.
        """
        arrived = self._trajectories_arrived
        self._trajectories_arrived = 0
        if arrived > MOST_TRAJECTORIES:
            passed_over = arrived - MOST_TRAJECTORIES
            self._rejections.report(
                "trajectory_flood", f"{passed_over} trajectories were passed over for newer ones"
            )
        for _ in range(len(self._trajectories)):
            self._on_trajectory(self._trajectories.popleft())

    def poll_goals(self) -> None:
        if self._action is not None:
            self._action.poll(time.monotonic_ns())

    def _running_loop(self, what: str) -> ControlLoop | None:
        loop = self._loop()
        if loop is not None and loop.running:
            return loop
        self._rejections.report("not_active", f"{what} refused: {_NOT_ACTIVE}")
        return None

    def _on_trajectory_bytes(self, raw: bytes) -> None:
        """A trajectory arrives; :meth:`poll` looks at it when no joint state waits."""
        self._trajectories.append(raw)
        self._trajectories_arrived += 1

    def _on_trajectory(self, raw: bytes) -> None:
        loop = self._running_loop("trajectory")
        if loop is None:
            self._report.tell_refusal(_NOT_ACTIVE)
            return
        make = partial(messages.trajectory_from_bytes, raw)
        self._follow(loop, len(raw), make, partial(self._begun, "trajectory"))

    def _follow(
        self,
        loop: ControlLoop,
        size: int,
        make: Callable[..., Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """Follow a trajectory; a long one, of ``size`` bytes, is prepared beside the cycle."""
        controller = loop.controller
        make = partial(
            make,
            allow_nonzero_end_velocity=self._values["allow_nonzero_velocity_at_trajectory_end"],
        )
        # beside the cycle too while an earlier one is being prepared, or that would replace this
        # one
        if size > messages.LONG or controller.changes.pending:
            controller.accept_trajectory_later(make, done, tolerances)
            return
        try:
            trajectory = make()
            goal = controller.accept_trajectory(trajectory, loop.stamp, tolerances)
        except RobotDynamicsError as error:
            done(error, None)
        else:
            done(goal, trajectory)

    def _begun(
        self,
        what: str,
        outcome: Goal | Exception,
        trajectory: Trajectory | None,
    ) -> None:
        """Report a trajectory that is followed from now on, or is not."""
        if not isinstance(outcome, Goal):
            self._report.refused(what, outcome)
            return
        self._report.goal(outcome)
        if trajectory is None or not len(trajectory):
            self._report.say("empty trajectory: holding")
            return
        length = f"{len(trajectory)} points and {trajectory.duration:.3f} s"
        self._report.say(f"following a trajectory of {length}")
        self._report.tell_trajectory(f"following: {length}")

    def _begin_goal(
        self,
        requested: messages.ActionGoal,
        done: Callable[[Goal | Exception], None],
    ) -> None:
        loop = self._loop()
        if loop is None or not loop.running:
            done(
                TrajectoryRejected(
                    "the controller is not active", where="controller", remedy="Activate it."
                )
            )
            return
        names = loop.model.joint_names
        log = self._node.get_logger()
        tolerances = trajectory_action.goal_tolerances(
            requested, loop.controller.tolerances, names, log
        )

        def begun(outcome: Goal | Exception, trajectory: Trajectory | None) -> None:
            self._begun("goal", outcome, trajectory)
            done(outcome)

        self._follow(loop, requested.size, requested.trajectory.checked, begun, tolerances)

    def _stop_arm(self) -> None:
        loop = self._loop()
        if loop is not None and loop.running:
            loop.controller.hold(loop.stamp)

    def _goal_feedback(self, goal: Goal) -> messages.ActionType.Feedback:
        loop = self._loop()
        assert loop is not None
        return trajectory_action.feedback_message(loop.controller, loop.joints, loop.stamp, goal)

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        loop = self._running_loop("set-point")
        if loop is None:
            return
        try:
            loop.controller.accept_point(
                loop.joints, messages.point_from_message(message), loop.stamp
            )
        except RobotDynamicsError as error:
            self._rejections.report("joint_references", f"set-point refused: {error}")

    def _on_wrench(self, message: WrenchStamped) -> None:
        loop = self._running_loop("external wrench")
        if loop is None:
            return
        try:
            wrench = spatial_wrench(message)
            loop.controller.set_external_wrench(
                message.header.frame_id, wrench.tolist(), loop.now()
            )
        except RobotDynamicsError as error:
            self._rejections.report("external_wrench", f"external wrench refused: {error}")

    def _on_hold(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        response.success = self._running_loop("hold") is not None
        self._stop_arm()
        if response.success:
            response.message = "holding"
        else:
            response.message = _NOT_ACTIVE
        return response

    def _on_query(
        self,
        request: messages.QueryTrajectoryState.Request,
        response: messages.QueryTrajectoryState.Response,
    ) -> messages.QueryTrajectoryState.Response:
        """No success without a trajectory that covers the time asked for."""
        loop = self._running_loop("query")
        time = to_nanoseconds(request.time)
        response.success = False
        response.message = _NOT_ACTIVE
        if loop is None:
            return response
        goal = loop.controller.goal
        controller = loop.controller
        response.name = list(loop.joints)
        if goal is None:
            response.message = "no trajectory is being followed"
        elif not goal.start <= time < goal.end:
            response.message = (
                f"the trajectory lasts from {goal.start * 1e-9:.9f} s to {goal.end * 1e-9:.9f} s"
            )
        else:
            index = [controller.model.joint_names.index(name) for name in loop.joints]
            response.success = True
            response.message = ""
            response.position, response.velocity, response.acceleration = controller.desired(time)[
                :, index
            ].tolist()
        return response
