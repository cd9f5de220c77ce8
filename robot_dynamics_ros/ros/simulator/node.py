"""The simulated robot as a node: efforts in, joint states out, paced by a clock or by the
commands.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError, SimulationError, check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.simulator import parameters as settings
from robot_dynamics_ros.ros.simulator.outputs import SimulatorOutputs
from robot_dynamics_ros.ros.simulator.parameters import (
    SIMULATED_JOINT_PARAMETERS,
    check_shapes,
    make_driver,
    shape_parameters,
)
from robot_dynamics_ros.ros.transport.commands import CommandReader, met_elsewhere
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, ParameterValues, of_joints
from robot_dynamics_ros.ros.transport.qos import (
    EVENT,
    LATCHED,
    MANY_REQUESTS,
    NEWEST,
    QUIET_SUBSCRIPTION,
)
from robot_dynamics_ros.ros.transport.realtime import apply_scheduling, keep_collections_short
from robot_dynamics_ros.ros.transport.reports import Background, CycleTimes, Diagnostics, Rejections
from robot_dynamics_ros.ros.transport.robot import FirstDescription, load_robot_model
from robot_dynamics_ros.ros.transport.topics import spatial_wrench
from robot_dynamics_ros.simulation.pacing import RealTimePacer, StampOrigin

# s between two looks for signals while the simulation is not started.
_SIMULATOR_WATCH_S = 0.02
# The longest wait for messages while nothing is due: a signal is seen that late.
_IDLE_NS = 20_000_000
# lockstep: silence after which the last state is sent again
_REPEAT_NS = 1_000_000_000
# the executor's own lateness, which is slept off
_LEAD_NS = 200_000
# lockstep: s of simulated time to wait for a joint state that is under way
_LONGEST_COMMAND_SILENCE = 10.0
# rad or m, rad/s or m/s, that a state may be set to
_FARTHEST_STATE = 1e5


class Pushes:
    """Wrenches on links, each ending a while after its last message; ``now`` tells the simulated
    time, ns.
    """

    def __init__(
        self,
        node: Node,
        model: RobotModel,
        now: Callable[[], int],
        rejections: Rejections,
    ) -> None:
        self._model = model
        self._now = now
        self._rejections = rejections
        self._pushes: dict[str, tuple[int, Array]] = {}
        self.subscription = node.create_subscription(
            WrenchStamped,
            "~/external_wrench",
            self._on_wrench,
            NEWEST,
            event_callbacks=QUIET_SUBSCRIPTION,
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        link = message.header.frame_id
        try:
            wrench = spatial_wrench(message)
            self._model.link(link)
        except RobotDynamicsError as error:
            self._rejections.report("external_wrench", f"external wrench refused: {error}")
            return
        self._pushes[link] = (self._now(), wrench)

    def now(self, timeout: float) -> dict[str, Array] | None:
        """Link name → (6,) [moment; force] of the messages no older than ``timeout`` seconds;
        ``None`` without any.
        """
        if not self._pushes:
            return None
        oldest = self._now() - timeout * 1e9
        self._pushes = {link: push for link, push in self._pushes.items() if push[0] >= oldest}
        return {link: push[1] for link, push in self._pushes.items()} or None

    def clear(self) -> None:
        self._pushes = {}


class SimulatorNode(Node):
    """See ``docs/reference/ros_interface.md`` for topics, services and parameters."""

    def __init__(self, **options: object) -> None:
        super().__init__("robot_simulator", **options)
        # first: from Kilted on rclpy destroys nodes whose constructor has failed
        self._background = Background()
        # time-outs are read where they are used
        self.parameters = ParameterSet(self, settings.SIMULATOR_PARAMETERS, settings.validate)
        apply_scheduling(self.parameters, self.get_logger())
        self.rejections = Rejections(self.get_logger(), background=self._background)
        self.model: RobotModel | None = None
        self._diagnostics = Diagnostics(self)
        self._diverged = ""
        self._source = FirstDescription(self, self.parameters, self._start, self.rejections.report)
        self._steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.cycle_timers: list[Timer] = [
            self.create_timer(_SIMULATOR_WATCH_S, self._watch, clock=self._steady)
        ]
        self.cycle_subscriptions: list[Subscription] = []
        self._source.begin()
        if self._source.text and self.parameters["publish_description"]:
            self._latched = self.create_publisher(String, "robot_description", LATCHED)
            self._latched.publish(String(data=self._source.text))

    def _set_pace(self, values: ParameterValues) -> None:
        """How simulated time passes: with real time or some factor of it, or as fast as it can."""
        factor = float("inf")
        if values["time_mode"] == "real_time":
            factor = values["real_time_factor"]
        self._pacer = RealTimePacer(1.0 / values["update_rate"], real_time_factor=factor)
        self._lead_ns = 0
        real_period_ns = self._period_ns
        if factor != float("inf"):
            self._lead_ns = min(_LEAD_NS, round(self._period_ns / factor / 4))
            real_period_ns = round(self._period_ns / factor)
        self._cycles = CycleTimes(real_period_ns)
        self._owns_time = values["publish_clock"] or factor != 1.0 or self._lockstep

    def _start(self, text: str) -> None:
        values = self.parameters
        model = load_robot_model(text, values, self.get_logger())
        if model.nv == 0:
            raise ArgumentError(
                "has no moving joint", where=f"robot {model.name!r}", remedy="Nothing to simulate."
            )
        settings.check_initial_positions(self._parameter_overrides, model)
        values.declare(settings.initial_position_parameters(model))
        check_shapes(self._parameter_overrides, values["mujoco.shapes"])
        for shape in values["mujoco.shapes"]:
            values.declare(shape_parameters(shape))
        values.report_unknown(model)
        self._plant = settings.make_plant(values, model, text)
        # nothing is compiled once it runs
        self._plant.prepare()
        self._period_ns = round(1e9 / values["update_rate"])
        # time starts one period after zero, because a stamp of zero means "none"
        self._ticks = 1
        self._stamps = StampOrigin()
        driven = [name for name in model.joint_names if model.joint(name).type.nv == 1]
        values.declare(of_joints(driven, *SIMULATED_JOINT_PARAMETERS))
        self._driver = make_driver(values, self._plant)
        self._outputs = SimulatorOutputs(self, self._plant, values, self._driver)
        self._effort = np.zeros(model.nv)
        self._command_ns: int | None = None
        self._enabled = values["start_enabled"]
        self._lockstep = values["time_mode"] == "lockstep"
        self._set_pace(values)
        joints = self._outputs.joints
        qos = EVENT if self._lockstep else NEWEST
        self._commands = CommandReader(
            self, values["command_format"], joints, self._on_command, self.rejections.report, qos
        )
        self._pushes = Pushes(self, model, self._elapsed, self.rejections)
        self.create_subscription(JointState, "~/set_joint_state", self._on_set_state, EVENT)
        self.create_service(SetBool, "~/set_pause", self._on_pause, qos_profile=MANY_REQUESTS)
        self.create_service(SetBool, "~/set_enabled", self._on_enable, qos_profile=MANY_REQUESTS)
        self.create_service(Trigger, "~/step", self._on_single_step, qos_profile=MANY_REQUESTS)
        self.create_service(Trigger, "~/reset_world", self._on_reset, qos_profile=MANY_REQUESTS)
        self.model = model
        self._plant.brakes = values["holding_brakes"]
        self._outputs.measure(self._elapsed())
        self._diagnostics.describe(model)
        keep_collections_short()
        if values["start_paused"]:
            self._set_pause(True)
        self._published_ns = time.monotonic_ns()
        self._timer = self.create_timer(self._period_ns * 1e-9, self._tick, clock=self._steady)
        self.cycle_timers.append(self._timer)
        self.cycle_subscriptions = [self._commands.subscription, self._pushes.subscription]
        self.get_logger().info(
            f"simulating {model.name!r}: {len(self._outputs.joints)} joints, "
            f"{self._plant.model.total_mass:.6g} kg, "
            f"{values['update_rate']:g} Hz, {values['time_mode']}"
        )

    def _elapsed(self) -> int:
        """Simulated time, ns."""
        return self._ticks * self._period_ns

    def _tick(self) -> None:
        """Do the steps that are due and ask to be woken for the next."""
        now = time.monotonic_ns()
        if self._lockstep:
            # the other side was not there yet, or a message was lost
            if now - self._published_ns > _REPEAT_NS:
                self._published_ns = now
                if not self._outputs.repeat(self._elapsed(), self._origin()):
                    self._turn(1)
            wait = _IDLE_NS
        else:
            due = self._pacer.poll(now)
            if not due.steps and due.wait_ns is not None and due.wait_ns <= self._lead_ns:
                # the executor has woken a little early on purpose
                time.sleep(due.wait_ns * 1e-9)
                now = time.monotonic_ns()
                due = self._pacer.poll(now)
            for _ in range(due.steps):
                self._step()
            if due.steps:
                self._cycles.add(now)
                self._publish()
            wait = _IDLE_NS
            if due.wait_ns is not None:
                wait = due.wait_ns - (time.monotonic_ns() - now) - self._lead_ns
        self._timer.timer_period_ns = max(wait, 1)
        self._timer.reset()

    def _step(self) -> None:
        if self._diverged:
            return
        now = self._elapsed()
        if (
            self._command_ns is not None
            and now - self._command_ns > self.parameters["command_timeout"] * 1e9
        ):
            self._relax()
            if not self._lockstep:
                result = "the brakes hold" if self._plant.brakes else "the effort is zero"
                self.rejections.report("command_timeout", f"commands have stopped: {result}")
        pushes = self._pushes.now(self.parameters["wrench_timeout"])
        try:
            self._plant.step(self._driver.motor_effort(self._effort), pushes)
        except SimulationError as error:
            self._diverged = str(error)
            self.get_logger().error(f"the simulation is stopped until ~/reset_world: {error}")
            return
        self._ticks += 1
        self._outputs.measure(self._elapsed())

    def _turn(self, steps: int) -> None:
        """Lockstep: do the steps of one command, and more while the answer is still on its way from
        the sensors.
        """
        for _ in range(steps):
            self._step()
        patience = int(_LONGEST_COMMAND_SILENCE * 1e9) // self._period_ns
        while steps and not self._publish():
            patience -= 1
            if self._diverged or patience < 0:
                self._outputs.repeat(self._elapsed(), self._origin())
                return
            self._step()

    def _relax(self) -> None:
        """No command is in force: no effort, and the brakes if there are any."""
        self._command_ns = None
        self._effort.fill(0.0)
        self._plant.brakes = self.parameters["holding_brakes"]

    def _origin(self) -> int:
        """Origin of simulated time, ns: zero, or so that stamps lie beside the ROS clock."""
        if self._owns_time:
            return 0
        ros_clock = self.get_clock()
        if ros_clock.ros_time_is_active and not ros_clock.now().nanoseconds:
            self.rejections.report(
                "no_clock", "use_sim_time is set and no /clock arrives: stamps count from the start"
            )
            return self._stamps.ns
        return self._stamps.follow(
            self._elapsed(),
            self._pacer,
            time.monotonic_ns,
            lambda: int(ros_clock.now().nanoseconds),
        )

    def _publish(self) -> bool:
        self._published_ns = time.monotonic_ns()
        return self._outputs.publish(self._elapsed(), self._origin())

    def _on_command(self, effort: Array) -> None:
        if not self._enabled:
            self.rejections.report("disabled", "command refused: the robot is disabled")
            return
        self._effort[self._outputs.v_index] = effort
        self._command_ns = self._elapsed()
        self._plant.brakes = False
        if self._lockstep and not self._pacer.paused:
            self._turn(1)

    def _on_set_state(self, message: JointState) -> None:
        assert self.model is not None
        try:
            q, v = state_from_message(self.model, message, self._plant.q, self._plant.v)
            self._plant.reset(q, v, self._elapsed() * 1e-9)
        except RobotDynamicsError as error:
            self.rejections.report("set_joint_state", f"the state is not set: {error}")
            return
        self._show_state_again()

    def _show_state_again(self) -> None:
        """The state has been set: publish it with the stamp of a period that has not been published
        yet.
        """
        self._diverged = ""
        if not self._lockstep and not self._pacer.paused:
            self._outputs.forget(self._elapsed())
            # the next cycle publishes it
            return
        self._ticks += 1
        self._outputs.forget(self._elapsed())
        self._publish()

    def _set_pause(self, paused: bool) -> None:
        self._cycles.interrupt()
        if paused:
            switch = self._pacer.pause
        else:
            switch = self._pacer.resume
        switch(time.monotonic_ns())
        if self._lockstep:
            self._published_ns = (
                # publish the state again, so that a command comes and the turn goes on
                0
            )

    def _on_pause(
        self,
        request: SetBool.Request,
        response: SetBool.Response,
    ) -> SetBool.Response:
        self._set_pause(request.data)
        response.success = True
        if request.data:
            response.message = "paused"
        else:
            response.message = "running"
        return response

    def _on_enable(
        self,
        request: SetBool.Request,
        response: SetBool.Response,
    ) -> SetBool.Response:
        self._enabled = request.data
        if not self._enabled:
            self._relax()
        response.success = True
        if request.data:
            response.message = "enabled"
        else:
            response.message = "disabled"
        return response

    def _on_single_step(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        if not self._pacer.paused:
            response.success = False
            response.message = "it is not paused: call ~/set_pause with true first"
            return response
        if self._lockstep:
            self._turn(1)
        else:
            self._pacer.single_step()
            self._tick()
        response.success = not self._diverged
        response.message = self._diverged or f"t = {self._elapsed() * 1e-9:.9g} s"
        return response

    def _on_reset(
        self,
        _request: Trigger.Request,
        response: Trigger.Response,
    ) -> Trigger.Response:
        try:
            self._plant.reset(t=self._elapsed() * 1e-9)
        except RobotDynamicsError as error:
            response.success = False
            response.message = str(error)
            return response
        self._relax()
        self._driver.reset()
        self._pushes.clear()
        self._show_state_again()
        response.success = True
        response.message = "the robot is back at its start; time continues"
        return response

    def _watch(self) -> None:
        if self.model is not None:
            self._outputs.look_for_listeners()
        if not self._diagnostics.due():
            return
        if self.model is not None and self._command_ns is None:
            self._look_for_a_sender()
        counts = self.rejections.counts
        level = 0
        if self.model is not None:
            text = "running"
        else:
            text = "waiting for a description"
        values: dict[str, object] = {}
        if self.model is not None:
            values = {
                "simulated time [s]": self._elapsed() * 1e-9,
                "late steps": self._pacer.late_steps,
                "time given up [s]": self._pacer.lost_ns * 1e-9,
                "paused": self._pacer.paused,
                "enabled": self._enabled,
                "steps in machine code": self._plant.compiled,
                **(self._cycles.values() if self.parameters["time_mode"] == "real_time" else {}),
            }
        grown = self._diagnostics.newly_counted(counts)
        if self._diverged:
            level = 2
            text = self._diverged
        elif grown:
            level = 1
            text = grown
        self._background.call(self._diagnostics.publish, level, text, values, Counter(counts))

    def _look_for_a_sender(self) -> None:
        """Say so if commands are sent where this node does not listen."""
        topic = self._commands.subscription.topic_name
        if not self.count_publishers(topic):
            hint = met_elsewhere(self, topic, self.count_publishers)
            if hint:
                self.rejections.report("no_sender", f"nobody sends commands on {topic}{hint}")
        elif unheard := self._commands.unheard():
            self.rejections.report("wrong_type", unheard)

    def finish(self) -> None:
        """No last message: a robot that is not there needs no safe command."""
        self._background.close()

    def destroy_node(self) -> None:
        self._background.close()
        super().destroy_node()


def state_from_message(
    model: RobotModel,
    message: JointState,
    q: Array,
    v: Array,
) -> tuple[Array, Array]:
    """(nq,) configuration and (nv,) velocity after a message; ``q`` and ``v`` are those before it.

    Joints that are not named stay as they are.  Named ones come to rest where no velocities are
    given, and keep their position where no positions are.
    """
    simple = [name for name in model.joint_names if model.joint(name).type.nq == 1]
    names = list(message.name)

    def refuse(if_so: bool, text: str, remedy: str) -> None:
        if if_so:
            raise ArgumentError(text, where="set_joint_state", got=names, remedy=remedy)

    nothing = not names or not (len(message.position) or len(message.velocity))
    refuse(nothing, "the message sets nothing", "Give names and positions, velocities or both.")
    for name in names:
        check_name("joint", name, simple, where="set_joint_state")
        count = names.count(name)
        refuse(count > 1, f"joint {name!r} is named {count} times", "Name each joint once.")
    for field in ("position", "velocity"):
        values = getattr(message, field)
        text = f"{field} has {len(values)} values for {len(names)} names"
        refuse(len(values) not in (0, len(names)), text, "Give as many values as names, or none.")
        for name, value in zip(names, values, strict=False):
            text = f"{field} of joint {name!r} is {value:g}"
            refuse(not np.isfinite(value), text, "Give finite numbers.")
            refuse(
                abs(value) > _FARTHEST_STATE,
                text,
                f"Give rad or m, rad/s or m/s, up to {_FARTHEST_STATE:g}.",
            )
    q = q.copy()
    v = v.copy()
    for k, name in enumerate(names):
        if len(message.position):
            q[model.q_slice(name)] = message.position[k]
        v[model.v_slice(name)] = message.velocity[k] if len(message.velocity) else 0.0
    return q, v
