"""The whole controller without ROS: a node only translates messages into these calls, a script calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one clock, the clock of the
joint states' stamps.  Nothing here locks: calls belong to one thread, or to callbacks that exclude each other.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.contact import ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.cycle.law_code import LawCode
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.cycle.loading import load_law, load_rejection, load_robot
from robot_dynamics_ros.control.cycle.memory import Mode, bound
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.cycle.wrench_pass import COMMANDED, MEASURED, compute_wrenches
from robot_dynamics_ros.control.kernels import ESTIMATES, Kernels
from robot_dynamics_ros.control.laws import ComputedTorque, GravityCompensation, Law
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.goal import Goal, GoalStatus, Reason, Tolerances, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import Motion
from robot_dynamics_ros.control.reference.tracks import CANCELED
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.control.robustness import Robustness, description_gaps
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import motor_effort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import settings_or_default, vector

__all__ = ["ControllerOptions", "JointController", "Mode"]


class JointController(CycleRunner):
    """Model, law, reference, limits and estimates of one robot, and its control cycle.

    Attributes (arrays belong to the controller and are overwritten by the next cycle):
        model: the robot, payload excluded.
        reference: (3, n) desired position, velocity, acceleration.
        error: (2, n) desired minus measured position (the short way round for continuous joints) and velocity.
        effort: (n,) total effort of the joints after the limits, gravity included even if the robot compensates it.
        command: (n,) the command to send: ``effort``, minus g(q) if the robot adds it.
        wrenches: (joints, 6) [moment; force] that the parent side exerts on each child link, about the joint's origin,
            in the child link's frame; see ``ControllerOptions.wrench_acceleration``.
        state: (n,) position and (n,) velocity that the last cycle was for.
        wrench_acceleration: (n,) acceleration that the wrenches belong to.
        unexplained: (n,) present effort that makes up for what the model does not explain; zero without ``robustness``.
        changes: what is being prepared aside; each cycle begins with taking over what is ready.
        payload: in force, or ``None``.
        tolerances: for trajectories that bring none.
        estimates_ready: whether wrenches and external efforts can be computed; see :meth:`prepare_estimates`.
        external_wrenches, counts, mode, fault, safe_reason, jump, current, law, guards, memory: see :class:`CycleRunner`.
        observer: estimate of external efforts, or ``None``; see :class:`MomentumObserver`.
        collision: collision flag on top of it, or ``None``.
        contact: the wrench on a link that explains them, or ``None``; see :class:`ContactEstimate`.
        flange: load that the tool exerts on the arm, or ``None``; see :class:`FlangeLoad`.
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
        estimates_later: bool = False,
    ) -> None:
        """Check that everything fits together, and compile what the cycle needs.

        Args:
            model: the robot, joints of one degree of freedom each.
            law: if not given, computed torque that holds up on a robot that differs from its description: with the
                friction of the description and ``options.robustness``.
            options, guards, tolerances: the defaults if not given.
            observer, collision, contact, flange: estimates to keep up to date.
            estimates_later: leave what no command needs to :meth:`prepare_estimates`, if there is neither ``collision``
                nor ``contact`` nor ``flange``; ``want_wrenches`` and ``want_efforts`` must stay False until
                ``estimates_ready``.

        Raises:
            ArgumentError: settings that do not fit the model, or a model with joints of several degrees of freedom.
            UnknownNameError: a joint or link that the model does not have.
        """
        options = settings_or_default(ControllerOptions, options, "options")
        guards = settings_or_default(GuardSettings, guards, "guards")
        if law is None:
            law = ComputedTorque(friction=Friction.of(model))
            options = dataclasses.replace(options, robustness=options.robustness or Robustness())
        law = law.check(model)
        later = estimates_later and collision is None and contact is None and flange is None
        super().__init__(model, law, options.check(model), guards, estimates=not later)
        if contact is not None and observer is None:
            raise ArgumentError(
                "there is no observer to know external efforts from",
                where="contact",
                remedy="Give the controller a MomentumObserver too.",
            )
        self.want_wrenches = self.want_efforts = self.estimates_ready = not later
        if self.options.collision_reaction == "gravity":
            self.code(self._giving_way(law))  # at hand
        self.tolerances = tolerances or Tolerances.uniform(model.nv, stopped_velocity=0.0)
        self.changes = Changes("controller changes")
        self.payload: Payload | None = None
        self._wanted_law, self._coming = law, self.base
        self.observer, self.collision, self.contact, self.flange = observer, collision, contact, flange
        self.reference, self.error, self.wrenches = self.work.reference, self.work.error, self.work.wrenches
        self.state = self.work.q, self.work.v
        self.wrench_acceleration = self.memory["wrench_acceleration"]
        self.unexplained = self.memory["unexplained"]
        self._measured, (self._converted, self._velocity) = self.memory["arrived"][2], np.zeros((2, model.nv))
        plain = self.options.measured_effort.plain
        efforts = self._measured if plain else self._converted
        self._compute_wrenches = bound(self.memory, self.routines, compute_wrenches, efforts)
        self._observes = self._reads_flange = False
        if contact is not None:
            contact.prepare(self.base)
        if flange is not None:
            flange.use(self.base)

    # -- life cycle ----------------------------------------------------------------------------------------------

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop within its limits.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.

        Raises:
            ArgumentError: a state of the wrong length or not finite, a time that is no integer; nothing is changed then.
        """
        names = self.model.joint_names
        q, v = (vector(x, self.model.nv, name, joints=names) for x, name in ((q, "q"), (v, "v")))
        self.set_state(t, q, v, None)
        self._begin()

    def update(self, t: int, q: Array, v: Array, effort: Array | None = None) -> Array:
        """One control cycle.

        A state that is not finite, that has jumped, or whose stamp repeats or is a little late, is counted and leaves the
        command as it was; one that is much older, or that comes after a gap, makes the controller hold where the arm is.
        A jump that lasts is a gap: see ``ControllerOptions.max_state_jump``.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.
            effort: (n,) measured effort, for the observer and ``wrench_acceleration="measured_effort"``; without it the
                commanded effort of the cycle before takes its place.

        Returns:
            (n,) efforts to command: always finite, within the effort limits; ``command`` itself.

        Raises:
            ArgumentError: a time that is no integer.
        """
        self.set_state(t, q, v, effort)
        if self.mode is Mode.INACTIVE:
            return self.safe_command()
        if self.answer():
            self.estimate(measured=effort is not None)
        return self.command

    def answer(self) -> bool:
        """The cycle for the state that has been read into ``memory``, up to the command, which is written into the answer.

        Returns:
            Whether the state was followed by a cycle; if not, it was dropped, or the answer is the safe command.
        """
        if self.changes.ready:
            self.changes.take_over()
        return self.advance()

    def deactivate(self) -> Array:
        """Stop; returns the safe command to send as the last message.  Goals still open are aborted."""
        self.between_cycles("deactivate")
        self.current = False
        return self.memory["safe_effort"].copy()

    def control(self, t: float, q: Array, v: Array) -> Array:
        """:meth:`update` as a callable of time in seconds, for offline simulation; activates itself at the first call."""
        stamp = nanoseconds(t)
        if self.mode is Mode.INACTIVE:
            self.activate(stamp, q, v)
        return self.update(stamp, q, v)

    # -- motion --------------------------------------------------------------------------------------------------

    def accept_trajectory(self, trajectory: Trajectory, t: int, tolerances: Tolerances | None = None) -> Goal:
        """Follow a trajectory from its stamp on (0: from ``t``), leaving the present reference without a jump.

        An empty trajectory means hold; its goal is done at once.

        Args:
            trajectory: of the commanded joints, in any order.
            t: present time, ns.
            tolerances: instead of the default ones.

        Returns:
            The goal, which later cycles keep up to date.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._require_tracking()
        return self._follow(self._prepared(trajectory, t), t, tolerances)

    def _prepared(self, trajectory: Trajectory, t: int) -> Motion | None:
        """Any thread may call it; ``None`` for an empty trajectory."""
        return self.motion.prepare(trajectory, t) if len(trajectory) else None

    def _follow(self, motion: Motion | None, t: int, tolerances: Tolerances | None) -> Goal:
        self._require_tracking()
        tolerances = tolerances if tolerances is not None else self.tolerances
        if motion is None:
            self.hold(t)
            goal = Goal(t, t, tolerances)
            goal.finish(GoalStatus.SUCCEEDED, text="an empty trajectory: holding")
            return goal
        goal = self.motion.adopt(motion, t, tolerances)
        self.mode = Mode.TRAJECTORY
        return goal

    def accept_trajectory_later(
        self,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """The same for long trajectories: read, checked and spliced in a thread of its own, followed when it is ready.

        A trajectory with a stamp of zero starts then.  Several are taken in the order of the calls.  If the arm is stopped
        meanwhile, by whomever, the trajectory is refused.

        Args:
            make: makes the trajectory, in that thread.
            done: called between two cycles with the goal, or with the exception it was refused with (from ``make``
                too), and the trajectory.
            tolerances: instead of the default ones.
        """
        chosen, stops = tolerances if tolerances is not None else self.tolerances, self.motion.stops

        def job() -> Callable[[], None]:
            trajectory = make()
            motion = self._prepared(trajectory, self.p.last[0])
            return lambda: take_over(trajectory, motion)

        def take_over(trajectory: Trajectory, motion: Motion | None) -> None:
            outcome: Goal | Exception
            try:
                if self.motion.stops != stops:
                    raise TrajectoryRejected(
                        "the arm was stopped while it was being prepared", where="trajectory", remedy="Send it again."
                    )
                outcome = self._follow(motion, self.p.last[0], chosen)
            except TrajectoryRejected as error:
                outcome = error
            done(outcome, trajectory)

        self.changes.prepare("", job, lambda error: done(error, None))

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._require_tracking()
        self.motion.stream(joint_names, point, t)
        self.mode = Mode.STREAM

    def hold(self, t: int) -> None:
        """Come to a stop within the deceleration and position limits, then stay.  Open goals are cancelled.

        Args:
            t: present time, ns.
        """
        if not self.law.tracks:
            q, v = self.work.q, self.work.v
        else:
            self.motion.begin(t)
            q, v, _ = self.motion.sample(t)
        self.motion.stop_from(t, q, v, CANCELED, Reason.HELD)

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand now."""
        return self.motion.sample(t)

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self.motion.goal

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self.tolerances = tolerances

    def _require_tracking(self) -> None:
        if self.mode in (Mode.INACTIVE, Mode.SAFE):
            raise TrajectoryRejected(
                f"the controller is {self.mode.value}",
                where="controller",
                got=self.mode,
                remedy=self.fault or "Activate it, and see that joint states arrive.",
            )
        if not self.law.tracks:
            raise TrajectoryRejected(
                f"the law {type(self.law).__name__} follows no reference",
                where="controller",
                got=self.law,
                remedy="Switch to a law that tracks first.",
            )

    # -- law, gains, payload --------------------------------------------------------------------------------------

    def set_law(self, law: Law, *, background: bool = False) -> None:
        """Use another law, or other gains, from the next cycle on; the effort does not jump.

        From a law without reference to one with, the arm holds where it is.

        Args:
            law: the law.
            background: compile what it needs in a thread of its own; a later cycle takes it over.

        Raises:
            ArgumentError, UnknownNameError: the law does not fit the model; the one before stays.
        """
        self._wanted_law = law.check(self.model)

        def job() -> Callable[[], None]:
            law.prepare(self.work.kernels)
            law.prepare(self._coming)  # a payload that is ready, but not carried yet
            code = self.code(law)
            if self.options.collision_reaction == "gravity":
                self.code(self._giving_way(law))  # at hand
            return lambda: self._use_law(law, code)

        self.changes.prepare("law", job, background=background)

    def _use_law(self, law: Law, code: LawCode | None) -> None:
        before, self.law = self.law, law
        load_law(self.memory, law, code)
        if type(law) is not type(before):
            self.between_cycles("change_law", int(before.tracks))
        self.start_blend()

    @staticmethod
    def _giving_way(law: Law) -> Law:
        """The law in which an arm under ``law`` lets itself be pushed away."""
        return GravityCompensation(friction=getattr(law, "friction", None))

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.

        Raises:
            UnknownNameError: the law has no such gain, or the model no such joint.
            ArgumentError: a value negative, not finite, or of the wrong length; nothing is changed then.
        """
        self.set_law(self._wanted_law.with_gains(self.model, **gains))

    def set_robustness(self, robustness: Robustness) -> None:
        """Other settings of the step that makes computed torque hold up, from the next cycle on; the effort does not jump.

        ``friction_trust`` counts at the start only.

        Raises:
            ArgumentError: the controller was made without that step.
        """
        if self.options.robustness is None:
            raise ArgumentError(
                "the controller was made without robustness",
                where="set_robustness",
                remedy="Make it with ControllerOptions(robustness=Robustness()).",
            )
        self.options = dataclasses.replace(self.options, robustness=robustness)
        load_rejection(self.memory, robustness, self.model)
        self.start_blend()

    def set_payload(
        self,
        payload: Payload | None,
        *,
        background: bool = False,
        elsewhere: bool = False,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Carry a payload from the next cycle on, or with ``None`` none.

        Compiling for the loaded robot takes some tenths of a second the first time; it happens here, or with
        ``background`` in a thread of its own, after which a later cycle takes the payload over.

        Args:
            elsewhere: let another process compile, so that the cycle is not held up by the interpreter lock; it takes
                about a second the first time.
            failed: called between two cycles with an error that preparing it in the background ended with; the payload of
                before stays.

        Raises:
            UnknownNameError: the model has no such link; the payload of before stays.
        """
        if payload is not None:
            self.model.link(payload.link)

        def job() -> Callable[[], None]:
            present = self.work.kernels
            loaded = self.model if payload is None else carrying(self.model, payload)
            if elsewhere:
                compile_elsewhere(loaded, prepared(present.model))
            kernels = self.base if loaded is self.model else Kernels(loaded)
            kernels.include(present)
            self._wanted_law.prepare(kernels)
            self._coming = kernels
            return lambda: self._carry(payload, kernels)

        self.changes.prepare("payload", job, failed, background=background)

    def _carry(self, payload: Payload | None, kernels: Kernels) -> None:
        load_robot(self.memory, kernels)
        self.work.kernels = kernels
        self.wrenches_changed()
        self.payload = payload
        if self.observer is not None:
            self.observer.rebase()
        if self.flange is not None:
            self.flange.use(kernels)
        self.start_blend()

    def prepare_estimates(self, failed: Callable[[Exception], None] | None = None) -> None:
        """Compile the functions of wrenches and external efforts in another process.

        Args:
            failed: called between two cycles with an error that this ended with.
        """
        base = self.base

        def job() -> Callable[[], None]:
            compile_elsewhere(base.model, ESTIMATES)
            base.prepare_estimates()
            return take_over

        def take_over() -> None:
            load_robot(self.memory, self.work.kernels)
            self.estimates_ready = True

        if not self.estimates_ready:
            self.changes.prepare("estimates", job, failed)

    # -- estimates -----------------------------------------------------------------------------------------------

    def estimate(self, *, measured: bool) -> None:
        """The rest of that cycle: external efforts, contact, wrenches.

        Args:
            measured: whether the state has efforts.
        """
        p, work, dt = self.p, self.work, self.p.dt[0]
        if fresh := bool(p.fresh[0]):  # the motion is a new one
            for estimate in (self.observer, self.collision):
                if estimate is not None:
                    estimate.reset()
        effort = self._motor_effort(dt) if measured and self.options.measured_effort.measured else None
        applied = self.previous if effort is None else effort  # what acted until this state
        contact = self.contact if self.contact is not None and self.contact.enabled else None
        if self.observer is not None:
            needed = self.want_efforts or self.collision is not None or contact is not None
            if self._observes and not needed:
                self.observer.reset()
                self._observes = False
            if needed and not (fresh and effort is None):
                self._observes = True
                external = self.observer.update(work.kernels, work.q, work.v, applied, dt)
                if self.collision is not None and self.collision.update(external, dt):
                    self.counts["collision"] += 1
                    self._collided()
                if contact is not None:
                    contact.update(work.kernels, work.q, external)
        self._compute_wrenches(effort is not None)
        if self.flange is not None:
            if self.flange.enabled:
                self._read_flange(self.flange, applied, dt)
            self._reads_flange = self.flange.enabled
        p.fresh[0] = 0

    def _motor_effort(self, dt: float) -> Array:
        """(n,) what the motors gave until this state, from the efforts that came with it.

        The momentum observer integrates τ: a rotor's B Δv / Δt is exact there, however the speed has changed meanwhile.
        """
        kind, measured, v = self.options.measured_effort, self._measured, self.work.v
        if kind.plain:
            return measured
        friction: Array | float = 0.0
        rotor: Array | float = 0.0
        if kind.meaning == "link_torque":
            known = getattr(self.law, "friction", None) if self.observer is None else self.observer.friction
            friction = 0.0 if known is None else known.effort(v)
            if self.p.fresh[0] == 0 and dt > 0.0:
                rotor = self.work.model.rotor_effort((v - self._velocity) / dt)
            np.copyto(self._velocity, v)
        gravity = self.work.gravity_forces() if kind.meaning == "torque_without_gravity" else measured
        out, applied = self._converted, self.previous
        return motor_effort(kind, measured, applied=applied, gravity=gravity, friction=friction, rotor=rotor, out=out)

    def _read_flange(self, flange: FlangeLoad, applied: Array, dt: float) -> None:
        """The load at the flange; its estimate needs every joint state, or starts afresh."""
        if not self._reads_flange:
            flange.reset()
        from_effort = self.p.wrench_source[0] in (COMMANDED, MEASURED) or not self.want_wrenches
        a = None if from_effort else self.wrench_acceleration
        flange.update(self.work.q, self.work.v, applied, dt, self.external_wrenches, a)

    def _collided(self) -> None:
        """The arm has hit something."""
        reaction = self.options.collision_reaction
        if reaction == "none" or not self.law.tracks:
            return
        self.between_cycles("collide", text=f"collision: {'holding' if reaction == 'hold' else 'giving way'}")
        if reaction == "gravity":
            self.set_law(self._giving_way(self.law))

    # -- what else is known --------------------------------------------------------------------------------------

    @property
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self.work.model

    @property
    def kernels(self) -> Kernels:
        """The functions that the cycle works with, payload included."""
        return self.work.kernels

    def description_gaps(self) -> tuple[str, ...]:
        """One sentence for each joint whose effort in motion, since the start, the description did not explain."""
        moving, unexplained, inertial = self.memory["moving"]
        time = np.maximum(moving, 1e-3)
        return description_gaps(self.model, unexplained / time, inertial / time)

    @property
    def feedback_frequency(self) -> tuple[float, float]:
        """Natural frequency of the error, rad/s, and the delay of the loop, s, that it is chosen for; see ``robustness``."""
        return self.p.natural[0], self.p.whole_delay[0]
