"""A robot and all that acts on it, as integrators see it.

    M(q) q̈ = τ_motor + τ_springs + τ_stops + τ_user + Σ Jᵀ w − d v − σ F(|v|) − b(q, v),     q̈ = 0
    at locked joints

is the motion between two events: σ, the sliding direction of each joint, and the locked joints are
held over a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics import WrenchGatherer, kernel
from robot_dynamics_ros.dynamics.complementarity import not_definite
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator, Kernel
from robot_dynamics_ros.dynamics.engine.routines import Memory, make_routines
from robot_dynamics_ros.errors import ArgumentError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import MotorTable
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates
from robot_dynamics_ros.simulation.effects.contact import GroundContact
from robot_dynamics_ros.simulation.effects.friction import FrictionTable
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, stop_parameters
from robot_dynamics_ros.simulation.integrators import timestepping
from robot_dynamics_ros.simulation.integrators.momentum import COTH, TANH
from robot_dynamics_ros.simulation.integrators.timestepping import PlantMemory
from robot_dynamics_ros.simulation.plant_options import PlantOptions

NONE = np.empty(0, dtype=np.intp)
"""No joints."""


def _kernels_of(
    model: RobotModel,
    o: PlantOptions,
    midpoint: bool,
) -> dict[str, Evaluator | tuple[Evaluator, ...]]:
    """The functions of the robot that the routines call."""
    kernels: dict[str, Evaluator | tuple[Evaluator, ...]] = {
        "mass_matrix": evaluator(model, "mass_matrix")
    }
    loops = o.constraints is not None and o.constraints.rows > 0
    if midpoint and not loops:
        kernels["generalized_momentum"] = evaluator(model, "generalized_momentum")
        kernels["external_efforts"] = evaluator(model, "external_efforts", (("external", True),))
    else:
        kernels["bias_forces"] = evaluator(model, "bias_forces", (("external", True),))
    if o.contacts:
        links = [model.link_index(contact.link) for contact in o.contacts]
        kernels["link_pose"] = tuple(evaluator(model, "link_pose", (("link", k),)) for k in links)
        kernels["link_jacobian"] = tuple(
            evaluator(model, "jacobian", (("frame", "world"), ("link", k))) for k in links
        )
    if loops:
        assert o.constraints is not None
        kernels["constraint_terms"] = evaluator(
            model, "constraint_terms", (("constraints", o.constraints.specs),)
        )
    return kernels


WrenchesAt: TypeAlias = Callable[[float], tuple[dict[str, Array], dict[str, Array]]]
"""Time, s → external wrenches by link, in link axes and in world axes."""


def _contact_parameters(contacts: Sequence[GroundContact]) -> dict[str, list[object]]:
    """Field of the memory of time stepping → its numbers, a row a contact."""
    words = (
        "offset",
        "radius",
        "stiffness",
        "exponent",
        "dissipation",
        "friction",
        "slip_velocity",
    )
    values: dict[str, list[object]] = {
        f"contact_{word}": [getattr(contact, word) for contact in contacts] for word in words
    }
    values["contact_normal"] = [contact.plane_normal for contact in contacts]
    values["contact_plane"] = [contact.plane_point for contact in contacts]
    return values


class JointSystem:
    """A :class:`~robot_dynamics_ros.simulation.integrators.methods.MechanicalSystem` made of a
    model and what acts on it.

    Args:
        bounds: (nv,), (nv,) position limits.
        drives: limits of the command limiter, (nv,) each, by their names in the memory.
        midpoint: time stepping by Moreau's midpoint rule; else by semi-implicit Euler.

    Attributes:
        memory: the state of time stepping, and the parameters of all effects.
        routines: the functions of :mod:`~robot_dynamics_ros.simulation.integrators.timestepping` on
            that memory.
        friction: of the joints, brakes included.
        wrenches_at: gives both of the following at a time, s, where they are functions of time.
        link_wrenches, world_wrenches: link name → (6,) external wrench in link axes, in world axes,
            held over the step.
        slip: (nv,) sliding direction −1, 0, +1.
    """

    def __init__(
        self,
        coordinates: Coordinates,
        options: PlantOptions,
        friction: FrictionTable,
        bounds: tuple[Array, Array],
        drives: dict[str, Array],
        *,
        midpoint: bool,
    ) -> None:
        self.coordinates = coordinates
        self.options = options
        self.model = coordinates.model
        self.integrate = coordinates.integrate
        self.normalize = coordinates.normalize
        self.twists = [iv for _, iv in self.coordinates.floating]
        self.nq = self.model.nq
        self.nv = self.model.nv
        self.motors = MotorTable(self.model, options.motors or {})
        self.nz = len(self.motors)
        self.contacts = options.contacts
        self.user_effort = options.user_effort
        self._midpoint = midpoint
        self.kernels = _kernels_of(self.model, options, midpoint)
        flat = list(
            itertools.chain.from_iterable(
                (k if isinstance(k, tuple) else (k,)) for k in self.kernels.values()
            )
        )
        self.compiled = (
            options.compiled and self.nv > 0 and all(e.backend in ("native", "loops") for e in flat)
        )
        self.memory = self._filled_memory(friction, bounds, drives)
        self.routines = make_routines(
            self.memory,
            timestepping.STEPPING_ROUTINES,
            compiled=self.compiled,
            loops=True,
            entry="step",
            entry_size=self.nv,
        )
        self.slip = self.memory["slip"]
        self.set_friction(friction)
        self.link_wrenches: dict[str, Array] = {}
        self.world_wrenches: dict[str, Array] = {}
        self.wrenches_at: WrenchesAt | None = None
        self.set_modes()
        self._gatherer = WrenchGatherer(self.model)
        self._M = np.empty((self.nv, self.nv))
        self._b = np.empty(self.nv)
        self._wrenches = np.zeros((self.model.nb, 6))
        self._kernels: dict[str, Kernel] = {}

    def _filled_memory(
        self,
        friction: FrictionTable,
        bounds: tuple[Array, Array],
        drives: dict[str, Array],
    ) -> Memory[PlantMemory]:
        """The memory of time stepping with the parameters of all effects."""
        o = self.options
        model = self.model
        floating = self.coordinates.floating
        motors = self.motors
        if o.constraints is None:
            rows = 0
        else:
            rows = o.constraints.rows
        couples = len(friction.couple)
        values: dict[str, Any] = {**drives, **stop_parameters(o.stops, model, *bounds)}
        constants = {
            "nq": model.nq,
            "nv": model.nv,
            "bodies": model.nb,
            "rows": rows,
            "couples": couples,
        }
        constants |= {"motors": self.nz, "contacts": len(o.contacts), "floating": len(floating)}
        constants |= {"midpoint": self._midpoint, "in_momenta": self._midpoint and not rows}
        constants |= {"by_impulse": rows + couples > 0}
        memory = Memory(PlantMemory, constants, self.kernels, compiled=self.compiled)
        values |= {
            "q_of_v": self.coordinates.q_of_v,
            "substeps": 1,
            "max_speed": np.inf,
            "couple": friction.couple,
        }
        if floating:
            values |= {"coth": COTH, "tanh": TANH}
            values |= {
                "floating_q": [iq for iq, _ in floating],
                "floating_v": [iv for _, iv in floating],
            }
        if o.springs is not None:
            values |= o.springs.parameters(model, self.coordinates)
        values |= {
            "motor_index": motors.index,
            "motor_R": motors.R,
            "motor_L": motors.L,
            "motor_kt": motors.kt,
        }
        values |= {
            "motor_ke": motors.ke,
            "max_voltage": motors.max_voltage,
            "max_current": motors.max_current,
        }
        if o.contacts:
            values |= _contact_parameters(o.contacts)
        for name, value in values.items():
            memory[name][...] = value
        return memory

    def set_friction(self, table: FrictionTable) -> None:
        """Have the joints this friction from now on."""
        self.friction = table
        for name in ("viscous", "coulomb", "rise", "stribeck_velocity", "stribeck_exponent", "dry"):
            self.memory[name][:] = getattr(table, name)

    def _kernel(self, name: str) -> Kernel:
        """A function of the robot, made when it is first asked for: time stepping needs none."""
        run = self._kernels.get(name)
        if run is None:
            if name in ("inverse_dynamics_wrenches", "external_efforts"):
                external = {"external": True}
            else:
                external = {}
            run = self._kernels[name] = kernel(self.model, name, **external)
        return run

    def prepare(self) -> None:
        """Make the functions of the robot that any of the methods here may need, so that none is
        compiled later.
        """
        of_state = ("forward_dynamics", "bias_forces", "mass_matrix", "link_poses")
        for name in (*of_state, "inverse_dynamics_wrenches", "external_efforts"):
            self._kernel(name)

    # -- what integrators ask ----------------------------------------------------------------------

    def derivative(self, t: float, y: Array, out: Array) -> None:
        (q, v, z), (_, a, rates) = self.split(y), self.split(out)
        self.coordinates.rates(q, v, out[: self.nq])
        if not self.coordinates.vector:
            q = q.copy()
            self.coordinates.normalize(q)
        tau = self.applied_effort(t, q, v, z)
        if len(self.locked):
            a[:] = self._constrained(q, v, tau)
        else:
            self._kernel("forward_dynamics")(q, v, tau, a)
        rates[:] = self.memory["new_current"]

    def split(self, y: Array) -> tuple[Array, Array, Array]:
        """Configuration, velocity and motor currents of a state, as views."""
        return y[: self.nq], y[self.nq : self.nq + self.nv], y[self.nq + self.nv :]

    def mass_matrix(self, q: Array) -> Array:
        """(nv, nv) M(q), in memory used again by the next call."""
        self._kernel("mass_matrix")(q, self._M)
        return self._M

    def generalized_momentum(self, q: Array, v: Array) -> tuple[Array, Array]:
        momentum = np.empty(self.nv)
        rate = np.empty(self.nv)
        self._kernel("generalized_momentum")(q, v, momentum, rate)
        return momentum, rate

    def bias_forces(self, q: Array, v: Array) -> Array:
        """(nv,) b(q, v), in memory used again by the next call."""
        self._kernel("bias_forces")(q, v, self._b)
        return self._b

    def applied_effort(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """(nv,) everything on the right-hand side but the bias: motors, springs, stops, user,
        wrenches, friction.

        Args:
            t: s.
            q, v: configuration and velocity.
            z: (motors,) motor currents, A.
        """
        memory = self.memory
        self._sample_wrenches(t)
        memory["q_forces"][:] = q
        memory["middle"][:] = v
        memory["z1"][:] = z
        if self.user_effort is not None:
            memory["user"][:] = self.given_effort(t, q, v)
        self.routines["applied_efforts"](memory)
        tau: Array = memory["effort"].copy()
        if self.link_wrenches or self.world_wrenches:
            out = np.empty(self.nv)
            self._kernel("external_efforts")(q, self.body_wrenches(q), out)
            tau += out
        return tau

    def given_effort(self, t: float, q: Array, v: Array) -> Array:
        """(nv,) the user's effort."""
        if self.user_effort is None:
            return np.zeros(self.nv)
        tau = np.asarray(self.user_effort(t, q, v), dtype=np.float64)
        if tau.shape != (self.nv,) or not np.isfinite(tau).all():
            problem = f"must return {self.nv} finite efforts, returned {tau!r} at t = {t:g} s"
            raise ArgumentError(
                problem, where="user_effort", got=tau, remedy="Correct the function user_effort."
            )
        return tau

    # -- time stepping -----------------------------------------------------------------------------

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h`` by time stepping, whether or not it makes sense; ``y`` is not
        changed.

        Raises:
            SimulationError: its equations have no solution, or none is found.
        """
        memory = self.memory
        run = self.routines
        kept = [memory[name].copy() for name in ("q", "v", "z")]
        memory["q"][:], memory["v"][:], memory["z"][:] = self.split(y)
        positions = memory["q"].copy()
        self._sample_wrenches(t + 0.5 * h if self._midpoint else t)
        if self._midpoint and (self.world_wrenches or self.user_effort is not None):
            self.integrate(memory["q"], 0.5 * h * memory["v"], positions)
        memory["external"][:] = self.body_wrenches(positions)
        memory["pushed"][0] = bool(self.link_wrenches or self.world_wrenches)
        if self.user_effort is None:
            done = run["substep"](memory, h)
        else:
            memory["user"][:] = self.given_effort(t, positions, memory["v"])
            done = run["prepare"](memory, h)
            if done and self._midpoint:
                run["predict"](memory, h)
                memory["user"][:] = self.given_effort(t + 0.5 * h, positions, memory["middle"])
            done = done and run["finish"](memory, h)
        y1 = np.concatenate((memory["q1"], memory["v1"], memory["z1"]))
        memory["q"][:], memory["v"][:], memory["z"][:] = kept
        if not done:
            raise self.diverged(t, y, y1, h) if memory["unsettled"][0] else not_definite()
        return y1

    def _sample_wrenches(self, t: float) -> None:
        """Take external wrenches that are functions of time as they are at ``t``: a method has its
        order only if each of its stages sees them.
        """
        if self.wrenches_at is not None:
            self.link_wrenches, self.world_wrenches = self.wrenches_at(t)

    def diverged(self, t: float, y: Array, y1: Array, h: float) -> SimulationError:
        """The error for a step of ``h`` s to ``y1`` that means nothing, naming the joint that ran
        fastest.
        """
        v = self.split(y)[1]
        v1 = self.split(y1)[1]
        change = np.abs(v1 - v)
        fastest = int(np.argmax(np.where(np.isfinite(change), change, np.inf)))
        return SimulationError(
            f"the simulation diverges at t = {t:.6g} s (velocity from {v[fastest]:g} to "
            f"{v1[fastest]:g}): the step of {h:g} s is "
            "too large for the stiffness of a spring, a stop, a contact or the control law, or "
            "for the speed of the motion; or an "
            "effort is too large",
            where=f"joint {self.coordinates.names[fastest]!r}",
            got=float(v1[fastest]),
            remedy=(
                "Use a smaller dt or more substeps, an implicit integrator, or lower gains; "
                "check efforts, inertias and armatures."
            ),
        )

    # -- wrenches ----------------------------------------------------------------------------------

    def body_wrenches(self, q: Array, more: Mapping[str, Array] | None = None) -> Array:
        """(nb, 6) external wrenches by body, in memory used again by the next call; ``more`` in
        world axes, brought to links' at ``q``.
        """
        wrenches = self._gatherer.gather(self.link_wrenches, self._wrenches)
        for world in (self.world_wrenches, more or {}):
            if world:
                poses = self._kernel("link_poses")(q, np.empty((len(self.model.link_names), 4, 4)))
                R = {link: poses[self.model.link_index(link), :3, :3] for link in world}
                in_link = {
                    k: np.concatenate((w[:3] @ R[k], w[3:] @ R[k])) for k, w in world.items()
                }
                wrenches += self._gatherer.gather(in_link, np.empty_like(wrenches))
        return wrenches

    def contact_wrenches(self, q: Array, v: Array) -> dict[str, Array]:
        """Link → (6,) [moment; force] of the ground on it, about its origin in world axes; of links
        off the ground none.
        """
        total: dict[str, Array] = {}
        if self.contacts:
            memory = self.memory
            memory["q_forces"][:] = q
            memory["middle"][:] = v
            self.routines["applied_efforts"](memory)
            for k, contact in enumerate(self.contacts):
                if memory["contact_depth"][k] > 0.0:
                    f = memory["contact_force"][k]
                    wrench = np.concatenate((np.cross(memory["contact_arm"][k], f), f))
                    total[contact.link] = total.get(contact.link, 0.0) + wrench
        return total

    def inverse_dynamics(
        self,
        q: Array,
        v: Array,
        a: Array,
        loops: Mapping[str, Array] | None = None,
    ) -> tuple[Array, Array]:
        """(nv,) M a + b − Σ Jᵀ w and (joints, 6) joint wrenches [moment; force], external and
        contact wrenches acting.

        ``loops`` are further wrenches in link axes, those of constraints.
        """
        tau = np.empty(self.nv)
        out = np.empty((len(self.model.joint_names), 6))
        wrenches = self.body_wrenches(q, self.contact_wrenches(q, v))
        if loops:
            wrenches += self._gatherer.gather(loops, np.empty_like(wrenches))
        self._kernel("inverse_dynamics_wrenches")(q, v, a, wrenches, tau, out)
        return tau, out

    def energy(self, q: Array) -> float:
        """Elastic energy of springs, stops and contacts, J."""
        memory = self.memory
        position = self.coordinates.positions(q)
        total = 0.0
        if self.options.springs is not None:
            total += 0.5 * np.sum(memory["spring_p"] * (memory["spring_rest"] - position) ** 2)
        if isinstance(self.options.stops, CompliantStops):
            depth = np.maximum(
                np.maximum(memory["stop_lower"] - position, position - memory["stop_upper"]), 0.0
            )
            total += 0.5 * np.sum(memory["stop_stiffness"] * depth**2)
        if self.contacts:
            self.contact_wrenches(q, np.zeros(self.nv))
            depths = memory["contact_depth"].tolist()
            total += sum(c.energy(depth) for c, depth in zip(self.contacts, depths, strict=True))
        return float(total)

    # -- locked joints -----------------------------------------------------------------------------

    def set_modes(self, slip: Array | float = 0.0, locked: np.ndarray = NONE) -> None:
        """Decide which joints slide, in which direction, and which are locked."""
        self.slip[:] = slip
        self.locked = locked
        if len(locked):
            free = np.ones(self.nv, dtype=bool)
            free[locked] = False
            self._free = np.flatnonzero(free)

    def _constrained(self, q: Array, v: Array, tau: Array) -> Array:
        a = np.zeros(self.nv)
        free = self._free
        if len(free):
            M = self.mass_matrix(q)[np.ix_(free, free)]
            a[free] = np.linalg.solve(M, (tau - self.bias_forces(q, v))[free])
        return a

    def reaction(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """(nl,) effort that holds the locked joints at rest."""
        tau = self.applied_effort(t, q, v, z)
        a = self._constrained(q, v, tau)
        residual = self.mass_matrix(q) @ a + self.bias_forces(q, v) - tau
        return residual[self.locked]
