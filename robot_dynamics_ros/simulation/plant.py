"""The simulated robot: rigid bodies with friction, stops, motors, springs and contacts.

    M(q) q̈ + b(q, v) = τ_motor + τ_springs + τ_stops + τ_user + Σ Jᵀ w − d v − τ_dry

:class:`Plant` holds the state (t, q, v and the motor currents) and advances it by one control period at a time, under
a command held constant over that period, which is what a digital controller does to a real robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import kinetic_energy, potential_energy
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import MotorTable, add_rotors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates, per_joint, position_bounds
from robot_dynamics_ros.simulation.effects.complementarity import unresolved
from robot_dynamics_ros.simulation.effects.friction import friction_table
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, RigidStops, RigidStopTable
from robot_dynamics_ros.simulation.effects.springs import JointPD
from robot_dynamics_ros.simulation.effects.stiffness import check_step, describe_divergence, stable_step
from robot_dynamics_ros.simulation.integrators.hybrid import HybridStepper
from robot_dynamics_ros.simulation.integrators.momentum import CARRIED
from robot_dynamics_ros.simulation.integrators.runge_kutta import (
    DEFAULT_STEP,
    TIME_STEPPING,
    make_integrator,
)
from robot_dynamics_ros.simulation.integrators.stepper import TimeStepper
from robot_dynamics_ros.simulation.integrators.timestepping import DONE, LEAPT
from robot_dynamics_ros.simulation.plant_arguments import PlantArguments, Wrenches
from robot_dynamics_ros.simulation.plant_memory import Effects
from robot_dynamics_ros.simulation.plant_options import PlantOptions, options_of
from robot_dynamics_ros.simulation.system import JointSystem

__all__ = ["Plant", "PlantPath"]

_CHUNK = 100_000
"""Control periods between two looks at whether the user has interrupted."""


class Plant:
    """A simulated robot.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        options: fields of :class:`~robot_dynamics_ros.simulation.plant_options.PlantOptions`, by name: ``integrator``, ``substeps``,
            ``friction``, ``stops``, ``limiter``, ``motors``, ``springs``, ``contacts``, ``user_effort``, ``brake_effort``, ``q0``,
            ``v0``, ``max_speed``, ``compiled``, ``constraints``.

    Attributes:
        t: time, s.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.

    Raises:
        ArgumentError, UnknownNameError: an option that does not fit the model.
        SimulationError: the step is too large for the stiffness.
    """

    def __init__(self, model: RobotModel, dt: float = DEFAULT_STEP, **options: object) -> None:
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        o = options_of(PlantOptions, options, type(self).__name__)
        model = add_rotors(model, o.motors) if o.motors else model
        self.model, self.dt, self.max_speed = model, float(dt), float(o.max_speed)
        self.integrator = make_integrator(o.integrator)
        method = getattr(self.integrator, "name", "")
        self._bounds = position_bounds(model)
        rigid, compliant = self._make_stops(o.stops)
        self._friction = friction_table(model, o.friction)
        self._braked = self._friction.with_brakes(per_joint(o.brake_effort, model, "brake_effort"))
        coordinates = Coordinates(model)
        for contact in o.contacts:
            model.link_index(contact.link)
        effects = Effects(
            self._friction,
            rigid,
            MotorTable(model, o.motors) if o.motors else None,
            None if o.springs is None else o.springs.table(model, coordinates),
            compliant,
            tuple(o.contacts),
            o.user_effort,
            o.constraints,
            self._command_limits() if o.limiter else None,
        )
        midpoint = method == "moreau"
        self.system = JointSystem(model, effects, midpoint=midpoint, compiled=o.compiled)
        memory, routines = self.system.memory, self.system.routines
        self._hybrid = HybridStepper(self.system, self.integrator, rigid)
        self._stepper = TimeStepper(self.system)
        self._time_stepping = method in TIME_STEPPING
        self._arguments = PlantArguments(model, coordinates, self._bounds if o.stops is not None else None)
        self.command, self.tau = memory["command"], memory["tau"]
        self._q, self._v, self._z = memory["q"], memory["v"], memory["z"]
        self._hold, self._advance, self._check = routines["hold"], routines["advance"], routines["check_progress"]
        self._run_routine = routines["run"]
        # a step that asks for nothing special is one call of machine code
        self._enter, self._block, self._status = routines.entry, memory.block, memory.python.status
        self._plain = self._time_stepping and o.user_effort is None and model.nv > 0
        self._quick = False
        self._t0 = 0.0
        self._start_q = self._arguments.default_start() if o.q0 is None else self._arguments.configuration(o.q0)
        self._start_v = np.zeros(model.nv) if o.v0 is None else self._arguments.velocity("v0", o.v0)
        self.substeps = self._enough_substeps() if o.substeps is None else int(o.substeps)
        memory["substeps"][0], memory["h"][0] = self.substeps, self.dt / self.substeps
        memory["max_speed"][0] = self.max_speed
        self.reset()

    def _enough_substeps(self) -> int:
        start = np.concatenate((self._start_q, self._start_v, np.zeros(self.system.nz)))
        largest, _ = stable_step(self.system, self.integrator, start)
        return min(20, max(1, math.ceil(self.dt / (0.4 * largest))))

    def _make_stops(self, stops: Any) -> tuple[RigidStopTable, Any]:
        model, (lower, upper) = self.model, self._bounds
        if stops is None:
            return RigidStopTable.none(model.nv), None
        if stops == "rigid":
            stops = RigidStops()
        if isinstance(stops, RigidStops):
            return RigidStopTable(lower, upper, stops.coefficients(model), stops.rest_velocity), None
        if isinstance(stops, CompliantStops):
            return RigidStopTable.none(model.nv), stops.table(model, lower, upper)
        raise ArgumentError("expected 'rigid', RigidStops, CompliantStops or None", where="stops", got=stops)

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time, s: a multiple of ``dt`` from the last reset, computed and not accumulated."""
        return self._t0 + int(self.system.memory["steps"][0]) * self.dt

    @property
    def compiled(self) -> bool:
        """Whether steps run as machine code."""
        return self.system.compiled and self._plain

    @property
    def q(self) -> Array:
        """(nq,) configuration; a copy."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """(nv,) velocity; a copy."""
        return self._v.copy()

    @property
    def currents(self) -> Array:
        """(number of motors,) motor currents in joint order, A."""
        if self.system.motors is None:
            return np.empty(0)
        self.system.routines["motor_currents"](self.system.memory)
        return self.system.memory["mean_current"].copy()

    @property
    def motor_joints(self) -> tuple[str, ...]:
        """Names of the joints with motors, in the order of :attr:`currents`."""
        motors = self.system.motors
        return () if motors is None else tuple(self.system.coordinates.names[i] for i in motors.index)

    @property
    def events(self) -> int:
        """Stick, slip and impact events located since the plant was made."""
        return self._hybrid.events

    @property
    def brakes(self) -> bool:
        """Whether the holding brakes are on; set it to switch them."""
        return self.system.friction is self._braked

    @brakes.setter
    def brakes(self, on: bool) -> None:
        if bool(on) != self.brakes:
            self.system.friction = self._braked if on else self._friction

    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0) -> None:
        """Set the state; ``None`` means the configuration and velocity the plant was made with.

        Commands, external wrenches and motor currents go to zero; brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the joint limits.
            SimulationError: the step is too large for the stiffness of springs, stops or damping.
        """
        q, v, t = self._start_of(q, v, t)
        memory = self.system.memory
        memory["held"][:] = 0.0
        self._set_wrenches({}, {})
        check_step(self.system, self.integrator, np.concatenate((q, v, np.zeros(self.system.nz))), memory["h"][0])
        self._q[:], self._v[:], self._z[:], self._t0 = q, v, 0.0, float(t)
        for name in ("steps", "alternating", "previous", "command", "tau", "known"):
            memory[name][:] = 0

    def _start_of(self, q: ArrayLike | None, v: ArrayLike | None, t: float) -> tuple[Array, Array, float]:
        """Arguments of :meth:`reset`, checked."""
        q = self._start_q if q is None else self._arguments.configuration(q)
        v = self._start_v if v is None else self._arguments.velocity("v", v)
        if not math.isfinite(t):
            raise ArgumentError("must be finite", where="t", got=t)
        return q, v, t

    def _command_limits(self) -> tuple[Array, Array, Array, Array]:
        """Lower, upper, velocity and effort limits that the limiter keeps commands within."""
        return (*self._bounds, self.model.velocity_limit, self.model.effort_limit)

    def state(self) -> dict[str, Any]:
        """A copy of everything :meth:`restore` needs to continue bit for bit."""
        return {
            "t0": self._t0,
            "steps": int(self.system.memory["steps"][0]),
            "y": self._state(),
            "command": self.command.copy(),
            "tau": self.tau.copy(),
            "held": self.system.command.copy(),
            "carried": {name: self.system.memory[name].copy() for name in CARRIED},
            "wrenches": (dict(self.system.link_wrenches), dict(self.system.world_wrenches)),
            "brakes": self.brakes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state` of a plant like this one."""
        y, memory = state["y"], self.system.memory
        if len(y) != len(self._state()):
            raise ArgumentError(f"expected {len(self._state())} numbers, got {len(y)}", where="state")
        nq, nv = self.model.nq, self.model.nv
        self._t0, memory["steps"][0] = state["t0"], state["steps"]
        self._q[:], self._v[:], self._z[:] = y[:nq], y[nq : nq + nv], y[nq + nv :]
        self.command[:], self.tau[:], self.system.command[:] = state["command"], state["tau"], state["held"]
        for name, values in state["carried"].items():
            memory[name][...] = values
        self._set_wrenches(*state["wrenches"])
        self.brakes = state["brakes"]
        memory["alternating"][:] = 0

    def _state(self) -> Array:
        """[q; v; currents], a copy."""
        return np.concatenate((self._q, self._v, self._z))

    def set_springs(self, springs: JointPD) -> None:
        """Change springs, gains and offsets between two steps.

        The steps of an explicit integrator are not shortened for springs that become stiffer.

        Raises:
            ArgumentError: the plant was made without springs, or the values do not fit.
        """
        if self.system.springs is None:
            raise ArgumentError(
                "the plant was made without springs", where="springs", remedy="Make it with springs=JointPD()."
            )
        table = springs.table(self.model, self.system.coordinates)
        self.system.springs = table
        memory = self.system.memory
        for name in ("p", "d", "rest", "rate", "constant"):
            memory[f"spring_{name}"][:] = getattr(table, name)

    # -- motion --------------------------------------------------------------------------------------------------

    def step(self, command: ArrayLike, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """Advance by ``dt`` under a constant command.

        Args:
            command: (nv,) motor efforts, N m or N (volts at joints with a motor).
            external: link name → (6,) wrench [moment; force] the environment exerts on that link, about the link's
                origin, in the link's axes (rotating with it).
            external_world: the same in world axes, constant over the step.

        Raises:
            ArgumentError: a wrong length or a value that is not finite; the state is then unchanged.
            UnknownNameError: an external wrench names no link.
            SimulationError: the simulation diverges or cannot be resolved; the state stays at the last good one.
        """
        quick = self._quick and external is None and external_world is None
        if quick and self._enter(command, self._block) is not None and self._status[0] == DONE:
            return
        self.hold(command, external, external_world)
        self.advance()

    def hold(self, command: ArrayLike, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """The first half of :meth:`step`: take a command, without moving yet.

        :meth:`acceleration`, :meth:`joint_wrenches` and the like then tell what it causes.
        """
        given = self._arguments.velocity("command", command)
        link = self._arguments.wrenches("external", external)
        self._set_wrenches(link, self._arguments.wrenches("external_world", external_world))
        self.command[:] = given
        self._hold(self.system.memory)

    def _set_wrenches(self, link: dict[str, Array], world: dict[str, Array]) -> None:
        system = self.system
        system.link_wrenches, system.world_wrenches = link, world
        if not world:
            system.memory["external"][:], system.memory["pushed"][0] = system.body_wrenches(self._q), bool(link)
        self._quick = self._plain and not (link or world)

    def advance(self) -> None:
        """The second half of :meth:`step`: move by ``dt`` under what is held."""
        system, memory = self.system, self.system.memory
        if self._plain and not system.world_wrenches and self._advance(memory) == DONE:
            return
        t, h = self.t, float(memory["h"][0])
        start = {name: memory[name].copy() for name in ("q", "v", "z", "previous", "alternating")}
        try:
            for k in range(self.substeps):
                with np.errstate(over="ignore", invalid="ignore"):
                    self._substep(t + k * h, h)
        except BaseException:
            for name, values in start.items():
                memory[name][:] = values
            raise
        memory["steps"][0] += 1
        if system.nz:
            self.tau[:] = system.motors_effort()

    def run(
        self, commands: ArrayLike, steps: int | None = None, *, external: Wrenches = None, record: bool = True
    ) -> PlantPath | None:
        """Many control periods in one call.

        Args:
            commands: (steps, nv), one for each period, or (nv,), held for all ``steps`` of them.
            external: wrenches on links, in their axes, held all the time; see :meth:`step`.
            record: whether to return the states of all steps.

        Raises:
            ArgumentError, UnknownNameError, SimulationError: see :meth:`step`; what was done before stays done.
        """
        rows, steps = self._arguments.commands(commands, steps)
        path = np.empty((steps, self.model.nq + 2 * self.model.nv)) if record else None
        self._run(rows, steps, self._arguments.wrenches("external", external), path)
        return None if path is None else PlantPath.of(self.model, path)

    def _run(self, rows: Array, steps: int, wrenches: dict[str, Array], path: Array | None) -> None:
        """``rows``: (1 or steps, nv) checked commands; ``path``: (steps, nq + 2 nv) to write to."""
        memory, nv = self.system.memory, self.model.nv
        stride = 0 if len(rows) == 1 else nv
        self._set_wrenches(wrenches, {})
        done = 0
        while done < steps:
            if self._plain:
                count = min(steps - done, _CHUNK)
                there = rows if stride == 0 else rows[done:]
                room = rows if path is None else path[done:]
                finished = self._run_routine(
                    memory, count, there.reshape(-1), stride, room.reshape(-1), int(path is not None)
                )
                done += finished
                if finished == count:
                    continue
            self.step(rows[0 if stride == 0 else done], wrenches or None)
            if path is not None:
                path[done] = np.concatenate((self._q, self._v, self.tau))
            done += 1

    def _substep(self, t: float, h: float) -> None:
        """One step of the integrator, refused where it leads to numbers that mean nothing."""
        nq, nv, memory = self.model.nq, self.model.nv, self.system.memory
        if not nv:
            return
        y = self._state()
        if self._time_stepping:
            if not self._stepper.step(t, h):
                raise unresolved(memory, h, self.system.coordinates.names)
        else:
            y1 = self._hybrid.advance(t, y, h)
            memory["q1"][:], memory["v1"][:], memory["z1"][:] = y1[:nq], y1[nq : nq + nv], y1[nq + nv :]
        found = self._check(memory)
        if found == LEAPT:  # would two half steps have leapt as well?
            y1 = np.concatenate((memory["q1"], memory["v1"], memory["z1"]))
            stepper = self._stepper if self._time_stepping else self._hybrid
            half = stepper.advance(t + 0.5 * h, stepper.advance(t, y, 0.5 * h), 0.5 * h)
            v, v1 = y[nq : nq + nv], y1[nq : nq + nv]
            if not np.abs(half[nq : nq + nv] - v1).max() <= 0.5 * np.abs(v1 - v).max():
                raise describe_divergence(self.system, t, y, y1, True, self.dt, self.substeps)
            memory["q1"][:], memory["v1"][:], memory["z1"][:] = y1[:nq], v1, y1[nq + nv :]
            memory["trusted"][0] = 1
            found = self._check(memory)
            memory["trusted"][0] = 0
        if found != DONE:
            y1 = np.concatenate((memory["q1"], memory["v1"], memory["z1"]))
            chattering = bool(memory["alternating"][0] >= 3)
            raise describe_divergence(self.system, t, y, y1, chattering, self.dt, self.substeps)
        self._q[:], self._v[:], self._z[:] = memory["q1"], memory["v1"], memory["z1"]

    # -- what can be known about it ------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Compile what :meth:`acceleration` and :meth:`joint_wrenches` need, which otherwise happens at their first call."""
        self.system.prepare()

    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and external wrenches."""
        self.prepare()
        y = self._state()
        self._hybrid.settle(self.t, y)
        rate = np.empty_like(y)
        self.system.derivative(self.t, y, rate)
        return rate[self.model.nq : self.model.nq + self.model.nv].copy()

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints now, M a + b: motors less friction, plus springs and stops."""
        return self._inverse()[0]

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) true joint wrenches [moment; force] now.

        Their component along the joint axis is :meth:`joint_effort`, less the armature's share.  The impulse of an
        impact is not in them.
        """
        return self._inverse()[1]

    def _inverse(self) -> tuple[Array, Array]:
        return self.system.inverse_dynamics(self._q, self._v, self.acceleration())

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and potential energy of gravity, springs, stops and contacts, J."""
        q = self._q
        kinetic = float(kinetic_energy(self.model, q, self._v))
        return kinetic, float(potential_energy(self.model, q)) + self.system.energy(q)


@dataclass(frozen=True, slots=True, eq=False)
class PlantPath:
    """States after each control period.

    Attributes:
        q: (..., steps, nq).
        v: (..., steps, nv).
        tau: (..., steps, nv) motor efforts after the limiter, N m or N.
    """

    q: Array
    v: Array
    tau: Array

    @classmethod
    def of(cls, model: RobotModel, rows: Array) -> PlantPath:
        """The three parts of (..., nq + 2 nv) rows."""
        nq, nv = model.nq, model.nv
        return cls(rows[..., :nq], rows[..., nq : nq + nv], rows[..., nq + nv :])
