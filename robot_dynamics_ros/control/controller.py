"""The whole controller without ROS: a node only translates messages into these calls, a script calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one clock, the clock of the
joint states' stamps.  Nothing here locks: calls belong to one thread, or to callbacks that exclude each other.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from robot_dynamics_ros.control.bumpless import Blend
from robot_dynamics_ros.control.changes import Changes
from robot_dynamics_ros.control.compiled_cycle import CompiledCycle
from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.external import ExternalWrenches
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.integral import advance_integral
from robot_dynamics_ros.control.kernels import ESTIMATES, Kernels
from robot_dynamics_ros.control.law_code import LawCode
from robot_dynamics_ros.control.laws import ComputedTorque, GravityCompensation, Law
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.packed_cycle import NEVER, PackedAnswer, PackedCycle, PackedState
from robot_dynamics_ros.control.payload import Payload, carrying
from robot_dynamics_ros.control.per_joint import vector
from robot_dynamics_ros.control.reference.reference import Proposal, ReferenceGenerator
from robot_dynamics_ros.control.reference.result import Goal, GoalStatus, ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.splice import JointTable
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.control.watchdog import Arrival, Freshness, Watchdog
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.control.wrench_pass import WrenchPass
from robot_dynamics_ros.dynamics.engine.backends import prepared
from robot_dynamics_ros.dynamics.engine.compile_process import compile_elsewhere
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["ControllerOptions", "JointController", "Mode"]

#: How far ahead a long trajectory is prepared to start, ns, and ns more for each of its points.
LEAD, LEAD_PER_POINT = 20_000_000, 3_000
#: How much faster than it says a joint is believed to have moved: velocities are filtered, stamps jitter.
_ROOM = 2.0


class Mode(enum.Enum):
    """Mode of operation of the controller."""

    INACTIVE = "inactive"
    HOLD = "hold"
    TRAJECTORY = "trajectory"
    STREAM = "stream"
    FREE = "free"  # a law without reference, e.g. gravity compensation
    SAFE = "safe"  # the safe command is out: state stale, or a fault


class JointController:
    """Model, law, reference, guards and preallocated memory in one object.

    Attributes (arrays belong to the controller and are overwritten by the next cycle):
        model: the robot, payload excluded.
        law: see :mod:`robot_dynamics_ros.control.laws`.
        mode: a :class:`Mode`.
        fault: reason for a permanent stop; cleared by :meth:`activate`.
        safe_reason: reason why the mode is SAFE, or was the last time.
        jump: the reason if the last state was dropped because it cannot follow from the one before.
        reference: (3, n) desired position, velocity, acceleration.
        error: (2, n) desired minus measured position (the short way round for continuous joints) and velocity.
        effort: (n,) total effort of the joints after the guards, gravity included even if the robot compensates it.
        command: (n,) the command to send: ``effort``, minus g(q) if the robot adds it.
        wrenches: (joints, 6) [moment; force] that the parent side exerts on each child link, about the joint's origin,
            in the child link's frame; see ``ControllerOptions.wrench_acceleration``.
        current: whether the last :meth:`update` was a cycle (not a state that was dropped, or a safe command).
        compiled: whether the last cycle ran in machine code (see
            :class:`~robot_dynamics_ros.control.compiled_cycle.CompiledCycle`) and not statement by statement.
        want_wrenches: set to False to skip their computation.
        want_efforts: set to False to skip the estimate of external efforts, if nothing here needs it (a collision flag,
            a contact); when set to True again, the estimate restarts.
        counts: cause → number of times since the controller was made.
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
            law: computed torque if not given.
            options, guards, tolerances: the defaults if not given.
            observer, collision, contact, flange: estimates to keep up to date.
            estimates_later: leave what no command needs to :meth:`prepare_estimates`, if there is neither ``collision``
                nor ``contact`` nor ``flange``; ``want_wrenches`` and ``want_efforts`` must stay False until
                ``estimates_ready``.

        Raises:
            ArgumentError: settings that do not fit the model, or a model with joints of several degrees of freedom.
            UnknownNameError: a joint or link that the model does not have.
        """
        self.options = (options or ControllerOptions()).check(model)
        later = estimates_later and collision is None and contact is None and flange is None
        self._work = Workspace(model, estimates=not later)
        self._base = self._work.kernels
        self.model = model
        n = model.nv
        self.law: Law = (law if law is not None else ComputedTorque()).check(model)
        self.law.prepare(self._base)
        self.counts: Counter[str] = Counter()
        table = JointTable.of(model, self.options.joints)
        self._idle = None if table.commanded.all() else np.flatnonzero(~table.commanded)
        self.guards = Guards(model, guards, self.counts, self._idle)
        self._reference = ReferenceGenerator(table, self.options, self.guards.deceleration)
        self._tolerances = tolerances if tolerances is not None else Tolerances.uniform(n, stopped_velocity=0.0)
        self._watchdog = Watchdog(nanoseconds(self.options.state_timeout))
        self._leap = self.options.max_state_jump**2 or math.inf
        self._blend = Blend(n, nanoseconds(self.options.blend_time))
        self._external = ExternalWrenches(nanoseconds(self.options.wrench_timeout))
        self._wrench_pass = WrenchPass(n, self.options.wrench_acceleration, self.options.differentiation_cutoff)
        self.observer = observer
        self.collision = collision
        self.contact = contact
        self.flange = flange
        if contact is not None:
            if observer is None:
                raise ArgumentError(
                    "there is no observer to know external efforts from",
                    where="contact",
                    remedy="Give the controller a MomentumObserver too.",
                )
            contact.prepare(self._base)
        if flange is not None:
            flange.use(self._base)
        self._flange_reads = False
        self.payload: Payload | None = None
        self._changes = Changes("controller changes")
        self._wanted_law, self._coming = self.law, self._base
        self.mode = Mode.INACTIVE
        self.fault = self.safe_reason = self.jump = ""
        self.want_wrenches = self.want_efforts = not later
        self._observes = False
        self.current = self.compiled = False
        self.reference = self._work.reference
        self.error = self._work.error
        self.wrenches = self._work.wrenches
        self.effort, self.command, self._previous = (self._work.memory[x] for x in ("effort", "command", "previous"))
        self._gravity, self._bias, self._feedforward, self._way = (np.zeros(n) for _ in range(4))
        self._inertia = np.zeros((n, n))
        self._fresh_start = True
        self._robot_gravity = self.options.gravity_compensated_by == "robot"
        self._integrates = self.law.integrates
        self._compiled: CompiledCycle | None = None
        self._packed: PackedCycle | None = None
        self._armed: tuple[Any, ...] = ()
        if self._work.compiled and self._idle is None:
            self._compiled = CompiledCycle(self._work)
            self._compiled.use_law(self.law, self._code(self.law))
            self._compiled.use_kernels(self._base)
            self._compiled.use_guards(self.guards)

    # -- what the last cycle worked with -------------------------------------------------------------------------

    @property
    def loaded_model(self) -> RobotModel:
        """The robot as the cycle knows it, payload included."""
        return self._work.model

    @property
    def state(self) -> tuple[Array, Array]:
        """(n,) position and velocity that the last cycle was for."""
        return self._work.q, self._work.v

    @property
    def wrench_acceleration(self) -> Array:
        """(n,) acceleration that ``wrenches`` belong to."""
        return self._wrench_pass.acceleration

    @property
    def kernels(self) -> Kernels:
        """The functions that the cycle works with, payload included."""
        return self._work.kernels

    @property
    def external_wrenches(self) -> Mapping[str, Array]:
        """Link → (6,) [moment; force]: the known wrenches that are still in force."""
        return self._external.values

    @property
    def estimates_ready(self) -> bool:
        """Whether wrenches and external efforts can be computed; see :meth:`prepare_estimates`."""
        return self._base.estimates_ready

    # -- changes between two cycles ------------------------------------------------------------------------------

    def prepare(
        self, topic: str, job: Callable[[], Callable[[], None]], failed: Callable[[Exception], None] | None = None
    ) -> None:
        """Have something made ready in a thread of its own and taken over between two cycles.

        See :meth:`~robot_dynamics_ros.control.changes.Changes.prepare`.
        """
        self._changes.prepare(topic, job, failed)

    def prepare_estimates(self, failed: Callable[[Exception], None] | None = None) -> None:
        """Have what only wrenches and external efforts need made ready beside the cycle, compiled by another process.

        Args:
            failed: called between two cycles with an error that this ended with.
        """

        def job() -> Callable[[], None]:
            compile_elsewhere(self.model, ESTIMATES)
            self._base.prepare_estimates()
            return lambda: None

        if not self.estimates_ready:
            self.prepare("estimates", job, failed)

    def take_over(self) -> None:
        """Use what has been prepared in the background; each cycle begins with it."""
        self._changes.take_over()

    @property
    def preparing(self) -> bool:
        """Whether something asked for is not in force yet."""
        return self._changes.pending

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
            law.prepare(self._work.kernels)
            law.prepare(self._coming)  # a payload that is ready, but not carried yet
            code = self._code(law)
            return lambda: self._use_law(law, code)

        if background:
            self.prepare("law", job)
        else:
            self._changes.supersede("law")
            job()()

    def _code(self, law: Law) -> LawCode | None:
        """Machine code for a law, and at hand for the one that a collision may call for."""
        if self._compiled is None:
            return None
        if self.options.collision_reaction == "gravity":
            LawCode.of(_giving_way(law), self.model.nv)
        return LawCode.of(law, self.model.nv)

    def _use_law(self, law: Law, code: LawCode | None) -> None:
        law.prepare(self._work.kernels)  # nothing to do but after a change of payload at the same time
        if type(law) is not type(self.law):
            self._work.z[:] = 0.0
            if law.tracks is not self.law.tracks and self.mode not in (Mode.INACTIVE, Mode.SAFE):
                self._reference.stop_from(
                    self._watchdog.last or 0,
                    self._work.q,
                    self._work.v,
                    GoalStatus.CANCELED,
                    text="the law was changed",
                )
                self.mode = Mode.HOLD if law.tracks else Mode.FREE
        elif self._integrates:  # Ki z goes on where it was
            with np.errstate(divide="ignore", invalid="ignore"):
                old, new = self.law.ki, law.ki  # type: ignore[attr-defined]
                self._work.z *= np.where(new > 0.0, old / new, 0.0)
        self.law = law
        self._integrates = law.integrates
        if self._compiled is not None:
            self._compiled.use_law(law, code)
        self._blend.start()

    def set_gains(self, **gains: Sequence[float] | Mapping[str, float] | float) -> None:
        """Change gains of the present law (``kp=``, ``kd=``, ``stiffness=``, …), the others staying.

        Raises:
            UnknownNameError: the law has no such gain, or the model no such joint.
            ArgumentError: a value negative, not finite, or of the wrong length; nothing is changed then.
        """
        self.set_law(self._wanted_law.with_gains(self.model, **gains))

    def set_payload(
        self,
        payload: Payload | None,
        *,
        background: bool = False,
        elsewhere: bool = False,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Carry a payload from the next cycle on, or with ``None`` none: the functions of the robot without payload are used again.

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
            loaded = self.model if payload is None else carrying(self.model, payload)
            if elsewhere:
                compile_elsewhere(loaded, prepared(self._work.kernels.model))
            kernels = self._base if loaded is self.model else Kernels(loaded)
            kernels.include(self._work.kernels)
            self._wanted_law.prepare(kernels)
            self._coming = kernels
            return lambda: self._carry(payload, kernels)

        if background:
            self.prepare("payload", job, failed)
        else:
            self._changes.supersede("payload")
            job()()

    def _carry(self, payload: Payload | None, kernels: Kernels) -> None:
        kernels.include(self._work.kernels)  # nothing to do but after another change at the same time
        self._work.kernels = kernels
        if self._compiled is not None:
            self._compiled.use_kernels(kernels)
        self.payload = payload
        if self.observer is not None:
            self.observer.rebase()
        if self.flange is not None:
            self.flange.use(kernels)
        self._blend.start()

    def set_external_wrench(self, link: str, wrench: Sequence[float] | None, t: int) -> None:
        """Feed a known wrench [moment; force] on ``link`` (its origin, its frame) forward; ``None`` forgets it.

        Raises:
            UnknownNameError: the model has no such link.
            ArgumentError: not six finite numbers.
        """
        self.model.link_index(link)
        if self._external.set(link, wrench, t):
            self._blend.start()

    def set_guards(self, settings: GuardSettings) -> None:
        """Use other limits from the next cycle on, e.g. derated ones.

        Raises:
            ArgumentError: settings that do not fit the model; the ones of before stay.
        """
        self.guards = Guards(self.model, settings, self.counts, self._idle)
        self._reference.deceleration = self.guards.deceleration
        if self._compiled is not None:
            self._compiled.use_guards(self.guards)

    @property
    def tolerances(self) -> Tolerances:
        """Default tolerances for trajectories."""
        return self._tolerances

    def set_tolerances(self, tolerances: Tolerances) -> None:
        """Default tolerances for trajectories accepted from now on."""
        self._tolerances = tolerances

    # -- life cycle (outside the control cycle) ------------------------------------------------------------------

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self._reference.goal

    def desired(self, t: int) -> Array:
        """(3, n) desired position, velocity and acceleration at time ``t``, ns, as things stand now."""
        return self._reference.path.sample(t)

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop within its limits.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.

        Raises:
            ArgumentError: a state of the wrong length or not finite; the controller stays as it was.
        """
        names = self.model.joint_names
        q, v = (vector(x, self.model.nv, name, joints=names) for x, name in ((q, "q"), (v, "v")))
        self.fault = ""
        self._watchdog.reset()
        self._watchdog.arrive(t - 1)
        self._external.clear()
        self._restart(t, q, v, "the controller was started afresh")

    def _restart(self, t: int, q: Array, v: Array, why: str) -> None:
        w = self._work
        w.q[:], w.v[:], w.z[:] = q, v, 0.0
        self._reference.stop_from(t, w.q, w.v, GoalStatus.ABORTED, ResultCode.INVALID_GOAL, why)
        self._blend.cancel()
        self._wrench_pass.reset()
        if self.observer is not None:
            self.observer.reset()
        if self.collision is not None:
            self.collision.reset()
        self.guards.saturated[:] = 0.0
        self._fresh_start = True
        self.mode = Mode.HOLD if self.law.tracks else Mode.FREE

    def deactivate(self) -> Array:
        """Stop; returns the safe command to send as the last message.  Goals still open are aborted."""
        if self.mode is not Mode.INACTIVE:
            self._abort_goals("the controller was deactivated")
            self.mode = Mode.INACTIVE
        return self.safe_command()

    # -- the cycle -----------------------------------------------------------------------------------------------

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
        """
        self.current = self.compiled = False
        if self.mode is Mode.INACTIVE:
            return self.safe_command()
        if not math.isfinite(q.dot(q) + v.dot(v)):
            self.counts["non_finite_state"] += 1
            return self.command
        self._changes.take_over()
        w = self._work
        before = self._watchdog.last
        way = np.subtract(q, w.q, out=self._way)
        if way.dot(way) > self._leap and self._has_jumped(t, q, v, way):
            self.counts["state_jump"] += 1
            return self.command
        arrival = self._watchdog.arrive(t)
        if arrival is not Arrival.NORMAL:
            if arrival in (Arrival.STILL, Arrival.LATE):
                self.counts["time_still" if arrival is Arrival.STILL else "time_late"] += 1
                return self.command
            if arrival is Arrival.BACKWARDS:
                self.counts["time_backwards"] += 1
            if not self.fault:
                self._restart(t, q, v, self.jump or f"the joint state's time went wrong: {arrival.value}")
        self.jump = ""
        if self.fault:
            return self._send_safe()
        if self.mode is Mode.SAFE:
            self._restart(t, q, v, "the joint state was stale")
        dt = 0.0 if self._fresh_start or before is None else (t - before) / NANOSECONDS
        w.q[:] = q
        w.v[:] = v
        self.compiled = self._ordinary(t, dt)
        if self.compiled:
            self._observe(t, dt, self.effort, self._previous, effort, altered=False)
            self._arm(t)
            return self.command
        self._follow(t)
        if self._integrates:
            law: Any = self.law
            advance_integral(w.z, w.e, dt, law.ki, law.i_clamp, self.guards.saturated)
        w.want_wrenches = self._law_gives_wrenches() and not self._external
        tau = self.effort
        try:
            self.law(w, tau)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            return self._fail(f"the control law failed: {error}")
        return self._finish(t, dt, tau, effort)

    def answer_packed(self, answer: PackedAnswer | None) -> None:
        """Write the commands of :meth:`update_packed` into this message; ``None``: no more packed messages will come."""
        self._armed = ()
        self._packed = None
        if answer is not None and self._compiled is not None:
            self._packed = PackedCycle(self._work.memory, answer)

    def update_packed(self, message: bytes, state: PackedState) -> PackedCycle | None:
        """:meth:`update` with a state that arrives as a packed message, if that is an ordinary cycle like the one before.

        Returns:
            What was in the message, when the cycle is done and the command written into the answer; ``None``, and nothing
            done, if it takes :meth:`update`.
        """
        packed, watchdog = self._packed, self._watchdog
        if packed is None or not self._follows_on(packed) or not packed.run(message, state):
            return None
        before, watchdog.last = watchdog.last, packed.last
        self.jump = ""
        self.current = self.compiled = True
        self.guards.pass_uncut()
        self._work.wrenches_current = self._law_gives_wrenches()
        if self.want_wrenches or self.observer is not None or self.flange is not None:
            measured = packed.arrived[2] if packed.measured else None
            assert before is not None
            dt = (packed.last - before) / NANOSECONDS
            self._observe(packed.last, dt, self.effort, packed.applied, measured, altered=False)
        return packed

    def _arm(self, t: int) -> None:
        """Note what the compiled cycle at ``t`` depended on: packed messages are answered as long as nothing of it changes."""
        packed, reference = self._packed, self._reference
        if packed is None or self._robot_gravity:
            return
        goal, path = reference.goal, reference.path
        until = NEVER if goal is None else goal.end
        if self.mode is Mode.STREAM:
            until = min(until, path.end)
        packed.arm(t, path, until, self._watchdog.timeout, self._leap, self._law_gives_wrenches())
        self._armed = (self.mode, self.law, self.guards, self._work.kernels, path, goal, self.want_wrenches)

    def _follows_on(self, packed: PackedCycle) -> bool:
        """Whether nothing has changed since :meth:`_arm`."""
        if not self._armed or self._watchdog.last != packed.last or self._watchdog.freshness is not Freshness.FRESH:
            return False
        mode, law, guards, kernels, path, goal, want_wrenches = self._armed
        reference = self._reference
        return (
            path is reference.path
            and goal is reference.goal
            and mode is self.mode
            and law is self.law
            and guards is self.guards
            and kernels is self._work.kernels
            and want_wrenches is self.want_wrenches
            and not self._blend.active
            and not self._external
            and not self._changes.ready
        )

    def _has_jumped(self, t: int, q: Array, v: Array, way: Array) -> bool:
        """Whether the arm cannot have come to ``q``, ``way`` from the last state, by ``t``; says so in ``jump``."""
        last, w = self._watchdog.last, self._work
        if last is None or self.mode is Mode.SAFE or not 0 < t - last <= self._watchdog.timeout:
            return False
        dt = (t - last) / NANOSECONDS
        speed = np.maximum(np.abs(v), np.abs(w.v))
        turns = np.where(self._reference.table.continuous, np.rint(way / (2.0 * np.pi)) * 2.0 * np.pi, 0.0)
        beyond = np.abs(way - turns) - _ROOM * speed * dt - self.options.max_state_jump
        worst = int(np.argmax(beyond))
        if beyond[worst] <= 0.0:
            return False
        self.jump = (
            f"the joint state has jumped: joint {self.model.joint_names[worst]!r} from {w.q[worst]:.4g} to {q[worst]:.4g} "
            f"in {dt:.4g} s, at a speed of {v[worst]:.4g}"
        )
        return True

    def _finish(self, t: int, dt: float, tau: Array, measured: Array | None) -> Array:
        w = self._work
        altered = self._idle is not None
        if self.options.trajectory_effort == "add" and self._reference.path.effort(t, self._feedforward) is not None:
            tau += self._feedforward
            altered = True
        if self._external:
            expired = self._external.expire(t)
            if expired:
                self.counts["external_wrench_expired"] += len(expired)
                self._blend.start()
            tau -= w.kernels.efforts_of(w.q, self._external.values)
        if self._idle is not None:
            tau[self._idle] = 0.0
        self._blend.apply(t, tau, self._previous)
        if not self.guards.begin(tau):
            return self._fail("the control law gave an effort that is not finite")
        if self.guards.near_limits(w.q, w.v):
            w.kernels.bias_forces(w.q, w.v, self._bias)
            w.kernels.mass_matrix(w.q, self._inertia)
            self.guards.limit_motion(tau, w.q, w.v, self._bias, self._inertia.diagonal())
            if self._idle is not None:
                tau[self._idle] = 0.0
        self.guards.limit_effort(tau, tau if self._fresh_start else self._previous, dt)
        self.guards.finish(tau)
        np.copyto(self.command, tau)
        self._leave_out_gravity()
        return self._observe(t, dt, tau, self._previous, measured, altered)

    def _leave_out_gravity(self) -> None:
        """Take from the command what the robot adds itself."""
        if self._robot_gravity:
            self._base.gravity_forces(self._work.q, self._gravity)
            self.command -= self._gravity
            if self._idle is not None:
                self.command[self._idle] = 0.0

    def _law_gives_wrenches(self) -> bool:
        """Whether wrenches are wanted, and the law's own pass of the inverse dynamics gives them."""
        commanded = self.options.wrench_acceleration == "commanded"
        return self.want_wrenches and commanded and self.law.inverts_dynamics

    def _ordinary(self, t: int, dt: float) -> bool:
        """The cycle up to the command in machine code; False, and nothing done, if it is out of the ordinary."""
        compiled, reference, w = self._compiled, self._reference, self._work
        if compiled is None or not compiled.ready or self._fresh_start or self._blend.active or self._external:
            return False
        watched, tolerances = reference.watched(t)
        path = reference.path
        if not watched or not self.guards.pass_uncut():
            return False
        if path.effort_coefficients is not None and self.options.trajectory_effort == "add":
            return False
        compiled.watch(tolerances)
        wanted = self._law_gives_wrenches()
        if not compiled.run(t, path, dt, wanted):
            return False
        w.wrenches_current = wanted
        self._leave_out_gravity()
        if not self.law.tracks:
            self.mode = Mode.FREE
        elif reference.streaming and reference.moving(t):
            self.mode = Mode.STREAM
        else:
            self.mode = Mode.HOLD if tolerances is None else Mode.TRAJECTORY
        return True

    def _observe(self, t: int, dt: float, tau: Array, before: Array, measured: Array | None, altered: bool) -> Array:
        """Estimates besides the command: external efforts, wrenches, the load at the flange.

        ``before`` is the effort of the cycle before.
        """
        w = self._work
        applied = measured if measured is not None else before  # what acted until this state
        if self.observer is not None and not self._estimates():
            if self._observes:
                self.observer.reset()
                self._observes = False
        elif self.observer is not None and not (self._fresh_start and measured is None):
            self._observes = True
            self.observer.update(w.kernels, w.q, w.v, applied, dt)
            if self.collision is not None and self.collision.update(self.observer.effort, dt):
                self.counts["collision"] += 1
                self._react(t)
            if self.contact is not None and self.contact.enabled:
                self.contact.update(w.kernels, w.q, self.observer.effort)
        if self.want_wrenches:
            altered = altered or self._blend.active or self.guards.cut
            self._wrench_pass.compute(
                w, tau, altered, measured, getattr(self.law, "friction", None), self._external.values, dt
            )
        else:
            self._wrench_pass.reset()
        if self.flange is not None:
            self._read_flange(self.flange, applied, dt)
        np.copyto(self._previous, tau)
        self._fresh_start = False
        self.current = True
        return self.command

    def _estimates(self) -> bool:
        """Whether somebody wants to know external efforts."""
        return self.want_efforts or self.collision is not None or (self.contact is not None and self.contact.enabled)

    def _read_flange(self, flange: FlangeLoad, applied: Array, dt: float) -> None:
        """The load at the flange; its estimate needs every joint state, or starts afresh."""
        if not flange.enabled:
            self._flange_reads = False
            return
        if not self._flange_reads:
            flange.reset()
            self._flange_reads = True
        from_effort = self.options.wrench_acceleration in ("commanded", "measured_effort") or not self.want_wrenches
        a = None if from_effort else self._wrench_pass.acceleration
        flange.update(self._work.q, self._work.v, applied, dt, self._external.values, a)

    def _follow(self, t: int) -> None:
        """Sample the reference, compare with it, and stop where a tolerance is violated."""
        w, r = self._work, self._reference
        if not self.law.tracks:
            w.q_d[:], w.v_d[:], w.a_d[:] = w.q, w.v, 0.0
            w.compute_errors()
            self.mode = Mode.FREE
            return
        self._sample(t)
        if r.goal is not None and not r.monitor(t, w.e, w.ed):
            self.counts["tolerance_violated"] += 1
            r.stop_from(t, w.q, w.v, GoalStatus.CANCELED)
            self._blend.start()
            self._sample(t)
        if r.streaming and r.moving(t):
            self.mode = Mode.STREAM
        else:
            self.mode = Mode.TRAJECTORY if r.goal is not None else Mode.HOLD

    def _sample(self, t: int) -> None:
        w = self._work
        self._reference.path.sample(t, w.reference)
        if self._idle is not None:
            i = self._idle
            w.q_d[i], w.v_d[i], w.a_d[i] = w.q[i], w.v[i], 0.0
        w.compute_errors()

    def _react(self, t: int) -> None:
        reaction = self.options.collision_reaction
        if reaction == "hold" and self.law.tracks:
            self._reference.stop_from(
                t, self._work.q, self._work.v, GoalStatus.ABORTED, ResultCode.INVALID_GOAL, "collision: holding"
            )
            self._blend.start()
        elif reaction == "gravity" and self.law.tracks:
            self._abort_goals("collision: giving way")
            self.set_law(_giving_way(self.law))

    def _fail(self, why: str) -> Array:
        self.fault = self.safe_reason = why
        self.counts["fault"] += 1
        self._abort_goals(why)
        return self._send_safe()

    def _send_safe(self) -> Array:
        self.mode = Mode.SAFE
        np.copyto(self.command, self.safe_command())
        np.copyto(self.effort, self.command)
        return self.command

    def watch(self, t: int) -> Array | None:
        """To be called by a timer: the safe command if the state is stale at time ``t`` or a fault stands, else None.

        With the next joint state the controller recovers from a stale state by itself and holds where the arm then is;
        a fault stays until :meth:`activate`.
        """
        if self.mode is Mode.INACTIVE:
            return None
        if self._watchdog.check(t) is Freshness.STALE:
            if self.mode is not Mode.SAFE:
                self.counts["stale_state"] += 1
                self.safe_reason = self.jump or f"no new joint state for {self.options.state_timeout:g} s"
                self._abort_goals(f"the joint state is stale: {self.safe_reason}")
            return self._send_safe()
        return self.command if self.mode is Mode.SAFE else None

    def excuse(self, t: int, gap: int) -> None:
        """The next state, of time ``t``, comes late because this process was delayed by ``gap`` ns, not the robot.

        Up to twice ``state_timeout`` the motion goes on as if nothing had happened; after more than that the arm is
        stopped where it is, and goals end with this reason.
        """
        self.counts["own_delay"] += 1
        if self.mode in (Mode.INACTIVE, Mode.SAFE) or self.fault:
            return
        if gap <= 2 * self._watchdog.timeout:
            self._watchdog.excuse(t)
        else:
            self._abort_goals(f"the controller's process was delayed by {gap / NANOSECONDS:.3f} s")

    # -- references ----------------------------------------------------------------------------------------------

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
        chosen = tolerances if tolerances is not None else self._tolerances
        if not len(trajectory):
            self.hold(t)
            goal = Goal(t, t, chosen)
            goal.finish(GoalStatus.SUCCEEDED, text="an empty trajectory: holding")
            return goal
        goal = self._reference.accept(trajectory, t, chosen)
        self.mode = Mode.TRAJECTORY
        return goal

    def accept_trajectory_later(
        self,
        make: Callable[[], Trajectory],
        done: Callable[[Goal | Exception, Trajectory | None], None],
        tolerances: Tolerances | None = None,
    ) -> None:
        """The same for long trajectories: read, checked and spliced in a thread of its own, followed when it is ready.

        A trajectory with a stamp of zero starts then.  Several are taken in the order of the calls.

        Args:
            make: makes the trajectory, in that thread.
            done: called between two cycles with the goal, or with the exception it was refused with (from ``make``
                too), and the trajectory.
            tolerances: instead of the default ones.
        """
        chosen = tolerances if tolerances is not None else self._tolerances

        def refused(error: Exception) -> None:
            done(error, None)

        def job(made: Trajectory | None = None, lead: int = LEAD) -> Callable[[], None]:
            trajectory = make() if made is None else made
            if not len(trajectory):
                return lambda: take_over(trajectory, None, lead)
            lead = max(lead, LEAD + len(trajectory) * LEAD_PER_POINT)
            proposal = self._reference.propose(trajectory, (self._watchdog.last or 0) + lead, chosen)
            return lambda: take_over(trajectory, proposal, lead)

        def take_over(trajectory: Trajectory, proposal: Proposal | None, lead: int) -> None:
            now = self._watchdog.last or 0
            try:
                self._require_tracking()
                if proposal is None:
                    done(self.accept_trajectory(trajectory, now, chosen), trajectory)
                    return
            except TrajectoryRejected as error:
                done(error, trajectory)
                return
            if self._reference.adopt(proposal, now):
                self.mode = Mode.TRAJECTORY
                done(proposal.goal, trajectory)
            else:  # the path was changed, or it took longer than thought
                self._changes.prepare("", partial(job, trajectory, 2 * lead), refused)

        self._changes.prepare("", job, refused)

    def accept_point(self, joint_names: Sequence[str], point: TrajectoryPoint, t: int) -> None:
        """Follow one streamed set-point until the next, or until ``stream_timeout`` brings the arm to a stop.

        Raises:
            TrajectoryRejected: with ``code`` and text; the arm goes on as before.
        """
        self._require_tracking()
        self._reference.stream(joint_names, point, t)
        self.mode = Mode.STREAM

    def hold(self, t: int, *, measured: bool = False) -> None:
        """Come to a stop within the deceleration and position limits, then stay.  Open goals are cancelled.

        Args:
            t: present time, ns.
            measured: start from the measured state instead of the present reference.
        """
        w = self._work
        if measured or not self.law.tracks:
            q, v = w.q, w.v
        else:
            q, v, _ = self._reference.path.sample(t)
        self._reference.stop_from(t, q, v, GoalStatus.CANCELED, text="hold was asked for")
        if measured:
            self._blend.start()

    def _abort_goals(self, why: str) -> None:
        self._reference.stop_from(
            self._watchdog.last or 0, self._work.q, self._work.v, GoalStatus.ABORTED, ResultCode.INVALID_GOAL, why
        )

    def safe_command(self) -> Array:
        """(n,) the command that ``options.safe_command`` names, at the last known position."""
        out = np.zeros(self.model.nv)
        if self.options.safe_command == "gravity":
            self._work.kernels.gravity_forces(self._work.q, out)
            np.clip(out, -self.guards.effort_limit, self.guards.effort_limit, out=out)
            if self._robot_gravity:
                self._base.gravity_forces(self._work.q, self._gravity)
                out -= self._gravity
            if self._idle is not None:
                out[self._idle] = 0.0
        return out

    def control(self, t: float, q: Array, v: Array) -> Array:
        """The same as a callable of time in seconds, for offline simulation; activates itself at the first call."""
        stamp = nanoseconds(t)
        if self.mode is Mode.INACTIVE:
            self.activate(stamp, q, v)
        return self.update(stamp, q, v)


def _giving_way(law: Law) -> Law:
    """The law in which an arm under ``law`` lets itself be pushed away."""
    return GravityCompensation(friction=getattr(law, "friction", None))
