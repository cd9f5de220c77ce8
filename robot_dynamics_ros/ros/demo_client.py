"""The third process of the demonstration: sends a trajectory, listens, and keeps what it heard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller_client import CONTROLLER_NAME, ControllerClient
from robot_dynamics_ros.ros.transport.qos import EVENT, NEWEST, STATE
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds
from robot_dynamics_ros.ros.transport.topics import topic_token


@dataclass(frozen=True, eq=False)
class DemoRecording:
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


class DemoClient(ControllerClient):
    """The client of the demonstration: it keeps what it hears after a trajectory was sent."""

    def __init__(self, model: RobotModel) -> None:
        super().__init__(model.joint_names, node_name="robot_dynamics_demo")
        self._model = model
        self._states: list[tuple[int, Array, Array, Array]] = []
        self._wrenches: list[list[tuple[float, ...]]] = [[] for _ in model.joint_names]
        self._commands = 0
        self._recording = False
        self.node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self._on_command, NEWEST
        )
        for i, name in enumerate(model.joint_names):
            self.node.create_subscription(
                WrenchStamped,
                f"{CONTROLLER_NAME}/joint_wrenches/{topic_token(name)}",
                partial(self._on_wrench, i),
                STATE,
            )
        # what the description does not explain, as the controller last said
        self.gaps: tuple[str, ...] = ()
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, EVENT)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if CONTROLLER_NAME in status.name:
                self.gaps = tuple(
                    entry.value for entry in status.values if entry.key.startswith("description ")
                )

    def ready(self) -> bool:
        """Whether joint states and commands flow and the controller listens for trajectories."""
        return super().ready() and self._commands > 0

    def send(self, message: JointTrajectory) -> None:
        """Send a trajectory and keep everything heard from now on."""
        self._recording = True
        super().send(message)

    def recording(self, start: int) -> DemoRecording:
        """The messages since :meth:`send`, times counted from ``start``, ns."""
        n = self._model.nv
        wrenches = [np.array(rows).reshape(-1, 7) for rows in self._wrenches]
        return DemoRecording(
            t=np.array([(stamp - start) * 1e-9 for stamp, *_ in self._states]),
            q=np.array([q for _, q, _, _ in self._states]).reshape(-1, n),
            v=np.array([v for _, _, v, _ in self._states]).reshape(-1, n),
            effort=np.array([effort for *_, effort in self._states]).reshape(-1, n),
            wrench_t=[rows[:, 0] - start * 1e-9 for rows in wrenches],
            wrenches=[rows[:, 1:] for rows in wrenches],
        )

    def _state_arrived(self) -> None:
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
