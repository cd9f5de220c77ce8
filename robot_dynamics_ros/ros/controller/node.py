"""The controller as a lifecycle node: a joint state in, efforts out, in one callback."""

from __future__ import annotations

import traceback
from contextlib import ExitStack

from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.subscription import Subscription
from rclpy.timer import Timer

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.controller import parameters as settings
from robot_dynamics_ros.ros.controller.control_loop import ControlLoop
from robot_dynamics_ros.ros.controller.inputs import ControllerInputs
from robot_dynamics_ros.ros.controller.report import ControllerReport
from robot_dynamics_ros.ros.transport.commands import competing_publishers, met_elsewhere
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, ParameterValues
from robot_dynamics_ros.ros.transport.realtime import apply_scheduling, keep_collections_short
from robot_dynamics_ros.ros.transport.reports import Background, Rejections, guard_services
from robot_dynamics_ros.ros.transport.robot import DescriptionSource

_SUCCESS = TransitionCallbackReturn.SUCCESS
_FAILURE = TransitionCallbackReturn.FAILURE
# s between two looks for silence and signals: an arm that gets no states is let go that much later
# at most than ``state_timeout`` says.
_WATCH_PERIOD = 0.02


class ControllerNode(LifecycleNode):
    """See ``docs/reference/ros_interface.md`` for topics, services and parameters."""

    def __init__(self, **options: object) -> None:
        super().__init__("computed_torque_controller", **options)
        # what destroy_node needs comes first: from Kilted on rclpy destroys nodes whose constructor
        # has failed
        self._ending, self._background = ExitStack(), Background()
        self._ending.callback(self._background.close)
        self.loop: ControlLoop | None = None
        # by somebody who wants it so
        self._released = False
        self.parameters = ParameterSet(
            self, settings.CONTROLLER_PARAMETERS, self._validate, self._apply
        )
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger(), background=self._background)
        self._report = ControllerReport(self, self.rejections, self._background)
        self._source = DescriptionSource(self, self.parameters, self._description_arrived)
        # a steady clock: a timer on ROS time stands still when that clock is set back or stops
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.cycle_timers: list[Timer] = [
            self.create_timer(_WATCH_PERIOD, self._watch, clock=steady)
        ]
        self.cycle_subscriptions: list[Subscription] = []
        self._inputs = ControllerInputs(self, self.parameters, lambda: self.loop, self._report)
        self._ending.callback(self._inputs.destroy)
        if not self.parameters["autostart"]:
            self.get_logger().info("waiting to be configured")
        elif not self._source.text:
            self.get_logger().info("waiting for a description on the topic robot_description")
        elif not self._autostart():
            problem = "the node could not be started with the description it was given"
            raise RobotDynamicsError(
                problem, where=self._source.origin, remedy="See the error above."
            )

    def _autostart(self) -> bool:
        return self.trigger_configure() == _SUCCESS and self.trigger_activate() == _SUCCESS

    def _description_arrived(self, text: str) -> None:
        if self.loop is None:
            if self.parameters["autostart"] and not self._released:
                self._autostart()
            else:
                self.get_logger().info(
                    "a robot_description has arrived; it is used when the node is configured"
                )
        elif text != self.loop.description:
            self.rejections.report(
                "description_changed",
                "another robot_description has arrived; it is used after cleanup and configure, "
                "until then the old one",
            )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the model, compile its dynamics, create topics.

        FAILURE without a usable description.
        """
        if not self._source.text:
            self.get_logger().error("cannot configure: no robot_description has arrived yet")
            return _FAILURE
        try:
            loop = ControlLoop(
                self, self._source.text, self.parameters, self._report, self._cycle_failed
            )
        except RobotDynamicsError as error:
            self.get_logger().error(f"cannot configure from {self._source.origin}: {error}")
            return _FAILURE
        except Exception as error:  # noqa: BLE001 (rclpy would drop it without a word)
            self.get_logger().error(
                "cannot configure: " + "".join(traceback.format_exception(error))
            )
            return _FAILURE
        self.loop = loop
        self.cycle_subscriptions = [loop.subscription, *self._inputs.open()]
        guard_services(self, self.rejections.report)
        self.parameters.report_unknown(loop.model)
        self._warn_of_unused_gains(self.parameters)
        self._report.configured(loop.controller, self.parameters["cycle_budget"])
        self.get_logger().info(
            f"configured for {loop.model.name!r}: {len(loop.joints)} of {loop.model.nv} joints, "
            f"{loop.model.total_mass:.6g} kg"
        )
        return super().on_configure(state)

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """From the next joint state on, hold the arm where it is."""
        assert self.loop is not None
        if not self._alone_on_the_command_topic(self.loop):
            return _FAILURE
        self.loop.enable()
        keep_collections_short()
        self.get_logger().info("active; holding from the next joint state on")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        self._stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the robot and take the topics down; from now on only a request configures the
        node.
        """
        self._released = True
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Safe command, then as on_cleanup, from any state."""
        self._stop()
        self._released = True
        self._release()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Back to unconfigured after a failed transition."""
        self._stop()
        self._release()
        return _SUCCESS

    def _stop(self) -> None:
        if self.loop is not None:
            self.loop.disable()
            self._inputs.poll_goals()

    def _release(self) -> None:
        self._inputs.close()
        if self.loop is not None:
            self.loop.destroy()
        self.cycle_subscriptions = []
        self.loop = None
        self._report.configured(None)

    @property
    def unfinished(self) -> bool:
        """Whether goals still wait for their results to be sent."""
        return self._inputs.unfinished

    def finish(self) -> None:
        """The process ends: leave the robot with a safe command, and see that it has been
        delivered.
        """
        if self.loop is not None:
            self._stop()
            self.loop.commands.wait_until_sent()
            self._report.say("stopped; the last command sent is the safe one")
        self._background.close()

    def destroy_node(self) -> None:
        self._ending.close()
        super().destroy_node()

    def _cycle_failed(self, error: Exception) -> None:
        if not isinstance(error, RobotDynamicsError):
            self.get_logger().error("".join(traceback.format_exception(error)))
        self.rejections.report(
            "fault", f"the control cycle failed and the controller is deactivated: {error}"
        )
        self.trigger_deactivate()

    def _watch(self) -> None:
        if (loop := self.loop) is not None:
            loop.watch()
            if loop.running and loop.after_cycle is None:
                # then there is most time until the next
                loop.after_cycle = self._chores
                return
            # no cycle has come since the last watch
            loop.after_cycle = None
        self._chores()

    def _chores(self) -> None:
        """Chores that are due many times a second, but not while a joint state waits."""
        self._inputs.poll()
        if self.loop is not None:
            self.loop.look_for_listeners()
        self._inputs.poll_goals()
        if self._report.tick() and self.loop is not None and self.loop.enabled:
            self._look_for_a_listener(self.loop)
            self.loop.look_at_efforts()
            if not self._alone_on_the_command_topic(self.loop):
                self.trigger_deactivate()

    def _look_for_a_listener(self, loop: ControlLoop) -> None:
        """Say so if commands go nowhere, and where they are waited for instead."""
        publisher = loop.commands.publisher
        if publisher.get_subscription_count():
            return
        hint = met_elsewhere(self, publisher.topic_name, self.count_subscribers)
        self.rejections.report(
            "no_listener", f"nobody listens to commands on {publisher.topic_name}{hint}"
        )

    def _alone_on_the_command_topic(self, loop: ControlLoop) -> bool:
        """False if somebody else commands the robot and ``second_publisher`` says that this must
        not be.
        """
        policy = self.parameters["second_publisher"]
        topic = loop.commands.publisher.topic_name
        if policy != "ignore":
            others = competing_publishers(self, topic, own=True)
        else:
            others = []
        if not others:
            return True
        text = f"{topic} is published by {', '.join(others)} too"
        self.rejections.report(
            "second_publisher",
            text if policy == "report" else f"{text}: the controller stays inactive",
        )
        return policy == "report"

    def _warn_of_unused_gains(self, values: ParameterValues) -> None:
        if sentence := settings.unused_gains(values):
            self.get_logger().warning(sentence)

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
            loop.controller.set_law(settings.make_law(values, loop.model), background=True)
        if "gains" in groups:
            self._warn_of_unused_gains(values)
        if (
            groups & {"robustness", "robot_delay"}
            and loop.controller.options.robustness is not None
        ):
            loop.controller.set_robustness(settings.robustness(values))
        if "constraints" in groups:
            loop.controller.tolerances = settings.tolerances(values, loop.model)
        if "payload" in groups:
            loop.controller.set_payload(
                settings.payload(values),
                background=True,
                elsewhere=True,
                failed=lambda error: self.rejections.report(
                    "payload", f"the payload is not used: {error}"
                ),
            )
        if "joint_wrenches.rate_divisor" in changed:
            loop.wrenches.divisor = values["joint_wrenches.rate_divisor"]
