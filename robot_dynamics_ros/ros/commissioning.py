"""Commissioning over the middleware: an arm that reads joint states and sends efforts, and a node
with a service for each step.

The node reads and sends; the steps are plain functions.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics_ros.commissioning import (
    ANNOUNCED,
    STEPS,
    ArmSettings,
    ArmState,
    Commissioning,
    StepReport,
)
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport import commands, robot
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, of_joints, parameter_table
from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS
from robot_dynamics_ros.ros.transport.reports import Diagnostics

COMMISSIONING_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table(
        "commissioning", "commissioning", {"command_format": commands.COMMAND_FORMATS}
    ),
)

_T = TypeVar("_T")
# Every state counts, since noise and delay are measured: 0.1 s of them at 1 kHz may wait.
_EVERY = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
# ns; an older state was not overtaken: the clock was set
_CLOCK_SET_NS = 1_000_000_000
# states that wait for a step: some seconds; older ones are dropped
_MOST_WAITING_STATES = 2000
# s between two looks for silence and signals.
_WATCH = 0.02
# s that a step may take to stop at the end
_LONGEST_FINAL_STOP_S = 5.0


class LiveArm:
    """An :class:`~robot_dynamics_ros.commissioning.arm.Arm`; somebody else spins the node.

    ``state_timeout`` is in s.
    """

    def __init__(
        self,
        node: Node,
        model: RobotModel,
        command_format: str,
        state_timeout: float = 0.1,
    ) -> None:
        self._timeout = state_timeout
        self._node = node
        self._nv = model.nv
        self._commanding = False
        self._states: queue.SimpleQueue[ArmState] = queue.SimpleQueue()
        self._reader = JointStateReader(model.joint_names)
        self._format = command_format
        self._names = model.joint_names
        self._commands: commands.CommandPublisher | None = None
        self._stamp = 0
        self._newest = 0
        # s, from the monotonic clock to the one that stamps
        self._stamps_ahead = 0.0
        self._compare_clocks()
        # why the last message was refused
        self.refused = ""
        self._subscription = node.create_subscription(
            JointState, "joint_states", self._on_state, _EVERY, raw=True
        )

    def _on_state(self, raw: bytes) -> None:
        reader = self._reader
        try:
            reader.read(raw)
        except StateRejected as error:
            if error.cause == "unrelated":
                return
            self.refused = str(error)
            # a step has to see it
            if error.cause == "not_finite":
                nothing = np.full(self._nv, np.nan)
                self._keep(ArmState(reader.stamp * 1e-9, nothing, nothing, None, self._now()))
            return
        self.refused = ""
        # of a driver that stamps nothing
        stamp = reader.stamp or time.time_ns()
        if -_CLOCK_SET_NS < stamp - self._newest <= 0:
            self.refused = "its stamp is not newer than that of the one before"
            # the same again, or one that was overtaken
            return
        self._newest = stamp
        if reader.effort_known:
            effort = reader.effort.copy()
        else:
            effort = None
        self._keep(
            ArmState(
                stamp * 1e-9,
                reader.position.copy(),
                reader.velocity.copy(),
                effort,
                self._now(),
            )
        )

    def _compare_clocks(self) -> None:
        """Drivers stamp with the node's clock.  Arrivals have the monotonic one beside it,
        which nobody sets back in the middle of a step.
        """
        self._stamps_ahead = self._node.get_clock().now().nanoseconds * 1e-9 - time.monotonic()

    def _now(self) -> float:
        """s, of an arrival, by the clock that drivers stamp with."""
        clock = self._node.get_clock()
        if clock.ros_time_is_active:
            return clock.now().nanoseconds * 1e-9
        return time.monotonic() + self._stamps_ahead

    def _keep(self, state: ArmState) -> None:
        self._states.put(state)
        # a step has just taken them
        with suppress(queue.Empty):
            while self._states.qsize() > _MOST_WAITING_STATES:
                self._states.get_nowait()

    def read(self) -> ArmState | None:
        """The next state, or the newest while commands are sent; ``None`` if there is none in
        time.
        """
        try:
            state = self._states.get(timeout=self._timeout)
            while self._commanding and not self._states.empty():
                state = self._states.get_nowait()
        except queue.Empty:
            return None
        self._stamp = round(state.t * 1e9)
        return state

    def send(self, effort: Array) -> None:
        """Publish a command; an ArgumentError if another node publishes commands, too."""
        if not self._commanding:
            topic = self._node.resolve_topic_name(commands.COMMAND_TOPICS[self._format])
            alone = self._commands is None
            if alone:
                others = commands.publishing_nodes(self._node, topic)
            else:
                others = commands.competing_publishers(self._node, topic, own=True)
            # not even a publisher: a controller or gate that sees one may let go of the arm
            if others:
                remedy = "Stop them: only one node may command the arm."
                raise ArgumentError(
                    f"{', '.join(others)} publish on {topic}, too", where="commands", remedy=remedy
                )
        if self._commands is None:
            self._commands = commands.CommandPublisher(
                self._node, self._format, self._names, range(self._nv)
            )
        self._commanding = True
        self._commands.publish(effort, self._stamp)

    def begin(self) -> None:
        """A step begins: states that have waited are old."""
        self._commanding = False
        self._compare_clocks()
        while not self._states.empty():
            self._states.get_nowait()

    def hold(self) -> None:
        """Nothing more is sent: a driver that gets no commands holds the arm."""

    def publishers(self) -> tuple[str, ...]:
        """Names of the nodes that publish joint states."""
        return tuple(commands.publishing_nodes(self._node, self._subscription.topic_name))

    def wait_until_sent(self) -> None:
        if self._commands is not None:
            self._commands.wait_until_sent()


class SessionStatus:
    """Publishes the step that runs, what it asks for, and the findings to ``/diagnostics``, once a
    second.
    """

    def __init__(self, node: Node) -> None:
        self.session: Commissioning | None = None
        self._diagnostics = Diagnostics(node)
        node.create_timer(1.0, self._publish, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _publish(self) -> None:
        if self.session is None:
            return self._diagnostics.publish(1, "waiting for a description", {})
        self._diagnostics.hardware_id = self.session.model.name
        return self._diagnostics.publish(*self.session.status())


@contextmanager
def spinning_arm(
    model: RobotModel, command_format: str
) -> Iterator[tuple[LiveArm, Callable[[], bool], SessionStatus]]:
    """A node of its own that is spun in a thread; its service ``~/stop`` makes the second value
    true.
    """
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node = Node("commissioning")
    stopped = threading.Event()
    arm = LiveArm(node, model, command_format)
    status = SessionStatus(node)

    def on_stop(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stopped.set()
        response.success = True
        response.message = "stopping"
        return response

    node.create_service(Trigger, "~/stop", on_stop, qos_profile=MANY_REQUESTS)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    thread = threading.Thread(target=executor.spin, daemon=True)
    thread.start()
    try:
        yield arm, stopped.is_set, status
    finally:
        arm.wait_until_sent()
        executor.shutdown()
        thread.join(2.0)
        node.destroy_node()
        rclpy.try_shutdown()


class Aside(Generic[_T]):
    """Work in a thread of its own, one piece at a time, that a coroutine of the node awaits; its
    timer also wakes the executor.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._thread: threading.Thread | None = None
        node.create_timer(_WATCH, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    @property
    def busy(self) -> bool:
        return self._thread is not None

    async def do(self, work: Callable[[], _T]) -> _T:
        """Do the work: its result, or its error."""
        outcome: list[_T | Exception] = []

        def carry_out() -> None:
            try:
                outcome.append(work())
            except Exception as error:  # noqa: BLE001 (it goes to whoever awaits)
                outcome.append(error)

        self._done = Future(executor=self._node.executor)
        self._thread = threading.Thread(target=carry_out)
        self._thread.start()
        await self._done
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def _watch(self) -> None:
        if self._thread is not None and not self._thread.is_alive():
            self._thread = None
            self._done.set_result(True)


class CommissioningNode(Node):
    """See ``docs/how_to/commissioning.md``: a service (std_srvs/Trigger) for each step, and
    ``~/stop``.
    """

    def __init__(self, **options: object) -> None:
        super().__init__("commissioning", **options)
        self.parameters = ParameterSet(self, COMMISSIONING_PARAMETERS)
        self.session: Commissioning | None = None
        self._stop = threading.Event()
        self._step = ""
        self._aside = Aside[StepReport](self)
        self._status = SessionStatus(self)
        self._source = robot.FirstDescription(
            self,
            self.parameters,
            self._described,
            lambda _cause, text: self.get_logger().warning(text),
        )
        group = ReentrantCallbackGroup()
        for step in STEPS:
            self.create_service(
                Trigger,
                f"~/{step}",
                partial(self._on_step, step),
                qos_profile=MANY_REQUESTS,
                callback_group=group,
            )
        self.create_service(
            Trigger, "~/stop", self._on_stop, qos_profile=MANY_REQUESTS, callback_group=group
        )
        self._source.begin()

    def _described(self, text: str) -> None:
        values = self.parameters
        model = check_controllable(robot.load_robot_model(text, values, self.get_logger()))
        values.declare(of_joints(model.joint_names, robot.MEASURED_EFFORT_FACTOR))
        values.report_unknown(model)
        measured = robot.measured_effort(values, model)
        self._arm = LiveArm(self, model, values["command_format"], values["state_timeout"])
        names = ("gravity_compensated_by", "safe_command")
        settings = ArmSettings(
            delay=values["robot_delay"], **{name: values[name] for name in names}
        )
        rate = values["declared_rate"] or math.nan
        log = self.get_logger().info
        self.session = self._status.session = Commissioning(
            model, self._arm, settings, measured, rate, self._stop.is_set, log, self._arm.publishers
        )
        log(self.session.sentence)

    async def _on_step(
        self,
        step: str,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        if self.session is None or self._step:
            response.success = False
            if self._step:
                response.message = f"{self._step} runs already"
            else:
                response.message = "no robot_description has arrived"
            return response
        self._step = step
        self._stop.clear()
        self.get_logger().info(f"{step}: {ANNOUNCED[step]}")
        try:
            report = await self._aside.do(partial(self.session.run, step))
            response.success = report.healthy
            response.message = f"{report}{self._write(self.session)}"
        except RobotDynamicsError as error:
            response.success = False
            response.message = str(error)
        # the step has stopped the arm, and its request has to be answered
        except Exception as error:  # noqa: BLE001
            text = f"{type(error).__name__}: {error}"
            remedy = "The arm has been stopped; please report it."
            response.success = False
            response.message = str(RobotDynamicsError(text, where=f"step {step}", remedy=remedy))
        self.get_logger().info(f"{step}: {response.message}")
        self._step = ""
        return response

    def _write(self, session: Commissioning) -> str:
        """Write the report; what went wrong, as the end of an answer."""
        folder = self.parameters["output"]
        try:
            session.write(Path(folder))
        except OSError as error:
            return (
                f"; nothing is written to {folder} ({error.strerror}): set the parameter output "
                "to a folder of yours"
            )
        return ""

    def _on_stop(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        self._stop.set()
        response.success = True
        if self._step:
            response.message = f"stopping {self._step}"
        else:
            response.message = "no step runs"
        return response

    def finish(self) -> None:
        """The process ends: stop a step that runs, and wait until the safe command has been
        delivered.
        """
        self._stop.set()
        deadline = time.monotonic() + _LONGEST_FINAL_STOP_S
        while self._aside.busy and time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.01)
        if self.session is not None:
            self._arm.wait_until_sent()
