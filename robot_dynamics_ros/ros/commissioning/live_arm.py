"""An arm over the middleware, as the steps of commissioning read and command it."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import numpy as np
import rclpy
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from robot_dynamics_ros.commissioning import ArmState, Commissioning
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.commands import (
    COMMAND_TOPICS,
    CommandPublisher,
    competing_publishers,
    publishing_nodes,
)
from robot_dynamics_ros.ros.transport.diagnostics import Diagnostics
from robot_dynamics_ros.ros.transport.joint_state_reader import JointStateReader, StateRejected

_EVERY = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
_LATE = 1_000_000_000  # ns; an older state was not overtaken: the clock was set
_MOST = 2000  # states that wait for a step: some seconds; older ones are dropped


class LiveArm:
    """An :class:`~robot_dynamics_ros.commissioning.arm.Arm`; somebody else spins the node.  ``state_timeout`` is in s."""

    def __init__(self, node: Node, model: RobotModel, command_format: str, state_timeout: float = 0.1) -> None:
        self._timeout = state_timeout
        self._node, self._nv, self._commanding = node, model.nv, False
        self._states: queue.SimpleQueue[ArmState] = queue.SimpleQueue()
        self._reader = JointStateReader(model.joint_names)
        self._format, self._names = command_format, model.joint_names
        self._commands: CommandPublisher | None = None
        self._stamp, self._newest = 0, 0
        self.refused = ""  # why the last message was refused
        self._subscription = node.create_subscription(JointState, "joint_states", self._on_state, _EVERY, raw=True)

    def _on_state(self, raw: bytes) -> None:
        reader = self._reader
        try:
            reader.read(raw)
        except StateRejected as error:
            if error.cause == "unrelated":
                return
            self.refused = str(error)
            if error.cause == "not_finite":  # a step has to see it
                nothing = np.full(self._nv, np.nan)
                self._keep(ArmState(reader.stamp * 1e-9, nothing, nothing, None, time.monotonic()))
            return
        self.refused = ""
        stamp = reader.stamp or time.time_ns()  # of a driver that stamps nothing
        if -_LATE < stamp - self._newest <= 0:
            self.refused = "its stamp is not newer than that of the one before"
            return  # the same again, or one that was overtaken
        self._newest = stamp
        effort = reader.effort.copy() if reader.effort_known else None
        self._keep(ArmState(stamp * 1e-9, reader.position.copy(), reader.velocity.copy(), effort, time.monotonic()))

    def _keep(self, state: ArmState) -> None:
        self._states.put(state)
        with suppress(queue.Empty):  # a step has just taken them
            while self._states.qsize() > _MOST:
                self._states.get_nowait()

    def read(self) -> ArmState | None:
        """The next state, or the newest while commands are sent; ``None`` if there is none in time."""
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
            topic = self._node.resolve_topic_name(COMMAND_TOPICS[self._format])
            alone = self._commands is None
            others = publishing_nodes(self._node, topic) if alone else competing_publishers(self._node, topic, own=True)
            if others:  # not even a publisher: a controller or gate that sees one may let go of the arm
                remedy = "Stop them: only one node may command the arm."
                raise ArgumentError(f"{', '.join(others)} publish on {topic}, too", where="commands", remedy=remedy)
        if self._commands is None:
            self._commands = CommandPublisher(self._node, self._format, self._names, range(self._nv))
        self._commanding = True
        self._commands.publish(effort, self._stamp)

    def begin(self) -> None:
        """A step begins: states that have waited are old."""
        self._commanding = False
        while not self._states.empty():
            self._states.get_nowait()

    def hold(self) -> None:
        """Nothing more is sent: a driver that gets no commands holds the arm."""

    def publishers(self) -> tuple[str, ...]:
        """Names of the nodes that publish joint states."""
        return tuple(publishing_nodes(self._node, self._subscription.topic_name))

    def wait_until_sent(self) -> None:
        """Wait until the last command has arrived."""
        if self._commands is not None:
            self._commands.wait_until_sent()


class SessionStatus:
    """Publishes the step that runs, what it asks for, and the findings to ``/diagnostics``, once a second."""

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
def spinning_arm(model: RobotModel, command_format: str) -> Iterator[tuple[LiveArm, Callable[[], bool], SessionStatus]]:
    """A node of its own that is spun in a thread; its service ``~/stop`` makes the second value true."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    node, stopped = Node("commissioning"), threading.Event()
    arm, status = LiveArm(node, model, command_format), SessionStatus(node)

    def on_stop(_request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stopped.set()
        response.success, response.message = True, "stopping"
        return response

    node.create_service(Trigger, "~/stop", on_stop)
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
