"""What the fault matrix acts on: a controller or a simulator in a process of its own, and this
process as everybody else.
"""

from __future__ import annotations

import array
import contextlib
import os
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.duration import Duration
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS
from support.peer import CONTROLLER, SIMULATOR, Peer

ROBOT = "two_link"
Q = np.array([0.3, -0.4])


class Stack:
    """A node under test, started when needed, and started again if a fault has ended it."""

    node = name = ""
    arguments: ClassVar[dict[str, str]] = {}

    def __init__(self, domain: int, folder: Path) -> None:
        self.peer = Peer(domain)
        self.model = rd.load_robot(ROBOT)
        self.joints = list(self.model.joint_names)
        self._folder = folder
        self._started = 0
        self._domain = str(domain)
        self.diagnostics: list[DiagnosticArray] = self.peer.listen(
            DiagnosticArray, "/diagnostics", 10
        )
        self.process: NodeProcess | None = None
        self.heard: list[Any] = []
        self._publishers: dict[tuple[type, str], Any] = {}

    def start(self) -> None:
        """Start the node, unless it runs."""
        if self.process is None or self.process.exit_code is not None:
            given = [
                x for name, value in self.arguments.items() for x in ("-p", f"{name}:={value}")
            ]
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

    def publish(
        self, message: Any, topic: str, message_type: type | None = None, times: int = 1
    ) -> None:
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

    def end(self, number: int) -> None:
        """End the node's process by a signal that it can catch, see what it leaves behind, and
        start another.
        """
        self.signal(number)
        assert self.process is not None
        self.peer.wait(lambda: self.process.exit_code is not None, "the end of the process")
        assert self.process.exit_code == 0, self.process.output()[-2000:]
        self.peer.wait(self.at_the_end, "what the process leaves behind")
        self.start()

    def at_the_end(self) -> bool:
        """Whether the newest message is what a process that ends in order leaves behind."""
        return True

    def ignores(self, number: int) -> None:
        """Send a signal that is to have no effect."""
        self.signal(number)
        self.peer.spin_for(0.3)

    def other_type(self, topic: str, seconds: float = 1.0) -> None:
        """A publisher of another message type on a topic."""
        # one participant cannot have a topic with two types
        with Peer(int(self._domain)) as other:
            other.publisher(String, topic).publish(String(data="?"))
            self.peer.spin_for(seconds)

    def crowd(self, kind: type, topic: str, count: int = 30) -> None:
        """Many subscriptions to a topic come and go."""
        everybody = [
            self.peer.node.create_subscription(kind, topic, lambda _: None, 1) for _ in range(count)
        ]
        self.peer.spin_for(0.5)
        for one in everybody:
            self.peer.node.destroy_subscription(one)

    def without_handles(self, seconds: float) -> None:
        """The process may open no further file for a while; somebody new appears meanwhile."""
        assert self.process is not None
        before = resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
        try:
            self.crowd(String, "nothing", 3)
            self.peer.spin_for(seconds)
        finally:
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, before)

    def halting(self, seconds: float, times: int) -> None:
        """The process stops and goes on, again and again."""
        for _ in range(times):
            self.freeze(seconds)
            self.peer.spin_for(seconds)

    def requests(self, service: type, name: str, request: Any, count: int) -> None:
        """Many requests at once; each is answered."""
        client = self.peer.node.create_client(
            service, f"{self.name}/{name}", qos_profile=MANY_REQUESTS
        )
        self.peer.wait(client.service_is_ready, name)
        first = client.call_async(request)
        self.peer.wait(first.done, "a first answer")
        asked = [client.call_async(request) for _ in range(count)]
        self.peer.wait(lambda: all(future.done() for future in asked), "all answers")
        self.peer.node.destroy_client(client)

    def kill(self) -> None:
        """Kill the node's process, and start another."""
        self.signal(signal.SIGKILL)
        assert self.process is not None
        self.process.wait(30.0)
        self.start()

    def set_parameter(self, name: str, value: ParameterValue) -> Any:
        """The answer of the node's parameter service."""
        request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
        return self.peer.call(SetParameters, f"{self.name}/set_parameters", request).results[0]

    def refused_parameter(self, name: str, value: Any) -> None:
        """Set a parameter that must be refused with a reason."""
        kinds = {float: "double", int: "integer", str: "string", bool: "bool"}
        kind = kinds[type(value)]
        number = getattr(ParameterType, f"PARAMETER_{kind.upper()}")
        answer = self.set_parameter(name, ParameterValue(type=number, **{f"{kind}_value": value}))
        assert not answer.successful and answer.reason


class ControllerStack(Stack):
    """The controller; this process is its robot, standing still at ``Q``, and whoever commands
    it.
    """

    node = "controller"
    name = CONTROLLER
    arguments: ClassVar[dict[str, str]] = {
        "state_timeout": "0.2",
        "cmd_timeout": "0.2",
        "wrench_timeout": "0.2",
    }

    def __init__(self, domain: int, folder: Path) -> None:
        super().__init__(domain, folder)
        self.heard = self.peer.listen(Float64MultiArray, "effort_controller/commands", 100)
        self._states = self.peer.publisher(JointState, "joint_states", 1)
        self._timer = self.peer.node.create_timer(0.01, lambda: self._states.publish(self.state()))
        self.holding = rd.gravity_forces(self.model, Q)

    def state(self, **changes: Any) -> JointState:
        """A good joint state with changes."""
        message = JointState(
            name=list(self.joints), position=Q.tolist(), velocity=[0.0, 0.0], effort=[0.0, 0.0]
        )
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        for field, value in changes.items():
            setattr(message, field, array.array("d", value) if field != "name" else value)
        return message

    def say(self, message: Any, times: int = 3) -> None:
        """Publish joint states (or their bytes) between the good ones."""
        for _ in range(times):
            self._states.publish(message)
            self.peer.spin_for(0.005)

    def shifted(self, seconds: float, **changes: Any) -> JointState:
        """A good state, or one with changes, whose stamp is off by so much."""
        message = self.state(**changes)
        message.header.stamp.sec += int(seconds)
        return message

    def stamped(self, seconds: int | None, nanoseconds: int) -> JointState:
        """A good state with this stamp; ``None``: the right second."""
        message = self.state()
        if seconds is not None:
            message.header.stamp.sec = seconds
        message.header.stamp.nanosec = nanoseconds
        return message

    def late(self, seconds: float) -> JointState:
        """A good state that was stamped some time ago."""
        message = self.state()
        message.header.stamp = (
            self.peer.node.get_clock().now() - Duration(nanoseconds=int(seconds * 1e9))
        ).to_msg()
        return message

    def framed(self, frame: str) -> JointState:
        """A good state with this frame."""
        message = self.state()
        message.header.frame_id = frame
        return message

    def bytes(self) -> bytes:
        """A good state, serialized."""
        return serialize_message(self.state())

    def silence(self, seconds: float) -> None:
        """No joint states for a while."""
        self._timer.cancel()
        self.peer.spin_for(seconds)
        self._timer.reset()

    def stamp_stands_still(self, seconds: float) -> None:
        """The same stamp again and again."""
        self._timer.cancel()
        message = self.state()
        end = time.monotonic() + seconds
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

    def burst(self, count: int) -> None:
        """Many good states without a pause."""
        for _ in range(count):
            self._states.publish(self.state())

    def played_back(self, seconds: float) -> None:
        """A recording of an hour ago is played back on the same topic, which ends in a fault.

        Ends with an activation.
        """
        old = {"position": -Q, "velocity": [1.0, -1.0]}
        self._beside(seconds, lambda: self.shifted(-3600, **old))

    def repeated(self, seconds: float) -> None:
        """One state comes again and again between the others, which ends in a fault.

        Ends with an activation.
        """
        one = self.state()
        self._beside(seconds, lambda: one)

    def _beside(self, seconds: float, state: Callable[[], JointState]) -> None:
        other = self.peer.publisher(JointState, "joint_states", 1)
        timer = self.peer.node.create_timer(0.007, lambda: other.publish(state()))
        self.peer.spin_for(seconds)
        self.peer.node.destroy_timer(timer)
        self.peer.node.destroy_publisher(other)
        self.peer.spin_for(0.5)
        assert self.at_the_end(), "the safe command stands"
        assert self.change(Transition.TRANSITION_ACTIVATE)

    def silent_and_halted(self, seconds: float, times: int) -> None:
        """No joint states, while the process stops again and again, and never runs for long."""
        self._timer.cancel()
        for _ in range(times):
            self.freeze(seconds)
            self.peer.spin_for(0.01)
        assert self.at_the_end(), "the safe command stands"
        self._timer.reset()

    def shut_down(self) -> None:
        """The last transition of the life cycle, while the arm is held; then another process."""
        assert self.change(Transition.TRANSITION_ACTIVE_SHUTDOWN)
        self.peer.wait(self.at_the_end, "the safe command")
        self.end(signal.SIGTERM)

    def elsewhere(self, seconds: float) -> None:
        """From one state to the next the arm is in another place, and stays there."""
        self._timer.cancel()
        timer = self.peer.node.create_timer(
            0.01, lambda: self._states.publish(self.state(position=-Q))
        )
        self.peer.spin_for(seconds)
        self.peer.node.destroy_timer(timer)
        self._timer.reset()

    def follow(self, trajectory: Any) -> None:
        """Publish a trajectory (or bytes)."""
        self.publish(trajectory, f"{CONTROLLER}/joint_trajectory", JointTrajectory)

    def follow_all(self, *trajectories: JointTrajectory) -> None:
        """Publish trajectories without a pause."""
        self.follow(trajectories[0])
        for trajectory in trajectories[1:]:
            self._publishers[JointTrajectory, f"{CONTROLLER}/joint_trajectory"].publish(trajectory)

    def dated(self, seconds: int) -> JointTrajectory:
        """A good trajectory that begins so long from now."""
        message = self.trajectory(point(Q))
        message.header.stamp = self.peer.node.get_clock().now().to_msg()
        message.header.stamp.sec += seconds
        return message

    def late_point(self) -> JointTrajectoryPoint:
        """A point whose nanoseconds are more than a second."""
        late = point(Q)
        late.time_from_start.nanosec = 4_000_000_000
        return late

    def hold(self) -> None:
        """Call the service that stops whatever is followed."""
        assert self.peer.call(Trigger, f"{CONTROLLER}/hold", Trigger.Request()).success

    def twist(self, moment: float) -> None:
        """Publish an external moment."""
        message = WrenchStamped()
        message.header.frame_id = self.model.link_names[-1]
        message.wrench.torque.z = moment
        self.publish(message, f"{CONTROLLER}/external_wrench", times=3)

    def sim_time(self) -> None:
        """Have the node take its time from a clock that nobody publishes, and back."""
        for flag in (True, False):
            value = ParameterValue(type=ParameterType.PARAMETER_BOOL, bool_value=flag)
            assert self.set_parameter("use_sim_time", value).successful
            self.peer.spin_for(0.4)

    def lowest(self) -> None:
        """The process has one processor, and the lowest priority there is, for a while; the
        priority stays.
        """
        assert self.process is not None
        before = os.sched_getaffinity(self.process.pid)
        os.sched_setaffinity(self.process.pid, {min(before)})
        os.setpriority(os.PRIO_PROCESS, self.process.pid, 19)
        self.peer.spin_for(1.0)
        os.sched_setaffinity(self.process.pid, before)

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
        message.header.frame_id = link
        message.wrench.force.x = force
        self.publish(message, f"{CONTROLLER}/external_wrench", times=times)

    def change(self, transition: int) -> bool:
        """Ask for a transition of the life cycle."""
        request = ChangeState.Request(transition=Transition(id=transition))
        return bool(self.peer.call(ChangeState, f"{CONTROLLER}/change_state", request).success)

    def describe(self, text: str) -> None:
        """Publish a robot_description."""
        self.publish(String(data=text), "robot_description")

    def rival(self, seconds: float) -> None:
        """Another publisher of commands."""
        publisher = self.peer.publisher(Float64MultiArray, "effort_controller/commands")
        self.peer.spin_for(seconds)
        self.peer.node.destroy_publisher(publisher)

    def good(self) -> bool:
        """Whether the newest command is what holds the arm."""
        return bool(self.heard) and np.allclose(self.heard[-1].data, self.holding, atol=1e-6)

    def at_the_end(self) -> bool:
        """See :meth:`Stack.at_the_end`."""
        return not any(self.heard[-1].data)

    def swing(self, speed: float, told: Any = lambda q, v: (q, v), *, first: bool = False) -> None:
        """The arm swings once about ``Q``, as nobody asked it to, and its driver tells ``told(q,
        v)``: all of a sudden, or from its first state on.  Ends with an activation.
        """
        begin = time.monotonic()
        rate = speed / 0.3

        def state() -> tuple[Any, Any]:
            phase = rate * (time.monotonic() - begin)
            return told(Q + 0.3 * np.sin(phase), np.full(2, speed * np.cos(phase)))

        self._driven(state, min(2.0 * np.pi / rate, 2.5), first=first)

    def obey(
        self,
        sign: float,
        seconds: float = 1.5,
        told: Any = lambda q, v: (q, v),
        goal: Any = None,
        *,
        fault: bool = True,
    ) -> None:
        """From its first effort on the arm does what commands ask for, times ``sign``, and its
        driver tells ``told(q, v)``; it is asked to go to ``goal`` if there is one.  Ends with an
        activation; without a ``fault`` the controller must be active until then.
        """
        model = self.model.with_backend("numpy")
        arm = [Q.copy(), np.zeros(2)]
        clock = [time.monotonic()]
        wanted = [] if goal is None else [self.trajectory(point(goal, 2.0))]

        def state() -> tuple[Any, Any]:
            effort = sign * np.array(self.heard[-1].data)
            # the safe command: brakes hold the arm
            if not effort.any():
                arm[1] = np.zeros(2)
                clock[0] = time.monotonic()
            # on a busy machine more than the timer's period
            while clock[0] < time.monotonic():
                arm[1] = arm[1] + 1e-3 * rd.forward_dynamics(model, *arm, effort)
                arm[0] = arm[0] + 1e-3 * arm[1]
                clock[0] += 1e-3
            return told(*arm)

        def then() -> None:
            for trajectory in wanted:
                self.follow(trajectory)

        self._driven(state, seconds, first=True, then=then, fault=fault)

    def _driven(
        self,
        state: Any,
        seconds: float,
        *,
        first: bool,
        then: Any = lambda: None,
        fault: bool = True,
    ) -> None:
        """Another driver for a while, which ends in a fault or not, ``then`` done once it is there;
        then the right one again.
        """
        self._timer.cancel()
        if first:
            assert self.change(Transition.TRANSITION_DEACTIVATE)

        def tell() -> None:
            q, v = state()
            self._states.publish(self.state(position=q, velocity=v))

        timer = self.peer.node.create_timer(0.005, tell)
        if first:
            assert self.change(Transition.TRANSITION_ACTIVATE)
        then()
        self.peer.spin_for(seconds)
        self.peer.node.destroy_timer(timer)
        # still active, and it stays so until the arm is elsewhere all of a sudden
        if not fault:
            assert self.change(Transition.TRANSITION_DEACTIVATE)
        self._timer.reset()
        if fault:
            self.peer.spin_for(0.5)
            assert self.at_the_end(), "the safe command stands"
        assert self.change(Transition.TRANSITION_ACTIVATE)

    def bounded(self) -> None:
        """Every command since :meth:`settle` was finite, complete and within the limits."""
        limit = self.model.effort_limit + 1e-9
        for message in self.heard:
            assert len(message.data) == len(limit) and np.isfinite(message.data).all(), message
            assert (np.abs(message.data) <= limit).all(), message


class SimulatorStack(Stack):
    """The simulator; this process commands it."""

    node = "simulator"
    name = SIMULATOR
    arguments: ClassVar[dict[str, str]] = {
        "update_rate": "200.0",
        "command_timeout": "0.2",
        "wrench_timeout": "0.2",
    }

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
        message.header.frame_id = link
        message.wrench.force.x = force
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
        """Every state since :meth:`settle` was finite and complete, with stamps that grow and
        positions within reach.
        """
        last = -1
        for message in self.heard:
            values = np.array([message.position, message.velocity, message.effort])
            assert values.shape == (3, 2) and np.isfinite(values).all(), message
            assert (np.abs(values[0]) < 10.0).all() and (np.abs(values[1]) < 1e3).all(), message
            now = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            assert now >= last, message
            last = now


class GateStack(Stack):
    """The effort gate; this process is the controller before it, the robot, and the driver that it
    protects.
    """

    node = "effort_gate"
    name = "effort_gate"
    arguments: ClassVar[dict[str, str]] = {"command_timeout": "0.2", "state_timeout": "0.2"}

    def __init__(self, domain: int, folder: Path) -> None:
        super().__init__(domain, folder)
        self.heard = self.peer.listen(Float64MultiArray, "effort_controller/commands", 100)
        self._commands = self.peer.publisher(Float64MultiArray, "effort_gate/commands", 1)
        self._states = self.peer.publisher(JointState, "joint_states", 1)
        self._effort = [1.0, 0.5]
        self._timer = self.peer.node.create_timer(0.02, self._tick)

    def _tick(self) -> None:
        self._commands.publish(Float64MultiArray(data=self._effort))
        self._states.publish(self.state())

    def state(self, **changes: Any) -> JointState:
        """A good joint state with changes."""
        message = JointState(
            name=list(self.joints), position=Q.tolist(), velocity=[0.0, 0.0], effort=[0.0, 0.0]
        )
        for field, value in changes.items():
            setattr(message, field, array.array("d", value) if field != "name" else value)
        return message

    def say(self, message: Any, times: int = 3) -> None:
        """Publish joint states (or their bytes) between the good ones."""
        for _ in range(times):
            self._states.publish(message)
            self.peer.spin_for(0.005)

    def command(self, *efforts: float, times: int = 3) -> None:
        """Publish commands between the good ones."""
        self.raw_command(Float64MultiArray(data=[float(x) for x in efforts]), times)

    def raw_command(self, message: Any, times: int = 3) -> None:
        """The same for a message, or for bytes."""
        for _ in range(times):
            self._commands.publish(message)
            self.peer.spin_for(0.005)

    def silence(self, seconds: float) -> None:
        """Neither commands nor states for a while; the driver gets zero effort."""
        self._timer.cancel()
        self.peer.spin_for(seconds)
        assert not any(self.heard[-1].data)
        self._timer.reset()

    def stopped(self, inject: Any = lambda: None) -> None:
        """Something that stops the gate, until it is reset by hand."""
        inject()
        self.peer.wait(lambda: not any(self.heard[-1].data), "a stopped gate")
        self.peer.spin_for(0.2)
        assert not any(self.heard[-1].data)
        assert self.peer.call(Trigger, "effort_gate/reset", Trigger.Request()).success

    def stopped_by_other_type(self) -> None:
        """Another controller, which sends another message type, until the gate has stopped."""
        # to be discovered takes it a second and more
        with Peer(int(self._domain)) as other:
            other.publisher(String, "effort_gate/commands")
            self.stopped()

    def rival(self) -> None:
        """Another publisher of commands, for a while."""
        publisher = self.peer.publisher(Float64MultiArray, "effort_gate/commands", 1)
        self.peer.spin_for(0.5)
        self.peer.node.destroy_publisher(publisher)
        self.peer.spin_for(0.3)

    def good(self) -> bool:
        """Whether the driver gets the effort that is commanded."""
        return bool(self.heard) and list(self.heard[-1].data) == self._effort

    def at_the_end(self) -> bool:
        """See :meth:`Stack.at_the_end`."""
        return not any(self.heard[-1].data)

    def bounded(self) -> None:
        """Every effort that passed since :meth:`settle` was finite, complete and within the
        limits.
        """
        limit = self.model.effort_limit + 1e-9
        for message in self.heard:
            assert len(message.data) == len(limit) and np.isfinite(message.data).all(), message
            assert (np.abs(message.data) <= limit).all(), message


def point(
    positions: Any, seconds: float = 1.0, velocities: Any = (), accelerations: Any = ()
) -> JointTrajectoryPoint:
    """A trajectory point."""
    found = JointTrajectoryPoint(
        positions=array.array("d", positions),
        velocities=array.array("d", velocities),
        accelerations=array.array("d", accelerations),
    )
    found.time_from_start.sec = int(np.floor(seconds))
    found.time_from_start.nanosec = round((seconds - np.floor(seconds)) * 1e9)
    return found
