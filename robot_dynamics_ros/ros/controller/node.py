"""The controller as a lifecycle node: a joint state in, efforts out, in one callback."""

from __future__ import annotations

import time
import traceback
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.reference.result import Goal, TrajectoryRejected
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import Trajectory
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.controller import parameters as settings
from robot_dynamics_ros.ros.controller.control_loop import ControlLoop
from robot_dynamics_ros.ros.controller.laws import make_law
from robot_dynamics_ros.ros.controller.report import ControllerReport
from robot_dynamics_ros.ros.controller.trajectory_action import (
    FollowJointTrajectory,
    feedback_message,
    goal_tolerances,
    load_action_type,
)
from robot_dynamics_ros.ros.controller.trajectory_messages import (
    LONG,
    ActionGoal,
    point_from_message,
    trajectory_from_bytes,
)
from robot_dynamics_ros.ros.controller.trajectory_query import offer_query
from robot_dynamics_ros.ros.known_parameters import report_unknown
from robot_dynamics_ros.ros.transport.apart import ApartSubscription
from robot_dynamics_ros.ros.transport.background import Background
from robot_dynamics_ros.ros.transport.commands import met_elsewhere
from robot_dynamics_ros.ros.transport.description_source import DescriptionSource
from robot_dynamics_ros.ros.transport.graph import competing_publishers
from robot_dynamics_ros.ros.transport.guarded_services import guard_services
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, ParameterValues
from robot_dynamics_ros.ros.transport.qos import EVENT, MANY_REQUESTS, NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.realtime import QuietCollector, apply_scheduling
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.wrench_topics import sensible_wrench, spatial_wrench

__all__ = ["ControllerNode"]

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_WATCH_PERIOD = 0.02
MOST_TRAJECTORIES = 4
"""Of the trajectories that arrive within one period of the watch, so many of the newest are looked at."""


class ControllerNode(LifecycleNode):
    """See ``docs/reference/ros_interface.md`` for topics, services and parameters."""

    def __init__(self, **options: object) -> None:
        super().__init__("computed_torque_controller", **options)
        # what destroy_node needs comes first: from Kilted on rclpy destroys nodes whose constructor has failed
        self._background = Background()
        self._trajectory_input: ApartSubscription | None = None
        self._action: FollowJointTrajectory | None = None
        self.loop: ControlLoop | None = None
        self.parameters = ParameterSet(self, self._validate, self._apply)
        self.parameters.declare(settings.CONTROLLER_PARAMETERS)
        self.parameters.validate()
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger(), background=self._background)
        self._report = ControllerReport(self, self.rejections, self._background)
        self._collector = QuietCollector()
        self._take_down: list[Callable[[], object]] = []
        self._trajectories: deque[bytes | memoryview] = deque(maxlen=MOST_TRAJECTORIES)  # arrived, not looked at yet
        self._trajectories_arrived = 0
        self._source = DescriptionSource(self, self.parameters, self._description_arrived)
        if not self._source.text:
            report_unknown(self, self.parameters, None)  # the description's own parameter may be misspelt
        # a steady clock: a timer on ROS time stands still when that clock is set back or stops
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timers_of_cycle = [self.create_timer(_WATCH_PERIOD, self._watch, clock=steady)]
        self._subscriptions_of_cycle: list[Subscription] = []
        self._action = self._offer_action(load_action_type())
        offer_query(self, lambda: self._running_loop("query"))
        if not self.parameters["autostart"]:
            self.get_logger().info("waiting to be configured")
        elif not self._source.text:
            self.get_logger().info("waiting for a description on the topic robot_description")
        elif not self._autostart():
            raise RobotDynamicsError(
                "the node could not be started with the description it was given",
                where=self._source.origin,
                remedy="See the error above.",
            )

    def _offer_action(self, action_type: Any) -> FollowJointTrajectory | None:
        if action_type is None:
            self.get_logger().info(
                "control_msgs is not installed: no ~/follow_joint_trajectory and no ~/controller_state; everything else works"
            )
            return None
        return FollowJointTrajectory(
            self,
            action_type,
            begin=self._begin_goal,
            hold=self._hold_for_action,
            ready=lambda: self._running_loop("goal") is not None,
            feedback=lambda goal: self._goal_feedback(action_type, goal),
            rate=self.parameters["action_monitor_rate"],
        )

    # -- life cycle ----------------------------------------------------------------------------------------------

    def _autostart(self) -> bool:
        return self.trigger_configure() == _SUCCESS and self.trigger_activate() == _SUCCESS

    def _description_arrived(self, text: str) -> None:
        if self.loop is None:
            if self.parameters["autostart"]:
                self._autostart()
        elif text != self.loop.description:
            self.rejections.report(
                "description_changed",
                "another robot_description has arrived; it is used after cleanup and configure, until then the old one",
            )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, compile its dynamics, create topics.  FAILURE without a usable description."""
        if not self._source.text:
            self.get_logger().error("cannot configure: no robot_description has arrived yet")
            return _FAILURE
        try:
            loop = ControlLoop(
                self, self._source.text, self.parameters, self.rejections, self._report, self._cycle_failed
            )
        except RobotDynamicsError as error:
            self.get_logger().error(f"cannot configure from {self._source.origin}: {error}")
            return _FAILURE
        except Exception as error:  # noqa: BLE001 (rclpy would drop it without a word)
            self.get_logger().error("cannot configure: " + "".join(traceback.format_exception(error)))
            return _FAILURE
        self.loop = loop
        inputs = (
            self.create_subscription(
                JointTrajectoryPoint,
                "~/joint_references",
                self._on_reference,
                NEWEST,
                event_callbacks=QUIET_SUBSCRIPTION,
            ),
            self.create_subscription(
                WrenchStamped, "~/external_wrench", self._on_wrench, NEWEST, event_callbacks=QUIET_SUBSCRIPTION
            ),
        )
        self._trajectories.clear()
        self._trajectory_input = ApartSubscription(
            self, JointTrajectory, "~/joint_trajectory", EVENT, self._on_trajectory_bytes
        )
        self._subscriptions_of_cycle = [loop.subscription, *inputs]
        hold = self.create_service(Trigger, "~/hold", self._on_hold, qos_profile=MANY_REQUESTS)
        self._take_down = [
            self._trajectory_input.destroy,
            *(partial(self.destroy_subscription, subscription) for subscription in inputs),
            partial(self.destroy_service, hold),
            loop.destroy,
        ]
        guard_services(self, self.rejections.report)
        report_unknown(self, self.parameters, loop.model)
        self._report.configured(loop.controller, self.parameters["cycle_budget"])
        self.get_logger().info(
            f"configured for {loop.model.name!r}: {len(loop.joints)} of {loop.model.nv} joints, "
            f"{loop.model.total_mass:.6g} kg"
        )
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """From the next joint state on, hold the arm where it is."""
        assert self.loop is not None
        if not self._alone_on_the_command_topic():
            return _FAILURE
        self.loop.enable()
        self._collector.start()
        self.get_logger().info("active; holding from the next joint state on")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send the safe command and stop."""
        self._stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot and take the topics down."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Safe command, then as on_cleanup, from any state."""
        self._stop()
        self._release()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Back to unconfigured after a failed transition."""
        self._stop()
        self._release()
        return _SUCCESS

    def _stop(self) -> None:
        if self.loop is not None:
            self._collector.stop()
            self.loop.disable()
            self._see_to_goals()

    def _release(self) -> None:
        for take_down in self._take_down:
            take_down()
        self._take_down = []
        self._subscriptions_of_cycle = []
        self.loop = None
        self._report.configured(None)

    @property
    def unfinished(self) -> bool:
        """Whether goals still wait for their results to be sent."""
        return self._action is not None and self._action.unfinished

    def finish(self) -> None:
        """The process ends: leave the robot with a safe command, and see that it has been delivered."""
        if self.loop is not None:
            self._stop()
            self.loop.wait_until_sent()
            self._say("stopped; the last command sent is the safe one")
        self._background.close()

    def destroy_node(self) -> None:
        """Take everything down."""
        if self._trajectory_input is not None:
            self._trajectory_input.destroy()  # its thread must not outlive what it waits for
        if self._action is not None:
            self._action.destroy()
        self._background.close()
        super().destroy_node()

    def _say(self, text: str) -> None:
        self._background.call(self._log_information, text)

    def _log_information(self, text: str) -> None:
        self.get_logger().info(text)

    def cycle_subscriptions(self) -> list[Subscription]:
        """See :class:`~robot_dynamics_ros.ros.transport.focused_executor.CycleNode`."""
        return self._subscriptions_of_cycle

    def cycle_timers(self) -> list[Timer]:
        """See :class:`~robot_dynamics_ros.ros.transport.focused_executor.CycleNode`."""
        return self._timers_of_cycle

    def _cycle_failed(self, error: Exception) -> None:
        if not isinstance(error, RobotDynamicsError):
            self.get_logger().error("".join(traceback.format_exception(error)))
        self.rejections.report("fault", f"the control cycle failed and the controller is deactivated: {error}")
        self.trigger_deactivate()

    def _watch(self) -> None:
        loop = self.loop
        if loop is not None:
            loop.watch()
        if loop is not None and loop.running and loop.after_cycle is None:
            loop.after_cycle = self._chores  # then there is most time until the next
            return
        if loop is not None:
            loop.after_cycle = None  # no cycle has come since the last watch
        self._chores()

    def _chores(self) -> None:
        """Chores that are due many times a second, but not while a joint state waits."""
        arrived, self._trajectories_arrived = self._trajectories_arrived, 0
        if arrived > MOST_TRAJECTORIES:
            passed_over = arrived - MOST_TRAJECTORIES
            self.rejections.report("trajectory_flood", f"{passed_over} trajectories were passed over for newer ones")
        for _ in range(len(self._trajectories)):
            self._on_trajectory(self._trajectories.popleft())
        if self.loop is not None:
            self.loop.look_for_listeners()
            self._collector.collect()
        self._see_to_goals()
        if self._report.tick():
            self._collector.collect(thorough=True)
            if self.loop is not None and self.loop.enabled:
                self._look_for_a_listener()
                self.loop.look_at_efforts()
                if not self._alone_on_the_command_topic():
                    self.trigger_deactivate()

    def _look_for_a_listener(self) -> None:
        """Say so if commands go nowhere, and where they are waited for instead."""
        assert self.loop is not None
        publisher = self.loop.command_publisher
        if publisher.get_subscription_count():
            return
        hint = met_elsewhere(self, publisher.topic_name, self.count_subscribers)
        self.rejections.report("no_listener", f"nobody listens to commands on {publisher.topic_name}{hint}")

    def _alone_on_the_command_topic(self) -> bool:
        """False if somebody else commands the robot and ``second_publisher`` says that this must not be."""
        assert self.loop is not None
        policy = self.parameters["second_publisher"]
        topic = self.loop.command_publisher.topic_name
        others = competing_publishers(self, topic, own=True) if policy != "ignore" else []
        if not others:
            return True
        text = f"{topic} is published by {', '.join(others)} too"
        self.rejections.report(
            "second_publisher", text if policy == "report" else f"{text}: the controller stays inactive"
        )
        return policy == "report"

    def _see_to_goals(self) -> None:
        if self._action is not None:
            self._action.poll(time.monotonic_ns())

    # -- references ----------------------------------------------------------------------------------------------

    def _running_loop(self, what: str) -> ControlLoop | None:
        if self.loop is not None and self.loop.running:
            return self.loop
        self.rejections.report("not_active", f"{what} refused: the controller is not active, or has no joint state yet")
        return None

    def _on_trajectory_bytes(self, raw: bytes | memoryview) -> None:
        """A trajectory arrives, in a thread of its own."""
        self._trajectories.append(raw)
        self._trajectories_arrived += 1

    def _on_trajectory(self, raw: bytes | memoryview) -> None:
        loop = self._running_loop("trajectory")
        if loop is None:
            return
        allow = self.parameters["allow_nonzero_velocity_at_trajectory_end"]

        def make() -> Trajectory:
            return trajectory_from_bytes(raw, allow_nonzero_end_velocity=allow)

        def done(outcome: Goal | Exception, trajectory: Trajectory | None) -> None:
            if isinstance(outcome, Goal):
                self._accepted(outcome, trajectory)
            else:
                self.rejections.report("trajectory", f"trajectory refused: {outcome}")

        self._follow(loop, len(raw), make, done)

    def _follow(
        self,
        loop: ControlLoop,
        size: int,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """Follow a trajectory; a long one, of ``size`` bytes, is prepared beside the cycle."""
        controller = loop.controller
        if size > LONG or controller.preparing:  # else an earlier one, still being prepared, would replace this one
            controller.accept_trajectory_later(make, done, tolerances)
            return
        try:
            trajectory = make()
            goal = controller.accept_trajectory(trajectory, loop.stamp, tolerances)
        except RobotDynamicsError as error:
            done(error, None)
        else:
            done(goal, trajectory)

    def _accepted(self, goal: Goal, trajectory: Trajectory | None) -> None:
        self._report.goal(goal)
        if trajectory is None or not len(trajectory):
            self._say("empty trajectory: holding")
        else:
            self._say(f"following a trajectory of {len(trajectory)} points and {trajectory.duration:.3f} s")

    def _begin_goal(self, wanted: ActionGoal, done: Callable[[Goal | Exception], None]) -> None:
        loop = self.loop
        if loop is None or not loop.running:
            done(TrajectoryRejected("the controller is not active", where="controller", remedy="Activate it."))
            return
        tolerances = goal_tolerances(wanted, loop.controller.tolerances, loop.model.joint_names, self.get_logger())
        allow = self.parameters["allow_nonzero_velocity_at_trajectory_end"]

        def make() -> Trajectory:
            return wanted.checked(allow_nonzero_end_velocity=allow)

        def finished(outcome: Goal | Exception, trajectory: Trajectory | None) -> None:
            if isinstance(outcome, Goal):
                self._accepted(outcome, trajectory)
            else:
                self.rejections.report("trajectory", f"goal refused: {outcome}")
            done(outcome)

        self._follow(loop, wanted.size, make, finished, tolerances)

    def _hold_for_action(self) -> None:
        if self.loop is not None and self.loop.running:
            self.loop.controller.hold(self.loop.stamp)

    def _goal_feedback(self, action_type: Any, goal: Goal) -> Any:
        assert self.loop is not None
        return feedback_message(action_type, self.loop.controller, self.loop.joints, self.loop.stamp, goal)

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        loop = self._running_loop("set-point")
        if loop is None:
            return
        try:
            loop.controller.accept_point(loop.joints, point_from_message(message), loop.stamp)
        except RobotDynamicsError as error:
            self.rejections.report("joint_references", f"set-point refused: {error}")

    def _on_wrench(self, message: WrenchStamped) -> None:
        loop = self._running_loop("external wrench")
        if loop is None:
            return
        try:
            wrench = sensible_wrench(spatial_wrench(message))
            loop.controller.set_external_wrench(message.header.frame_id, wrench.tolist(), loop.now())
        except RobotDynamicsError as error:
            self.rejections.report("external_wrench", f"external wrench refused: {error}")

    def _on_hold(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        loop = self._running_loop("hold")
        if loop is not None:
            loop.controller.hold(loop.stamp)
        response.success = loop is not None
        response.message = "holding" if response.success else "the controller is not active, or has no joint state yet"
        return response

    # -- parameters ----------------------------------------------------------------------------------------------

    def _validate(self, values: ParameterValues) -> None:
        settings.validate(values)
        if self.loop is not None and values["payload.link"]:
            self.loop.model.link(values["payload.link"])

    def _apply(self, changed: frozenset[str], values: ParameterValues) -> None:
        loop = self.loop
        if loop is None:
            return
        groups = {name.partition(".")[0] for name in changed}
        if groups & {"gains", "law", "friction_compensation", "cartesian"}:
            loop.controller.set_law(make_law(values, loop.model), background=True)
        if "constraints" in groups:
            loop.controller.set_tolerances(settings.tolerances(values, loop.model))
        if "payload" in groups:
            loop.controller.set_payload(
                settings.payload(values),
                background=True,
                elsewhere=True,
                failed=lambda error: self.rejections.report("payload", f"the payload is not used: {error}"),
            )
        if "joint_wrenches.rate_divisor" in changed:
            loop.set_wrench_divisor(values["joint_wrenches.rate_divisor"])
