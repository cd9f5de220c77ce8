"""Simulate a robot offline, in a closed loop or falling freely, faster than real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.integrators.runge_kutta import DEFAULT_INTEGRATOR, DEFAULT_STEP, Integrator
from robot_dynamics_ros.simulation.plant import Plant

__all__ = ["SimulationResult", "simulate"]

Control = Callable[[float, Array, Array], Any]
External = Mapping[str, Any] | Callable[[float], Mapping[str, Any]] | None


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """A recorded run; row k is the state at ``t[k]`` and the effort applied from then on.

    Attributes:
        t: (N,) time, s.
        q: (N, nq) configuration.
        v: (N, nv) velocity.
        a: (N, nv) acceleration just after ``t[k]``.
        tau: (N, nv) motor effort from ``t[k]`` on, after the drives' limits; the last row repeats the one before.
        kinetic_energy, potential_energy: (N,) J; the potential one includes springs, stops and contacts.
        wrenches: (N, len(joint_names), 6) true joint wrenches [moment; force], or ``None`` if not asked for.
        currents: name of each joint with a motor → (N,) its current just after ``t[k]``, A; empty without motors.
        constraint_wrenches: name of each constraint → (N, 2, 6) what it exerts on its links a and b, [moment; force] about
            the link's origin in its axes; empty without constraints, or if wrenches were not asked for.
        plant: the plant, in its final state.
    """

    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    kinetic_energy: Array
    potential_energy: Array
    wrenches: Array | None
    plant: Plant
    currents: Mapping[str, Array] = field(default_factory=dict)
    constraint_wrenches: Mapping[str, Array] = field(default_factory=dict)

    @property
    def model(self) -> RobotModel:
        """The robot."""
        return self.plant.model

    @property
    def energy(self) -> Array:
        """(N,) total mechanical energy, J."""
        return self.kinetic_energy + self.potential_energy


def simulate(
    model: RobotModel,
    control: Control | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    dt: float = DEFAULT_STEP,
    *,
    constraints: Constraints | None = None,
    integrator: str | Integrator = DEFAULT_INTEGRATOR,
    record_wrenches: bool = False,
    external: External = None,
    external_world: External = None,
    progress: Callable[[float], None] | None = None,
    **plant_options: Any,
) -> SimulationResult:
    """Run ``duration`` seconds and record every step.

    Args:
        model: the robot.
        control: ``callable(t, q, v) -> (nv,)`` efforts, called once per ``dt`` and held, as in a digital controller;
            ``None``: no effort.  For an effort evaluated continuously, pass ``user_effort``.
        q0, v0: initial state; the model's initial configuration and rest if not given.
        duration, dt: s; the number of steps is ``round(duration / dt)``.
        constraints: closed loops of the robot; see :class:`~robot_dynamics_ros.simulation.constrained.ConstrainedPlant`.
        integrator: see :class:`~robot_dynamics_ros.simulation.plant.Plant`; constraints need the default.
        record_wrenches: also record every joint's wrench, and those of the constraints.
        external, external_world: link name → (6,) wrench [moment; force] in the link's frame, in world axes; or a
            function of time giving that.
        progress: called now and then with the share that is done.
        plant_options: everything else :class:`~robot_dynamics_ros.simulation.plant.Plant` takes: ``friction``,
            ``stops``, ``limiter``, ``motors``, ``springs``, ``contacts``, ``user_effort``, ``substeps`` …

    Raises:
        ArgumentError: an argument of the wrong shape, or a control law returning one; constraints of another robot.
        ConstraintError: the loops cannot be closed near ``q0``.
        SimulationError: the simulation diverges, or the step is too large for the stiffness.

    >>> import robot_dynamics_ros as rd
    >>> run = rd.simulate(rd.limb(2), duration=0.5)
    >>> run.q.shape
    (501, 2)
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-6)
    True
    """
    if not (isinstance(duration, (int, float, np.number)) and np.isfinite(duration) and duration >= 0.0):
        raise ArgumentError("must be a finite number of seconds, not negative", where="duration", got=duration)
    plant = _plant(model, dt, constraints, integrator, q0=q0, v0=v0, **plant_options)
    steps = round(duration / dt)
    n = steps + 1
    t, kinetic, potential = np.empty(n), np.empty(n), np.empty(n)
    q, v, a, tau = (np.empty((n, size)) for size in (model.nq, model.nv, model.nv, model.nv))
    wrenches = np.empty((n, len(model.joint_names), 6)) if record_wrenches else None
    motors = plant.motor_joints
    currents = np.empty((n, len(motors)))
    loops = {name: np.empty((n, 2, 6)) for name in constraints.names} if constraints and record_wrenches else {}
    command: ArrayLike = np.zeros(model.nv)
    for k in range(n):
        if progress is not None and k % 64 == 0:
            progress(k / n)
        now = plant.t
        t[k], q[k], v[k] = now, plant.q, plant.v
        kinetic[k], potential[k] = plant.energy()
        if k < steps and control is not None:
            command = _command(control, now, q[k].copy(), v[k].copy())
        plant.hold(command, _at(external, now), _at(external_world, now))
        a[k], tau[k] = plant.acceleration(), plant.tau
        if wrenches is not None:
            wrenches[k] = plant.joint_wrenches()
        if motors:
            currents[k] = plant.currents
        if loops:
            assert isinstance(plant, ConstrainedPlant)
            for name, both in plant.constraint_wrenches().items():
                loops[name][k] = both
        if k < steps:
            plant.advance()
    if progress is not None:
        progress(1.0)
    by_motor = {name: currents[:, k] for k, name in enumerate(motors)}
    return SimulationResult(t, q, v, a, tau, kinetic, potential, wrenches, plant, by_motor, loops)


def _command(control: Control, t: float, q: Array, v: Array) -> ArrayLike:
    command: ArrayLike | None = control(t, q, v)
    if command is None:
        raise ArgumentError(
            f"returned None at t = {t:g} s", where="control", got=None, remedy=f"Return the {len(v)} efforts."
        )
    return command


def _plant(
    model: RobotModel, dt: float, constraints: Constraints | None, integrator: str | Integrator, **options: Any
) -> Plant:
    if constraints is None:
        return Plant(model, dt, integrator=integrator, **options)
    if not isinstance(constraints, Constraints) or constraints.model is not model:
        raise ArgumentError(
            "expected Constraints of this robot",
            where="constraints",
            got=constraints,
            remedy="rd.Constraints(model, …) or rd.load_constraints(model, file) of the model that is simulated.",
        )
    if integrator != DEFAULT_INTEGRATOR:
        raise ArgumentError(
            "a robot with closed loops is simulated by Moreau's midpoint step",
            where="integrator",
            got=integrator,
            remedy="Leave integrator out.",
        )
    return ConstrainedPlant(constraints, dt, **options)


def _at(external: External, t: float) -> Mapping[str, Any] | None:
    return external(t) if callable(external) else external
