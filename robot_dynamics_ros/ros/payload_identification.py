"""A node beside a running controller that identifies the payload at the flange, by a gentle motion or at rest."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.identification import payload
from robot_dynamics_ros.identification.excitation import Excitation
from robot_dynamics_ros.model.measured_effort import motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import robot_of_efforts
from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
from robot_dynamics_ros.ros.transport import robot
from robot_dynamics_ros.ros.transport.joint_state_reader import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, of_joints, parameter_table
from robot_dynamics_ros.ros.transport.qos import EVENT

PAYLOAD_IDENTIFICATION_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table("payload_identification", "payload_identification"),
)

_SETTLE, _LATE, _WATCH = 0.5, 10.0, 0.05
_RATE = 50.0
_EVERY = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)
_MISSED = 0.15  # rad or m between the motion and where the arm was


class PayloadIdentificationNode(Node):
    """See ``docs/reference/ros_interface.md``: the service ``~/identify_payload`` (std_srvs/Trigger)."""

    def __init__(self, **options: object) -> None:
        super().__init__("payload_identification", **options)
        self.parameters = ParameterSet(self, PAYLOAD_IDENTIFICATION_PARAMETERS)
        self.model: RobotModel | None = None
        self._rows: list[tuple[int, np.ndarray, np.ndarray]] | None = None
        self._newest: tuple[float, np.ndarray, np.ndarray] | None = None
        self._done: Future | None = None
        self._until, self._length, self._deadline = 0, 0, 0.0
        self._source = robot.FirstDescription(
            self, self.parameters, self._described, lambda _cause, text: self.get_logger().warning(text)
        )
        self._source.begin()
        controller = self.parameters["controller"]
        self._trajectories = self.create_publisher(JointTrajectory, f"{controller}/joint_trajectory", EVENT)
        self._setter = self.create_client(SetParametersAtomically, f"{controller}/set_parameters_atomically")
        # a group of its own: states must arrive while the request is under way
        alone = ReentrantCallbackGroup()
        self.create_service(Trigger, "~/identify_payload", self._on_request, callback_group=alone)
        self.create_timer(_WATCH, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def finish(self) -> None:
        """Nothing is to be sent at the end: the controller finishes the motion by itself."""

    def _described(self, text: str) -> None:
        model = robot.load_robot_model(text, self.parameters, self.get_logger())
        self.parameters.declare(of_joints(model.joint_names, robot.MEASURED_EFFORT_FACTOR))
        self.parameters.report_unknown(model)
        self._reader = JointStateReader(model.joint_names)
        self.create_subscription(JointState, "joint_states", self._on_state, _EVERY, raw=True)
        self.model = model

    def _on_state(self, raw: bytes) -> None:
        try:
            self._reader.read(raw)
        except StateRejected:
            return
        reader = self._reader
        if not reader.effort_known:
            return
        row = (reader.stamp, reader.position.copy(), reader.effort.copy())
        self._newest = (time.monotonic(), row[1], row[2])
        if self._rows is not None and (not self._rows or row[0] > self._rows[-1][0]):
            self._rows.append(row)
            if not self._until:
                self._until = row[0] + self._length
            if row[0] >= self._until and self._done is not None and not self._done.done():
                self._done.set_result(True)

    def _watch(self) -> None:
        if self._done is not None and not self._done.done() and time.monotonic() > self._deadline:
            self._done.set_result(False)

    async def _on_request(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        mine = self._rows is None
        try:
            estimate = await self._identify()
            response.success, response.message = True, str(estimate)
            if self.parameters["apply"]:
                response.message += await self._apply(estimate)
        except RobotDynamicsError as error:
            response.success, response.message = False, str(error)
        finally:
            if mine:
                self._rows = self._done = None
        self.get_logger().info(response.message)
        return response

    async def _identify(self) -> payload.PayloadEstimate:
        model, values = self.model, self.parameters
        if self._rows is not None:
            raise ArgumentError("an identification runs already", where="identify_payload", remedy="Wait for its end.")
        if model is None or self._newest is None or time.monotonic() - self._newest[0] > 1.0:
            text = "no joint states with efforts of all joints arrive" if model else "no robot_description has arrived"
            remedy = "Start the robot, and check the names of topics and joints."
            raise ArgumentError(text, where="identify_payload", remedy=remedy)
        model.link(values["link"])
        kind = robot.measured_effort(values, model)
        kind.need("identify_payload")
        moved = robot_of_efforts(model, kind)
        start = self._newest[1]
        if values["method"] == "rest":
            rows = await self._record(values["rest_duration"])
            q, effort = np.mean([row[1] for row in rows], axis=0), np.mean([row[2] for row in rows], axis=0)
            effort = motor_effort(kind, effort, applied=effort, gravity=gravity_forces(model, q))
            return payload.estimate_payload_at_rest(moved, values["link"], q, effort, friction=Friction.of(moved))
        limits: dict[str, Any] = {name: values[name] or None for name in ("lower", "upper")}
        span, duration, scale = values["span"], values["duration"], values["velocity_scale"]
        motion = payload.payload_motion(
            model, values["link"], start, span=span, duration=duration, scale=scale, **limits
        )
        if not self._trajectories.get_subscription_count():
            problem = f"nobody listens on {self._trajectories.topic_name}"
            remedy = "Name the controller, and activate it."
            raise ArgumentError(problem, where="controller", got=values["controller"], remedy=remedy)
        trajectory = motion.trajectory(2, rate=_RATE)
        points = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
        self._trajectories.publish(trajectory_message(model.joint_names, trajectory.times / NANOSECONDS, *points, 0))
        rows = await self._record(values["duration"] + _SETTLE)
        t = np.array([row[0] - rows[0][0] for row in rows]) * 1e-9
        q, effort = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
        self._check_followed(motion, q)
        effort = motor_effort(kind, effort, applied=effort, gravity=gravity_forces(model, q))
        return payload.estimate_payload(moved, values["link"], t, q, effort)

    def _check_followed(self, motion: Excitation, q: np.ndarray) -> None:
        span = np.ptp(motion.at(np.linspace(0.0, motion.period, 200)), axis=0)
        missed = np.abs(np.ptp(q, axis=0) - span) - 0.2 * span
        if missed.max() > _MISSED:
            name = motion.joint_names[int(np.argmax(missed))]
            remedy = "See why the controller refused or aborted the trajectory: its tolerances and its diagnostics."
            raise ArgumentError(f"joint {name!r} did not follow the motion", where="identify_payload", remedy=remedy)

    async def _record(self, seconds: float) -> list[tuple[int, np.ndarray, np.ndarray]]:
        self._rows, self._until, self._length = [], 0, round(seconds * NANOSECONDS)
        self._deadline = time.monotonic() + 3.0 * seconds + _LATE
        self._done = Future(executor=self.executor)
        complete = await self._done
        rows = self._rows
        if not complete or len(rows) < 20:
            text = f"joint states stopped after {len(rows)} of them"
            raise ArgumentError(text, where="identify_payload", remedy="Check the robot.")
        return rows

    async def _apply(self, estimate: payload.PayloadEstimate) -> str:
        if not self._setter.wait_for_service(timeout_sec=_LATE):  # nodes that start together know each other late
            return f"; not applied: no service {self._setter.srv_name}"
        p, I = estimate.payload, estimate.payload.inertia  # noqa: E741
        values: dict[str, Any] = {
            "payload.link": p.link,
            "payload.mass": float(p.mass),
            "payload.com": [float(x) for x in p.com],
            "payload.inertia": [float(x) for x in I[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]],
        }
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        answer = await self._setter.call_async(SetParametersAtomically.Request(parameters=parameters))
        return "; applied" if answer.result.successful else f"; not applied: {answer.result.reason}"
