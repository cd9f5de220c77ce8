"""Control cycles of the Python controller written down, so that the C++ one can be held to them.

The file is plain text, a line a call: a word, then numbers, those of joints in model order:

- ``settings``: parameters and their values, a line each, and "end"; the controller is made then
- ``change``: the same, for a controller that runs
- ``activate`` t q v
- ``trajectory`` now id stamp joints points …: numbers of the joints, then a row a point: time,
  4 × (given, values)
- ``point`` now …: a streamed set-point, the same
- ``hold`` now
- ``wrench`` now link six numbers
- ``target_pose``, ``target_twist``, ``target_wrench`` now accepted stamp in_link numbers
- ``target_path`` now accepted in_link with_twists points, then a row a point: time, pose, twist
- ``state`` t q v [effort]: followed by its expectations
- ``expect`` mode command effort wrenches external q_d v_d a_d, and of a tool its pose, twist, error
- ``watch`` t: likewise
- ``refused`` code: what the trajectory or point before must be refused with
- ``goal`` id status code: at the end
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.controller import ControllerOptions, JointController
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.cycle.memory import Mode
from robot_dynamics_ros.control.laws import CartesianImpedance, ComputedTorque, PDGravity
from robot_dynamics_ros.control.observer import MomentumObserver
from robot_dynamics_ros.control.reference.goal import STATUSES, Goal, Tolerances, TrajectoryRejected
from robot_dynamics_ros.control.reference.task.path import ToolPath
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.export.ros2_control.cycle_in_c import LAW_NAMES
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel


def _numbers(values: ArrayLike) -> str:
    return " ".join(f"{x:.17g}" for x in np.ravel(values))


def _word(value: bool | float | str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value
    return f"{value:.17g}"


def _or_none(limit: ArrayLike | None) -> ArrayLike:
    """A limit as a parameter: 0 for none."""
    if limit is None:
        return 0.0
    return np.where(np.isfinite(limit), limit, 0.0)


class CycleLog:
    """Calls a controller, and writes down what was called and what came of it.

    The ``controller`` is not active yet, its friction the one that the exported package
    compensates; ``external``: links that may carry known wrenches, in the order of the package.
    """

    def __init__(self, controller: JointController, external: Sequence[str]) -> None:
        self.controller = controller
        self.lines: list[str] = []
        self._external = list(external)
        self._goals: list[Goal] = []
        self._write_settings("settings")

    @property
    def text(self) -> str:
        statuses = ("waiting", *STATUSES)
        goals = [
            f"goal {k} {statuses.index(goal.status.value)} {int(goal.code)}"
            for k, goal in enumerate(self._goals)
        ]
        return "\n".join([*self.lines, *goals, ""])

    def _per_joint(self, fields: Sequence[str]) -> dict[str, Any]:
        """Parameters of each joint, ``*`` in place of its name; ``fields``: of the law's gains."""
        c = self.controller
        settings = c.guards.settings
        threshold = None if c.collision is None else c.collision.threshold
        gains = {
            f"gains.*.{k}": getattr(c.law, f) if f else 0.0
            for k, f in zip("pid", fields, strict=True)
        }
        return {
            **gains,
            "constraints.*.trajectory": c.tolerances.path_position,
            "constraints.*.goal": c.tolerances.goal_position,
            "limits.*.effort": _or_none(settings.effort_limit),
            "limits.*.effort_rate": _or_none(settings.effort_rate),
            "collision.*": _or_none(threshold),
        }

    def _write_settings(self, word: str) -> None:
        """All parameters of the package, as the controller has them now."""
        c = self.controller
        n = c.model.nv
        o = c.options
        g = c.guards.settings
        t = c.tolerances
        name, *fields = LAW_NAMES[type(c.law)]
        friction = getattr(c.law, "friction", None)
        robustness = o.robustness or Robustness()
        load = c.payload
        same = {x.name: getattr(y, x.name) for y in (g, o) for x in dataclasses.fields(y)}
        values: dict[str, Any] = {
            **{
                name: value for name, value in same.items() if isinstance(value, (bool, float, str))
            },
            "law": name,
            "robustness.enabled": o.robustness is not None,
            **{
                f"robustness.{x.name}": getattr(robustness, x.name)
                for x in dataclasses.fields(robustness)
            },
            "robot_delay": robustness.delay,
            "friction_compensation": "none"
            if friction is None
            else getattr(c.law, "friction_at", "reference"),
            "joints": " ".join(c.model.joint_names if o.joints is None else o.joints),
            "cmd_timeout": o.stream_timeout,
            "joint_wrenches.acceleration_source": o.wrench_acceleration.replace(
                "measured_effort", "model"
            ),
            "joint_wrenches.differentiation_cutoff": o.differentiation_cutoff,
            "observer_gain": 0.0 if c.observer is None else c.observer.gain[0],
            "state_publish_rate": 50.0,
            "joint_wrenches.rate_divisor": 1,
            "collision_delay": 0.0 if c.collision is None else c.collision.delay,
            "constraints.goal_time": t.goal_time,
            "constraints.stopped_velocity_tolerance": float(np.max(t.goal_velocity)),
            **self._tool_settings(),
            "payload.mass": 0.0 if load is None else load.mass,
            "payload.link": "" if load is None else load.link,
            "payload.com": _numbers([] if load is None else load.com),
            "payload.inertia": _numbers([] if load is None else load.inertia[np.triu_indices(3)]),
        }
        for parameter, row in self._per_joint(fields).items():
            names = (parameter.replace("*", joint) for joint in c.model.joint_names)
            values |= zip(names, np.broadcast_to(row, (n,)), strict=True)
        self.lines += [
            word,
            *(f"{name} {_word(value)}".rstrip() for name, value in values.items()),
            "end",
        ]

    def _tool_settings(self) -> dict[str, Any]:
        """Parameters of the tool, and of Cartesian impedance."""
        tool = self.controller.tool
        settings = TaskSettings() if tool is None else tool.settings
        law = self.controller.law
        spring = law if isinstance(law, CartesianImpedance) else CartesianImpedance()
        offset = (*settings.pose.position, *settings.pose.rpy())
        return {
            "task.link": "" if tool is None else tool.link,
            "task.offset": "" if settings.offset is None else _numbers(offset),
            "task.speed": _numbers(settings.speed),
            "task.acceleration": _numbers(settings.acceleration),
            "task.jerk": _numbers(settings.jerk),
            "task.wrench": _numbers(settings.wrench),
            "task.posture_rate": settings.posture_rate,
            "cartesian.link": spring.link,
            "cartesian.stiffness": _numbers(spring.stiffness),
            "cartesian.damping": "" if spring.damping is None else _numbers(spring.damping),
            "cartesian.axes": spring.axes,
            "cartesian.damping_ratio": float(spring.damping_ratio[0]),
        }

    def changed(self) -> None:
        """Write down law, gains, payload and tolerances after they were changed."""
        self._write_settings("change")

    def _note(self, word: str, *values: ArrayLike) -> None:
        self.lines.append(" ".join([word, *(_numbers(x) for x in values)]).rstrip())

    def activate(self, t: int, q: Array, v: Array) -> None:
        self.controller.activate(t, q, v)
        self._note("activate", t, q, v)

    def update(self, t: int, q: Array, v: Array, effort: Array | None = None) -> Array:
        command = self.controller.update(t, q, v, effort)
        self._note("state", t, q, v, () if effort is None else effort)
        self._expect()
        return command

    def watch(self, t: int) -> None:
        self.controller.watch(t)
        self._note("watch", t)
        self._expect()

    def _expect(self) -> None:
        c = self.controller
        if c.observer is not None:
            external = c.observer.effort
        else:
            external = np.zeros(c.model.nv)
        self._note(
            "expect",
            list(Mode).index(c.mode),
            c.command,
            c.effort,
            c.wrenches,
            external,
            *c.reference,
            *(() if c.tool is None else c.tool.see(*c.state, c.reference[0])),
        )

    def target_pose(
        self, position: ArrayLike, quaternion: ArrayLike, now: int, frame: str = "", stamp: int = 0
    ) -> None:
        """A target of the tool, in the world, or in the frame of its link."""
        accept = self.controller.accept_pose
        self._stamped_target("target_pose", accept, (position, quaternion), now, frame, stamp)

    def target_twist(
        self, angular: ArrayLike, linear: ArrayLike, now: int, frame: str = "", stamp: int = 0
    ) -> None:
        """Likewise."""
        accept = self.controller.accept_twist
        self._stamped_target("target_twist", accept, (angular, linear), now, frame, stamp)

    def target_wrench(
        self, moment: ArrayLike, force: ArrayLike, now: int, frame: str = "", stamp: int = 0
    ) -> None:
        """Likewise; one that the joints cannot exert, which Python alone refuses, is left out."""
        accept = self.controller.accept_wrench
        self._stamped_target("target_wrench", accept, (moment, force), now, frame, stamp)

    def target_path(self, path: ToolPath, now: int) -> None:
        """A path of the tool; in the world, or in the frame of its link."""
        given = path.twists is not None
        twists = np.zeros((len(path.times), 6)) if path.twists is None else path.twists
        rows = np.column_stack([path.times, path.poses, twists])

        def accept() -> None:
            self.controller.accept_path(path, now)

        count = len(path.times)
        self._target("target_path", accept, now, path.frame != "", given, count, rows)

    def _stamped_target(
        self,
        word: str,
        accept: Callable[..., None],
        halves: tuple[ArrayLike, ArrayLike],
        now: int,
        frame: str,
        stamp: int,
    ) -> None:
        """A target of two halves, with a frame and a stamp."""

        def given() -> None:
            accept(*halves, now, frame=frame, stamp=stamp)

        self._target(word, given, now, stamp, frame != "", *halves)

    def _target(self, word: str, accept: Callable[[], None], now: int, *values: ArrayLike) -> None:
        accepted = True
        try:
            accept()
        except TrajectoryRejected as error:
            if "cannot be exerted" in str(error):
                return
            accepted = False
        self._note(word, now, accepted, *values)

    def hold(self, now: int) -> None:
        self.controller.hold(now)
        self._note("hold", now)

    def wrench(self, link: str, wrench: Sequence[float], now: int) -> None:
        self.controller.set_external_wrench(link, wrench, now)
        self._note("wrench", now, self._external.index(link), wrench)

    def trajectory(
        self, joints: Sequence[str], points: Sequence[TrajectoryPoint], now: int, stamp: int = 0
    ) -> Goal | None:
        """Offer a trajectory; ``None`` if it is refused."""
        self._note_points("trajectory", now, len(self._goals), stamp, joints, points)
        try:
            allow = self.controller.options.allow_nonzero_velocity_at_trajectory_end
            trajectory = Trajectory.from_points(
                joints, points, stamp=stamp, allow_nonzero_end_velocity=allow
            )
            goal = self.controller.accept_trajectory(trajectory, now)
        except TrajectoryRejected as error:
            self._note("refused", int(error.code))
            return None
        self._goals.append(goal)
        return goal

    def point(self, joints: Sequence[str], point: TrajectoryPoint, now: int) -> None:
        self._note_points("point", now, 0, 0, joints, [point])
        try:
            self.controller.accept_point(joints, point, now)
        except TrajectoryRejected as error:
            self._note("refused", int(error.code))

    def _note_points(
        self,
        word: str,
        now: int,
        number: int,
        stamp: int,
        joints: Sequence[str],
        points: Sequence[TrajectoryPoint],
    ) -> None:
        columns = [self.controller.model.joint_names.index(name) for name in joints]
        values: list[ArrayLike] = [now, number, stamp, len(joints), columns, len(points)]
        for x in points:
            values.append(x.time_from_start)
            for field in (x.positions, x.velocities, x.accelerations, x.effort):
                values += [len(field), field] if len(field) else [0]
        self._note(word, *values)


def _home(model: RobotModel) -> Array:
    """(n,) zero, or what is next to it well within the limits."""
    lower = np.maximum(model.lower, -3.0)
    upper = np.minimum(model.upper, 3.0)
    margin = 0.3 * (upper - lower)
    return np.clip(np.zeros(model.nv), lower + margin, upper - margin)


# ns
_MILLISECOND = 1_000_000
# ns between two states of the example
_EXAMPLE_STEP = 2 * _MILLISECOND
# rad or m that the example moves each joint: a robot with low limits can follow it, and it is large
# beside the deviations of ``_Example.run``
_EXAMPLE_DISPLACEMENT = 0.05


def example_cycles(
    model: RobotModel, friction: Friction, external: Sequence[str], payload_link: str
) -> str:
    """Some hundred milliseconds of control: trajectories, set-points, a payload, other gains, a
    pause, an active brake.

    Args:
        friction: what the law compensates.
        external: links that may carry known wrenches.
        payload_link: one that may carry a payload.
    """
    example = _Example(model, friction, external)
    example.run(2)
    example.trajectories(payload_link)
    example.wrench_and_set_point(external[0])
    example.tool_targets()
    example.stop_and_gap()
    example.other_laws()
    return example.log.text


class _Example:
    """A controller, the arm that follows it, and what is written down of both."""

    def __init__(self, model: RobotModel, friction: Friction, external: Sequence[str]) -> None:
        n = model.nv
        self.friction = friction
        # limits on the motion would end it early on a robot with low limits: the example is about
        # the law and the reference
        self.controller = JointController(
            model,
            ComputedTorque(kp=100.0, kd=20.0, ki=50.0, friction=friction),
            options=ControllerOptions(blend_time=0.02, max_step=0.5),
            guards=GuardSettings(effort_scale=0.9),
            tolerances=Tolerances.uniform(n, goal=0.5),
            observer=MomentumObserver(model, 50.0, friction),
            task=TaskSettings(twist_timeout=0.2),
        )
        self.log = CycleLog(self.controller, external)
        self.joints = model.joint_names
        self.t = 10**9
        self.q = _home(model)
        self.v = np.zeros(n)
        # neighbouring joints move in opposite directions
        self.displacement = _EXAMPLE_DISPLACEMENT * np.array([1.0, -1.0])[np.arange(n) % 2]
        self.log.activate(self.t, self.q, self.v)

    def run(self, cycles: int) -> None:
        """So many cycles.

        The arm is near its reference: no simulation, which would have to be stable for every
        robot.
        """
        for _ in range(cycles):
            self.log.update(self.t, self.q, self.v)
            self.t += _EXAMPLE_STEP
            phase = 1e-8 * self.t + np.arange(len(self.joints))
            desired = self.controller.reference
            self.q = desired[0] + 1e-3 * np.sin(phase)
            self.v = desired[1] + 1e-2 * np.cos(phase)

    def _point(self, ms: int, position: Array, *derivatives: Array) -> TrajectoryPoint:
        """A point ``ms`` milliseconds after the start of its trajectory."""
        values = [x.tolist() for x in (position, *derivatives)]
        return TrajectoryPoint(ms * _MILLISECOND, *values)

    def trajectories(self, payload_link: str) -> None:
        """There, picking up a payload on the way, and on with other gains to where the arm is."""
        rest = np.zeros(len(self.joints))
        speed = self.displacement / _EXAMPLE_DISPLACEMENT
        middle = self._point(20, self.q + 0.5 * self.displacement, speed)
        end = self._point(50, self.q + self.displacement, rest, rest)
        self.log.trajectory(self.joints, [middle, end], self.t)
        self.run(12)
        self.controller.set_payload(Payload(payload_link, 0.5, np.array([0.01, 0.0, 0.05])))
        self.log.changed()
        self.run(8)
        start = self.t + 8 * _MILLISECOND
        self.log.trajectory(self.joints, [self._point(30, self.q, rest)], self.t, stamp=start)
        self.controller.set_gains(kp=225.0, kd=30.0)
        self.log.changed()
        self.run(10)

    def wrench_and_set_point(self, link: str) -> None:
        """A known wrench on ``link``, and a streamed set-point."""
        self.log.wrench(link, [0.1, 0.0, 0.2, 1.0, -2.0, 3.0], self.t)
        self.run(4)
        position = self.q + 0.01 * self.displacement
        point = self._point(4, position, 0.5 * self.displacement)
        self.log.point(self.joints, point, self.t)
        self.run(6)

    @property
    def tool(self) -> ToolReference:
        tool = self.controller.tool
        assert tool is not None
        return tool

    def tool_targets(self) -> None:
        """A pose, a twist and a path of the tool, one after the other."""
        home = self.tool.tool_at(self.controller.reference[0])
        position = home[:3]
        quaternion = home[3:]
        self.log.target_pose(position + 0.01, quaternion, self.t)
        self.run(6)
        self.log.target_twist([0.1, 0.0, 0.0], [0.0, 0.02, 0.01], self.t, self.tool.link)
        self.run(4)
        path = ToolPath.of([0.01, 0.03], [position, position - 0.005], [quaternion, quaternion])
        self.log.target_path(path, self.t)
        self.run(8)

    def stop_and_gap(self) -> None:
        """A stop; then the states fail to arrive, and come again."""
        self.log.hold(self.t)
        self.run(3)
        self.t += 200 * _MILLISECOND
        self.log.watch(self.t - 50 * _MILLISECOND)
        self.run(4)

    def other_laws(self) -> None:
        """The other two laws of the package, the second with a wrench that the tool exerts."""
        self.controller.set_law(PDGravity(kp=50.0, kd=5.0, friction=self.friction))
        self.log.changed()
        self.run(3)
        self.controller.set_law(CartesianImpedance(link=self.tool.link, friction=self.friction))
        self.log.changed()
        self.log.target_wrench([0.1, 0.0, 0.0], [0.0, 1.0, 2.0], self.t, self.tool.link)
        self.run(6)
