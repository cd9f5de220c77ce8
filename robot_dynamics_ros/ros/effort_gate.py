"""The effort gate as a node: between any controller and a driver that would hold the last effort
for ever.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics_ros.control.effort_gate import EffortGate, GateSettings, GateState
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport import commands, robot
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.parameters import (
    Param,
    ParameterSet,
    ParameterValues,
    of_joints,
    parameter_table,
)
from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS, NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.realtime import (
    REALTIME_PARAMETERS,
    apply_scheduling,
    keep_collections_short,
)
from robot_dynamics_ros.ros.transport.reports import Diagnostics, Rejections

GATE_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *parameter_table("gate", "gate", {"command_format": commands.COMMAND_FORMATS}),
)
_GATE_JOINT_PARAMETERS = parameter_table("gate", "joint")


def limit_parameters(model: RobotModel, joints: Sequence[str]) -> Iterable[Param]:
    """The bounds of each joint; by default those of the description."""
    for name in joints:
        i = model.v_slice(name).start
        effort = float(model.effort_limit[i])
        velocity = 2.0 * float(model.velocity_limit[i])
        described = {f"limits.{name}.effort": effort, f"limits.{name}.velocity": velocity}
        for param in of_joints([name], *_GATE_JOINT_PARAMETERS):
            default = described.get(param.name, 0.0)
            yield replace(param, default=default if math.isfinite(default) else 0.0)


def gate_settings(
    values: ParameterValues,
    model: RobotModel,
    joints: Sequence[str],
) -> GateSettings:
    """The bounds for the joints; one without an effort limit in the description and as a parameter
    is an ArgumentError.
    """

    def column(name: str, nothing: float) -> np.ndarray:
        return np.array([values[f"limits.{joint}.{name}"] or nothing for joint in joints])

    for joint in joints:
        described = math.isfinite(float(model.effort_limit[model.v_slice(joint).start]))
        if not described and not values[f"limits.{joint}.effort"]:
            where = f"joint {joint!r} of robot {model.name!r}"
            remedy = f"Set the parameter limits.{joint}.effort."
            raise ArgumentError("has no effort limit", where=where, remedy=remedy)
    return GateSettings(
        column("effort", 0.0),
        column("effort_rate", math.inf),
        column("velocity", math.inf),
        column("braking", 0.0),
        values["command_timeout"],
        values["state_timeout"],
        values["on_limit"] == "clip",
    )


# s between two looks for silence of the other side.
_GATE_WATCH_S = 0.01
# watches between two looks at who publishes commands
_GRAPH_EVERY = 10


class EffortGateNode(Node):
    """See ``docs/how_to/effort_gate.md`` for topics, services and parameters."""

    # from the first description on
    gate: EffortGate

    def __init__(self, **options: object) -> None:
        super().__init__("effort_gate", **options)
        self.parameters = ParameterSet(self, GATE_PARAMETERS)
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger())
        self._diagnostics = Diagnostics(self)
        self._watches = self._stamp = 0
        self.cycle_subscriptions: list[Subscription] = []
        self._source = robot.FirstDescription(
            self, self.parameters, self._start, self.rejections.report
        )
        self.cycle_timers = [
            self.create_timer(
                _GATE_WATCH_S, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME)
            )
        ]
        self._source.begin("; nothing passes")

    def _start(self, text: str) -> None:
        values = self.parameters
        model = check_controllable(robot.load_robot_model(text, values, self.get_logger()))
        joints = robot.commanded_joints(values, model)
        values.declare(limit_parameters(model, joints))
        for name in values.unknown(model):
            # a bound that is not applied is none
            if name.startswith("limits."):
                raise UnknownNameError(
                    "parameter", name, [n for n in values if n.startswith("limits.")], where="gate"
                )
        values.report_unknown(model)
        gate = EffortGate(gate_settings(values, model, joints), joints)
        self._states = JointStateReader(joints)
        self._commands = commands.CommandPublisher(
            self, values["command_format"], joints, range(len(joints))
        )
        report = self.rejections.report
        self._reader = commands.CommandReader(
            self, values["command_format"], joints, self._on_command, report, topic="~/commands"
        )
        states = self.create_subscription(
            JointState,
            "joint_states",
            self._on_state,
            NEWEST,
            raw=True,
            event_callbacks=QUIET_SUBSCRIPTION,
        )
        self.cycle_subscriptions = [self._reader.subscription, states]
        self.create_service(Trigger, "~/reset", self._on_reset, qos_profile=MANY_REQUESTS)
        self.create_service(Trigger, "~/stop", self._on_stop, qos_profile=MANY_REQUESTS)
        self._diagnostics.hardware_id = model.name
        self.gate = gate
        keep_collections_short()
        self.get_logger().info(
            f"gate for {model.name!r}: {len(joints)} joints, waiting for commands"
        )

    def _on_command(self, effort: Array) -> None:
        gate = self.gate
        before = gate.state
        if gate.command(time.monotonic_ns(), effort):
            self._send()
        elif gate.state is not before:
            self._closed()
        if gate.state is GateState.OPEN and before is not GateState.OPEN:
            self.get_logger().info(f"open: commands pass (it was {before.value})")

    def _on_state(self, raw: bytes) -> None:
        gate = self.gate
        try:
            self._states.read(raw)
        except StateRejected as error:
            if error.cause != "unrelated":
                self.rejections.report(error.cause, str(error))
            return
        stamp, self._stamp = self._stamp, self._states.stamp
        if stamp and stamp == self._stamp:
            self.rejections.counts["time_still"] += 1
            # the same again: nobody may brake for ever by what was measured once
            return
        before = gate.state
        gate.measured(time.monotonic_ns(), self._states.velocity, self._states.position)
        if gate.state is not before:
            self._closed()

    def _on_reset(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        self.gate.reset()
        response.success = True
        response.message = self.gate.reason or "open"
        return response

    def _on_stop(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        self.gate.stop(time.monotonic_ns(), "stop_service", "the service ~/stop was called")
        self._closed()
        response.success = True
        response.message = "stopped until ~/reset"
        return response

    def _send(self) -> None:
        self._commands.publish(self.gate.output, self.get_clock().now().nanoseconds)

    def _closed(self) -> None:
        """The gate has just closed: send the safe command at once, and say so."""
        self._send()
        if self.gate.state is GateState.STOPPED:
            self.rejections.report("stopped", f"stopped until ~/reset: {self.gate.reason}")
        else:
            self.rejections.report("stale_command", f"safe command: {self.gate.reason}")

    def _watch(self) -> None:
        self._watches += 1
        if self._source.in_use:
            gate = self.gate
            if self._watches % _GRAPH_EVERY == 0:
                self._look_for_rivals(gate)
            before = gate.state
            if gate.check(time.monotonic_ns()):
                self._send() if gate.state is before else self._closed()
        if self._diagnostics.due():
            self._report()

    def _look_for_rivals(self, gate: EffortGate) -> None:
        policy = self.parameters["second_publisher"]
        if policy == "ignore" or gate.state is GateState.STOPPED:
            return
        topic = self._reader.subscription.topic_name
        names = commands.competing_publishers(self, topic)
        if not names:
            return
        text = f"{topic} is published by {', '.join(names)}"
        if policy == "stop":
            gate.stop(time.monotonic_ns(), "second_publisher", text)
            self._closed()
        else:
            self.rejections.report("second_publisher", text)

    def _report(self) -> None:
        if not self._source.in_use:
            self._diagnostics.publish(1, "waiting for a description: nothing passes", {})
            return
        gate = self.gate
        complaints = self._holes()
        level = {GateState.OPEN: 0, GateState.WAITING: 1, GateState.STALE: 1, GateState.STOPPED: 2}[
            gate.state
        ]
        text = "; ".join([gate.reason or "open", *complaints])
        level = max(level, 1) if complaints else level
        counts = {**self.rejections.counts, **gate.counts}
        self._diagnostics.publish(level, text, {"state": gate.state.value}, counts)

    def _holes(self) -> list[str]:
        """Sentences about speeds that are not seen, and commands that do not arrive, because of
        their type, or bypass the gate.
        """
        gate = self.gate
        complaints = []
        bounded = np.isfinite(gate.settings.velocity_limit).any() or gate.settings.braking.any()
        if (
            gate.state is GateState.OPEN
            and bounded
            and not gate.speed_is_known(time.monotonic_ns())
        ):
            text = (
                "no joint states with all of its joints arrive: no speed is watched, and nothing "
                "brakes"
            )
            self.rejections.report("speed_unknown", text)
            complaints.append(text)
        if unheard := self._reader.unheard():
            self.rejections.report("wrong_type", unheard)
            complaints.append(unheard)
        out = self._commands.publisher.topic_name
        others = commands.competing_publishers(self, out, own=True)
        if others and self.parameters["second_publisher"] != "ignore":
            text = (
                f"{', '.join(others)} publish on {out} past the gate: remap them to "
                f"{self._reader.subscription.topic_name}"
            )
            self.rejections.report("bypassed", text)
            complaints.append(text)
        return complaints

    def finish(self) -> None:
        """The process ends: send zero effort, and wait until it has been delivered."""
        if self._source.in_use:
            self._commands.publish(
                np.zeros(len(self.gate.names)), self.get_clock().now().nanoseconds
            )
            self._commands.wait_until_sent()
