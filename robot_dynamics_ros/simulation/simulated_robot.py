"""Simulated robots of any engine: the start, a command held for a control period, and the efforts
and wrenches it causes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.dynamics import kinetic_energy, potential_energy
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates, position_bounds
from robot_dynamics_ros.simulation.effects.gears import GearTable
from robot_dynamics_ros.simulation.plant_options import CommonOptions

Wrenches: TypeAlias = Mapping[str, ArrayLike] | None
# rad or m that a given position may lie outside its limits, as decimals in files do
_GIVEN_POSITION_SLACK = 1e-6

PlantState: TypeAlias = dict[str, Any]
"""What a plant needs to continue bit for bit; the names are those of its engine."""


class SimulatedRobot(ABC):
    """A robot that an engine moves by one control period ``dt`` in s at a time.

    Attributes:
        constraints: closed loops, or ``None``.
        gears: the springs in its gears, or ``None``.
        command: (nv,) the command of the last step as given.
        tau: (nv,) motor effort of the last step, after the limiter, N m or N.

    Raises:
        ArgumentError: a period that is not positive, or an initial state that does not fit the
            model.
    """

    command: Array
    tau: Array
    _periods: np.ndarray
    """(1,) number of control periods since the last reset."""

    def __init__(self, model: RobotModel, dt: float, options: CommonOptions) -> None:
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        # springs in gears, or None
        self.gears: GearTable | None = None
        if options.gears is not None:
            self.gears = options.gears.table(model)
        if self.gears is not None:
            model = self.gears.links(model)
        self.model = model
        self.dt = float(dt)
        self.max_speed = float(options.max_speed)
        self.constraints = options.constraints
        self.user_effort = options.user_effort
        self._coordinates, self._bounds = Coordinates(model), position_bounds(model)
        self._has_stops = options.stops is not None
        self._has_limiter = options.limiter
        # zero is outside the limits of many an arm
        q0 = options.q0
        v0 = options.v0
        if q0 is None:
            start = self._within_bounds(model.initial_configuration())
        else:
            start = self._configuration(q0)
        self._start_q, self._start_v = (
            start,
            np.zeros(model.nv) if v0 is None else self._velocity("v0", v0),
        )
        self._t0 = 0.0
        self._braked = False
        self._wrenches: tuple[dict[str, Array], dict[str, Array]] = {}, {}

    # -- state -------------------------------------------------------------------------------------

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

    def motors(self) -> tuple[Array, Array]:
        """(k,), (k,) positions and velocities of the motors of :attr:`gears`, at the output of
        the gears; of none where all gears are rigid.
        """
        return np.zeros(0), np.zeros(0)

    def encoders(self) -> tuple[Array, Array]:
        """(nq,), (nv,) what the encoders read: the state, of the motors where they sit there."""
        q = self.q
        v = self.v
        gears = self.gears
        if gears is not None and gears.at_motor:
            angle, speed = self.motors()
            q[self._coordinates.q_of_v[gears.index]] = angle
            v[gears.index] = speed
        return q, v

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
    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        t: float = 0.0,
    ) -> None:
        """Set the state; ``None`` means the configuration and velocity the robot was made with.

        Commands and external wrenches go to zero; brakes stay as they are.

        Raises:
            ArgumentError: wrong length, not finite, a quaternion of zero length, or outside the
                joint limits.
        """

    def _start_of(
        self,
        q: ArrayLike | None,
        v: ArrayLike | None,
        t: float,
    ) -> tuple[Array, Array, float]:
        """Arguments of :meth:`reset`, checked."""
        if q is None:
            q = self._start_q
        else:
            q = self._configuration(q)
        if v is None:
            v = self._start_v
        else:
            v = self._velocity("v", v)
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
        self._t0 = state["t0"]
        self._periods[0] = state["steps"]
        self.command[:] = state["command"]
        self.tau[:] = state["tau"]
        self._set_wrenches(*state["wrenches"])
        self.brakes = state["brakes"]

    # -- motion ------------------------------------------------------------------------------------

    def step(
        self,
        command: ArrayLike,
        external: Wrenches = None,
        external_world: Wrenches = None,
    ) -> None:
        """Advance by ``dt`` under a constant command.

        Args:
            command: (nv,) motor efforts, N m or N (volts at joints with a motor).
            external: link name → (6,) wrench [moment; force] the environment exerts on that link,
                about the link's origin, in the link's axes (rotating with it).
            external_world: the same in world axes, constant over the step.

        Raises:
            ArgumentError: a wrong length or a value that is not finite; the state is then
                unchanged.
            UnknownNameError: an external wrench names no link.
            SimulationError: the simulation diverges or cannot be resolved; the state stays at the
                last good one.
        """
        self.hold(command, external, external_world)
        self.advance()

    def hold(
        self,
        command: ArrayLike,
        external: Wrenches = None,
        external_world: Wrenches = None,
    ) -> None:
        """The first half of :meth:`step`: take a command, without moving yet.

        :meth:`acceleration`, :meth:`joint_wrenches` and the like then tell what it causes.
        """
        checked = self._velocity("command", command)
        link = self.checked_wrenches("external", external)
        self._set_wrenches(link, self.checked_wrenches("external_world", external_world))
        self.command[:] = checked
        self._limit_command()

    def _set_wrenches(self, link: dict[str, Array], world: dict[str, Array]) -> None:
        """Hold external wrenches, in link axes and in world axes."""
        self._wrenches = link, world

    def _command_limits(self) -> dict[str, Array]:
        """Bounds of commands, by their names in the memory of the limiter; infinite without one."""
        if not self._has_limiter:
            nowhere = np.full(self.model.nv, np.inf)
            return {
                **dict.fromkeys(("limit_upper", "velocity_limit", "effort_limit"), nowhere),
                "limit_lower": -nowhere,
            }
        of_drives = {
            "velocity_limit": self.model.velocity_limit,
            "effort_limit": self.model.effort_limit,
        }
        return {"limit_lower": self._bounds[0], "limit_upper": self._bounds[1], **of_drives}

    @abstractmethod
    def _limit_command(self) -> None:
        """Write what the motors give for :attr:`command` to :attr:`tau`."""

    @abstractmethod
    def advance(self) -> None:
        """The second half of :meth:`step`: move by ``dt`` under what is held."""

    def run(
        self,
        commands: ArrayLike,
        steps: int | None = None,
        *,
        external: Wrenches = None,
        record: bool = True,
    ) -> PlantPath | None:
        """Many control periods in one call.

        Args:
            commands: (steps, nv), one for each period, or (nv,), held for all ``steps`` of them.
            external: wrenches on links, in their axes, held all the time; see :meth:`step`.
            record: whether to return the states of all steps.

        Raises:
            ArgumentError, UnknownNameError, SimulationError: see :meth:`step`; what was done before
                stays done.
        """
        rows, steps = self._commands(commands, steps)
        if record:
            path = np.empty((steps, self.model.nq + 2 * self.model.nv))
        else:
            path = None
        self._run(rows, steps, self.checked_wrenches("external", external), path)
        if path is None:
            return None
        return PlantPath.of(self.model, path)

    def _run(
        self,
        rows: Array,
        steps: int,
        wrenches: dict[str, Array],
        path: Array | None,
    ) -> None:
        """``rows``: (1 or steps, nv) checked commands; ``path``: (steps, nq + 2 nv) to write to."""
        for k in range(steps):
            self.step(rows[k % len(rows)], wrenches or None)
            if path is not None:
                path[k] = np.concatenate((self.q, self.v, self.tau))

    # -- what the state and the command cause ------------------------------------------------------

    @abstractmethod
    def prepare(self) -> None:
        """Compile what :meth:`acceleration` and :meth:`joint_wrenches` need, which otherwise
        happens at their first call.
        """

    @abstractmethod
    def acceleration(self) -> Array:
        """(nv,) true acceleration now, under the last command and external wrenches."""

    @abstractmethod
    def _inverse_dynamics(self) -> tuple[Array, Array]:
        """Efforts and wrenches of the joints now, as :meth:`joint_effort` and
        :meth:`joint_wrenches` return them.
        """

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints, M a + b: motors less friction, plus springs, stops and
        gears.
        """
        return self._inverse_dynamics()[0]

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) true joint wrenches [moment; force] now, contacts and closed
        loops acting.

        Their component along the joint axis is :meth:`joint_effort`, less the armature's share.
        The impulse of an impact is not in them.
        """
        return self._inverse_dynamics()[1]

    def energy(self) -> tuple[float, float]:
        """Kinetic energy, and potential energy of gravity, springs, stops and ground contacts, J;
        rotors and springs of gears are in it, the world of MuJoCo is left out.
        """
        q = self.q
        kinetic = float(kinetic_energy(self.model, q, self.v))
        potential = float(potential_energy(self.model, q)) + self._elastic_energy(q)
        gears = self.gears
        if gears is not None:
            angle, speed = self.motors()
            kinetic += float(0.5 * gears.rotors @ np.square(speed))
            potential += gears.energy(angle - q[self._coordinates.q_of_v[gears.index]])
        return kinetic, potential

    def _elastic_energy(self, q: Array) -> float:
        """J."""
        return 0.0

    # -- arguments, checked and copied -------------------------------------------------------------

    def _velocity(self, name: str, values: ArrayLike) -> Array:
        """(nv,) a copy, or an :class:`ArgumentError` naming the argument."""
        remedy = f"One for each of {', '.join(self._coordinates.names[:20])}."
        return _vector(name, values, self.model.nv, remedy)

    def _configuration(self, values: ArrayLike) -> Array:
        """(nq,) a copy with unit quaternions, within the limits; or an :class:`ArgumentError`."""
        q = _vector("q", values, self.model.nq)
        for iq, _ in self._coordinates.floating:
            if np.linalg.norm(q[iq + 3 : iq + 7]) < 1e-6:
                problem = "the quaternion has no length"
                remedy = "No rotation is (0, 0, 0, 1)."
                raise ArgumentError(
                    problem, where=f"q[{iq + 3}:{iq + 7}]", got=values, remedy=remedy
                )
        self._coordinates.normalize(q)
        if self._has_stops:
            position = self._coordinates.positions(q)
            lower, upper = self._bounds
            outside = position < lower - _GIVEN_POSITION_SLACK
            outside |= position > upper + _GIVEN_POSITION_SLACK
            for i in outside.nonzero()[0]:
                problem = (
                    f"position {position[i]:g} is outside its limits {lower[i]:g} … {upper[i]:g}"
                )
                remedy = "Start within the limits, or make the plant with stops=None."
                raise ArgumentError(
                    problem,
                    where=f"joint {self._coordinates.names[i]!r}",
                    got=values,
                    remedy=remedy,
                )
        return self._within_bounds(q)

    def _commands(self, values: ArrayLike, steps: int | None) -> tuple[Array, int]:
        """((1 or steps, nv) contiguous commands, steps) of :meth:`Plant.run`'s arguments."""
        nv = self.model.nv
        array = real_array_or_nan(values)
        if steps is not None and not (isinstance(steps, (int, np.integer)) and steps >= 0):
            raise ArgumentError("expected a whole number of at least 0", where="steps", got=steps)
        if array.shape == (nv,) and steps is not None:
            return _finite("commands", array[None]), int(steps)
        if array.ndim != 2 or array.shape[1] != nv or steps not in (None, len(array)):
            shapes = (
                f"({'steps' if steps is None else steps}, {nv}) numbers, or {nv} together with "
                "steps"
            )
            raise ArgumentError(f"expected {shapes}", where="commands", got=np.shape(values))
        return _finite("commands", array), len(array)

    def checked_wrenches(self, name: str, wrenches: Wrenches) -> dict[str, Array]:
        """Link → (6,) wrench of a mapping, copied; errors name argument and link."""
        if not wrenches and not isinstance(wrenches, (list, tuple, np.ndarray)):
            return {}
        if not isinstance(wrenches, Mapping):
            raise ArgumentError(
                "expected a mapping of link names to wrenches", where=name, got=wrenches
            )
        out = {}
        for link, wrench in wrenches.items():
            check_name("link", link, self.model.link_names, where=name)
            out[link] = _vector(f"{name}[{link!r}]", wrench, 6)
        return out

    def _within_bounds(self, q: Array) -> Array:
        """``q``, brought within the position limits, if there are stops."""
        if self._has_stops:
            has = self._coordinates.has_position
            lower, upper = self._bounds
            where = self._coordinates.q_of_v[has]
            q[where] = np.minimum(np.maximum(q[where], lower[has]), upper[has])
        return q


def _vector(name: str, values: ArrayLike, n: int, remedy: str = "") -> Array:
    array = real_array_or_nan(values)
    if array.shape != (n,):
        raise ArgumentError(
            f"expected {n} numbers, got {values!r:.200}", where=name, got=values, remedy=remedy
        )
    return _finite(name, array)


def _finite(name: str, array: Array) -> Array:
    if not np.isfinite(array).all():
        bad = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
        place = bad[0] if len(bad) == 1 else bad
        raise ArgumentError(
            f"entry {place} is {array[bad]}; every value must be finite", where=name, got=array
        )
    return array


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
        nq = model.nq
        nv = model.nv
        return cls(rows[..., :nq], rows[..., nq : nq + nv], rows[..., nq + nv :])
