"""The simulated robot as a node: efforts in, joint states out, paced by a clock or by the commands."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros import simulator_parameters as settings
from robot_dynamics_ros.ros.cdr import Template
from robot_dynamics_ros.ros.commands import CommandReader, CommandRejected
from robot_dynamics_ros.ros.description_source import DescriptionSource
from robot_dynamics_ros.ros.diagnostics import Diagnostics
from robot_dynamics_ros.ros.joint_state_publisher import JointStatePublisher
from robot_dynamics_ros.ros.parameters import ParameterSet
from robot_dynamics_ros.ros.qos import EVENT, LATCHED, NEWEST, QUIET_PUBLISHER, QUIET_SUBSCRIPTION, STATE
from robot_dynamics_ros.ros.realtime import QuietCollector, apply_scheduling
from robot_dynamics_ros.ros.reports import Rejections
from robot_dynamics_ros.ros.robot import load_robot_model
from robot_dynamics_ros.ros.wrench_topics import WrenchTopics, spatial_wrench
from robot_dynamics_ros.simulation.pacing import Lockstep, RealTimePacer
from robot_dynamics_ros.simulation.sensors import Sensors

__all__ = ["SimulatorNode"]

_WATCH_PERIOD = 0.02
_IDLE_NS = 20_000_000
_REPEAT_NS = 1_000_000_000  # lockstep: silence after which the last state is sent again
_RESYNC_NS = 50_000_000


class SimulatorNode(Node):
    """See ``docs/ros_interface.md`` for topics, services and parameters."""

    def __init__(self, **options: Any) -> None:
        super().__init__("robot_simulator", **options)
        self.parameters = ParameterSet(self, settings.validate, self._apply)
        self.parameters.declare(settings.SIMULATOR_PARAMETERS)
        self.parameters.validate()
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger())
        self.model: RobotModel | None = None
        self._collector = QuietCollector()
        self._diagnostics = Diagnostics(self, "")
        self._diagnostics_due = time.monotonic()
        self._diverged = ""
        self._source = DescriptionSource(self, self.parameters, self._description_arrived)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timers_of_cycle = [self.create_timer(_WATCH_PERIOD, self._watch, clock=self._steady)]
        self._subscriptions_of_cycle: list[Any] = []
        if self._source.text:
            self._start(self._source.text)
            if self.parameters["publish_description"]:
                self._latched = self.create_publisher(String, "robot_description", LATCHED)
                self._latched.publish(String(data=self._source.text))
        else:
            self.get_logger().info("waiting for a description on the topic robot_description")

    def _description_arrived(self, text: str) -> None:
        if self.model is not None:
            self.rejections.report("description_changed", "another robot_description has arrived; it is not used")
            return
        try:
            self._start(text)
        except RobotDynamicsError as error:
            self.get_logger().error(f"cannot simulate the robot of {self._source.origin}: {error}")

    def _start(self, text: str) -> None:
        values = self.parameters
        model = load_robot_model(text, values, self.get_logger())
        if model.nv == 0:
            raise ArgumentError("has no moving joint", where=f"robot {model.name!r}", remedy="Nothing to simulate.")
        values.declare(settings.initial_position_parameters(model))
        self._plant = settings.make_plant(values, model)
        self._period_ns = round(1e9 / values["update_rate"])
        self._ticks = 1  # time starts one period after zero, because a stamp of zero means "none"
        self._states = JointStatePublisher(self, model, values["joints"])
        self._v_index = np.array(self._states.v_index, dtype=np.intp)
        self._wrenches = WrenchTopics(
            self, model, model.joint_names, divisor=values["joint_wrenches.rate_divisor"]
        )
        sensor_settings = settings.sensors(values)
        self._sensors = None if sensor_settings is None else Sensors(model, sensor_settings)
        self._effort = np.zeros(model.nv)
        self._command_ns: int | None = None
        self._external: dict[str, tuple[int, Array]] = {}
        self._pushes: dict[str, Array] | None = None
        self._lockstep = Lockstep() if values["time_mode"] == "lockstep" else None
        factor = values["real_time_factor"] if values["time_mode"] == "real_time" else float("inf")
        self._pacer = RealTimePacer(1.0 / values["update_rate"], real_time_factor=factor)
        self._owns_time = values["publish_clock"] or factor != 1.0 or self._lockstep is not None
        self._origin_ns = 0
        self._clock_publisher = (
            self.create_publisher(ClockMessage, "/clock", STATE, event_callbacks=QUIET_PUBLISHER)
            if values["publish_clock"]
            else None
        )
        self._clock_template = Template(ClockMessage())
        commands = CommandReader(
            self, values["command_format"], self._states.joints, self._on_command, self._on_refused,
            NEWEST if self._lockstep is None else EVENT,
        )
        pushes = self.create_subscription(
            WrenchStamped, "~/external_wrench", self._on_wrench, NEWEST, event_callbacks=QUIET_SUBSCRIPTION
        )
        self.create_service(SetBool, "~/set_pause", self._on_pause)
        self.create_service(Trigger, "~/reset_world", self._on_reset)
        self.model = model
        self._plant.brakes = values["holding_brakes"]
        self._diagnostics.hardware_id = model.name
        self._collector.start()
        if values["start_paused"]:
            self._set_pause(True)
        self._published_ns = time.monotonic_ns()
        self._timer = self.create_timer(self._period_ns * 1e-9, self._tick, clock=self._steady)
        self._timers_of_cycle.append(self._timer)
        self._subscriptions_of_cycle = [commands.subscription, pushes]
        self.get_logger().info(
            f"simulating {model.name!r}: {len(self._states.joints)} joints, {model.total_mass:.6g} kg, "
            f"{values['update_rate']:g} Hz, {values['time_mode']}"
        )

    # -- time ----------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        """Do the steps that are due and ask to be woken for the next."""
        now = time.monotonic_ns()
        if self._lockstep is not None:
            if now - self._published_ns > _REPEAT_NS:  # the other side was not there yet, or a message was lost
                self._publish()
            wait = _IDLE_NS
        else:
            due = self._pacer.poll(now)
            for _ in range(due.steps):
                self._step()
            if due.steps:
                self._publish()
            wait = _IDLE_NS if due.wait_ns is None else due.wait_ns - (time.monotonic_ns() - now)
        self._timer.timer_period_ns = max(wait, 1)
        self._timer.reset()

    def _step(self) -> None:
        if self._diverged:
            return
        now = self._ticks * self._period_ns
        if self._command_ns is not None and now - self._command_ns > self.parameters["command_timeout"] * 1e9:
            self._command_ns = None
            self._effort.fill(0.0)
            self._plant.brakes = self.parameters["holding_brakes"]
            if self._lockstep is None:
                self.rejections.report("command_timeout", "no command any more: the effort is zero")
        if self._external:
            timeout = self.parameters["wrench_timeout"] * 1e9
            self._external = {link: push for link, push in self._external.items() if now - push[0] <= timeout}
            self._pushes = {link: push[1] for link, push in self._external.items()} or None
        try:
            self._plant.step(self._effort, self._pushes)
        except SimulationError as error:
            self._diverged = str(error)
            self.get_logger().error(f"the simulation stands still until ~/reset_world: {error}")
            return
        self._ticks += 1
        if self._sensors is not None:
            self._sensors.sample(self._ticks * self._period_ns * 1e-9, self._plant.q, self._plant.v, self._plant.tau)

    def _stamp(self) -> int:
        """Time of the present state, ns: simulated time, laid beside the ROS clock where that is another."""
        elapsed = self._ticks * self._period_ns
        if not self._owns_time:
            now = self.get_clock().now().nanoseconds
            if abs(self._origin_ns + elapsed - now) > _RESYNC_NS:
                self._origin_ns = now - elapsed
        return self._origin_ns + elapsed

    def _publish(self) -> None:
        self._published_ns = time.monotonic_ns()
        stamp, plant = self._stamp(), self._plant
        if self._clock_publisher is not None:
            self._clock_template.stamp(stamp)
            self._clock_publisher.publish(self._clock_template.bytes())
        if self._sensors is None:
            self._states.publish(stamp, plant.q, plant.v, plant.tau)
        else:
            for reading in self._sensors.deliver(self._ticks * self._period_ns * 1e-9):
                self._states.publish(self._origin_ns + round(reading.t * 1e9), reading.q, reading.v, reading.tau)
        if self._wrenches.wanted:
            self._wrenches.publish(plant.joint_wrenches(), stamp)

    # -- inputs --------------------------------------------------------------------------------------------------

    def _on_command(self, effort: Array) -> None:
        self._effort[self._v_index] = effort
        self._command_ns = self._ticks * self._period_ns
        self._plant.brakes = False
        if self._lockstep is not None:
            for _ in range(self._lockstep.on_command()):
                self._step()
            self._publish()

    def _on_refused(self, error: CommandRejected) -> None:
        self.rejections.report(f"command_{error.cause}", f"command refused: {error}")

    def _on_wrench(self, message: WrenchStamped) -> None:
        assert self.model is not None
        link = message.header.frame_id
        try:
            wrench = spatial_wrench(message)
            self.model.link(link)
        except RobotDynamicsError as error:
            self.rejections.report("external_wrench", f"external wrench refused: {error}")
            return
        self._external[link] = (self._ticks * self._period_ns, wrench)

    def _set_pause(self, paused: bool) -> None:
        if self._lockstep is not None:
            self._lockstep.paused = paused
        elif paused:
            self._pacer.pause(time.monotonic_ns())
        else:
            self._pacer.resume(time.monotonic_ns())

    def _on_pause(self, request: SetBool.Request, response: SetBool.Response) -> SetBool.Response:
        self._set_pause(request.data)
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._plant.reset(t=self._ticks * self._period_ns * 1e-9)
        self._effort.fill(0.0)
        self._external, self._pushes, self._command_ns, self._diverged = {}, None, None, ""
        self._plant.brakes = self.parameters["holding_brakes"]
        if self._sensors is not None:
            self._sensors.reset()
        self._publish()
        response.success, response.message = True, "the robot is back where it started; time goes on"
        return response

    # -- the rest ------------------------------------------------------------------------------------------------

    def _apply(self, changed: frozenset[str], values: Mapping[str, Any]) -> None:
        """Timeouts are read where they are used; nothing else can change at run time."""

    def _watch(self) -> None:
        if self.model is not None:
            self._wrenches.look_for_listeners()
            self._collector.collect()
        now = time.monotonic()
        if now < self._diagnostics_due:
            return
        self._diagnostics_due = max(self._diagnostics_due + 1.0, now)
        self._collector.collect(thorough=True)
        counts = self.rejections.counts
        values: dict[str, Any] = {}
        if self.model is not None:
            values = {
                "simulated time [s]": self._ticks * self._period_ns * 1e-9,
                "late steps": self._pacer.late_steps,
                "time given up [s]": self._pacer.lost_ns * 1e-9,
                "paused": self._lockstep.paused if self._lockstep is not None else self._pacer.paused,
            }
        values.update({f"count {cause}": n for cause, n in sorted(counts.items())})
        grown = self._diagnostics.new_since_last(counts)
        if self._diverged:
            self._diagnostics.publish(2, self._diverged, values)
        elif grown:
            text = "in the last second: " + ", ".join(f"{cause} {n}" for cause, n in sorted(grown.items()))
            self._diagnostics.publish(1, text, values)
        else:
            self._diagnostics.publish(0, "running" if self.model is not None else "waiting for a description", values)

    def cycle_subscriptions(self) -> list[Any]:
        """See :class:`~robot_dynamics_ros.ros.focused_executor.CycleNode`."""
        return self._subscriptions_of_cycle

    def cycle_timers(self) -> list[Any]:
        """See :class:`~robot_dynamics_ros.ros.focused_executor.CycleNode`."""
        return self._timers_of_cycle

    def finish(self) -> None:
        """Nothing to leave behind: a robot that is not there needs no safe command."""

