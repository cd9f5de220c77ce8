"""Time stepping in machine code, for the steps in which nothing sticks, strikes or reverses: most of them.

Such a step is tried first.  If it turns out that no joint has come to rest or met a stop in it, it is the solution of
the complementarity problem, whose friction impulses are then all at their bounds and whose stop impulses are all zero;
otherwise it is thrown away and the step is done in full.  What is done depends on the state alone, so that runs repeat bit
for bit.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.dynamics import kernel
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.moreau import MoreauStepper
from robot_dynamics_ros.simulation.integrators.timestepping import TimeStepper

__all__ = ["SmoothFirst", "with_smooth_steps"]


class SmoothFirst:
    """Advances a system by trying the compiled step first.

    Args:
        full: what does every other step.
    """

    def __init__(self, full: TimeStepper) -> None:
        self.full, self.system, self.stops = full, full.system, full.stops
        self._second_order = isinstance(full, MoreauStepper)
        self._run = kernel(self.system.model, _name(full))
        self._friction = self.system.friction
        self._all_dry = bool(self._friction.dry.all())
        self._any_dry = bool(self._friction.dry.any())
        self._free = ~self._friction.dry
        self._damped = bool(self._friction.viscous.any())
        self._low, self._high = self.stops.lower - self.stops.tolerance, self.stops.upper + self.stops.tolerance
        nv = self.system.nv
        self._h, self._tau = np.zeros(1), np.empty(nv)
        self._agreement, self._margin = np.empty(nv), np.empty(1)

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
        y1 = self._try(y, h)
        return self.full.advance(t, y, h) if y1 is None else y1

    def _try(self, y: Array, h: float) -> Array | None:
        system, friction = self.system, self._friction
        if system.friction is not friction:  # the brakes are on
            return None
        nq = system.nq
        q, v = y[:nq], y[nq:]
        tau = system.command
        if self._any_dry:
            if not self._all(v != 0.0):
                return None
            tau = np.multiply(np.sign(v), friction.coulomb, out=self._tau)
            np.subtract(system.command, tau, out=tau)
        if system.wrenches:
            at = q + 0.5 * h * v if self._second_order else q
            tau = tau.copy()
            for link, wrench, in_world in system.wrenches:
                tau += system.wrench_effort(at, link, wrench, in_world)
        y1 = np.empty_like(y)
        q1, v1 = y1[:nq], y1[nq:]
        self._h[0] = h
        if self._second_order:
            self._run(q, v, tau, friction.viscous, self._h, q1, v1, self._agreement, self._margin)
            if self._damped and self._margin[0] < 0.0:
                return None
        else:
            self._run(q, v, tau, friction.viscous, self._h, q1, v1)
            np.multiply(v1, v, out=self._agreement)
        if self._any_dry and not self._all(self._agreement > 0.0):
            return None
        if self.stops.any and not ((q1 >= self._low).all() and (q1 <= self._high).all()):
            return None
        return y1

    def _all(self, holds: np.ndarray) -> bool:
        """Whether something holds for all joints with dry friction."""
        return bool(holds.all() if self._all_dry else (holds | self._free).all())


def _name(full: TimeStepper) -> str:
    return "moreau_step" if isinstance(full, MoreauStepper) else "semi_implicit_step"


def with_smooth_steps(full: TimeStepper) -> TimeStepper | SmoothFirst:
    """The stepper with compiled steps before it, where the system is plain enough and there is a compiler.

    Plain are joints of one degree of freedom or planar ones, with viscous and Coulomb friction and rigid stops or none.
    """
    system = full.system
    acting = (system.motors, system.springs, system.stops, system.user_effort)
    plain = (
        system.coordinates.vector
        and system.nv > 0
        and not system.contacts
        and not system.friction.curved
        and all(part is None for part in acting)
    )
    if plain and evaluator(system.model, _name(full)).backend == "native":
        return SmoothFirst(full)
    return full
