"""The simulated robot: rigid bodies with everything a bare model leaves out.

    M(q) q̈ + b(q, v) = τ_motor + τ_springs + τ_stops + τ_user + Σ Jᵀ w − d v − τ_dry

:class:`Plant` holds the state (t, q, v and the motor currents) and advances it by one control period at a time, under
a command held constant over that period, which is what a digital controller does to a real robot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import kinetic_energy, potential_energy
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import DCMotor, MotorTable, add_rotors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import per_joint, position_bounds
from robot_dynamics_ros.simulation.effects.contact import GroundContact
from robot_dynamics_ros.simulation.effects.friction import FrictionTable, JointFriction
from robot_dynamics_ros.simulation.effects.limits import CompliantStops, RigidStops, limit_effort
from robot_dynamics_ros.simulation.effects.springs import JointPD
from robot_dynamics_ros.simulation.effects.stiffness import check_step, describe_divergence, stable_step
from robot_dynamics_ros.simulation.integrators.hybrid import HybridStepper
from robot_dynamics_ros.simulation.integrators.moreau import MoreauMidpoint, MoreauStepper
from robot_dynamics_ros.simulation.integrators.runge_kutta import Integrator, SemiImplicitEuler, make_integrator
from robot_dynamics_ros.simulation.integrators.smooth_step import SmoothFirst, with_smooth_steps
from robot_dynamics_ros.simulation.integrators.timestepping import Stops, TimeStepper
from robot_dynamics_ros.simulation.plant_arguments import PlantArguments, Wrenches
from robot_dynamics_ros.simulation.system import JointSystem

__all__ = ["Plant"]


class Plant:
    """A robot that moves.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        integrator: name (see :data:`~robot_dynamics_ros.simulation.integrators.runge_kutta.INTEGRATORS`) or an integrator object.
            ``"semi_implicit_euler"`` (first order) and ``"moreau"`` (second) treat friction, rigid stops, damping and
            springs implicitly and are stable for any stiffness of theirs; all others locate every stick, slip and impact
            inside the step and keep their order.
        substeps: integrator steps per control period; ``None``: one, or as many more (up to 20) as an explicit
            integrator needs to follow the joints' damping and springs.
        friction: ``True`` takes viscous and Coulomb friction from the model (URDF ``<dynamics>``), ``False`` or
            ``None`` switches friction off, a :class:`~robot_dynamics_ros.simulation.effects.friction.JointFriction` sets it.
        stops: what happens at the position limits: ``"rigid"`` (default, no rebound),
            a :class:`~robot_dynamics_ros.simulation.effects.limits.RigidStops` or
            :class:`~robot_dynamics_ros.simulation.effects.limits.CompliantStops`, or ``None`` for none.
        limiter: apply effort saturation and the position and velocity rules of ros2_control's joint limiter to
            commands.
        motors: joint name → :class:`~robot_dynamics_ros.model.motors.DCMotor`; that joint's command is then a
            voltage, and its rotor is part of ``plant.model``.
        springs: a :class:`~robot_dynamics_ros.simulation.effects.springs.JointPD`: springs, or proportional and derivative
            control with offsets, at every joint.
        contacts: :class:`~robot_dynamics_ros.simulation.effects.contact.GroundContact` objects.
        user_effort: ``callable(t, q, v) -> (nv,)`` effort added at every evaluation.
        brake_effort: breakaway effort of the holding brakes, N m or N: a number, (nv,) numbers, or a mapping of joint
            names (the others have no brake); infinite holds anything.
        q0, v0: initial state; the model's initial configuration (brought within the limits) and rest if not given.
        max_speed: a joint faster than this has diverged, rad/s or m/s.
        compiled: let time stepping do in machine code the steps in which nothing sticks, strikes or reverses, where there
            is a compiler; the same but for rounding.

    Attributes:
        t: time, s.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.
        command: (nv,) the command of the last step as given.

    Raises:
        ArgumentError, UnknownNameError: an option that does not fit the model.
        SimulationError: the step is too large for the stiffness.
    """

    def __init__(
        self,
        model: RobotModel,
        dt: float = 1e-3,
        *,
        integrator: str | Integrator = "moreau",
        substeps: int | None = None,
        friction: JointFriction | bool | None = True,
        stops: RigidStops | CompliantStops | str | None = "rigid",
        limiter: bool = True,
        motors: Mapping[str, DCMotor] | None = None,
        springs: JointPD | None = None,
        contacts: Sequence[GroundContact] = (),
        user_effort: Callable[[float, Array, Array], Array] | None = None,
        brake_effort: float | Array | Mapping[str, float] = math.inf,
        q0: Any = None,
        v0: Any = None,
        max_speed: float = 1e5,
        compiled: bool = True,
    ) -> None:
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        if substeps is not None and (int(substeps) != substeps or substeps < 1):
            raise ArgumentError("must be a whole number of at least 1", where="substeps", got=substeps)
        model = add_rotors(model, motors) if motors else model
        self.model, self.dt, self.max_speed = model, float(dt), float(max_speed)
        self.limiter = bool(limiter)
        self.integrator = make_integrator(integrator)
        self._bounds = position_bounds(model)
        rigid, compliant = self._make_stops(stops)
        self._friction = _make_friction(model, friction)
        self._braked = self._friction.with_brakes(per_joint(brake_effort, model, "brake_effort"))
        motor_table = MotorTable(model, motors) if motors else None
        self.system = JointSystem(model, self._friction, motor_table, None, compliant, contacts, user_effort)
        if springs is not None:
            self.system.springs = springs.table(model, self.system.coordinates)
        for contact in contacts:
            model.link_index(contact.link)
        self._hybrid = HybridStepper(self.system, self.integrator, rigid)
        self._inside: tuple[Array, Array] | None = None
        if self.limiter and self.system.coordinates.vector:
            fastest = model.velocity_limit
            lower, upper = self._bounds
            self._inside = np.concatenate((lower, -fastest)), np.concatenate((upper, fastest))
        self._stepper: HybridStepper | TimeStepper | SmoothFirst = self._hybrid
        if isinstance(self.integrator, SemiImplicitEuler | MoreauMidpoint):
            kind = TimeStepper if isinstance(self.integrator, SemiImplicitEuler) else MoreauStepper
            self._stepper = with_smooth_steps(kind(self.system, rigid)) if compiled else kind(self.system, rigid)
        self._arguments = PlantArguments(model, self.system.coordinates, self._bounds if stops is not None else None)
        self.command, self.tau = np.zeros(model.nv), np.zeros(model.nv)
        self._y = np.zeros(model.nq + model.nv + self.system.nz)
        self._previous = np.zeros(model.nv)
        self._alternating = 0
        self._steps, self._t0 = 0, 0.0
        self._start_q = self._arguments.default_start() if q0 is None else self._arguments.configuration(q0)
        self._start_v = np.zeros(model.nv) if v0 is None else self._arguments.velocity("v0", v0)
        self.substeps = self._enough_substeps() if substeps is None else int(substeps)
        self.reset()

    def _enough_substeps(self) -> int:
        start = np.concatenate((self._start_q, self._start_v, np.zeros(self.system.nz)))
        largest, _ = stable_step(self.system, self.integrator, start)
        return min(20, max(1, math.ceil(self.dt / (0.4 * largest))))

    def _make_stops(self, stops: Any) -> tuple[Stops, Any]:
        model, (lower, upper) = self.model, self._bounds
        if stops is None:
            return Stops.none(model.nv), None
        if stops == "rigid":
            stops = RigidStops()
        if isinstance(stops, RigidStops):
            return Stops(lower, upper, stops.coefficients(model), stops.rest_velocity), None
        if isinstance(stops, CompliantStops):
            return Stops.none(model.nv), stops.table(model, lower, upper)
        raise ArgumentError("expected 'rigid', RigidStops, CompliantStops or None", where="stops", got=stops)

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time, s: a multiple of ``dt`` from the last reset, computed and not accumulated."""
        return self._t0 + self._steps * self.dt

    @property
    def q(self) -> Array:
        """(nq,) configuration; a copy."""
        return self._y[: self.model.nq].copy()

    @property
    def v(self) -> Array:
        """(nv,) velocity; a copy."""
        return self._y[self.model.nq : self.model.nq + self.model.nv].copy()

    @property
    def currents(self) -> Array:
        """(number of motors,) motor currents in joint order, A."""
        if self.system.motors is None:
            return np.empty(0)
        voltage = self.system.command[self.system.motors.index]
        return self.system.motors.current(voltage, self.v, self._y[self.model.nq + self.model.nv :])

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
        self.system.friction = self._braked if on else self._friction

    def reset(self, q: Any = None, v: Any = None, t: float = 0.0) -> None:
        """Set the state; ``None`` means the configuration and velocity the plant was made with.

        Commands, outside wrenches and motor currents go to zero; brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the joint limits.
            SimulationError: the step is too large for the stiffness of springs, stops or damping.
        """
        q = self._start_q if q is None else self._arguments.configuration(q)
        v = self._start_v if v is None else self._arguments.velocity("v", v)
        if not math.isfinite(t):
            raise ArgumentError("must be finite", where="t", got=t)
        y = np.concatenate((q, v, np.zeros(self.system.nz)))
        self.system.command[:] = 0.0
        self.system.wrenches = []
        check_step(self.system, self.integrator, y, self.dt / self.substeps)
        self._y = y
        self._t0, self._steps, self._alternating = float(t), 0, 0
        self._previous[:] = 0.0
        self.command[:] = 0.0
        self.tau[:] = 0.0

    def state(self) -> dict[str, Any]:
        """A copy of everything :meth:`restore` needs to continue bit for bit."""
        return {
            "t0": self._t0,
            "steps": self._steps,
            "y": self._y.copy(),
            "command": self.command.copy(),
            "tau": self.tau.copy(),
            "held": self.system.command.copy(),
            "wrenches": list(self.system.wrenches),
            "brakes": self.brakes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state` of a plant like this one."""
        if len(state["y"]) != len(self._y):
            raise ArgumentError(f"expected {len(self._y)} numbers, got {len(state['y'])}", where="state")
        self._t0, self._steps, self._y = state["t0"], state["steps"], state["y"].copy()
        self.command[:], self.tau[:], self.system.command[:] = state["command"], state["tau"], state["held"]
        self.system.wrenches = list(state["wrenches"])
        self.brakes = state["brakes"]
        self._alternating = 0

    # -- motion --------------------------------------------------------------------------------------------------

    def step(self, command: Any, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """Advance by ``dt`` under a constant command.

        Args:
            command: (nv,) motor efforts, N m or N (volts at joints with a motor).
            external: link name → (6,) wrench [moment; force] the environment exerts on that link, about the link's
                origin, in the link's frame (turning with it).
            external_world: the same in world axes, constant over the step.

        Raises:
            ArgumentError: a wrong length or a value that is not finite; the state is then unchanged.
            UnknownNameError: an external wrench names no link.
            SimulationError: the simulation diverges or cannot be resolved; the state stays at the last good one.
        """
        self.hold(command, external, external_world)
        self.advance()

    def hold(self, command: Any, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """The first half of :meth:`step`: take a command, without moving yet.

        :meth:`acceleration`, :meth:`joint_wrenches` and the like then tell what it causes.
        """
        given = self._arguments.velocity("command", command)
        wrenches = self._arguments.wrenches(external, False) + self._arguments.wrenches(external_world, True)
        self.command[:] = given
        self.system.command[:] = self._limited(given)
        self.system.wrenches = wrenches
        self.tau[:] = self.system.motor_effort(*self._parts()[1:])

    def advance(self) -> None:
        """The second half of :meth:`step`: move by ``dt`` under what is held."""
        h, t, y = self.dt / self.substeps, self.t, self._y
        for k in range(self.substeps):
            with np.errstate(over="ignore", invalid="ignore"):
                y1 = self._stepper.advance(t + k * h, y, h)
            self._guard(t + k * h, y, y1, h)
            y = y1
        self._y = y
        self._steps += 1
        if self.system.nz:
            self.tau[:] = self.system.motor_effort(*self._parts()[1:])

    def _limited(self, command: Array) -> Array:
        """(nv,) what the drives let through: efforts by ros2_control's rules, voltages by the motors' own limit."""
        model, motors = self.model, self.system.motors
        out = command.copy()
        if self._inside is not None and self._is_inside():
            np.minimum(np.maximum(out, -model.effort_limit, out=out), model.effort_limit, out=out)
        elif self.limiter:
            position = self.system.coordinates.positions(self._y[: model.nq])
            v = self._y[model.nq : model.nq + model.nv]
            out = limit_effort(command, position, v, *self._bounds, model.velocity_limit, model.effort_limit)
        if motors is not None:
            voltage = command[motors.index]
            out[motors.index] = np.clip(voltage, -motors.max_voltage, motors.max_voltage)
        return out

    def _is_inside(self) -> bool:
        """Whether no joint is at a position limit or beyond its velocity limit, so that only efforts are clamped."""
        assert self._inside is not None
        low, high = self._inside
        state = self._y[: len(low)]
        return bool((state > low).all() and (state < high).all())

    def _guard(self, t: float, y: Array, y1: Array, h: float) -> None:
        """Raise before an unstable simulation reaches numbers that mean nothing."""
        nq, nv = self.model.nq, self.model.nv
        if not nv:
            return
        v, v1 = y[nq : nq + nv], y1[nq : nq + nv]
        fastest = float(np.abs(v1).max())
        if not fastest <= self.max_speed or not (math.isfinite(y1.sum()) or np.isfinite(y1).all()):
            raise describe_divergence(self.system, t, y, y1, self._alternating >= 3, self.dt, self.substeps)
        change = v1 - v
        if fastest > 1.0 and fastest > 1.0 + 3.0 * float(
            np.abs(v).max()
        ):  # a leap: would two half steps have leapt as well?
            with np.errstate(over="ignore", invalid="ignore"):
                half = self._stepper.advance(t, y, 0.5 * h)
                half = self._stepper.advance(t + 0.5 * h, half, 0.5 * h)
            if not np.abs(half[nq : nq + nv] - v1).max() <= 0.5 * np.abs(change).max():
                raise describe_divergence(self.system, t, y, y1, True, self.dt, self.substeps)
        if change @ self._previous < 0.0 and change @ change > self._previous @ self._previous:
            self._alternating += 1
        else:
            self._alternating = 0
        self._previous = change

    # -- what can be known about it ------------------------------------------------------------------------------

    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and outside wrenches."""
        self._hybrid.settle(self.t, self._y)
        rate = np.empty_like(self._y)
        self.system.derivative(self.t, self._y, rate)
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
        q, v, _ = self._parts()
        return self.system.outside.inverse_dynamics(q, v, self.acceleration(), self.system.external_wrenches(q, v))

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and potential energy of gravity, springs, stops and contacts, J."""
        q, v, _ = self._parts()
        return float(kinetic_energy(self.model, q, v)), float(potential_energy(self.model, q)) + self.system.energy(q)

    def _parts(self) -> tuple[Array, Array, Array]:
        nq, nv = self.model.nq, self.model.nv
        return self._y[:nq], self._y[nq : nq + nv], self._y[nq + nv :]


def _make_friction(model: RobotModel, friction: JointFriction | bool | None) -> FrictionTable:
    if friction is True:
        return JointFriction().table(model)
    if friction is False or friction is None:
        return FrictionTable.none(model)
    if isinstance(friction, JointFriction):
        return friction.table(model)
    raise ArgumentError("expected True, False, None or JointFriction", where="friction", got=friction)
