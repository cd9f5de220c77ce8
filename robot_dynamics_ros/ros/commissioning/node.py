"""The steps of commissioning as services; the node reads and sends, the steps are plain functions."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import Trigger

from robot_dynamics_ros.commissioning import ANNOUNCED, STEPS, ArmSettings, Commissioning, StepReport
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.commissioning.live_arm import LiveArm, SessionStatus
from robot_dynamics_ros.ros.transport import robot
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS, FirstDescription
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, of_joints, parameter_table

COMMISSIONING_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *robot.ROBOT_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table("commissioning", "commissioning", {"command_format": COMMAND_FORMATS}),
)

_WATCH = 0.02
_STOPPING = 5.0
"""s that a step may take to stop at the end."""


class CommissioningNode(Node):
    """See ``docs/how_to/commissioning.md``: a service (std_srvs/Trigger) for each step, and ``~/stop``."""

    def __init__(self, **options: object) -> None:
        super().__init__("commissioning", **options)
        self.parameters = ParameterSet(self)
        self.parameters.declare(COMMISSIONING_PARAMETERS)
        self.session: Commissioning | None = None
        self._stop, self._step, self._unwritten = threading.Event(), "", ""
        self._thread: threading.Thread | None = None
        self._done: Callable[[], None] | None = None
        self._status = SessionStatus(self)
        self._source = FirstDescription(
            self, self.parameters, self._described, lambda _cause, text: self.get_logger().warning(text)
        )
        group = ReentrantCallbackGroup()
        for step in STEPS:
            self.create_service(Trigger, f"~/{step}", partial(self._on_step, step), callback_group=group)
        self.create_service(Trigger, "~/stop", self._on_stop, callback_group=group)
        self.create_timer(_WATCH, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._source.begin()

    def _described(self, text: str) -> None:
        values = self.parameters
        model = check_controllable(robot.load_robot_model(text, values, self.get_logger()))
        values.declare(of_joints(model.joint_names, robot.MEASURED_EFFORT_FACTOR))
        values.report_unknown(model)
        measured = robot.measured_effort(values, model)
        self._arm = LiveArm(self, model, values["command_format"], values["state_timeout"])
        names = ("gravity_compensated_by", "safe_command")
        settings = ArmSettings(delay=values["robot_delay"], **{name: values[name] for name in names})
        rate, log = values["declared_rate"] or math.nan, self.get_logger().info
        self.session = self._status.session = Commissioning(
            model, self._arm, settings, measured, rate, self._stop.is_set, log, self._arm.publishers
        )
        log(self.session.sentence)

    async def _on_step(self, step: str, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if self.session is None or self._step:
            response.success = False
            response.message = f"{self._step} runs already" if self._step else "no robot_description has arrived"
            return response
        self._step, self._unwritten = step, ""
        self._stop.clear()
        self.get_logger().info(f"{step}: {ANNOUNCED[step]}")
        future, outcome = Future(executor=self.executor), list[StepReport | RobotDynamicsError]()
        self._thread = threading.Thread(target=self._carry_out, args=(step, outcome))
        self._done = partial(future.set_result, True)
        self._thread.start()
        await future
        (report,) = outcome
        response.success = isinstance(report, StepReport) and report.healthy
        response.message = f"{report}{self._unwritten}"
        self.get_logger().info(f"{step}: {response.message}")
        self._step = ""
        return response

    def _carry_out(self, step: str, outcome: list[StepReport | RobotDynamicsError]) -> None:
        assert self.session is not None
        try:
            outcome.append(self.session.run(step))
            self._unwritten = self._write(self.session)
        except RobotDynamicsError as error:
            outcome[:] = outcome or [error]
        except Exception as error:  # noqa: BLE001  (the step has stopped the arm; its request has to be answered)
            text, remedy = f"{type(error).__name__}: {error}", "The arm has been stopped; please report it."
            outcome[:] = outcome or [RobotDynamicsError(text, where=f"step {step}", remedy=remedy)]

    def _write(self, session: Commissioning) -> str:
        """Write the report; what went wrong, as the end of an answer."""
        folder = self.parameters["output"]
        try:
            session.write(Path(folder))
        except OSError as error:
            return f"; nothing is written to {folder} ({error.strerror}): set the parameter output to a folder of yours"
        return ""

    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._stop.set()
        response.success, response.message = True, f"stopping {self._step}" if self._step else "no step runs"
        return response

    def _watch(self) -> None:
        if self._thread is not None and not self._thread.is_alive() and self._done is not None:
            done, self._thread, self._done = self._done, None, None
            done()

    def finish(self) -> None:
        """The process ends: stop a step that runs, and wait until the safe command has been delivered."""
        self._stop.set()
        if self._thread is not None:
            deadline = time.monotonic() + _STOPPING
            while self._thread.is_alive() and time.monotonic() < deadline:
                self.executor.spin_once(timeout_sec=0.01)
        if self.session is not None:
            self._arm.wait_until_sent()
