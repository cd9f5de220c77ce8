"""What the fault matrix acts on: a controller or a simulator in a process of its own, and this process as everybody else."""

from __future__ import annotations

import array
import contextlib
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.processes import NodeProcess
from support.peer import CONTROLLER, SIMULATOR, Peer

ROBOT = "two_link"
Q = np.array([0.3, -0.4])


class Stack:
    """A node under test, started when needed, and started again if a fault has ended it."""

    node = ""
    arguments: ClassVar[dict[str, str]] = {}

    def __init__(self, domain: int, folder: Path) -> None:
        self.peer = Peer(domain)
        self.model = rd.load_robot(ROBOT)
        self.joints = list(self.model.joint_names)
        self._folder, self._started, self._domain = folder, 0, str(domain)
        self.diagnostics: list[DiagnosticArray] = self.peer.listen(DiagnosticArray, "/diagnostics", 10)
        self.process: NodeProcess | None = None
        self.heard: list[Any] = []
        self._publishers: dict[tuple[type, str], Any] = {}

    def start(self) -> None:
        """Start the node, unless it runs."""
        if self.process is None or self.process.exit_code is not None:
            given = [x for name, value in self.arguments.items() for x in ("-p", f"{name}:={value}")]
            log = self._folder / f"{self.node}{self._started}.log"
            self._started += 1
            self.process = NodeProcess(
                self.node,
                ["--ros-args", "-p", f"robot_description_file:={ROBOT}", *given],
                log,
                {"ROS_DOMAIN_ID": self._domain},
            )
            self.diagnostics.clear()

    def settle(self) -> None:
        """Wait until everything works; where a fault before has left it otherwise, start afresh."""
        self.start()
        self.heard.clear()
        with contextlib.suppress(AssertionError):
            self.peer.wait(self.good, "", 10.0)
            return
        self.kill()
        self.heard.clear()
        self.peer.wait(self.good, f"a {self.node} that works")

    def good(self) -> bool:
        """Whether the newest message of the node is as it should be."""
        raise NotImplementedError

    def close(self) -> None:
        """End everything."""
        if self.process is not None:
            self.process.stop(signal.SIGTERM, 20.0)
        self.peer.__exit__()

    def publish(self, message: Any, topic: str, message_type: type | None = None, times: int = 1) -> None:
        """Publish a message, or serialized bytes of ``message_type``."""
        kind = message_type or type(message)
        if (kind, topic) not in self._publishers:
            self._publishers[kind, topic] = self.peer.publisher(kind, topic)
            self.peer.subscribed(self._publishers[kind, topic])
        for _ in range(times):
            self._publishers[kind, topic].publish(message)
            self.peer.spin_for(0.005)

    def counts(self) -> Counter[str]:
        """Everything the node has counted, by cause."""
        found: Counter[str] = Counter()
        for message in self.diagnostics[-1:]:
            for status in message.status:
                for value in status.values:
                    if value.key.startswith("count "):
                        found[value.key[6:]] = int(float(value.value))
        return found

    def signal(self, number: int) -> None:
        """Send a signal to the node."""
        assert self.process is not None
        self.process.send(number)

    def freeze(self, seconds: float) -> None:
        """Stop the node's process for a while, as an overloaded machine does."""
        self.signal(signal.SIGSTOP)
        self.peer.spin_for(seconds)
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the node's process, and start another."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait(30.0)
        self.start()

    def set_parameter(self, name: str, value: ParameterValue) -> Any:
        """The answer of the node's parameter service."""
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        name_of_node = CONTROLLER if self.node == "controller" else SIMULATOR
        return self.peer.call(SetParameters, f"{name_of_node}/set_parameters", request).results[0]

    def refused_parameter(self, name: str, value: Any) -> None:
        """Set a parameter that must be refused with a reason."""
        kinds = {float: "double", int: "integer", str: "string", bool: "bool"}
        kind = kinds[type(value)]
        number = getattr(ParameterType, f"PARAMETER_{kind.upper()}")
        answer = self.set_parameter(name, ParameterValue(type=number, **{f"{kind}_value": value}))
        assert not answer.successful and answer.reason


class ControllerStack(Stack):
    """The controller; this process is its robot, standing still at ``Q``, and whoever commands it."""

    node = "controller"
    arguments: ClassVar[dict[str, str]] = {"state_timeout": "0.2", "cmd_timeout": "0.2", "wrench_timeout": "0.2"}

    def __init__(self, domain: int, folder: Path) -> None:
        super().__init__(domain, folder)
        self.heard = self.peer.listen(Float64MultiArray, "effort_controller/commands", 100)
        self._states = self.peer.publisher(JointState, "joint_states", 1)
        self._timer = self.peer.node.create_timer(0.01, lambda: self._states.publish(self.state()))
        self.holding = rd.gravity_forces(self.model, Q)

    def state(self, **changes: Any) -> JointState:
        """A good joint state with changes."""
        message = JointState(name=list(self.joints), position=Q.tolist(), velocity=[0.0, 0.0], effort=[0.0, 0.0])
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        for field, value in changes.items():
            setattr(message, field, array.array("d", value) if field != "name" else value)
        return message

    def say(self, message: Any, times: int = 3) -> None:
        """Publish joint states (or their bytes) between the good ones."""
        for _ in range(times):
            self._states.publish(message)
            self.peer.spin_for(0.005)

    def shifted(self, seconds: float) -> JointState:
        """A good state whose stamp is off by so much."""
        message = self.state()
        message.header.stamp.sec += int(seconds)
        return message

    def silence(self, seconds: float) -> None:
        """No joint states for a while."""
        self._timer.cancel()
        self.peer.spin_for(seconds)
        self._timer.reset()

    def stamp_stands_still(self, seconds: float) -> None:
        """The same stamp again and again."""
        self._timer.cancel()
        message, end = self.state(), time.monotonic() + seconds
        while time.monotonic() < end:
            self.say(message, 1)
        self._timer.reset()

    def second_robot(self, seconds: float) -> None:
        """Another robot on the same topic, somewhere else."""
        other = self.peer.publisher(JointState, "joint_states", 1)
        timer = self.peer.node.create_timer(0.007, lambda: other.publish(self.state(position=-Q)))
        self.peer.spin_for(seconds)
        self.peer.node.destroy_timer(timer)
        self.peer.node.destroy_publisher(other)

    def elsewhere(self, seconds: float) -> None:
        """From one state to the next the arm is in another place, and stays there."""
        self._timer.cancel()
        timer = self.peer.node.create_timer(0.01, lambda: self._states.publish(self.state(position=-Q)))
        self.peer.spin_for(seconds)
        self.peer.node.destroy_timer(timer)
        self._timer.reset()

    def follow(self, trajectory: Any) -> None:
        """Publish a trajectory (or bytes)."""
        self.publish(trajectory, f"{CONTROLLER}/joint_trajectory", JointTrajectory)

    def trajectory(self, *points: JointTrajectoryPoint, **changes: Any) -> JointTrajectory:
        """A trajectory of both joints with changes."""
        message = JointTrajectory(joint_names=list(self.joints), points=list(points))
        for field, value in changes.items():
            setattr(message, field, value)
        return message

    def stream(self, point: Any, times: int = 3) -> None:
        """Publish set-points."""
        self.publish(point, f"{CONTROLLER}/joint_references", JointTrajectoryPoint, times)

    def push(self, link: str, force: float = 0.0, times: int = 3) -> None:
        """Publish an external wrench."""
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.x = link, force
        self.publish(message, f"{CONTROLLER}/external_wrench", times=times)

    def change(self, transition: int) -> bool:
        """Ask for a transition of the life cycle."""
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.peer.call(ChangeState, f"{CONTROLLER}/change_state", request).success)

    def describe(self, text: str) -> None:
        """Publish a robot_description."""
        self.publish(
            String(data=text),
            "robot_description",
        )

    def rival(self, seconds: float) -> None:
        """Another publisher of commands."""
        publisher = self.peer.publisher(Float64MultiArray, "effort_controller/commands")
        self.peer.spin_for(seconds)
        self.peer.node.destroy_publisher(publisher)

    def good(self) -> bool:
        """Whether the newest command is what holds the arm."""
        return bool(self.heard) and np.allclose(self.heard[-1].data, self.holding, atol=1e-6)

    def bounded(self) -> None:
        """Every command since :meth:`settle` was finite, complete and within the limits."""
        limit = self.model.effort_limit + 1e-9
        for message in self.heard:
            assert len(message.data) == len(limit) and np.isfinite(message.data).all(), message
            assert (np.abs(message.data) <= limit).all(), message


class SimulatorStack(Stack):
    """The simulator; this process commands it."""

    node = "simulator"
    arguments: ClassVar[dict[str, str]] = {"update_rate": "200.0", "command_timeout": "0.2", "wrench_timeout": "0.2"}

    def __init__(self, domain: int, folder: Path) -> None:
        super().__init__(domain, folder)
        self.heard = self.peer.listen(JointState, "joint_states", 1000)
        self._commands = self.peer.publisher(Float64MultiArray, "effort_controller/commands", 1)
        self._effort = [1.0, 0.5]
        self._timer = self.peer.node.create_timer(
            0.02, lambda: self._commands.publish(Float64MultiArray(data=self._effort))
        )

    def command(self, message: Any, times: int = 3) -> None:
        """Publish commands (or their bytes) between the good ones."""
        for _ in range(times):
            self._commands.publish(message)
            self.peer.spin_for(0.005)

    def array(self, *values: float) -> Float64MultiArray:
        """A command."""
        return Float64MultiArray(data=[float(x) for x in values])

    def silence(self, seconds: float) -> None:
        """No commands for a while."""
        self._timer.cancel()
        self.peer.spin_for(seconds)
        self._timer.reset()

    def push(self, link: str, force: float, times: int = 3) -> None:
        """Publish an external wrench."""
        message = WrenchStamped()
        message.header.frame_id, message.wrench.force.x = link, force
        self.publish(message, f"{SIMULATOR}/external_wrench", times=times)

    def set_state(self, **changes: Any) -> None:
        """Publish a state to set."""
        message = JointState(name=list(self.joints))
        for field, value in changes.items():
            setattr(message, field, array.array("d", value) if field != "name" else value)
        self.publish(message, f"{SIMULATOR}/set_joint_state")

    def good(self) -> bool:
        """Whether the newest state shows the effort commanded."""
        return bool(self.heard) and list(self.heard[-1].effort) == self._effort

    def bounded(self) -> None:
        """Every state since :meth:`settle` was finite and complete, with stamps that grow and positions within reach."""
        last = -1
        for message in self.heard:
            values = np.array([message.position, message.velocity, message.effort])
            assert values.shape == (3, 2) and np.isfinite(values).all(), message
            assert (np.abs(values[0]) < 10.0).all() and (np.abs(values[1]) < 1e3).all(), message
            now = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            assert now >= last, message
            last = now


def point(positions: Any, seconds: float = 1.0, velocities: Any = (), accelerations: Any = ()) -> JointTrajectoryPoint:
    """A trajectory point."""
    found = JointTrajectoryPoint(
        positions=array.array("d", positions),
        velocities=array.array("d", velocities),
        accelerations=array.array("d", accelerations),
    )
    found.time_from_start.sec = int(np.floor(seconds))
    found.time_from_start.nanosec = round((seconds - np.floor(seconds)) * 1e9)
    return found
