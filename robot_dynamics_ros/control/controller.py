"""The whole controller without ROS: a node only translates messages into these calls, a script
calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one
clock, the clock of the joint states' stamps.  Nothing here locks: calls belong to one thread, or to
callbacks that exclude each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.adjustable import AdjustableController
from robot_dynamics_ros.control.contact import ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.cycle.memory import STREAM, TRAJECTORY, Mode, bound
from robot_dynamics_ros.control.cycle.wrenches import COMMANDED, MEASURED, compute_wrenches
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import ComputedTorque, Law
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.goal import (
    Goal,
    GoalStatus,
    Reason,
    Tolerances,
    TrajectoryRejected,
)
from robot_dynamics_ros.control.reference.reference import PreparedMotion
from robot_dynamics_ros.control.reference.task.path import ToolPath
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.tracks import ABORTED, CANCELED
from robot_dynamics_ros.control.reference.trajectory import (
    NANOSECONDS,
    Trajectory,
    TrajectoryPoint,
    nanoseconds,
)
from robot_dynamics_ros.control.rest_efforts import (
    check_feed_forward,
    check_gravity_at_rest,
)
from robot_dynamics_ros.control.robustness import Robustness, description_gaps
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, settings_or_default, vector

__all__ = ["ControllerOptions", "JointController", "Mode"]


class JointController(AdjustableController):
    """Model, law, reference, limits and estimates of one robot, and its control cycle.

    Arrays belong to the controller and are overwritten by the next cycle.  More attributes:
    :class:`AdjustableController`.

    Attributes:
        model: the robot, payload excluded.
        reference: (3, n) desired position, velocity, acceleration.
        error: (2, n) desired minus measured position (the short way round for continuous joints)
            and velocity.
        effort: (n,) total effort of the joints after the limits, gravity included even if the robot
            compensates it.
        command: (n,) the command to send: ``effort``, minus g(q) if the robot adds it.
        wrenches: (joints, 6) [moment; force] that the parent side exerts on each child link, about
            the joint's origin, in the child link's frame; see
            ``ControllerOptions.wrench_acceleration``.
        state: (n,) position and (n,) velocity that the last cycle was for.
        wrench_acceleration: (n,) acceleration that the wrenches belong to.
        unexplained: (n,) present effort that makes up for what the model does not explain; zero
            without ``robustness``.
        payload: in force, or ``None``.
        tolerances: for trajectories that bring none.
        observer: estimate of external efforts, or ``None``; see :class:`MomentumObserver`.
        collision: a flag on top of that estimate, or ``None``.
        contact: the wrench on a link that explains the external efforts, or ``None``.
        flange: the load that the tool exerts on the arm, or ``None``.
    """

    def __init__(
        self,
        model: RobotModel,
        law: Law | None = None,
        *,
        options: ControllerOptions | None = None,
        guards: GuardSettings | None = None,
        tolerances: Tolerances | None = None,
        observer: MomentumObserver | None = None,
        collision: CollisionMonitor | None = None,
        contact: ContactEstimate | None = None,
        flange: FlangeLoad | None = None,
        task: TaskSettings | None = None,
    ) -> None:
        """Check that everything fits together, and compile what the cycle needs.

        Args:
            model: the robot, joints of one degree of freedom each.
            law: if not given, computed torque that holds up on a robot that differs from its
                description: with the friction of the description and ``options.robustness``.
            options, guards, tolerances: the defaults if not given.
            observer, collision, contact, flange: estimates to keep up to date.
            task: the tool that :meth:`accept_pose`, :meth:`accept_twist` and :meth:`accept_path`
                move, and with which :meth:`accept_wrench` presses.

        Raises:
            ArgumentError: settings that do not fit the model, or a model with joints of several
                degrees of freedom.
            UnknownNameError: a joint or link that the model does not have.
        """
        options = settings_or_default(ControllerOptions, options, "options")
        guards = settings_or_default(GuardSettings, guards, "guards")
        if law is None:
            law = ComputedTorque(friction=Friction.of(model))
            options = dataclasses.replace(options, robustness=options.robustness or Robustness())
        law = law.check(model)
        check_gravity_at_rest(model)
        super().__init__(model, law, options.check(model), guards)
        self.tolerances = tolerances or Tolerances.uniform(model.nv, stopped_velocity=0.0)
        self.reference = self.memory["reference"]
        self.error = self.memory["error"]
        self.wrenches = self.memory["wrenches"]
        self.state = self.work.q, self.work.v
        self.unexplained = self.memory["unexplained"]
        self.observer = observer
        self.collision = collision
        self.contact = contact
        self.flange = flange
        if task is not None:
            self.runner.followed.use_tool(ToolReference(model, task, compiled=self.compiled))
        if contact is not None and observer is None:
            problem = "there is no observer to know external efforts from"
            raise ArgumentError(
                problem, where="contact", remedy="Give the controller a MomentumObserver too."
            )
        self.wrench_acceleration = self.memory["wrench_acceleration"]
        self._measured = self.memory["arrived"][2]
        # efforts of the motors, where the robot measures something else
        self._converted = np.zeros(model.nv)
        # of the cycle before, for the rotors' accelerations
        self._velocity = np.zeros(model.nv)
        if options.measured_effort.plain:
            efforts = self._measured
        else:
            efforts = self._converted
        self._compute_wrenches = bound(self.memory, self.runner.routines, compute_wrenches, efforts)
        self._observes = False
        self._reads_flange = False
        if contact is not None:
            # compiled now
            self.base.link(contact.link)
        if flange is not None:
            flange.use(self.base)

    # -- life cycle --------------------------------------------------------------------------------

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop
        within its limits.

        ``t``: stamp of the state, ns; ``q``, ``v``: (n,) measured position and velocity.
        ArgumentError: a state of the wrong length or not finite, a time that is no integer; nothing
        is changed then.
        """
        names = self.model.joint_names
        q, v = (vector(x, self.model.nv, name, joints=names) for x, name in ((q, "q"), (v, "v")))
        self.runner.set_state(t, q, v, None)
        self.runner.clear_fault()
        self.external_wrenches.clear()
        self.runner.between_cycles("activate", text="the controller was started afresh")
        self.reference[:] = self.motion.sample(t)

    def update(self, t: int, q: Array, v: Array, effort: Array | None = None) -> Array:
        """One control cycle.

        A state that is not finite, that has jumped, or whose stamp repeats or is a little late, is
        counted and leaves the command as it was; one that is much older, or that comes after a gap,
        makes the controller hold where the arm is. A jump that lasts is a gap: see
        ``ControllerOptions.max_state_jump``.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.
            effort: (n,) measured effort, for the observer and
                ``wrench_acceleration="measured_effort"``; without it the commanded effort of the
                cycle before takes its place.

        Returns:
            (n,) efforts to command: always finite, within the effort limits; ``command`` itself.
            ArgumentError: a time that is no integer.
        """
        self.runner.set_state(t, q, v, effort)
        if self.mode is Mode.INACTIVE:
            return self.safe_command()
        if self.runner.answer():
            self.estimate(measured=effort is not None)
        return self.command

    def deactivate(self) -> Array:
        """Stop; returns the safe command to send as the last message.

        Goals still open are aborted.
        """
        self.runner.between_cycles("deactivate")
        self.runner.current = False
        return self.memory["safe_effort"].copy()

    def control(self, t: float, q: Array, v: Array) -> Array:
        """:meth:`update` as a callable of time in seconds, for offline simulation; activates itself
        at the first call.
        """
        stamp = nanoseconds(t)
        if self.mode is Mode.INACTIVE:
            self.activate(stamp, q, v)
        return self.update(stamp, q, v)

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t`` or a fault
        stands, else None.  With the next joint state the controller recovers and holds where the
        arm then is; a fault stays until it is activated again.
        """
        was_safe = self.mode is Mode.SAFE
        reason = self.jump or f"no new joint state for {self.options.state_timeout:g} s"
        text = f"the joint state is stale: {reason}"
        stale = self.runner.between_cycles("watch_state", t, text=text)
        if stale and not was_safe:
            self.counts["stale_state"] += 1
            self.runner.safe_reason = reason
        return self.command if self.mode is Mode.SAFE else None

    def process_was_delayed(self, t: int, gap: int) -> None:
        """The next state, of time ``t``, comes late because this process was delayed by ``gap`` ns,
        not the robot: up to twice ``state_timeout`` the motion goes on as if nothing had happened;
        after more the arm is stopped where it is.
        """
        p = self.p
        self.counts["own_delay"] += 1
        if self.mode in (Mode.INACTIVE, Mode.SAFE) or self.fault:
            return
        if gap > 2 * p.timeout[0]:
            text = f"the controller's process was delayed by {gap / NANOSECONDS:.3f} s"
            self.runner.between_cycles("forget_lag")
            self.motion.stop_from(p.last[0], self.work.q, self.work.v, ABORTED, Reason.STALE, text)
        elif p.started[0] and t > p.last[0]:
            p.last[0] = max(p.last[0], t - p.timeout[0])

    def begins_to_fall(self) -> bool:
        """Whether by the newest state, and by none before, the arm gets faster under the safe
        command of a fault: it is zero from now on.
        """
        held = self.p.falls[0] == 0
        self.runner.between_cycles("watch_fall")
        return held and self.p.falls[0] == 1

    def safe_command(self) -> Array:
        """(n,) the command that ``options.safe_command`` names, at the last known position."""
        self.runner.between_cycles("find_safe_command")
        return self.memory["safe_effort"].copy()

    # -- motion ------------------------------------------------------------------------------------

    def _require_tracking(self) -> None:
        if self.mode in (Mode.INACTIVE, Mode.SAFE):
            problem = f"the controller is {self.mode.value}"
            remedy = "Activate it, and see that joint states arrive."
            raise TrajectoryRejected(
                problem, where="controller", got=self.mode, remedy=self.fault or remedy
            )
        if not self.law.tracks:
            problem = f"the law {type(self.law).__name__} follows no reference"
            remedy = "Switch to a law that tracks first."
            raise TrajectoryRejected(problem, where="controller", got=self.law, remedy=remedy)

    def accept_trajectory(
        self,
        trajectory: Trajectory,
        t: int,
        tolerances: Tolerances | None = None,
    ) -> Goal:
        """Follow a trajectory of the commanded joints, in any order, from its stamp on (0: from
        ``t``, the present time, ns), leaving the present reference without a jump, with these
        ``tolerances`` or the default ones.

        Returns the goal, which later cycles keep up to date; that of an empty trajectory, which
        means hold, is done at once.
        TrajectoryRejected, with ``code`` and text: the arm goes on as before.
        """
        self._require_tracking()
        return self._follow(self._prepared(trajectory, t), t, tolerances or self.tolerances)

    def _prepared(self, trajectory: Trajectory, t: int) -> PreparedMotion | None:
        """Checked, and ready to be followed."""
        if not len(trajectory):
            return None
        motion = self.motion.prepare(trajectory, t)
        if trajectory.effort is not None and self.options.trajectory_effort == "add":
            self._check_efforts(trajectory.joint_names, trajectory.effort, "trajectory, effort")
        return motion

    def _check_efforts(
        self,
        joint_names: Sequence[str],
        effort: ArrayLike,
        where: str,
    ) -> None:
        """Refuse efforts to be added, (…, k) of these joints, that are beyond the limits alone."""
        effort = np.asarray(effort, dtype=float)
        every = np.zeros((*effort.shape[:-1], self.model.nv))
        columns = [self.model.joint_names.index(name) for name in joint_names]
        every[..., columns] = effort
        try:
            check_feed_forward(self.model, every, where)
        except ArgumentError as error:
            raise TrajectoryRejected.because_of(error) from None

    def _follow(
        self,
        motion: PreparedMotion | None,
        t: int,
        tolerances: Tolerances,
    ) -> Goal:
        self._require_tracking()
        if motion is not None:
            with self.runner.followed.leaving_task(t):
                goal = self.motion.adopt(motion, t, tolerances)
            self.p.mode[0] = TRAJECTORY
            return goal
        self.hold(t)
        goal = Goal(t, t, tolerances)
        goal.finish(GoalStatus.SUCCEEDED, text="an empty trajectory: holding")
        return goal

    def accept_trajectory_later(
        self,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """The same for long trajectories: read, checked and spliced in a thread of its own,
        followed when it is ready.

        A trajectory with a stamp of zero starts then.  Several are taken in the order of the calls.
        If the arm is stopped meanwhile, by whomever, the trajectory is refused.  ``make`` makes it,
        in that thread; ``done`` is called between two cycles with the goal, or with the exception
        it was refused with (from ``make`` too), and the trajectory.
        """
        for where, function in (("make", make), ("done", done)):
            expect(callable(function), "a function", function, where)
        chosen = tolerances or self.tolerances
        stopped = self.motion.memory["stops"]
        stops = int(stopped[0])

        def job() -> Callable[[], None]:
            trajectory = make()
            motion = self._prepared(trajectory, self.p.last[0])
            return lambda: take_over(trajectory, motion)

        def take_over(trajectory: Trajectory, motion: PreparedMotion | None) -> None:
            outcome: Goal | Exception
            try:
                if stopped[0] != stops:
                    problem = "the arm was stopped while it was being prepared"
                    raise TrajectoryRejected(problem, where="trajectory", remedy="Send it again.")
                outcome = self._follow(motion, self.p.last[0], chosen)
            except TrajectoryRejected as error:
                outcome = error
            done(outcome, trajectory)

        self.changes.prepare("", job, lambda error: done(error, None))

    def accept_point(
        self,
        joint_names: Sequence[str],
        point: TrajectoryPoint,
        t: int,
    ) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm
        to a stop;
        TrajectoryRejected, with ``code`` and text: the arm goes on as before."""
        self._require_tracking()
        adds = self.options.trajectory_effort == "add"
        # a wrong length, and unknown names, are refused with the rest of the point
        known = len(point.effort) == len(joint_names) and set(joint_names) <= set(
            self.model.joint_names
        )
        if adds and known and len(point.effort):
            self._check_efforts(joint_names, point.effort, "set-point, effort")
        with self.runner.followed.leaving_task(t):
            self.motion.stream(joint_names, point, t)
        self.p.mode[0] = STREAM

    def accept_pose(
        self,
        position: ArrayLike,
        quaternion: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
    ) -> None:
        """Move the tool to a pose, see :meth:`ToolReference.to_pose`; joint goals are preempted.

        TrajectoryRejected, with ``code`` and text: the arm goes on as before.
        """
        tool = self._tool()
        begin = partial(self.runner.followed.begin_task, t)
        tool.to_pose(position, quaternion, t, frame=frame, stamp=stamp, begin=begin)

    def accept_twist(
        self,
        angular: ArrayLike,
        linear: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
    ) -> None:
        """Move the tool by a twist, see :meth:`ToolReference.by_twist`; else as
        :meth:`accept_pose`.
        """
        tool = self._tool()
        begin = partial(self.runner.followed.begin_task, t)
        tool.by_twist(angular, linear, t, frame=frame, stamp=stamp, begin=begin)

    def accept_path(self, path: ToolPath, t: int) -> None:
        """Move the tool on a path, see :meth:`ToolReference.on_path`; else as
        :meth:`accept_pose`.
        """
        self._tool().on_path(path, t, begin=partial(self.runner.followed.begin_task, t))

    def accept_wrench(
        self,
        moment: ArrayLike,
        force: ArrayLike,
        t: int,
        *,
        frame: str = "",
        stamp: int = 0,
    ) -> None:
        """Press with the tool, see :meth:`ToolReference.exert`, beside its pose, twist or path;
        without one it holds its pose.  Needs a law that yields, best ``CartesianImpedance``.

        TrajectoryRejected, with ``code`` and text: a wrench that the joints cannot exert here, or a
        law that takes it for a disturbance; the arm goes on as before.
        """
        tool = self._tool()
        if self.resists_wrenches:
            raise TrajectoryRejected(
                f"the law {type(self.law).__name__} takes a wrench for a disturbance",
                where="controller",
                got=self.law,
                remedy="Switch to cartesian_impedance, or do without integral and robustness.",
            )

        def begin(wrench: Array) -> None:
            try:
                self._check_wrench(
                    tool.link,
                    wrench,
                    lambda q: tool.efforts_of(q, wrench),
                    verb="exerted",
                    where="wrench",
                )
            except ArgumentError as error:
                raise TrajectoryRejected.because_of(error) from None
            self.runner.followed.begin_task(t)

        tool.exert(moment, force, t, frame=frame, stamp=stamp, begin=begin)

    def _tool(self) -> ToolReference:
        self._require_tracking()
        if self.tool is None:
            problem = "the controller was made without a task"
            remedy = "Give it one: JointController(model, task=TaskSettings(link=...))."
            raise TrajectoryRejected(problem, where="controller", remedy=remedy)
        if not self.runner.followed.follows_tool:
            # frames of links are where the joints' reference has them
            self.tool.memory["position"][:] = self.reference[0]
        return self.tool

    def hold(self, t: int) -> None:
        """Come to a stop within the deceleration and position limits from ``t``, ns, on.

        Open goals are cancelled.
        """
        with self.runner.followed.leaving_task(t):
            pass
        q, v = self.state
        if self.law.tracks:
            self.motion.begin(t)
            q, v, _ = self.motion.sample(t)
        self.motion.stop_from(t, q, v, CANCELED, Reason.HELD)

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand
        now; of the tool's motion, which has no future of its own, those of the last cycle.
        """
        if self.tool is not None and self.tool.active:
            return self.reference.copy()
        return self.motion.sample(t)

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self.motion.goal

    # -- what else is known ------------------------------------------------------------------------

    def estimate(self, *, measured: bool) -> None:
        """The rest of that cycle: external efforts, contact, wrenches; ``measured``: the state has
        efforts.
        """
        fresh = bool(self.p.fresh[0])
        if fresh:
            # the motion is a new one
            for estimate in (self.observer, self.collision):
                if estimate is not None:
                    estimate.reset()
        effort = None
        if measured and self.options.measured_effort.measured:
            effort = self._motor_effort(self.p.dt[0])
        # what acted until this state
        applied = self.previous if effort is None else effort
        self._estimate_external_efforts(applied, unknown=fresh and effort is None)
        self._compute_wrenches(effort is not None)
        self._estimate_flange_load(applied)

    def _estimate_external_efforts(self, applied: Array, *, unknown: bool) -> None:
        """External efforts, and from them collisions and contact, if anybody needs them;
        ``unknown``: what has acted until this state is not known.
        """
        observer = self.observer
        if observer is None:
            return
        contact = None
        if self.contact is not None and self.contact.enabled:
            contact = self.contact
        needed = self.want_efforts or self.collision is not None or contact is not None
        if self._observes and not needed:
            observer.reset()
        self._observes = needed and not unknown
        if not self._observes:
            return
        work = self.work
        dt = self.p.dt[0]
        external = observer.update(work.kernels, work.q, work.v, applied, dt)
        if self.collision is not None and self.collision.update(external, dt):
            self.counts["collision"] += 1
            self._collided()
        if contact is not None:
            contact.update(work.kernels, work.q, external)

    def _estimate_flange_load(self, applied: Array) -> None:
        flange = self.flange
        if flange is None or not flange.enabled:
            self._reads_flange = False
            return
        # its estimate needs every joint state, or starts afresh
        if not self._reads_flange:
            flange.observer.reset()
        self._reads_flange = True
        acceleration = None
        known_from_effort = self.p.wrench_source[0] in (COMMANDED, MEASURED)
        if self.want_wrenches and not known_from_effort:
            acceleration = self.wrench_acceleration
        work = self.work
        dt = self.p.dt[0]
        flange.update(work.q, work.v, applied, dt, self.external_wrenches, acceleration)

    def _motor_effort(self, dt: float) -> Array:
        """(n,) what the motors gave until this state, from the efforts that came with it.

        The momentum observer integrates τ: a rotor's B Δv / Δt is exact there, however the speed
        has changed meanwhile.
        """
        kind = self.options.measured_effort
        measured = self._measured
        v = self.work.v
        if kind.plain:
            return measured
        friction: Array | float = 0.0
        rotor: Array | float = 0.0
        if kind.meaning == "link_torque":
            if self.observer is None:
                known = getattr(self.law, "friction", None)
            else:
                known = self.observer.friction
            if known is None:
                friction = 0.0
            else:
                friction = known.effort(v)
            if self.p.fresh[0] == 0 and dt > 0.0:
                rotor = self.work.model.rotor_effort((v - self._velocity) / dt)
            np.copyto(self._velocity, v)
        if kind.meaning == "torque_without_gravity":
            gravity = self.work.gravity_forces()
        else:
            gravity = measured
        out = self._converted
        applied = self.previous
        return motor_effort(
            kind,
            measured,
            applied=applied,
            gravity=gravity,
            friction=friction,
            rotor=rotor,
            out=out,
        )

    def _collided(self) -> None:
        reaction = self.options.collision_reaction
        if reaction == "none" or not self.law.tracks:
            return
        self.runner.between_cycles(
            "collide", text=f"collision: {'holding' if reaction == 'hold' else 'giving way'}"
        )
        if reaction == "gravity":
            self.set_law(self._giving_way(self.law))

    @property
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self.work.model

    @property
    def kernels(self) -> Kernels:
        """The functions that the cycle works with, payload included."""
        return self.work.kernels

    def description_gaps(self) -> tuple[str, ...]:
        """One sentence for each joint whose effort in motion, since the start, the description did
        not explain, or that rang.
        """
        moving, unexplained, inertial = self.memory["moving"]
        time = np.maximum(moving, 1e-3)
        return description_gaps(
            self.model,
            unexplained / time,
            inertial / time,
            self.memory["share"],
            self.memory["swung"],
        )

    @property
    def feedback_frequency(self) -> tuple[float, float]:
        """Natural frequency of the error, rad/s, and the delay of the loop, s, that it is chosen
        for; see ``robustness``.
        """
        return self.p.natural[0], self.p.whole_delay[0]
