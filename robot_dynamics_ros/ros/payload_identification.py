"""A node beside a running controller that identifies the payload at the flange, by a gentle motion
or at rest.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.identification import payload
from robot_dynamics_ros.identification.excitation import Excitation
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.recordings.recording import robot_of_efforts
from robot_dynamics_ros.ros.commissioning import Aside, LiveArm
from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_message
from robot_dynamics_ros.ros.transport import robot
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, of_joints, parameter_table
from robot_dynamics_ros.ros.transport.qos import EVENT, MANY_REQUESTS

PAYLOAD_IDENTIFICATION_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table("payload_identification", "payload_identification"),
)

# s at rest before the motion begins: the arm no longer swings.
_SETTLE_S = 0.5
# s until the first state, and until the controller's service is found: nodes that start together on
# a busy computer know each other that late.
_LATE_STATE_S = 10.0
# s without a state, from which on the driver is silent.
_SILENCE = 1.0
# Hz, of the waypoints; the controller interpolates between them.
_RATE = 50.0
# rad or m between the motion and where the arm was
_MISSED = 0.15


class PayloadIdentificationNode(Node):
    """See ``docs/reference/ros_interface.md``: the service ``~/identify_payload``
    (std_srvs/Trigger).
    """

    def __init__(self, **options: object) -> None:
        super().__init__("payload_identification", **options)
        self.parameters = ParameterSet(self, PAYLOAD_IDENTIFICATION_PARAMETERS)
        self.model: RobotModel | None = None
        self._ended = False
        self._aside = Aside[payload.PayloadEstimate](self)
        self._source = robot.FirstDescription(
            self,
            self.parameters,
            self._described,
            lambda _cause, text: self.get_logger().warning(text),
        )
        self._source.begin()
        controller = self.parameters["controller"]
        self._trajectories = self.create_publisher(
            JointTrajectory, f"{controller}/joint_trajectory", EVENT
        )
        self._setter = self.create_client(
            SetParametersAtomically, f"{controller}/set_parameters_atomically"
        )
        # a group of its own: states must arrive while the request is under way
        alone = ReentrantCallbackGroup()
        self.create_service(
            Trigger,
            "~/identify_payload",
            self._on_request,
            qos_profile=MANY_REQUESTS,
            callback_group=alone,
        )

    def finish(self) -> None:
        """Nothing is to be sent at the end: the controller finishes the motion by itself."""
        self._ended = True

    def _described(self, text: str) -> None:
        model = robot.load_robot_model(text, self.parameters, self.get_logger())
        self.parameters.declare(of_joints(model.joint_names, robot.MEASURED_EFFORT_FACTOR))
        self.parameters.report_unknown(model)
        self._arm = LiveArm(self, model, "multi_array", _SILENCE)
        self.model = model

    async def _on_request(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        try:
            if self._aside.busy:
                text = "an identification runs already"
                raise ArgumentError(text, where="identify_payload", remedy="Wait for its end.")
            estimate = await self._aside.do(self._identify)
            response.success = True
            response.message = str(estimate)
            if self.parameters["apply"]:
                response.message += await self._apply(estimate)
        except RobotDynamicsError as error:
            response.success = False
            response.message = str(error)
        self.get_logger().info(response.message)
        return response

    def _identify(self) -> payload.PayloadEstimate:
        model = self.model
        values = self.parameters
        if model is not None:
            newest = self._record(0.0)
        else:
            newest = []
        if model is None or not newest:
            if model:
                text = "no joint states with efforts of all joints arrive"
            else:
                text = "no robot_description has arrived"
            remedy = "Start the robot, and check the names of topics and joints."
            raise ArgumentError(text, where="identify_payload", remedy=remedy)
        model.link(values["link"])
        kind = robot.measured_effort(values, model)
        kind.need("identify_payload")
        moved = robot_of_efforts(model, kind)
        start = newest[0][1]
        if values["method"] == "rest":
            rows = self._record(values["rest_duration"], least=20)
            q = np.mean([row[1] for row in rows], axis=0)
            effort = np.mean([row[2] for row in rows], axis=0)
            effort = motor_effort(kind, effort, applied=effort, gravity=gravity_forces(model, q))
            return payload.estimate_payload_at_rest(
                moved, values["link"], q, effort, friction=Friction.of(moved)
            )
        limits: dict[str, Any] = {name: values[name] or None for name in ("lower", "upper")}
        span = values["span"]
        duration = values["duration"]
        scale = values["velocity_scale"]
        motion = payload.payload_motion(
            model, values["link"], start, span=span, duration=duration, scale=scale, **limits
        )
        if not self._trajectories.get_subscription_count():
            problem = f"nobody listens on {self._trajectories.topic_name}"
            remedy = "Name the controller, and activate it."
            raise ArgumentError(
                problem, where="controller", got=values["controller"], remedy=remedy
            )
        trajectory = motion.trajectory(2, rate=_RATE)
        points = (trajectory.positions, trajectory.velocities, trajectory.accelerations)
        self._trajectories.publish(
            trajectory_message(model.joint_names, trajectory.times / NANOSECONDS, *points, 0)
        )
        rows = self._record(values["duration"] + _SETTLE_S, least=20)
        t = np.array([row[0] - rows[0][0] for row in rows])
        q = np.array([row[1] for row in rows])
        effort = np.array([row[2] for row in rows])
        self._check_followed(motion, q)
        effort = motor_effort(kind, effort, applied=effort, gravity=gravity_forces(model, q))
        return payload.estimate_payload(moved, values["link"], t, q, effort)

    def _check_followed(self, motion: Excitation, q: np.ndarray) -> None:
        span = np.ptp(motion.at(np.linspace(0.0, motion.period, 200)), axis=0)
        missed = np.abs(np.ptp(q, axis=0) - span) - 0.2 * span
        if missed.max() > _MISSED:
            name = motion.joint_names[int(np.argmax(missed))]
            remedy = (
                "See why the controller refused or aborted the trajectory: its tolerances and "
                "its diagnostics."
            )
            raise ArgumentError(
                f"joint {name!r} did not follow the motion", where="identify_payload", remedy=remedy
            )

    def _record(self, seconds: float, least: int = 0) -> list[tuple[float, Array, Array]]:
        """Time in s, positions and efforts of the states from now on, for so many seconds of their
        stamps.

        Raises:
            ArgumentError: fewer than ``least`` states came, or none for too long; never with 0.
        """
        rows: list[tuple[float, Array, Array]] = []
        complete = False
        self._arm.begin()
        # simulated time may pass more slowly than this computer's
        deadline = time.monotonic() + 3.0 * seconds + (_LATE_STATE_S if least else _SILENCE)
        while not (complete or self._ended or time.monotonic() > deadline):
            if (state := self._arm.read()) is not None and state.effort is not None:
                rows.append((state.t, state.q, state.effort))
                complete = state.t >= rows[0][0] + seconds
        if least and (not complete or len(rows) < least):
            text = f"joint states stopped after {len(rows)} of them"
            raise ArgumentError(text, where="identify_payload", remedy="Check the robot.")
        return rows

    async def _apply(self, estimate: payload.PayloadEstimate) -> str:
        # nodes that start together know each other late
        if not self._setter.wait_for_service(timeout_sec=_LATE_STATE_S):
            return f"; not applied: no service {self._setter.srv_name}"
        p = estimate.payload
        I = estimate.payload.inertia  # noqa: E741
        values: dict[str, Any] = {
            "payload.link": p.link,
            "payload.mass": float(p.mass),
            "payload.com": [float(x) for x in p.com],
            "payload.inertia": [float(x) for x in I[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]],
        }
        parameters = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        answer = await self._setter.call_async(
            SetParametersAtomically.Request(parameters=parameters)
        )
        if answer.result.successful:
            return "; applied"
        return f"; not applied: {answer.result.reason}"
