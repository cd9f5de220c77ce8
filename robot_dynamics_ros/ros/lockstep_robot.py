"""The robot of a simulator node in lockstep, used like a plant: a command moves it by one period.

It uses the topics and services that every node uses.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import rclpy
from numpy.typing import ArrayLike
from rcl_interfaces.msg import ParameterType, ParameterValue
from rcl_interfaces.srv import GetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import vector
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.commands import COMMAND_TOPICS
from robot_dynamics_ros.ros.transport.qos import EVENT
from robot_dynamics_ros.ros.transport.spinning import spin_until

SIMULATOR_NAME = "robot_simulator"
# parameters of the simulator, each with the value that this robot needs; the first is only read
_ASKED = {"update_rate": None, "time_mode": "lockstep", "command_format": "multi_array"}
# s that the simulator may take to appear, and to answer: it compiles its robot first
_ANSWER_PATIENCE_S = 60.0
# A simulator that has stopped sends its last state again each second.  Ten of these may wait at
# each side of the middleware from before the command, and say nothing: one more, and it has.
_REPEATS_OF_A_STOP = 21


class LockstepRobot:
    """The simulated robot of a node ``robot_dynamics_simulator`` with ``time_mode: lockstep``, by
    its topics.  Use as a context manager.

    Attributes:
        model: as given; all its joints have one degree of freedom.
        dt: s, the simulator's period.
    """

    def __init__(
        self,
        model: RobotModel,
        *,
        namespace: str = "",
        node_name: str = "lockstep_robot",
    ) -> None:
        """Wait for the simulator and for its first state.

        Args:
            model: of the robot that the simulator has.
            namespace: of the simulator.
            node_name: of the node that this makes.

        Raises:
            ArgumentError: the model has a joint of several degrees of freedom, or the simulator's
                parameters do not fit.
            RobotDynamicsError: there is no simulator, or it does not answer.
        """
        several = [name for name in model.joint_names if model.joint(name).type.nv > 1]
        if several:
            raise ArgumentError(
                "has several degrees of freedom, which joint states cannot hold",
                where=f"joint {several[0]!r}",
                remedy="Use Plant or MujocoPlant.",
            )
        self.model = model
        self._state = JointStateReader(model.joint_names)
        self._refused = ""
        # messages since the last command that bring the stamp of the state before it
        self._repeats = 0
        self._origin_ns = 0
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        self._node = Node(node_name, namespace=namespace or None, context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        try:
            self._meet()
        except BaseException:
            self.close()
            raise

    def _meet(self) -> None:
        """Subscriptions, the simulator's parameters and its first state."""
        node = self._node
        node.create_subscription(JointState, "joint_states", self._on_state, EVENT, raw=True)
        topic = COMMAND_TOPICS["multi_array"]
        self._commands = node.create_publisher(Float64MultiArray, topic, EVENT)
        self._set_state = node.create_publisher(
            JointState, f"{SIMULATOR_NAME}/set_joint_state", EVENT
        )
        self._reset_world = node.create_client(Trigger, f"{SIMULATOR_NAME}/reset_world")
        self.dt = 1.0 / self._update_rate()
        publishers = (self._commands, self._set_state)
        self._wait(
            lambda: bool(self._state.stamp) and all(p.get_subscription_count() for p in publishers),
            "sends no joint states",
        )
        self._origin_ns = self._state.stamp

    def __enter__(self) -> LockstepRobot:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the network; the simulator goes on."""
        self._executor.shutdown()
        self._node.destroy_node()
        self._context.try_shutdown()

    # -- like a plant ------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Simulated time since the last reset, s: a multiple of ``dt``."""
        return round((self._state.stamp - self._origin_ns) * 1e-9 / self.dt) * self.dt

    @property
    def q(self) -> Array:
        """(nq,) measured positions, rad and m; a copy."""
        return self._state.position.copy()

    @property
    def v(self) -> Array:
        """(nv,) measured velocities, rad/s and m/s; a copy."""
        return self._state.velocity.copy()

    @property
    def tau(self) -> Array:
        """(nv,) measured efforts of the motors, N m and N; a copy."""
        return self._state.effort.copy()

    def step(self, command: ArrayLike) -> None:
        """Send (nv,) efforts, N m and N, and wait for the state one period later.

        Raises:
            ArgumentError: a wrong length or a value that is not finite.
            SimulationError: the simulation has stopped, for example because it diverged.
            RobotDynamicsError: the simulator does not answer.
        """
        message = Float64MultiArray(data=self._numbers("command", command))
        self._send_and_wait(partial(self._commands.publish, message))

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None) -> None:
        """Set the state, (nq,) rad and m, (nv,) rad/s and m/s; ``None``: the simulator's start.

        A velocity without a configuration belongs to the configuration of the start.

        Raises:
            ArgumentError: a wrong length or a value that is not finite.
            RobotDynamicsError: the simulator refuses the state, or does not answer.
        """
        message = JointState(name=list(self.model.joint_names))
        if q is not None:
            message.position = self._numbers("q", q)
        if v is not None:
            message.velocity = self._numbers("v", v)
        self._send_and_wait(self._reset)
        if q is not None or v is not None:
            self._send_and_wait(partial(self._set_state.publish, message))
        self._origin_ns = self._state.stamp

    def _reset(self) -> None:
        """Have the simulator begin again."""
        answer = self._called(self._reset_world, Trigger.Request())
        if not answer.success:
            raise RobotDynamicsError(
                f"the simulator refuses to reset: {answer.message}",
                where="~/reset_world",
                remedy="Look at the simulator's log.",
            )

    # -- messages ----------------------------------------------------------------------------------

    def _numbers(self, name: str, values: ArrayLike) -> list[float]:
        """One finite number a joint."""
        joints = self.model.joint_names
        numbers: list[float] = vector(values, len(joints), name, joints=joints).tolist()
        return numbers

    def _on_state(self, raw: bytes) -> None:
        before = self._state.stamp
        try:
            self._state.read(raw)
        except StateRejected as error:
            self._refused = str(error)
            return
        if self._state.stamp == before:
            self._repeats += 1

    def _send_and_wait(self, send: Callable[[], None]) -> None:
        """Wait for the state that follows on what ``send`` sends."""
        before = self._state.stamp
        self._repeats = 0
        send()
        self._wait(
            lambda: self._state.stamp != before or self._repeats >= _REPEATS_OF_A_STOP,
            "does not answer",
        )
        if self._state.stamp == before:
            raise SimulationError(
                "the simulator stays at its last state: it has diverged, is paused or disabled, "
                "or refuses what it was sent",
                where=f"node {SIMULATOR_NAME!r}",
                remedy="Its log and /diagnostics tell why; reset() begins again.",
            )

    def _update_rate(self) -> float:
        """Hz, of a simulator whose other parameters fit."""
        client = self._node.create_client(GetParameters, f"{SIMULATOR_NAME}/get_parameters")

        def value(parameter: ParameterValue) -> float | str:
            if parameter.type == ParameterType.PARAMETER_DOUBLE:
                return float(parameter.double_value)
            return str(parameter.string_value)

        answer = self._called(client, GetParameters.Request(names=list(_ASKED)))
        values = dict(zip(_ASKED, map(value, answer.values), strict=True))
        for name, needed in _ASKED.items():
            if needed is not None and values[name] != needed:
                raise ArgumentError(
                    f"is {values[name]!r}, not {needed!r}",
                    where=f"parameter {name!r} of {SIMULATOR_NAME!r}",
                    remedy=f"Start the simulator with -p {name}:={needed}.",
                )
        return float(values["update_rate"])

    def _called(self, client: Any, request: object) -> Any:
        """The answer to a request."""
        self._wait(client.service_is_ready, "is not there")
        future = client.call_async(request)
        self._wait(future.done, "does not answer")
        return future.result()

    def _wait(self, condition: Callable[[], bool], problem: str) -> None:
        """Listen until ``condition`` holds; a RobotDynamicsError after the patience."""
        if not spin_until(self._executor, condition, _ANSWER_PATIENCE_S):
            raise RobotDynamicsError(
                f"{problem} within {_ANSWER_PATIENCE_S:g} s {self._refused}".rstrip(),
                where=f"node {SIMULATOR_NAME!r}",
                remedy="Start robot_dynamics_simulator, in the same ROS_DOMAIN_ID.",
            )
