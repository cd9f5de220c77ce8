"""Simulate a robot offline, in a closed loop or falling freely, faster than real time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.call import options_of
from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.argument_types import check_takes
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.integrators.methods import DEFAULT_INTEGRATOR, DEFAULT_STEP
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.plant_options import PlantOptions
from robot_dynamics_ros.simulation.simulated_robot import Wrenches

if TYPE_CHECKING:
    from robot_dynamics_ros.control.controller import JointController
    from robot_dynamics_ros.control.laws.base import Law

Control = Callable[[float, Array, Array], ArrayLike]
External = Mapping[str, ArrayLike] | Callable[[float], Mapping[str, ArrayLike]] | None


@dataclass(frozen=True, slots=True, eq=False)
class SimulationResult:
    """A recorded run; row k is the state at ``t[k]`` and the effort applied from then on.

    Attributes:
        t: (N,) time, s.
        q: (N, nq) configuration.
        v: (N, nv) velocity.
        a: (N, nv) acceleration just after ``t[k]``; NaN if not asked for.
        tau: (N, nv) motor effort from ``t[k]`` on, after the drives' limits; the last row repeats
            the one before.
        kinetic_energy, potential_energy: (N,) J; the potential one includes springs, stops and
            contacts.
        wrenches: (N, len(joint_names), 6) true joint wrenches [moment; force], or ``None`` if not
            asked for.
        currents: name of each joint with a motor → (N,) its current just after ``t[k]``, A; empty
            without motors.
        constraint_wrenches: name of each constraint → (N, 2, 6) what it exerts on its links a and
            b, [moment; force] about the link's origin in its axes; empty without constraints, or if
            wrenches were not asked for.
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


@dataclass(frozen=True, eq=False)
class SimulationOptions(PlantOptions):
    """Options of :func:`simulate`, beside those of
    :class:`~robot_dynamics_ros.simulation.plant.Plant`.

    Attributes:
        record_accelerations: whether to find the accelerations.  A run by the default integrator
            takes less than half the time without: which joints stick is asked for them anew.
        record_wrenches: also record every joint's wrench, and those of the constraints.
        external, external_world: link name → (6,) wrench [moment; force] in the link's frame, in
            world axes; or a function of time giving that, which each stage of the integrator asks:
            the run keeps the integrator's order.
        progress: called now and then with the share that is done.
    """

    record_accelerations: bool = True
    record_wrenches: bool = False
    external: External = None
    external_world: External = None
    progress: Callable[[float], None] | None = None


def simulate(
    model: RobotModel,
    control: Control | Law | JointController | None = None,
    q0: ArrayLike | None = None,
    v0: ArrayLike | None = None,
    duration: float = 1.0,
    dt: float = DEFAULT_STEP,
    **options: object,
) -> SimulationResult:
    """Run ``duration`` seconds and record every step.

    Args:
        model: the robot.
        control: ``callable(t, q, v) -> (nv,)`` efforts, called once per ``dt`` and held, as in a
            digital controller; ``None``: no effort; a control law, or a ``JointController``: it
            holds the robot where it starts, or follows what it was given.  For an effort evaluated
            continuously, pass ``user_effort``.
        q0, v0: initial state; the model's initial configuration and rest if not given.
        duration, dt: s; the number of steps is ``round(duration / dt)``.
        options: fields of :class:`SimulationOptions`, by name: its own, and those of the plant;
            with ``constraints`` that is a
            :class:`~robot_dynamics_ros.simulation.constrained.ConstrainedPlant`.

    Raises:
        ArgumentError: an argument of the wrong shape, or a control law returning one; constraints
            of another robot.
        UnknownNameError: no such option.
        ConstraintError: the loops cannot be closed near ``q0``.
        SimulationError: the simulation diverges, or the step is too large for the stiffness.

    >>> import robot_dynamics_ros as rd
    >>> run = rd.simulate(rd.limb(2), duration=0.5)
    >>> run.q.shape
    (501, 2)
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-6)
    True
    """
    if not (
        isinstance(duration, (int, float, np.number)) and np.isfinite(duration) and duration >= 0.0
    ):
        raise ArgumentError(
            "must be a finite number of seconds, not negative", where="duration", got=duration
        )
    control = _as_function(model, control)
    options |= {"q0": q0, "v0": v0}
    o = options_of(SimulationOptions, options, "simulate")
    plant = _plant(model, dt, o, {name: x for name, x in options.items() if name not in _OWN})
    n = round(duration / dt) + 1
    robot = plant.model
    t = np.empty(n)
    energy = np.empty((2, n))
    q, v, tau = (np.empty((n, size)) for size in (robot.nq, robot.nv, robot.nv))
    a = np.full((n, robot.nv), np.nan)
    if o.record_wrenches:
        wrenches = np.empty((n, len(robot.joint_names), 6))
    else:
        wrenches = None
    currents = np.empty((n, len(plant.motor_joints)))
    loops: dict[str, Array] = {}
    if o.record_wrenches and isinstance(plant, ConstrainedPlant):
        loops = {name: np.empty((n, 2, 6)) for name in plant.constraints.names}
    for where, wrenches_of in (("external", o.external), ("external_world", o.external_world)):
        if callable(wrenches_of):
            check_takes(wrenches_of, ("t",), where)
    if callable(o.external) or callable(o.external_world):
        plant.system.wrenches_at = lambda time: (
            plant.checked_wrenches("external", _at(o.external, time)),
            plant.checked_wrenches("external_world", _at(o.external_world, time)),
        )
    command: ArrayLike = np.zeros(model.nv)
    for k in range(n):
        if o.progress is not None and k % 64 == 0:
            o.progress(k / n)
        t[k] = plant.t
        q[k] = plant.q
        v[k] = plant.v
        energy[:, k] = plant.energy()
        if k < n - 1 and control is not None:
            command = _command(control, plant.t, plant.q, plant.v)
        plant.hold(command, _at(o.external, plant.t), _at(o.external_world, plant.t))
        if o.record_accelerations:
            a[k] = plant.acceleration()
        tau[k] = plant.tau
        if wrenches is not None:
            wrenches[k] = plant.joint_wrenches()
        if plant.motor_joints:
            currents[k] = plant.currents
        if isinstance(plant, ConstrainedPlant) and loops:
            for name, both in plant.constraint_wrenches().items():
                loops[name][k] = both
        if k < n - 1:
            plant.advance()
    if o.progress is not None:
        o.progress(1.0)
    of_motors = dict(zip(plant.motor_joints, currents.T, strict=True))
    kinetic, potential = energy
    return SimulationResult(t, q, v, a, tau, kinetic, potential, wrenches, plant, of_motors, loops)


def _as_function(
    model: RobotModel, control: Control | Law | JointController | None
) -> Control | None:
    """A law or a controller as a function of time and state."""
    # a controller takes a while to import, and most simulations have none
    from robot_dynamics_ros.control.controller import JointController
    from robot_dynamics_ros.control.laws.base import Law

    if isinstance(control, type):
        name = f"rd.{control.__name__}"
        remedy = f"Make a law of it: {name}(…) with its gains; see help({name})."
        raise ArgumentError(f"is the class {name}, and no law yet", where="control", remedy=remedy)
    if isinstance(control, Law):
        control = JointController(model, control)
    if isinstance(control, JointController):
        return control.control
    if control is not None and not callable(control):
        raise ArgumentError(
            f"expected a function of t, q and v, got {type(control).__name__}",
            where="control",
            got=control,
            remedy="Give a function, a control law, a JointController, or None: no effort.",
        )
    if control is not None:
        check_takes(control, ("t", "q", "v"), "control")
    return control


_OWN = {f.name for f in fields(SimulationOptions)} - {f.name for f in fields(PlantOptions)}


def _command(control: Control, t: float, q: Array, v: Array) -> ArrayLike:
    command: ArrayLike | None = control(t, q, v)
    if command is None:
        raise ArgumentError(
            f"returned None at t = {t:g} s",
            where="control",
            got=None,
            remedy=f"Return the {len(v)} efforts.",
        )
    return command


def _plant(
    model: RobotModel,
    dt: float,
    o: PlantOptions,
    options: dict[str, object],
) -> Plant:
    constraints = options.pop("constraints", None)
    if constraints is None:
        return Plant(model, dt, **options)
    if not isinstance(constraints, Constraints) or constraints.model is not model:
        remedy = (
            "rd.Constraints(model, …) or rd.load_constraints(model, file) of the model that is "
            "simulated."
        )
        raise ArgumentError(
            "expected Constraints of this robot",
            where="constraints",
            got=constraints,
            remedy=remedy,
        )
    if options.pop("integrator", DEFAULT_INTEGRATOR) != DEFAULT_INTEGRATOR:
        problem = "a robot with closed loops is simulated by Moreau's midpoint step"
        raise ArgumentError(
            problem, where="integrator", got=o.integrator, remedy="Leave integrator out."
        )
    return ConstrainedPlant(constraints, dt, **options)


def _at(external: External, t: float) -> Wrenches:
    return external(t) if callable(external) else external
