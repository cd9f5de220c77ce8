"""Simulated robots of any engine: the start, a command held for a control period, and the efforts and wrenches it causes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import kinetic_energy, potential_energy
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates, position_bounds
from robot_dynamics_ros.simulation.plant_arguments import PlantArguments, Wrenches
from robot_dynamics_ros.simulation.plant_options import CommonOptions

PlantState: TypeAlias = dict[str, Any]
"""What a plant needs to continue bit for bit; the names are those of its engine."""


class SimulatedRobot(ABC):
    """A robot that an engine moves by one control period at a time.

    Args:
        model: the robot.
        dt: control period, s: the time :meth:`step` advances.
        options: those of every engine.

    Attributes:
        constraints: closed loops, or ``None``.
        command: (nv,) the command of the last step as given.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.

    Raises:
        ArgumentError: a period that is not positive, or an initial state that does not fit the model.
    """

    command: Array
    tau: Array
    _periods: np.ndarray
    """(1,) number of control periods since the last reset."""

    def __init__(self, model: RobotModel, dt: float, options: CommonOptions) -> None:
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        self.model, self.dt, self.max_speed = model, float(dt), float(options.max_speed)
        self.constraints, self.user_effort = options.constraints, options.user_effort
        self._coordinates, self._bounds = Coordinates(model), position_bounds(model)
        bounds = self._bounds if options.stops is not None else None
        self._arguments = check = PlantArguments(model, self._coordinates, bounds)
        self._start_q = check.default_start() if options.q0 is None else check.configuration(options.q0)
        self._start_v = np.zeros(model.nv) if options.v0 is None else check.velocity("v0", options.v0)
        self._t0, self._braked = 0.0, False
        self._wrenches: tuple[dict[str, Array], dict[str, Array]] = {}, {}

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time, s: a multiple of ``dt`` from the last reset, computed and not accumulated."""
        return self._t0 + int(self._periods[0]) * self.dt

    @property
    @abstractmethod
    def compiled(self) -> bool:
        """Whether steps run as machine code."""

    @property
    @abstractmethod
    def q(self) -> Array:
        """(nq,) configuration; a copy."""

    @property
    @abstractmethod
    def v(self) -> Array:
        """(nv,) velocity; a copy."""

    @property
    def brakes(self) -> bool:
        """Whether the holding brakes are on; set it to switch them."""
        return self._braked

    @brakes.setter
    def brakes(self, on: bool) -> None:
        if bool(on) != self._braked:
            self._braked = bool(on)
            self._switch_brakes()

    @abstractmethod
    def _switch_brakes(self) -> None:
        """Change the friction to that with or without brakes."""

    @abstractmethod
    def reset(self, q: ArrayLike | None = None, v: ArrayLike | None = None, t: float = 0.0) -> None:
        """Set the state; ``None`` means the configuration and velocity the robot was made with.

        Commands and external wrenches go to zero; brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the joint limits.
        """

    def _start_of(self, q: ArrayLike | None, v: ArrayLike | None, t: float) -> tuple[Array, Array, float]:
        """Arguments of :meth:`reset`, checked."""
        q = self._start_q if q is None else self._arguments.configuration(q)
        v = self._start_v if v is None else self._arguments.velocity("v", v)
        if not math.isfinite(t):
            raise ArgumentError("must be finite", where="t", got=t)
        return q, v, float(t)

    def state(self) -> PlantState:
        """A copy of everything :meth:`restore` needs to continue bit for bit."""
        return {
            "t0": self._t0,
            "steps": int(self._periods[0]),
            "command": self.command.copy(),
            "tau": self.tau.copy(),
            "wrenches": self._wrenches,
            "brakes": self.brakes,
        }

    def restore(self, state: PlantState) -> None:
        """Continue from a :meth:`state` of a robot like this one.

        Raises:
            ArgumentError: the state of another robot.
        """
        self._t0, self._periods[0] = state["t0"], state["steps"]
        self.command[:], self.tau[:] = state["command"], state["tau"]
        self._set_wrenches(*state["wrenches"])
        self.brakes = state["brakes"]

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
        self.hold(command, external, external_world)
        self.advance()

    def hold(self, command: ArrayLike, external: Wrenches = None, external_world: Wrenches = None) -> None:
        """The first half of :meth:`step`: take a command, without moving yet.

        :meth:`acceleration`, :meth:`joint_wrenches` and the like then tell what it causes.
        """
        checked = self._arguments.velocity("command", command)
        link = self._arguments.wrenches("external", external)
        self._set_wrenches(link, self._arguments.wrenches("external_world", external_world))
        self.command[:] = checked
        self._limit_command()

    def _set_wrenches(self, link: dict[str, Array], world: dict[str, Array]) -> None:
        """Hold external wrenches, in link axes and in world axes."""
        self._wrenches = link, world

    @abstractmethod
    def _limit_command(self) -> None:
        """Write what the motors give for :attr:`command` to :attr:`tau`."""

    @abstractmethod
    def advance(self) -> None:
        """The second half of :meth:`step`: move by ``dt`` under what is held."""

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
        for k in range(steps):
            self.step(rows[k % len(rows)], wrenches or None)
            if path is not None:
                path[k] = np.concatenate((self.q, self.v, self.tau))

    # -- what the state and the command cause --------------------------------------------------------------------

    @abstractmethod
    def prepare(self) -> None:
        """Compile what :meth:`acceleration` and :meth:`joint_wrenches` need, which otherwise happens at their first call."""

    @abstractmethod
    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and external wrenches."""

    @abstractmethod
    def _inverse_dynamics(self) -> tuple[Array, Array]:
        """Efforts and wrenches of the joints now, as :meth:`joint_effort` and :meth:`joint_wrenches` return them."""

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints, M a + b: motors less friction, plus springs, stops and gears."""
        return self._inverse_dynamics()[0]

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) true joint wrenches [moment; force] now, contacts and closed loops acting.

        Their component along the joint axis is :meth:`joint_effort`, less the armature's share.  The impulse of an
        impact is not in them.
        """
        return self._inverse_dynamics()[1]

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and potential energy of gravity, springs, stops and ground contacts, J; the world of MuJoCo left out."""
        q = self.q
        kinetic = float(kinetic_energy(self.model, q, self.v))
        return kinetic, float(potential_energy(self.model, q)) + self._elastic_energy(q)

    def _elastic_energy(self, q: Array) -> float:
        """J."""
        return 0.0


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
