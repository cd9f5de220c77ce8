"""The simulated robot: rigid bodies with friction, stops, motors, springs and contacts."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import forward_dynamics
from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.complementarity import not_definite
from robot_dynamics_ros.errors import ArgumentError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import add_rotors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import per_joint
from robot_dynamics_ros.simulation.effects.friction import friction_table
from robot_dynamics_ros.simulation.effects.gears import GearMotors, without_friction
from robot_dynamics_ros.simulation.effects.limits import CompliantStops
from robot_dynamics_ros.simulation.effects.springs import JointPD
from robot_dynamics_ros.simulation.integrators.hybrid import HybridStepper
from robot_dynamics_ros.simulation.integrators.methods import (
    DEFAULT_STEP,
    TIME_STEPPING,
    make_integrator,
)
from robot_dynamics_ros.simulation.integrators.momentum import CARRIED
from robot_dynamics_ros.simulation.integrators.timestepping import LEAPT, STEP_DONE
from robot_dynamics_ros.simulation.plant_options import PlantOptions
from robot_dynamics_ros.simulation.simulated_robot import PlantState, SimulatedRobot, Wrenches
from robot_dynamics_ros.simulation.system import JointSystem

_CHUNK = 100_000
"""Control periods between two looks at whether the user has interrupted."""


class Plant(SimulatedRobot):
    """A simulated robot.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        options: fields of :class:`~robot_dynamics_ros.simulation.plant_options.PlantOptions`, by
            name.

    Attributes:
        t: time, s.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.
        motor_joints: names of the joints with motors, in the order of :attr:`currents`.

    Raises:
        ArgumentError, UnknownNameError: an option that does not fit the model.
        SimulationError: the step is too large for the stiffness.
    """

    def __init__(
        self,
        model: RobotModel,
        dt: float = DEFAULT_STEP,
        **options: object,
    ) -> None:
        o = options_of(PlantOptions, options, type(self).__name__)
        if o.motors and o.gears is not None:
            problem = "joints with voltage motors have rigid gears"
            raise ArgumentError(problem, where="gears", remedy="Leave gears or motors out.")
        super().__init__(add_rotors(model, o.motors) if o.motors else model, dt, o)
        model = self.model
        self.integrator = make_integrator(o.integrator)
        method = getattr(self.integrator, "name", "")
        self._friction = friction_table(model, o.friction)
        self._friction_with_brakes = self._friction.with_brakes(
            per_joint(o.brake_effort, model, "brake_effort")
        )
        self._motors: GearMotors | None = None
        if self.gears is not None:
            self._motors = GearMotors(self.gears, self._friction, self._friction_with_brakes)
            self._friction = without_friction(self._friction, self.gears)
            self._friction_with_brakes = without_friction(self._friction_with_brakes, self.gears)
        if len(self._friction.couple) and method not in TIME_STEPPING:
            problem = "motors that turn with two joints are simulated by time stepping"
            remedy = f"One of {', '.join(TIME_STEPPING)}."
            raise ArgumentError(problem, where="integrator", got=o.integrator, remedy=remedy)
        midpoint = method == "moreau"
        drives = self._command_limits()
        self.system = JointSystem(
            self._coordinates, o, self._friction, self._bounds, drives, midpoint=midpoint
        )
        memory = self.system.memory
        routines = self.system.routines
        self.motor_joints = tuple(self._coordinates.names[i] for i in self.system.motors.index)
        self._hybrid = HybridStepper(self.system, self.integrator)
        self._time_stepping = method in TIME_STEPPING
        self.command = memory["command"]
        self.tau = memory["tau"]
        self._periods = memory["steps"]
        self._q = memory["q"]
        self._v = memory["v"]
        self._z = memory["z"]
        self._hold = routines["hold"]
        self._advance = routines["advance"]
        self._check = routines["check_progress"]
        self._run_routine = routines["run"]
        # a step that asks for nothing special is one call of machine code
        self._enter = routines.entry
        self._block = memory.block
        self._plain = self._time_stepping and o.user_effort is None and model.nv > 0
        # motors are moved between two steps of the links
        self._plain = self._plain and self.gears is None
        self._quick = False
        if o.substeps is None:
            self.substeps = self._enough_substeps()
        else:
            self.substeps = int(o.substeps)
        if self.gears is not None:
            least = self.gears.substeps(model, self._start_q, self.dt, o.substeps)
            self.substeps = max(self.substeps, least)
        memory["substeps"][0] = self.substeps
        memory["h"][0] = self.dt / self.substeps
        memory["max_speed"][0] = self.max_speed
        self.reset()

    # -- whether the step is small enough ----------------------------------------------------------

    def _enough_substeps(self) -> int:
        largest, _ = self._stable_step(self._start_q, self._start_v)
        return min(20, max(1, math.ceil(self.dt / (0.4 * largest))))

    def _check_step(self, q: Array, v: Array) -> None:
        """Refuse a step outside the integrator's region of stability."""
        h, (largest, joint) = float(self.system.memory["h"][0]), self._stable_step(q, v)
        if h >= largest:
            raise SimulationError(
                f"a step of {h:g} s is too large for the stiffness: there is a motion of rate "
                f"{self.integrator.stability_limit / largest:.4g} rad/s, which "
                f"{self.integrator.name!r} can follow only with steps "
                f"below {largest:.3g} s",
                where=f"joint {joint!r}",
                got=h,
                remedy=f"Use at least {math.ceil(2.0 * h / largest)} times as many substeps, or "
                "an implicit integrator "
                "('semi_implicit_euler', 'moreau', 'rosenbrock' or 'radau').",
            )

    def _stable_step(self, q: Array, v: Array) -> tuple[float, str]:
        """The largest step within the integrator's region of stability, s, and the joint that sets
        it.

        The eigenvalues λ of ∂f/∂y (by differences) that are damped or oscillating must satisfy h
        |λ| < ``stability_limit``; compliant stops are assessed as if engaged.  Time stepping is
        assessed only for the user's own effort: springs, stops and damping it takes implicitly.
        """
        system = self.system
        nv = self.model.nv
        limit = self.integrator.stability_limit
        if math.isinf(limit) or not nv or (self._time_stepping and self.user_effort is None):
            return math.inf, ""
        system.set_modes()
        M = system.mass_matrix(q)
        if np.linalg.eigvalsh(M)[0] <= 0.0:
            raise not_definite()
        inverse = np.linalg.inv(M)
        matrices = [self._jacobians(q, v)]
        if isinstance(system.options.stops, CompliantStops) and not self._time_stepping:
            stops = system.memory
            guarded = np.isfinite(stops["stop_lower"]) | np.isfinite(stops["stop_upper"])
            stiffness, damping = (
                np.diag(guarded * stops[name]) for name in ("stop_stiffness", "stop_damping")
            )
            matrices.append((matrices[0][0] + stiffness, matrices[0][1] + damping))
        fastest = 0.0
        joint = ""
        for K, D in matrices:
            values, vectors = np.linalg.eig(
                np.block([[np.zeros((nv, nv)), np.eye(nv)], [-inverse @ K, -inverse @ D]])
            )
            size = np.abs(values)
            # unstable by nature, as a pendulum upside down
            size[values.real > 0.1 * size] = 0.0
            worst = int(np.argmax(size))
            if size[worst] > fastest:
                fastest = float(size[worst])
                # not where the motion is largest, but where the stiffness does its work: a light
                # link follows a stiff one
                speed = vectors[nv:, worst]
                power = np.abs((K @ vectors[:nv, worst] + D @ speed) * speed)
                joint = self._coordinates.names[int(np.argmax(power))]
        return (limit / fastest if fastest > 0.0 else math.inf), joint

    def _jacobians(self, q: Array, v: Array) -> tuple[Array, Array]:
        """−∂τ/∂q and −∂τ/∂v of all efforts, in time stepping of the user's, (nv, nv) each, by
        differences along tangents.
        """
        still = np.zeros(self.system.nz)
        system = self.system

        def effort(q: Array, v: Array) -> Array:
            if self._time_stepping:
                return system.given_effort(0.0, q, v)
            return system.applied_effort(0.0, q, v, still)

        tau = effort(q, v)
        K = np.empty((len(v), len(v)))
        D = np.empty((len(v), len(v)))
        moved = np.empty(len(q))
        for j, delta in enumerate(1e-7 * np.eye(len(v))):
            system.integrate(q, delta, moved)
            K[:, j] = (tau - effort(moved, v)) / 1e-7
            D[:, j] = (tau - effort(q, v + delta)) / 1e-7
        return K, D

    # -- state -------------------------------------------------------------------------------------

    @property
    def compiled(self) -> bool:
        return self.system.compiled and self._plain

    @property
    def q(self) -> Array:
        return self._q.copy()

    @property
    def v(self) -> Array:
        return self._v.copy()

    @property
    def currents(self) -> Array:
        """(len(motor_joints),) motor currents, A."""
        self.system.applied_effort(self.t, self._q, self._v, self._z)
        return self.system.memory["mean_current"].copy()

    @property
    def events(self) -> int:
        """Stick, slip and impact events located since the plant was made."""
        return self._hybrid.events

    def motors(self) -> tuple[Array, Array]:
        motors = self._motors
        if motors is None:
            return super().motors()
        return motors.angle.copy(), motors.speed.copy()

    def _switch_brakes(self) -> None:
        self.system.set_friction(self._friction_with_brakes if self._braked else self._friction)
        if self._motors is not None:
            self._motors.braked = self._braked

    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        t: float = 0.0,
    ) -> None:
        """See :meth:`SimulatedRobot.reset`; motor currents go to zero, too, and springs in gears
        carry the weight of the links.

        Raises:
            SimulationError: the step is too large for the stiffness of springs, stops or damping.
        """
        q, v, t = self._start_of(q, v, t)
        memory = self.system.memory
        memory["held"][:] = 0.0
        self._set_wrenches({}, {})
        self._check_step(q, v)
        self._q[:] = q
        self._v[:] = v
        self._z[:] = 0.0
        if self._motors is not None:
            self._motors.follow(self.model, *self._geared(q, v), q)
        self._t0 = t
        for name in ("steps", "command", "tau", "past_steps", "resting"):
            memory[name][:] = 0

    def state(self) -> PlantState:
        memory = self.system.memory
        carried = {name: memory[name].copy() for name in ("held", "resting", *CARRIED)}
        return {**super().state(), "y": self._state(), "carried": carried, "motors": self.motors()}

    def restore(self, state: PlantState) -> None:
        if "y" not in state or "carried" not in state:
            raise ArgumentError("expected what state() of this plant returns", where="state")
        y = state["y"]
        memory = self.system.memory
        if len(y) != len(self._state()):
            raise ArgumentError(
                f"expected {len(self._state())} numbers, got {len(y)}", where="state"
            )
        self._q[:], self._v[:], self._z[:] = self.system.split(y)
        for name, values in state["carried"].items():
            memory[name][...] = values
        if self._motors is not None:
            angle, speed = state["motors"]
            self._motors.angle = angle.copy()
            self._motors.speed = speed.copy()
        super().restore(state)

    def _geared(self, q: Array, v: Array) -> tuple[Array, Array]:
        """(k,), (k,) the entries of joints with springs in their gears."""
        assert self.gears is not None
        own = self.gears.index
        return q[self._coordinates.q_of_v[own]], v[own]

    def _state(self) -> Array:
        """[q; v; currents], a copy."""
        return np.concatenate((self._q, self._v, self._z))

    def set_springs(self, springs: JointPD) -> None:
        """Change springs, gains and offsets between two steps.

        The steps of an explicit integrator are not shortened for springs that become stiffer.

        Raises:
            ArgumentError: the plant was made without springs, or the values do not fit.
        """
        if self.system.options.springs is None:
            raise ArgumentError(
                "the plant was made without springs",
                where="springs",
                remedy="Make it with springs=JointPD().",
            )
        for name, values in springs.parameters(self.model, self.system.coordinates).items():
            self.system.memory[name][:] = values

    # -- motion ------------------------------------------------------------------------------------

    def step(
        self,
        command: ArrayLike,
        external: Wrenches = None,
        external_world: Wrenches = None,
    ) -> None:
        quick = self._quick and external is None and external_world is None
        if quick and self._enter(command, self._block) is not None:
            return
        super().step(command, external, external_world)

    def _limit_command(self) -> None:
        self._hold(self.system.memory)
        if self._motors is not None:
            self._hold_springs(self._motors.pull(*self._geared(self._q, self._v)))

    def _hold_springs(self, pull: Array) -> None:
        """Let the links of joints with springs in their gears get these efforts, (k,)."""
        assert self.gears is not None
        self.system.memory["held"][self.gears.index] = pull

    def _set_wrenches(self, link: dict[str, Array], world: dict[str, Array]) -> None:
        super()._set_wrenches(link, world)
        system = self.system
        system.link_wrenches = link
        system.world_wrenches = world
        if not world:
            system.memory["external"][:] = system.body_wrenches(self._q) if link else 0.0
            system.memory["pushed"][0] = bool(link)
        self._quick = self._plain and not (link or world)

    def advance(self) -> None:
        memory = self.system.memory
        system = self.system
        held = not system.world_wrenches and system.wrenches_at is None
        if self._plain and held and self._advance(memory) == STEP_DONE:
            return
        t = self.t
        h = float(memory["h"][0])
        start = self._state()
        turned = self.motors()
        try:
            for k in range(self.substeps):
                with np.errstate(over="ignore", invalid="ignore"):
                    if self._motors is not None:
                        own = self.tau[self._motors.table.index]
                        links = self._geared(self._q, self._v)
                        self._hold_springs(self._motors.step(h, own, *links))
                    self._substep(t + k * h, h)
        except BaseException:
            self._q[:], self._v[:], self._z[:] = system.split(start)
            if self._motors is not None:
                self._motors.angle, self._motors.speed = turned
            raise
        if self._motors is not None:
            self._hold_springs(self._motors.pull(*self._geared(self._q, self._v)))
        memory["steps"][0] += 1
        system.routines["motor_efforts"](memory)

    def _run(
        self,
        rows: Array,
        steps: int,
        wrenches: dict[str, Array],
        path: Array | None,
    ) -> None:
        memory = self.system.memory
        stride = 0 if len(rows) == 1 else self.model.nv
        done = 0
        self._set_wrenches(wrenches, {})
        while self._plain and done < steps:
            count = min(steps - done, _CHUNK)
            commands = rows if stride == 0 else rows[done:]
            room = rows if path is None else path[done:]
            finished = self._run_routine(
                memory, count, commands.reshape(-1), stride, room.reshape(-1), int(path is not None)
            )
            done += finished
            # the period that failed, once more: with a closer look, or an error
            if finished < count:
                super()._run(
                    rows[done % len(rows)][None], 1, wrenches, None if path is None else path[done:]
                )
                done += 1
        super()._run(rows, steps - done, wrenches, path)

    def _substep(self, t: float, h: float) -> None:
        """One step of the integrator, refused where it leads to numbers that mean nothing."""
        memory = self.system.memory
        system = self.system
        if not system.nv:
            return
        stepper = system if self._time_stepping else self._hybrid
        y = self._state()
        y1 = stepper.advance(t, y, h)
        memory["q1"][:], memory["v1"][:], memory["z1"][:] = system.split(y1)
        outcome = self._check(memory)
        # would two half steps have leapt as well?
        if outcome == LEAPT:
            half = stepper.advance(t + 0.5 * h, stepper.advance(t, y, 0.5 * h), 0.5 * h)
            v, v1, v_half = (system.split(state)[1] for state in (y, y1, half))
            if np.abs(v_half - v1).max() <= 0.5 * np.abs(v1 - v).max():
                outcome = STEP_DONE
        if outcome != STEP_DONE:
            raise system.diverged(t, y, y1, h)
        self._q[:], self._v[:], self._z[:] = system.split(y1)

    # -- what the state and the command cause ------------------------------------------------------

    def prepare(self) -> None:
        self.system.prepare()

    def _effort(self) -> Array:
        """(nv,) all that acts now but the bias, dry friction and stops by their mean over the last
        step, N m or N.
        """
        system = self.system
        system.set_modes()
        return system.applied_effort(self.t, self._q, self._v, self._z) + system.memory["resting"]

    def acceleration(self) -> Array:
        self.prepare()
        y = self._state()
        if len(self._friction.couple):
            return np.asarray(forward_dynamics(self.model, self._q, self._v, self._effort()))
        self._hybrid.settle(self.t, y)
        rate = np.empty_like(y)
        self.system.derivative(self.t, y, rate)
        return self.system.split(rate)[1].copy()

    def _inverse_dynamics(self) -> tuple[Array, Array]:
        return self.system.inverse_dynamics(self._q, self._v, self.acceleration())

    def _elastic_energy(self, q: Array) -> float:
        return self.system.energy(q)
