"""The whole controller without ROS: a node only translates messages into these calls, a script calls them in a loop.

All arrays are in model order (``model.joint_names``), all times integers in nanoseconds of one clock, the clock of the
joint states' stamps.  Nothing here locks: calls belong to one thread, or to callbacks that exclude each other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.control.controller_parts import ControllerParts, Mode
from robot_dynamics_ros.control.integral import advance_integral
from robot_dynamics_ros.control.laws import GravityCompensation
from robot_dynamics_ros.control.options import ControllerOptions
from robot_dynamics_ros.control.reference.result import Goal, GoalStatus, ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS, Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.control.watchdog import Arrival, Freshness
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

__all__ = ["ControllerOptions", "JointController", "Mode"]


class JointController(ControllerParts):
    """Model, law, reference, guards and preallocated memory in one object.

    Attributes (arrays belong to the controller and are overwritten by the next cycle):
        model: the robot, payload excluded.
        law: see :mod:`robot_dynamics_ros.control.laws`.
        mode: a :class:`Mode`.
        fault: why the mode is SAFE; cleared by :meth:`activate`.
        reference: (3, n) desired position, velocity, acceleration.
        error: (2, n) desired minus measured position (the short way round for continuous joints) and velocity.
        effort: (n,) total effort asked of the joints after the guards, gravity included whoever supplies it.
        command: (n,) what is to be sent: ``effort``, less g(q) where the robot adds it.
        wrenches: (joints, 6) [moment; force] that the parent side exerts on each child link, about the joint's origin,
            in the child link's frame; see ``ControllerOptions.wrench_acceleration``.
        want_wrenches: set to False to save computing them.
        counts: cause → how often, for the life of the controller.
        observer: estimate of external efforts, or ``None``; see :class:`MomentumObserver`.
        collision: collision flag on top of it, or ``None``.
    """

    # -- life cycle (outside the control cycle) ------------------------------------------------------------------

    @property
    def goal(self) -> Goal | None:
        """The trajectory goal that is active, or the next one waiting."""
        return self._reference.goal

    def activate(self, t: int, q: Array, v: Array) -> None:
        """Start (or start afresh) by holding where the arm is; a moving arm is brought to a stop within its limits.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.

        Raises:
            ArgumentError: a state of the wrong length or not finite; the controller stays as it was.
        """
        q, v = self._checked(q, "q"), self._checked(v, "v")
        self.fault = ""
        self._watchdog.reset()
        self._watchdog.arrive(t - 1)
        self._external.clear()
        self._restart(t, q, v, "the controller was started afresh")

    def _restart(self, t: int, q: Array, v: Array, why: str) -> None:
        w = self._work
        w.q[:], w.v[:], w.integral[:] = q, v, 0.0
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

        A state that is not finite, or whose stamp repeats or is a little late, is counted and leaves the command as it
        was; one that is much older, or that comes after a gap, makes the controller hold where the arm is.

        Args:
            t: stamp of the state, ns.
            q, v: (n,) measured position and velocity.
            effort: (n,) measured effort, for the observer and ``wrench_acceleration="measured_effort"``; without it the
                commanded effort of the cycle before takes its place.

        Returns:
            (n,) efforts to command: always finite, within the effort limits; ``command`` itself.
        """
        if self.mode is Mode.INACTIVE:
            return self.safe_command()
        if not math.isfinite(q.dot(q) + v.dot(v)):
            self.counts["non_finite_state"] += 1
            return self.command
        if self._prepared is not None:
            self._take_over()
        w = self._work
        before = self._watchdog.last
        arrival = self._watchdog.arrive(t)
        if arrival is not Arrival.NORMAL:
            if arrival in (Arrival.STILL, Arrival.LATE):
                self.counts["time_still" if arrival is Arrival.STILL else "time_late"] += 1
                return self.command
            if arrival is Arrival.BACKWARDS:
                self.counts["time_backwards"] += 1
            if not self.fault:
                self._restart(t, q, v, f"the joint state's time went wrong: {arrival.value}")
        if self.fault:
            return self._send_safe()
        if self.mode is Mode.SAFE:
            self._restart(t, q, v, "the joint state was stale")
        dt = 0.0 if self._fresh_start or before is None else (t - before) / NANOSECONDS
        w.q[:] = q
        w.v[:] = v
        self._follow(t)
        if self._integrates:
            law: Any = self.law
            advance_integral(w.integral, w.e, dt, law.ki, law.i_clamp, self.guards.saturated)
        w.want_wrenches = self.want_wrenches and self.options.wrench_acceleration == "commanded" and not self._external
        tau = self.effort
        try:
            self.law(w, tau)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            return self._fail(f"the control law failed: {error}")
        return self._finish(t, dt, tau, effort)

    def _finish(self, t: int, dt: float, tau: Array, measured: Array | None) -> Array:
        w = self._work
        altered = self._idle is not None
        if self.options.trajectory_effort == "add" and self._reference.path.effort(t, w.s0) is not None:
            tau += w.s0
            altered = True
        if self._external:
            expired = self._external.expire(t)
            if expired:
                self.counts["external_wrench_expired"] += len(expired)
                self._blend.start()
            self._external.subtract(w, tau)
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
        if self._robot_gravity:
            self._base.gravity_forces(w.q, self._gravity)
            self.command -= self._gravity
            if self._idle is not None:
                self.command[self._idle] = 0.0
        applied = measured if measured is not None else self._previous
        if self.observer is not None and not (self._fresh_start and measured is None):
            self.observer.update(w.kernels, w.q, w.v, applied, dt)
            if self.collision is not None and self.collision.update(self.observer.effort, dt):
                self.counts["collision"] += 1
                self._react(t)
        if self.want_wrenches:
            altered = altered or self._blend.active or self.guards.cut
            self._wrench_pass.compute(
                w, tau, altered, measured, getattr(self.law, "friction", None), self._external.values, dt
            )
        np.copyto(self._previous, tau)
        self._fresh_start = False
        return self.command

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
        if r.moving(t):
            self.mode = Mode.STREAM if r.streaming else Mode.TRAJECTORY
        else:
            self.mode = Mode.HOLD

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
            self.set_law(GravityCompensation(friction=getattr(self.law, "friction", None)))

    def _fail(self, why: str) -> Array:
        self.fault = why
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
                self._abort_goals("the joint state is stale")
            return self._send_safe()
        return self.command if self.mode is Mode.SAFE else None

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

    def _checked(self, values: Any, name: str) -> Array:
        try:
            array = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty(0)
        if array.shape != (self.model.nv,) or not np.isfinite(array).all():
            raise ArgumentError(
                f"expected {self.model.nv} finite numbers, got {values!r}",
                where=name,
                got=values,
                remedy=f"Give one value for each of {', '.join(self.model.joint_names)}.",
            )
        return array
