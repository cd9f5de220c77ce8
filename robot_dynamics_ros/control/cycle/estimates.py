"""Last step: what is known besides the command: external efforts, collision, contact, joint wrenches, load at the flange."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.cycle.runner import CycleRunner
from robot_dynamics_ros.control.cycle.wrench_pass import COMMANDED, MEASURED
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import motor_effort


class Estimates:
    """The estimates of one controller, in the order in which they need each other.

    Args:
        runner: the cycle.
        observer, collision, contact, flange: those to keep up to date, or ``None``.
        collided: called in the cycle in which the collision flag rises.
    """

    def __init__(
        self,
        runner: CycleRunner,
        observer: MomentumObserver | None,
        collision: CollisionMonitor | None,
        contact: ContactEstimate | None,
        flange: FlangeLoad | None,
        collided: Callable[[], None],
    ) -> None:
        if contact is not None and observer is None:
            raise ArgumentError(
                "there is no observer to know external efforts from",
                where="contact",
                remedy="Give the controller a MomentumObserver too.",
            )
        self._runner, self._collided = runner, collided
        self.observer, self.collision, self.contact, self.flange = observer, collision, contact, flange
        options = runner.options
        self._measured, self._acceleration = runner.memory["arrived"][2], runner.memory["wrench_acceleration"]
        self._kind, self._converted, self._before = options.measured_effort, *np.zeros((2, runner.model.nv))
        motor_effort = self._measured if self._kind.plain else self._converted
        self._compute_wrenches = runner.execution.wrenches_for(motor_effort)
        self._observes = self._reads_flange = False
        if contact is not None:
            contact.prepare(runner.base)
        if flange is not None:
            flange.use(runner.base)

    def after_cycle(self, *, measured: bool) -> None:
        """Take the state and the command of the cycle that is done.

        Args:
            measured: whether the state came with efforts.
        """
        runner = self._runner
        fresh = bool(runner.p.fresh[0])
        if fresh:
            self.reset()
        measured = measured and self._kind.measured
        dt = runner.p.dt[0]
        effort = self._motor_effort(dt) if measured else None
        applied = runner.previous if effort is None else effort  # what acted until this state
        if self.observer is not None and not self._observer_is_needed():
            if self._observes:
                self.observer.reset()
                self._observes = False
        elif self.observer is not None and (measured or not fresh):
            self._observe(self.observer, applied, dt)
        self._compute_wrenches(effort is not None)
        if self.flange is not None:
            self._read_flange(self.flange, applied, dt)
        runner.p.fresh[0] = 0

    def reset(self) -> None:
        """The motion is a new one."""
        if self.observer is not None:
            self.observer.reset()
        if self.collision is not None:
            self.collision.reset()

    def robot_changed(self) -> None:
        """Go on with the robot's new functions; the estimates stay."""
        if self.observer is not None:
            self.observer.rebase()
        if self.flange is not None:
            self.flange.use(self._runner.work.kernels)

    def _motor_effort(self, dt: float) -> Array:
        """(n,) what the motors gave until this state, from the efforts that came with it.

        The momentum observer integrates τ: a rotor's B Δv / Δt is exact there, however the speed has changed meanwhile.
        """
        kind, runner = self._kind, self._runner
        if kind.plain:
            return self._measured
        work = runner.work
        friction: Array | float = 0.0
        rotor: Array | float = 0.0
        if kind.meaning == "link_torque":
            law = getattr(runner.law, "friction", None) if self.observer is None else self.observer.friction
            friction = 0.0 if law is None else law.effort(work.v)
            if runner.p.fresh[0] == 0 and dt > 0.0:
                rotor = work.model.rotor_effort((work.v - self._before) / dt)
            np.copyto(self._before, work.v)
        gravity = work.gravity_forces() if kind.meaning == "torque_without_gravity" else self._measured
        return motor_effort(
            kind,
            self._measured,
            applied=runner.previous,
            gravity=gravity,
            friction=friction,
            rotor=rotor,
            out=self._converted,
        )

    def _observer_is_needed(self) -> bool:
        return (
            self._runner.want_efforts
            or self.collision is not None
            or (self.contact is not None and self.contact.enabled)
        )

    def _observe(self, observer: MomentumObserver, applied: Array, dt: float) -> None:
        work = self._runner.work
        self._observes = True
        observer.update(work.kernels, work.q, work.v, applied, dt)
        if self.collision is not None and self.collision.update(observer.effort, dt):
            self._runner.counts["collision"] += 1
            self._collided()
        if self.contact is not None and self.contact.enabled:
            self.contact.update(work.kernels, work.q, observer.effort)

    def _read_flange(self, flange: FlangeLoad, applied: Array, dt: float) -> None:
        """The load at the flange; its estimate needs every joint state, or starts afresh."""
        if not flange.enabled:
            self._reads_flange = False
            return
        if not self._reads_flange:
            flange.reset()
            self._reads_flange = True
        work, p = self._runner.work, self._runner.p
        from_effort = p.wrench_source[0] in (COMMANDED, MEASURED) or not self._runner.want_wrenches
        a = None if from_effort else self._acceleration
        flange.update(work.q, work.v, applied, dt, self._runner.external_wrenches, a)
