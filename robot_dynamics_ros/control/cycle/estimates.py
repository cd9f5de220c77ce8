"""Last step: what is known besides the command: external efforts, collision, contact, joint wrenches, load at the flange."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.cycle.memory import bound
from robot_dynamics_ros.control.cycle.wrench_pass import COMMANDED, MEASURED, compute_wrenches
from robot_dynamics_ros.control.observer import CollisionMonitor
from robot_dynamics_ros.control.requests import Requests
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import motor_effort


class Estimates(Requests):
    """Part of :class:`~robot_dynamics_ros.control.controller.JointController`, which says what the attributes are."""

    collision: CollisionMonitor | None
    contact: ContactEstimate | None

    def _begin_estimates(self) -> None:
        if self.contact is not None and self.observer is None:
            problem = "there is no observer to know external efforts from"
            raise ArgumentError(problem, where="contact", remedy="Give the controller a MomentumObserver too.")
        self.wrench_acceleration = self.memory["wrench_acceleration"]
        self._measured, (self._converted, self._velocity) = self.memory["arrived"][2], np.zeros((2, self.model.nv))
        efforts = self._measured if self.options.measured_effort.plain else self._converted
        self._compute_wrenches = bound(self.memory, self.routines, compute_wrenches, efforts)
        self._observes = self._reads_flange = False
        if self.contact is not None:
            self.base.link(self.contact.link)  # compiled now
        if self.flange is not None:
            self.flange.use(self.base)

    def estimate(self, *, measured: bool) -> None:
        """The rest of that cycle: external efforts, contact, wrenches; ``measured``: the state has efforts."""
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
            self._observes = needed and not (fresh and effort is None)
            if self._observes:
                external = self.observer.update(work.kernels, work.q, work.v, applied, dt)
                if self.collision is not None and self.collision.update(external, dt):
                    self.counts["collision"] += 1
                    self._collided()
                if contact is not None:
                    contact.update(work.kernels, work.q, external)
        self._compute_wrenches(effort is not None)
        flange = self.flange if self.flange is not None and self.flange.enabled else None
        if flange is not None:
            if not self._reads_flange:  # its estimate needs every joint state, or starts afresh
                flange.reset()
            from_effort = p.wrench_source[0] in (COMMANDED, MEASURED) or not self.want_wrenches
            a = None if from_effort else self.wrench_acceleration
            flange.update(work.q, work.v, applied, dt, self.external_wrenches, a)
        self._reads_flange = flange is not None
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

    def _collided(self) -> None:
        reaction = self.options.collision_reaction
        if reaction == "none" or not self.law.tracks:
            return
        self.between_cycles("collide", text=f"collision: {'holding' if reaction == 'hold' else 'giving way'}")
        if reaction == "gravity":
            self.set_law(self._giving_way(self.law))
