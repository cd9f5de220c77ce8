"""The controller as a lifecycle node: a joint state in, efforts out, in one callback.

Everything that can be worked out beforehand is worked out in ``on_configure``; the callback translates, asks
:class:`~robot_dynamics_ros.control.controller.JointController` and publishes.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, UnknownNameError
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf
from robot_dynamics_ros.ros import controller_parameters as settings
from robot_dynamics_ros.ros.commands import CommandPublisher
from robot_dynamics_ros.ros.controller_report import ControllerReport
from robot_dynamics_ros.ros.description_source import DescriptionSource
from robot_dynamics_ros.ros.joint_state_reader import JointStateReader, StateRejected
from robot_dynamics_ros.ros.laws import make_law
from robot_dynamics_ros.ros.parameters import ParameterSet
from robot_dynamics_ros.ros.qos import EVENT, NEWEST
from robot_dynamics_ros.ros.realtime import QuietCollector, apply_scheduling
from robot_dynamics_ros.ros.reference_topics import ReferenceTopics
from robot_dynamics_ros.ros.reports import Rejections
from robot_dynamics_ros.ros.run import run
from robot_dynamics_ros.ros.trajectory_messages import point_from_message, trajectory_from_message
from robot_dynamics_ros.ros.wrench_topics import WrenchTopics, spatial_wrench

__all__ = ["ControllerNode", "main"]

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_WATCH_PERIOD = 0.02


class ControllerNode(LifecycleNode):
    """See ``docs/ros_interface.md`` for topics, services and parameters."""

    def __init__(self, **options: Any) -> None:
        super().__init__("computed_torque_controller", **options)
        self.parameters = ParameterSet(self, self._validate, self._apply)
        self.parameters.declare(settings.CONTROLLER_PARAMETERS)
        self.parameters.validate()
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger())
        self.model: RobotModel | None = None
        self.controller: JointController | None = None
        self._active = False
        self._running = False  # active, and the first state has come
        self._arrival = 0  # steady clock, ns, of the newest good state
        self._entities: list[tuple[Any, Any]] = []
        self._collector = QuietCollector()
        self._source = DescriptionSource(self, self.parameters, self._description_arrived)
        self._configured_text = ""
        # a steady clock: a timer on ROS time stands still when that clock is set back or stops
        self._watch_timer = self.create_timer(_WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._report = ControllerReport(self)
        if not self.parameters["autostart"]:
            self.get_logger().info("waiting to be configured")
        elif self._source.text:
            if not self._autostart():
                raise RobotDynamicsError("the node could not be started with the description it was given",
                                         where=self._source.origin, remedy="See the error above.")
        else:
            self.get_logger().info("waiting for a description on the topic robot_description")

    # -- life cycle ----------------------------------------------------------------------------------------------

    def _autostart(self) -> bool:
        return self.trigger_configure() == _SUCCESS and self.trigger_activate() == _SUCCESS

    def _description_arrived(self, text: str) -> None:
        if self.model is None:
            if self.parameters["autostart"]:
                self._autostart()
        elif text != self._configured_text:
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
            self._configure(self._source.text)
        except RobotDynamicsError as error:
            self._release()
            self.get_logger().error(f"cannot configure from {self._source.origin}: {error}")
            return _FAILURE
        return super().on_configure(state)

    def _configure(self, text: str) -> None:
        values = self.parameters
        model = load_urdf(text, gravity=values["gravity"] or (0.0, 0.0, -9.81))
        if model.nv == 0:
            raise ArgumentError("has no moving joint", where=f"robot {model.name!r}", remedy="Nothing to control.")
        loose = [
            name for name in model.joint_names if model.joint(name).type in (JointType.FLOATING, JointType.PLANAR)
        ]
        if loose:
            raise ArgumentError(f"joint {loose[0]!r} is {model.joint(loose[0]).type.name.lower()}",
                                where=f"robot {model.name!r}", got=loose,
                                remedy="The controller needs a fixed base and joints with one degree of freedom.")
        joints = values["joints"] or model.joint_names
        for name in joints:
            if name not in model.joint_names:
                raise UnknownNameError("joint", name, model.joint_names, where="parameter 'joints'")
        values.declare(settings.joint_parameters(joints))
        values.validate()
        controller = JointController(
            model, make_law(values, model), options=settings.options(values), guards=settings.guards(values, model),
            tolerances=settings.tolerances(values, model),
        )
        load = settings.payload(values)
        if load is not None:
            controller.set_payload(load)
        self.model, self.controller, self._configured_text = model, controller, text
        self._reader = JointStateReader(model.joint_names)
        self._commands = CommandPublisher(
            self, values["command_format"], joints, [model.joint_names.index(name) for name in joints]
        )
        self._wrenches = WrenchTopics(
            self, model, model.moving_joint_names, divisor=values["joint_wrenches.rate_divisor"]
        )
        self._references = ReferenceTopics(self, controller, values["state_publish_rate"])
        self._entities = [
            (self.create_subscription(JointState, "joint_states", self._on_joint_state, NEWEST, raw=True),
             self.destroy_subscription),
            (self.create_subscription(JointTrajectory, "~/joint_trajectory", self._on_trajectory, EVENT),
             self.destroy_subscription),
            (self.create_subscription(JointTrajectoryPoint, "~/joint_references", self._on_reference, NEWEST),
             self.destroy_subscription),
            (self.create_subscription(WrenchStamped, "~/external_wrench", self._on_wrench, NEWEST),
             self.destroy_subscription),
            (self.create_service(Trigger, "~/hold", self._on_hold), self.destroy_service),
        ]
        self._report.configured(model.name)
        self.get_logger().info(
            f"configured for {model.name!r} with {len(joints)} of {model.nv} joints, {model.total_mass:.6g} kg"
        )

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """From the next joint state on, hold the arm where it is."""
        self._active, self._running, self._arrival = True, False, time.monotonic_ns()
        self._collector.start()
        self.get_logger().info("active; holding from the next joint state on")
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send the safe command and stop."""
        self._stop()
        return super().on_deactivate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Forget the model and take the topics down."""
        self._release()
        return super().on_cleanup(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """As on_deactivate, from any state."""
        self._stop()
        self._release()
        return super().on_shutdown(state)

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Back to unconfigured after a failed transition."""
        self._stop()
        self._release()
        return _SUCCESS

    def _stop(self) -> None:
        if not self._active:
            return
        self._active = False
        self._collector.stop()
        assert self.controller is not None
        running, self._running = self._running, False
        command = self.controller.deactivate() if running else np.zeros(self.model.nv)
        self._commands.publish(command, self._reader.stamp)
        self.get_logger().info("stopped; the last command sent is the safe one")

    def _release(self) -> None:
        for entity, destroy in self._entities:
            destroy(entity)
        self._entities = []
        for owner in ("_commands", "_wrenches", "_references"):
            topics = self.__dict__.pop(owner, None)
            if topics is not None:
                topics.destroy()
        self.model = self.controller = None
        self._configured_text = ""

    def finish(self) -> None:
        """The process ends: leave the robot with a safe command, and wait until that has been delivered."""
        if self._active:
            self._stop()
            self._commands.publisher.wait_for_all_acked()

    # -- the cycle -----------------------------------------------------------------------------------------------

    def _on_joint_state(self, raw: bytes) -> None:
        reader = self._reader
        try:
            reader.read(raw)
        except StateRejected as error:
            if error.cause == "unrelated":
                self.rejections.count("unrelated")
            else:
                self.rejections.report(error.cause, str(error))
            return
        if not self._active:
            return
        steady = time.monotonic_ns()
        report, controller = self._report, self.controller
        stamp = reader.stamp or self.get_clock().now().nanoseconds
        try:
            if not self._running:
                controller.activate(stamp, reader.position, reader.velocity)
                self._running = True
            else:
                report.period(steady - self._arrival)
            self._arrival, self._stamp = steady, stamp
            command = controller.update(
                stamp, reader.position, reader.velocity, reader.effort if reader.effort_known else None
            )
        except Exception as error:  # noqa: BLE001 (whatever it is, the robot must not keep the last effort)
            self._fault(error)
            return
        self._commands.publish(command, stamp)
        self._wrenches.publish(controller.wrenches, stamp)
        self._references.publish(stamp, reader)
        report.cycle(stamp, steady)

    def _fault(self, error: Exception) -> None:
        """An error in the cycle must not leave the last effort standing, nor take the process down."""
        if not isinstance(error, RobotDynamicsError):
            self.get_logger().error(traceback.format_exc())
        self.rejections.report("fault", f"the control cycle failed and the controller is deactivated: {error}")
        self.trigger_deactivate()

    def _now(self) -> int:
        """The present time on the clock of the joint states' stamps, ns."""
        if not self._running:
            return self.get_clock().now().nanoseconds
        return self._stamp + (time.monotonic_ns() - self._arrival)

    def _watch(self) -> None:
        if self._running:
            command = self.controller.watch(self._now())
            if command is not None:
                self._commands.publish(command, self._stamp)
            self._wrenches.look_for_listeners()
            self._references.look_for_listeners()
            self._collector.collect()
        self._report.tick()

    # -- references ----------------------------------------------------------------------------------------------

    def _accepting(self, what: str) -> bool:
        if self._running:
            return True
        self.rejections.report("not_active", f"{what} refused: the controller is not active, or has no joint state yet")
        return False

    def _on_trajectory(self, message: JointTrajectory) -> None:
        if not self._accepting("trajectory"):
            return
        try:
            trajectory = trajectory_from_message(
                message,
                allow_nonzero_end_velocity=self.parameters["allow_nonzero_velocity_at_trajectory_end"],
            )
            goal = self.controller.accept_trajectory(trajectory, self._stamp)
        except RobotDynamicsError as error:
            self.rejections.report("trajectory", f"trajectory refused: {error}")
            return
        self._report.goal(goal)
        if len(trajectory):
            self.get_logger().info(
                f"following a trajectory of {len(trajectory)} points and {trajectory.duration:.3f} s"
            )
        else:
            self.get_logger().info("empty trajectory: holding")

    def _on_reference(self, message: JointTrajectoryPoint) -> None:
        if not self._accepting("set-point"):
            return
        joints = self.parameters["joints"] or self.model.joint_names
        try:
            self.controller.accept_point(joints, point_from_message(message), self._stamp)
        except RobotDynamicsError as error:
            self.rejections.report("joint_references", f"set-point refused: {error}")

    def _on_wrench(self, message: WrenchStamped) -> None:
        if not self._accepting("external wrench"):
            return
        try:
            self.controller.set_external_wrench(message.header.frame_id, spatial_wrench(message), self._now())
        except RobotDynamicsError as error:
            self.rejections.report("external_wrench", f"external wrench refused: {error}")

    def _on_hold(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._running
        if self._running:
            self.controller.hold(self._stamp)
            response.message = "holding"
        else:
            response.message = "the controller is not active, or has no joint state yet"
        return response

    # -- parameters ----------------------------------------------------------------------------------------------

    def _validate(self, values: Mapping[str, Any]) -> None:
        settings.validate(values)
        if self.model is not None and values["payload.link"]:
            self.model.link(values["payload.link"])

    def _apply(self, changed: frozenset[str], values: Mapping[str, Any]) -> None:
        if self.controller is None or self.model is None:
            return
        if any(name.startswith("gains.") for name in changed):
            self.controller.set_law(make_law(values, self.model))
        if any(name.startswith("constraints.") for name in changed):
            self.controller.set_tolerances(settings.tolerances(values, self.model))
        if any(name.startswith("payload.") for name in changed):
            self.controller.set_payload(settings.payload(values))
        if "joint_wrenches.rate_divisor" in changed:
            self._wrenches.divisor = values["joint_wrenches.rate_divisor"]


def main(args: list[str] | None = None) -> None:
    """Entry point of the executable ``controller``."""
    sys.exit(run(ControllerNode, args))


if __name__ == "__main__":
    main()
