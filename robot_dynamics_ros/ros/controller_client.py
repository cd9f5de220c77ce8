"""The other side of a running controller: what a person, a script or the demonstration asks of it.

It uses the same topics, service and parameters as everybody.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.qos import EVENT, LATCHED, STATE
from robot_dynamics_ros.ros.transport.spinning import listen_until

CONTROLLER_NAME = "computed_torque_controller"
# s that a service may take to appear, and then to answer
SERVICE_PATIENCE = 10.0
# s within which a held arm must stand: braking from full speed takes less than a second
STANDSTILL_PATIENCE = 10.0
# s for which every joint must stay within STANDSTILL_WAY of where it was
STANDSTILL_SPAN = 0.3
# rad or m; with the span above 0.03 rad/s, which is slower than a person sees
STANDSTILL_WAY = 0.01
# s within which a payload must be in force: its robot is compiled first, and said once a second
PAYLOAD_PATIENCE = 15.0
# the entry of the controller's diagnostics, and its text without one
PAYLOAD_ENTRY = "payload"
NO_PAYLOAD_IN_FORCE = "none"
# a trajectory that was sent and not answered yet
SENT = "sent"
_Client = TypeVar("_Client", bound="ControllerClient")


class ControllerClient:
    """A node, spun by hand, beside a controller.  Use as a context manager.

    Attributes:
        state: the newest joint state, in the order of the names given; ``None`` without names.
        trajectory_status: what the controller last said about a trajectory: a word, a colon, the
            reason; ``""`` before it has said anything.
    """

    def __init__(
        self,
        joint_names: tuple[str, ...] = (),
        *,
        node_name: str = "robot_dynamics_client",
        namespace: str = "",
    ) -> None:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self.node = Node(node_name, namespace=namespace or None)
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.trajectory_status = ""
        self.node.create_subscription(
            String, f"{CONTROLLER_NAME}/trajectory_status", self._on_trajectory_status, LATCHED
        )
        self.state = JointStateReader(joint_names)
        if joint_names:
            self.node.create_subscription(
                JointState, "joint_states", self._on_state, STATE, raw=True
            )
        self._payload = ""
        self._trajectories = self.node.create_publisher(
            JointTrajectory, f"{CONTROLLER_NAME}/joint_trajectory", EVENT
        )

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown()

    @property
    def refused(self) -> str:
        """Why the controller has refused the trajectory, or ended it; ``""`` if it has not."""
        word = self.trajectory_status.partition(":")[0]
        if word in ("refused", "aborted", "canceled", "preempted", "missed"):
            return self.trajectory_status
        return ""

    def ready(self) -> bool:
        """Whether joint states arrive and the controller listens for trajectories."""
        listens = self._trajectories.get_subscription_count() > 0
        return bool(self.state.stamp) and bool(self.trajectory_status) and listens

    def spin_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Listen until ``condition`` holds; ``False`` if ``timeout`` s are up before."""
        return listen_until(self._executor, condition, timeout)

    def send(self, message: JointTrajectory) -> None:
        """Send a trajectory; ``trajectory_status`` is :data:`SENT` until the controller answers."""
        self.trajectory_status = SENT
        self._trajectories.publish(message)

    def hold(self) -> tuple[bool, str]:
        """Have the arm stop where it is, under control: whether it does, and what was answered.

        Raises:
            RobotDynamicsError: there is no such controller, or it does not answer.
        """
        answer: Trigger.Response = self._call(Trigger, "hold", Trigger.Request())
        return answer.success, answer.message

    def comes_to_rest(self, timeout: float = STANDSTILL_PATIENCE) -> str:
        """Wait until every joint stands; why it is not known to, or ``""``.

        Positions decide: not every driver measures velocities.
        """
        heard: list[tuple[float, tuple[str, ...], np.ndarray]] = []
        subscription = self.node.create_subscription(
            JointState,
            "joint_states",
            lambda m: heard.append((time.monotonic(), tuple(m.name), np.array(m.position))),
            STATE,
        )

        def stands() -> bool:
            if not heard or heard[-1][0] - heard[0][0] < STANDSTILL_SPAN:
                return False
            since = heard[-1][0] - STANDSTILL_SPAN
            names = heard[-1][1]
            lately = [q for t, named, q in heard if t >= since and named == names]
            return bool(np.ptp(lately, axis=0).max(initial=0.0) < STANDSTILL_WAY)

        try:
            if self.spin_until(stands, timeout):
                return ""
        finally:
            self.node.destroy_subscription(subscription)
        if not heard:
            return f"no joint states have arrived within {timeout:g} s"
        return f"the arm still moves after {timeout:g} s"

    def wait_for_payload(self, text: str, timeout: float = PAYLOAD_PATIENCE) -> str:
        """Wait until the controller says that a payload is in force; what it says else, or ``""``.

        Args:
            text: as the controller's diagnostics have it; :data:`NO_PAYLOAD_IN_FORCE` for none.
        """
        subscription = self.node.create_subscription(
            DiagnosticArray, "/diagnostics", self._on_diagnostics, STATE
        )
        try:
            if self.spin_until(lambda: self._payload == text, timeout):
                return ""
        finally:
            self.node.destroy_subscription(subscription)
        if not self._payload:
            return "the controller says nothing of a payload: it is not configured"
        return f"in force after {timeout:g} s: {self._payload}"

    def set_parameters(self, values: Mapping[str, object]) -> str:
        """Set parameters of the controller, all or none; why they were refused, or ``""``.

        Raises:
            RobotDynamicsError: there is no such controller, or it does not answer.
        """
        request = SetParametersAtomically.Request(
            parameters=[Parameter(name, value=x).to_parameter_msg() for name, x in values.items()]
        )
        result = self._call(SetParametersAtomically, "set_parameters_atomically", request).result
        return "" if result.successful else result.reason or "refused without a reason"

    def _call(self, kind: type, service: str, request: object) -> Any:
        name = f"{CONTROLLER_NAME}/{service}"
        client = self.node.create_client(kind, name)
        remedy = "Start robot_dynamics_controller, in the same ROS_DOMAIN_ID."
        if not self.spin_until(client.service_is_ready, SERVICE_PATIENCE):
            raise RobotDynamicsError("no controller is there", where=name, remedy=remedy)
        future: Future = client.call_async(request)
        if not self.spin_until(future.done, SERVICE_PATIENCE):
            raise RobotDynamicsError("the controller does not answer", where=name, remedy=remedy)
        return future.result()

    def _on_trajectory_status(self, message: String) -> None:
        self.trajectory_status = message.data

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        controller = f"{self.node.get_namespace()}/{CONTROLLER_NAME}".lstrip("/")
        for status in message.status:
            if status.name.partition(":")[0] != controller:
                continue
            for entry in status.values:
                if entry.key == PAYLOAD_ENTRY:
                    self._payload = entry.value

    def _on_state(self, raw: bytes) -> None:
        try:
            self.state.read(raw)
        except StateRejected:
            return
        self._state_arrived()

    def _state_arrived(self) -> None:
        """For those who keep states."""
