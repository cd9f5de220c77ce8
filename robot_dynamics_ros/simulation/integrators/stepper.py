"""Time stepping of one robot: the routines of :mod:`~robot_dynamics_ros.simulation.integrators.timestepping` and their memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.routines import Memory, make_routines
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.effects.complementarity import complementarity_arrays, unresolved
from robot_dynamics_ros.simulation.effects.friction import FrictionTable
from robot_dynamics_ros.simulation.integrators import timestepping
from robot_dynamics_ros.simulation.system import JointSystem

__all__ = ["Stops", "TimeStepper"]


class Stops:
    """Rigid stops as (nv,) arrays.

    Attributes:
        lower, upper: infinite where there is none.
        restitution, rest_velocity: see :class:`~robot_dynamics_ros.simulation.effects.limits.RigidStops`.
        tolerance: distance below which a joint counts as touching.
        any: whether there is any stop.
    """

    def __init__(self, lower: Array, upper: Array, restitution: Array, rest_velocity: float) -> None:
        self.lower, self.upper, self.restitution, self.rest_velocity = lower, upper, restitution, rest_velocity
        finite = np.maximum(
            np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
        )
        self.tolerance = 1e-12 * (1.0 + finite)
        self.any = bool(np.isfinite(lower).any() or np.isfinite(upper).any())

    @classmethod
    def none(cls, nv: int) -> Stops:
        """No stops."""
        return cls(np.full(nv, -np.inf), np.full(nv, np.inf), np.zeros(nv), 1e-3)

    def touching(self, position: Array) -> tuple[np.ndarray, np.ndarray]:
        """(nv,), (nv,) which joints are at their lower and upper stop."""
        return position <= self.lower + self.tolerance, position >= self.upper - self.tolerance


class TimeStepper:
    """Advances a system by time stepping.

    Args:
        system: what moves.
        stops: rigid stops.
        midpoint: Moreau's midpoint rule; else semi-implicit Euler.
        limits: (lower, upper, velocity, effort), (nv,) each, of the command limiter; ``None`` for no limiter.
        compiled: use machine code where there is a compiler.

    Attributes:
        memory: everything the routines work on.
        compiled: whether they are machine code.
    """

    def __init__(
        self,
        system: JointSystem,
        stops: Stops,
        *,
        midpoint: bool,
        limits: tuple[Array, Array, Array, Array] | None = None,
        compiled: bool = True,
    ) -> None:
        self.system, self.stops, self.midpoint = system, stops, midpoint
        kernels = _kernels(system)
        flat = [e for k in kernels.values() for e in (k if isinstance(k, tuple) else (k,))]
        self.compiled = compiled and system.nv > 0 and all(e.backend in ("native", "loops") for e in flat)
        self.memory = _memory(system, stops, midpoint, limits is not None, kernels, self.compiled)
        functions = (
            timestepping.step,
            timestepping.run,
            timestepping.hold,
            timestepping.advance,
            timestepping.substep,
            timestepping.prepare,
            timestepping.predict,
            timestepping.finish,
            timestepping.check_progress,
            timestepping.take,
        )
        self.routines = make_routines(
            self.memory, functions, compiled=self.compiled, entry="step", entry_size=system.nv
        )
        _fill(self.memory, system, stops, limits)
        self._friction: FrictionTable | None = None
        self.set_friction()

    def set_friction(self) -> None:
        """Take over the friction of the system, with brakes or without."""
        table, memory = self.system.friction, self.memory
        if table is not self._friction:
            self._friction = table
            memory["viscous"][:], memory["coulomb"][:], memory["rise"][:] = table.viscous, table.coulomb, table.rise
            memory["stribeck_velocity"][:], memory["stribeck_exponent"][:] = table.velocity, table.exponent
            memory["dry"][:] = table.dry

    def set_state(self, y: Array) -> None:
        """Write [q; v; z] to the memory."""
        nq, nv, memory = self.system.nq, self.system.nv, self.memory
        memory["q"][:], memory["v"][:], memory["z"][:] = y[:nq], y[nq : nq + nv], y[nq + nv :]

    def state(self) -> Array:
        """[q; v; z], a copy."""
        return np.concatenate((self.memory["q"], self.memory["v"], self.memory["z"]))

    def next_state(self) -> Array:
        """[q; v; z] at the end of the last step, a copy."""
        return np.concatenate((self.memory["q1"], self.memory["v1"], self.memory["z1"]))

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed.

        Raises:
            SimulationError: friction and stops cannot be resolved.
        """
        system, memory = self.system, self.memory
        if not system.nv:
            return y.copy()
        self.set_friction()
        self.set_state(y)
        memory["held"][:] = system.command
        if system.world_wrenches or (system.user_effort is not None):
            done = self._in_parts(t, h)
        else:
            memory["external"][:] = system.body_wrenches()
            done = self.routines["substep"](memory, h)
        if not done:
            raise unresolved()
        return self.next_state()

    def _in_parts(self, t: float, h: float) -> bool:
        """A step with what only Python can tell: the user's effort, wrenches in world axes."""
        system, memory, run = self.system, self.memory, self.routines
        at = memory["q"].copy()
        if self.midpoint:
            system.integrate(memory["q"], 0.5 * h * memory["v"], at)
        memory["external"][:] = system.body_wrenches(at)
        memory["user"][:] = system.given_effort(t, at, memory["v"])
        if not run["prepare"](memory, h):
            return False
        if self.midpoint:
            run["predict"](memory, h)
            memory["user"][:] = system.given_effort(t + 0.5 * h, at, memory["middle"])
        done = bool(run["finish"](memory, h))
        memory["user"][:] = 0.0
        return done


def _kernels(system: JointSystem) -> dict[str, Any]:
    model = system.model
    kernels: dict[str, Any] = {
        "mass_matrix": evaluator(model, "mass_matrix"),
        "bias_forces": evaluator(model, "bias_forces", (("external", system.external_links),)),
    }
    if system.contacts:
        links = [model.link_index(contact.link) for contact in system.contacts]
        kernels["link_pose"] = tuple(evaluator(model, "link_pose", (("link", k),)) for k in links)
        kernels["link_jacobian"] = tuple(
            evaluator(model, "jacobian", (("frame", "world"), ("link", k))) for k in links
        )
    return kernels


def _memory(
    system: JointSystem, stops: Stops, midpoint: bool, limiter: bool, kernels: dict[str, Any], compiled: bool
) -> Memory:
    nq, nv, nz, nc = system.nq, system.nv, system.nz, len(system.contacts)
    floating = system.coordinates.floating
    constants = {
        "nq": nq,
        "nv": nv,
        "motors": nz,
        "contacts": nc,
        "floating": len(floating),
        "midpoint": midpoint,
        "limiter": limiter,
        "has_motors": nz > 0,
        "has_contacts": nc > 0,
        "has_floating": bool(floating),
        "has_springs": system.springs is not None,
        "has_compliant_stops": system.stops is not None,
        "has_rigid_stops": stops.any,
    }
    vectors = (
        "command held tau user external_effort viscous coulomb rise stribeck_velocity lower upper tolerance restitution "
        "velocity_limit effort_limit limit_lower limit_upper spring_p spring_d spring_rest spring_rate spring_constant "
        "stop_lower stop_upper stop_stiffness stop_damping v1 v0 previous previous0 position damping stiffness stiff "
        "middle effort bias bound contact_along"
    ).split()
    motor = "z z1 z0 motor_R motor_L motor_kt motor_ke max_voltage max_current new_current mean_current motor_damping"
    contact = (
        "contact_radius contact_stiffness contact_exponent contact_dissipation contact_friction contact_slip_velocity "
        "contact_depth contact_sliding"
    )
    arrays, integers = complementarity_arrays(nv)
    arrays |= dict.fromkeys(("q", "q1", "q0", "at"), (nq,)) | dict.fromkeys(vectors, (nv,))
    arrays |= dict.fromkeys(motor.split(), (nz,)) | dict.fromkeys(contact.split(), (nc,))
    arrays |= dict.fromkeys(("contact_offset", "contact_plane", "contact_normal", "contact_arm", "contact_force"), (nc, 3))
    square = (nv, nv) if nc else (0, nv)
    arrays |= {"contact_jacobian": (3 * nc, nv), "K": square, "D": square, "jacobian": (6, nv), "pose": (4, 4)}
    arrays |= {"external": (len(system.external_links), 6), "contact_slip": (3,), "link_origin": (3,), "flight": (3,)}
    arrays |= dict.fromkeys(("h", "max_speed", "rest_velocity", "stribeck_exponent"), (1,))
    integers |= {"dry": (nv,), "limit": (nv,), "q_of_v": (nv,), "motor_index": (nz,)}
    integers |= {"floating_q": (len(floating),), "floating_v": (len(floating),), "alternating": (2,)}
    integers |= dict.fromkeys(("status", "steps", "substeps", "failed", "trusted"), (1,))
    return Memory(constants, arrays, integers, kernels, compiled=compiled)


def _fill(memory: Memory, system: JointSystem, stops: Stops, limits: Any) -> None:
    def put(**values: Any) -> None:
        for name, value in values.items():
            memory[name][...] = value

    coordinates = system.coordinates
    put(q_of_v=coordinates.q_of_v, substeps=1, max_speed=np.inf)
    if coordinates.floating:
        put(floating_q=[iq for iq, _ in coordinates.floating], floating_v=[iv for _, iv in coordinates.floating])
    put(lower=stops.lower, upper=stops.upper, tolerance=stops.tolerance)
    put(restitution=stops.restitution, rest_velocity=stops.rest_velocity)
    if limits is not None:
        put(limit_lower=limits[0], limit_upper=limits[1], velocity_limit=limits[2], effort_limit=limits[3])
    if (s := system.springs) is not None:
        put(spring_p=s.p, spring_d=s.d, spring_rest=s.rest, spring_rate=s.rate, spring_constant=s.constant)
    if (c := system.stops) is not None:
        put(stop_lower=c.lower, stop_upper=c.upper, stop_stiffness=c.stiffness, stop_damping=c.damping)
    if (m := system.motors) is not None:
        put(motor_index=m.index, motor_R=m.R, motor_L=m.L, motor_kt=m.kt, motor_ke=m.ke)
        put(max_voltage=m.max_voltage, max_current=m.max_current)
    for k, g in enumerate(system.contacts):
        memory["contact_offset"][k], memory["contact_normal"][k] = g.offset, g.plane_normal
        memory["contact_plane"][k] = g.plane_point
        for word in ("radius", "stiffness", "exponent", "dissipation", "friction", "slip_velocity"):
            memory[f"contact_{word}"][k] = getattr(g, word)


