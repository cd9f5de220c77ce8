"""The third process of the demonstration: sends a trajectory, listens, and keeps what it heard."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.qos import EVENT, NEWEST, STATE
from robot_dynamics_ros.ros.transport.topics import topic_token

_CONTROLLER = "computed_torque_controller"


@dataclass(frozen=True, eq=False)
class Recording:
    """Recorded messages; times in s after the start of the trajectory.

    Attributes:
        t: (k,) of joint states.
        q, v, effort: (k, n) in model order.
        wrench_t: one (m,) array a joint.
        wrenches: one (m, 6) array a joint, [moment; force].
    """

    t: Array
    q: Array
    v: Array
    effort: Array
    wrench_t: list[Array]
    wrenches: list[Array]


class DemoClient:
    """A node, spun by hand, with the newest joint ``state``.  Use as a context manager."""

    def __init__(self, model: RobotModel) -> None:
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        self._model = model
        self._node = Node("robot_dynamics_demo")
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self.state = JointStateReader(model.joint_names)
        self._states: list[tuple[int, Array, Array, Array]] = []
        self._wrenches: list[list[tuple[float, ...]]] = [[] for _ in model.joint_names]
        self._commands = 0
        self._recording = False
        node = self._node
        node.create_subscription(JointState, "joint_states", self._on_state, STATE, raw=True)
        node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self._on_command, NEWEST
        )
        for i, name in enumerate(model.joint_names):
            node.create_subscription(
                WrenchStamped,
                f"{_CONTROLLER}/joint_wrenches/{topic_token(name)}",
                partial(self._on_wrench, i),
                STATE,
            )
        # what the description does not explain, as the controller last said
        self.gaps: tuple[str, ...] = ()
        node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, EVENT)
        self._trajectories = node.create_publisher(
            JointTrajectory, f"{_CONTROLLER}/joint_trajectory", EVENT
        )

    def __enter__(self) -> DemoClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if _CONTROLLER in status.name:
                self.gaps = tuple(
                    entry.value for entry in status.values if entry.key.startswith("description ")
                )

    def ready(self) -> bool:
        """Whether joint states and commands flow and the controller listens for trajectories."""
        return bool(
            self.state.stamp and self._commands and self._trajectories.get_subscription_count()
        )

    def spin_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Listen until ``condition`` holds; ``False`` if time is up before."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                return False
            self._executor.spin_once(timeout_sec=0.05)
        return True

    def send(self, message: JointTrajectory) -> None:
        """Send a trajectory and keep everything heard from now on."""
        self._recording = True
        self._trajectories.publish(message)

    def recording(self, start: int) -> Recording:
        """The messages since :meth:`send`, times counted from ``start``, ns."""
        n = self._model.nv
        wrenches = [np.array(rows).reshape(-1, 7) for rows in self._wrenches]
        return Recording(
            t=np.array([(stamp - start) * 1e-9 for stamp, *_ in self._states]),
            q=np.array([q for _, q, _, _ in self._states]).reshape(-1, n),
            v=np.array([v for _, _, v, _ in self._states]).reshape(-1, n),
            effort=np.array([effort for *_, effort in self._states]).reshape(-1, n),
            wrench_t=[rows[:, 0] - start * 1e-9 for rows in wrenches],
            wrenches=[rows[:, 1:] for rows in wrenches],
        )

    def _on_state(self, raw: bytes) -> None:
        try:
            self.state.read(raw)
        except StateRejected:
            return
        if self._recording:
            r = self.state
            self._states.append((r.stamp, r.position.copy(), r.velocity.copy(), r.effort.copy()))

    def _on_command(self, _message: Float64MultiArray) -> None:
        self._commands += 1

    def _on_wrench(self, i: int, message: WrenchStamped) -> None:
        if self._recording:
            f = message.wrench.force
            m = message.wrench.torque
            self._wrenches[i].append(
                (to_nanoseconds(message.header.stamp) * 1e-9, m.x, m.y, m.z, f.x, f.y, f.z)
            )
