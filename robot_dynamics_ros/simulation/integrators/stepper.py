"""Time stepping as an integrator: the routines of :mod:`~robot_dynamics_ros.simulation.integrators.timestepping`."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.effects.complementarity import unresolved
from robot_dynamics_ros.simulation.system import JointSystem


class TimeStepper:
    """Advances a system by time stepping, by Moreau's rule or semi-implicit Euler as the system's memory has it."""

    def __init__(self, system: JointSystem) -> None:
        self.system = system
        self._midpoint = bool(dict(system.memory.layout.constants)["midpoint"])

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
        system, memory = self.system, self.system.memory
        nq, nv = system.nq, system.nv
        if not nv:
            return y.copy()
        kept = [memory[name].copy() for name in ("q", "v", "z")]
        memory["q"][:], memory["v"][:], memory["z"][:] = y[:nq], y[nq : nq + nv], y[nq + nv :]
        done = self.step(t, h)
        y1 = np.concatenate((memory["q1"], memory["v1"], memory["z1"]))
        memory["q"][:], memory["v"][:], memory["z"][:] = kept
        if not done:
            raise unresolved(memory, h, system.coordinates.names)
        return y1

    def step(self, t: float, h: float) -> bool:
        """One step from ``q``, ``v``, ``z`` to ``q1``, ``v1``, ``z1`` of the memory, whether or not it makes sense."""
        system, memory, run = self.system, self.system.memory, self.system.routines
        positions = memory["q"]
        if self._midpoint and (system.world_wrenches or system.user_effort is not None):
            positions = np.empty_like(memory["q"])
            system.integrate(memory["q"], 0.5 * h * memory["v"], positions)
        memory["external"][:] = system.body_wrenches(positions)
        memory["pushed"][0] = bool(system.link_wrenches or system.world_wrenches)
        if system.user_effort is None:
            return bool(run["substep"](memory, h))
        memory["user"][:] = system.given_effort(t, positions, memory["v"])
        if not run["prepare"](memory, h):
            return False
        if self._midpoint:
            run["predict"](memory, h)
            memory["user"][:] = system.given_effort(t + 0.5 * h, positions, memory["middle"])
        return bool(run["finish"](memory, h))
