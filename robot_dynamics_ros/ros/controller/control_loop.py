"""One configuration of the controller node: a robot, its controller, and the topics of the
cycle.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.kernels import check_controllable
from robot_dynamics_ros.dynamics import gravity_forces
from robot_dynamics_ros.dynamics.engine import compile_process
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import meaning_at_rest
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller import parameters as settings
from robot_dynamics_ros.ros.controller.outputs import other_outputs, wrench_outputs
from robot_dynamics_ros.ros.controller.report import ControllerReport
from robot_dynamics_ros.ros.transport.cdr import JointStateReader, StateRejected
from robot_dynamics_ros.ros.transport.commands import CommandPublisher, publishing_nodes
from robot_dynamics_ros.ros.transport.parameters import ParameterSet, of_joints
from robot_dynamics_ros.ros.transport.qos import NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.robot import commanded_joints, load_robot_model
from robot_dynamics_ros.ros.transport.topics import Outputs

# :meth:`ControlLoop.watch` coming this much later than the last time means that the process was
# held up, ns.
HELD_UP = 60_000_000


class FaultError(RobotDynamicsError):
    """The controller met a fault: the law failed, or gave an effort that is not finite."""


class ControlLoop:
    """From joint states to commands; ``failed`` is called with an error that made a cycle
    impossible.

    Attributes:
        joints: those commanded; their parameters are declared here.
        enabled: whether commands are sent, or will be from the next joint state on.
        running: whether the controller holds or moves the robot.
        stamp: stamp of the newest good joint state, ns.
        after_cycle: called once, at the end of the next cycle.
    """

    def __init__(
        self,
        node: Node,
        description: str,
        values: ParameterSet,
        report: ControllerReport,
        failed: Callable[[Exception], None],
    ) -> None:
        model = check_controllable(load_robot_model(description, values, node.get_logger()))
        self.joints = commanded_joints(values, model)
        values.declare(of_joints(self.joints, *settings.JOINT_PARAMETERS))
        values.validate()
        self.description = description
        self.model = model
        self.controller = controller = _make_controller(values, model)
        # for payloads on the way
        compile_process.start()
        self.running = False
        self.stamp = 0
        self.after_cycle: Callable[[], None] | None = None
        self.enabled = False
        self._arrival = 0
        self._watched = self._held_up = 0
        # steady time at which the stamps last went on
        self._stamped = 0
        # positions before states that were refused as a jump, and the last such state
        self._before_jump: Array | None = None
        self._refused_at: Array | None = None
        self._late = round(values["state_timeout"] * 1e9)
        self._node = node
        self._rejections = report.rejections
        self._report = report
        self._failed = failed
        self._clock = node.get_clock()
        runner = controller.runner
        self._reader = JointStateReader(model.joint_names, runner.memory, runner.read)
        self._efforts = EffortWatch(controller)
        self.wrenches = Outputs(
            wrench_outputs(node, controller, values), values["joint_wrenches.rate_divisor"]
        )
        self._others = Outputs(other_outputs(node, controller, self._reader, values))
        # after all that parameters may be wrong for: a publisher that is left over would count as a
        # second controller
        self.commands = CommandPublisher(
            node,
            values["command_format"],
            self.joints,
            [model.joint_names.index(name) for name in self.joints],
        )
        runner.answer_into(self.commands.answer)
        controller.want_wrenches = False
        self.subscription = node.create_subscription(
            JointState,
            "joint_states",
            self._on_joint_state,
            NEWEST,
            raw=True,
            event_callbacks=QUIET_SUBSCRIPTION,
        )

    def enable(self) -> None:
        """Hold from the next joint state on."""
        self.enabled = True
        self.running = False
        # nothing to be late for yet
        self._watched = self._held_up = 0

    def disable(self) -> None:
        """Send the safe command and stop."""
        if not self.enabled:
            return
        if self.running:
            command = self.controller.deactivate()
        else:
            command = np.zeros(self.model.nv)
        self.enabled = self.running = False
        self.commands.publish(command, self.stamp)

    def destroy(self) -> None:
        self._node.destroy_subscription(self.subscription)
        for topics in (self.commands, self.wrenches, self._others):
            topics.destroy()

    def now(self) -> int:
        """The present time on the clock of the joint states' stamps, ns."""
        return self.stamp + (time.monotonic_ns() - self._stamped)

    def _on_joint_state(self, raw: bytes) -> None:
        steady = time.monotonic_ns()
        reader = self._reader
        try:
            reader.read(raw)
        except StateRejected as error:
            if error.cause == "unrelated":
                self._rejections.counts["unrelated"] += 1
            else:
                self._rejections.report(error.cause, str(error))
            return
        if not self.enabled:
            if self.controller.fault and self.controller.begins_to_fall():
                self.commands.publish(self.controller.safe_command(), reader.stamp)
            return
        controller = self.controller
        if not reader.stamp:
            reader.stamp = self._clock.now().nanoseconds
        stamp = reader.stamp
        period = steady - self._arrival if self.running else 0
        try:
            if not self.running:
                controller.activate(stamp, reader.position, reader.velocity)
                self.running = True
                self.stamp = 0
            self._arrival = steady
            if self._held_up or steady - self._watched > HELD_UP:
                self._note_own_delay(stamp, steady)
            # else time stands still, and the state gets old
            if not 0 <= self.stamp - stamp <= self._late:
                self.stamp = stamp
                self._stamped = steady
            current = controller.runner.answer()
            ready = time.monotonic_ns()
            self.commands.publish_answer()
            sent = time.monotonic_ns()
            if current:
                controller.estimate(measured=reader.effort_known)
        # whatever it is, the robot must not keep the last effort
        except Exception as error:  # noqa: BLE001
            self._failed(error)
            return
        if not current and controller.fault:
            self._failed(FaultError(controller.fault + self._other_robots()))
            return
        if current:
            self.wrenches.publish(stamp)
            self._others.publish(stamp)
            if self._before_jump is not None:
                self._note_end_of_jump()
        elif controller.jump:
            self._rejections.say("state_jump", lambda: controller.jump + self._other_robots())
            if self._before_jump is None:
                self._before_jump = controller.work.q.copy()
            self._refused_at = reader.position.copy()
        self._report.cycle(stamp, steady, period, sent - ready)
        if self.after_cycle is not None:
            chores = self.after_cycle
            self.after_cycle = None
            chores()

    def _note_end_of_jump(self) -> None:
        """A state is accepted again: say so if the arm is taken to be where it jumped to."""
        before = self._before_jump
        refused = self._refused_at
        self._before_jump = None
        self._refused_at = None
        if before is None or refused is None:
            return
        way = np.abs(self._reader.position - before)
        rest = np.abs(self._reader.position - refused)
        i = int(way.argmax())
        if rest[i] < way[i]:
            joint = self.model.joint_names[i]
            unit = self.model.joint(joint).type.units[0]
            self._rejections.report(
                "jump_followed",
                f"joint {joint!r} stays where its position jumped to, {way[i]:.4g} {unit} away: "
                "the arm is held there. If it has not moved, stop it and check the encoder's zero",
            )

    def _other_robots(self) -> str:
        """Who publishes joint states, if there is more than one; they may be parts of one robot."""
        topic = self.subscription.topic_name
        if self._node.count_publishers(topic) < 2:
            return ""
        return f"; {topic} is published by {', '.join(publishing_nodes(self._node, topic))}"

    def _note_own_delay(self, stamp: int, steady: int) -> None:
        """If :meth:`watch` did not run when it should have, this process was held up, and the robot
        is not to blame.
        """
        gap = max(steady - self._watched if self._watched else 0, self._held_up)
        self._held_up = 0
        if gap > HELD_UP:
            self.controller.process_was_delayed(stamp, gap)
            self._rejections.report("own_delay", f"this process was delayed by {gap * 1e-6:.0f} ms")

    def watch(self) -> None:
        """To be called many times a second, whether joint states arrive or not."""
        steady = time.monotonic_ns()
        late = self._watched > 0 and steady - self._watched > HELD_UP
        if late:
            self._held_up = steady - self._watched
        self._watched = steady
        if not self.running:
            self._held_up = 0
            return
        if late:
            # joint states have arrived meanwhile: they come first
            return
        command = self.controller.watch(self.now())
        if command is not None:
            self.commands.publish(command, self.stamp)

    def look_at_efforts(self) -> None:
        """To be called once a second: reports measured efforts that contradict their meaning."""
        reader = self._reader
        if self.running and reader.effort_known:
            sentence = self._efforts.look(reader.position, reader.effort)
            if sentence:
                self._rejections.report("measured_effort", sentence)

    def look_for_listeners(self) -> None:
        """To be called many times a second, but not while a joint state waits: who wants what
        besides commands.
        """
        if not self.running:
            return
        self.wrenches.look_for_listeners()
        self._others.look_for_listeners()
        self.controller.want_wrenches = self.wrenches.has_listeners


def _make_controller(values: ParameterSet, model: RobotModel) -> JointController:
    controller = JointController(
        model,
        settings.make_law(values, model),
        options=settings.options(values, model),
        guards=settings.guards(values, model),
        tolerances=settings.tolerances(values, model),
        observer=settings.observer(values, model),
        collision=settings.collision(values, model),
        contact=settings.contact(values, model),
        flange=settings.flange(values, model),
        task=settings.task(values, model),
    )
    # compiled now, at hand later
    if values["law"] != "cartesian_impedance" and values["cartesian.link"]:
        controller.set_law(settings.make_law({**values, "law": "cartesian_impedance"}, model))
        controller.set_law(settings.make_law(values, model))
    load = settings.payload(values)
    if load is not None:
        controller.set_payload(load)
    return controller


# The newest poses at rest that are kept for a message on what the efforts in them tell.
_POSES = 12
# rad or m between two looks
_STILL_RAD_BETWEEN_LOOKS = 1e-3
# rad or m between two poses
_OTHER_POSE_RAD = 0.1


class EffortWatch:
    """Keeps poses at rest with the efforts of a controller measured there."""

    def __init__(self, controller: JointController) -> None:
        self._controller = controller
        # the first call compiles, which a joint state is not to wait for
        gravity_forces(controller.model, np.zeros((1, controller.model.nq)))
        self._last: Array | None = None
        self._poses: list[tuple[Array, Array, Array]] = []

    def look(self, q: Array, effort: Array) -> str:
        """Once a second, with the newest position and measured effort, (n,): a sentence if efforts
        contradict their meaning.
        """
        last = self._last
        self._last = q.copy()
        if last is None or np.abs(q - last).max() > _STILL_RAD_BETWEEN_LOOKS:
            return ""
        if any(np.abs(q - pose).max() < _OTHER_POSE_RAD for pose, _, _ in self._poses):
            return ""
        self._poses = [
            *self._poses[1 - _POSES :],
            (q.copy(), effort.copy(), self._controller.command.copy()),
        ]
        poses, efforts, commands = (np.array(column) for column in zip(*self._poses, strict=True))
        kind = self._controller.options.measured_effort
        return meaning_at_rest(
            kind, efforts, gravity_forces(self._controller.model, poses), commands
        )
