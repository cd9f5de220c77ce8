"""The simulator's parameters, and what the plant makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import load_constraints
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError, check_name
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.friction.law import COUPLING
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport import robot
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.parameters import (
    Param,
    ParameterValues,
    check_joints,
    parameter_table,
)
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.driver import COMPENSATIONS, Driver
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.effects.gears import GearSprings
from robot_dynamics_ros.simulation.effects.limits import RigidStops
from robot_dynamics_ros.simulation.integrators.methods import INTEGRATORS
from robot_dynamics_ros.simulation.model_error import random_model_error, robot_model_error
from robot_dynamics_ros.simulation.mujoco_engine.convert import GEOMETRIES
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant
from robot_dynamics_ros.simulation.mujoco_engine.world import (
    MUJOCO_INTEGRATORS,
    PRIMITIVES,
    WorldShape,
)
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import SensorSettings
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot

ENGINE_PARAMETERS = parameter_table(
    "simulator",
    "engine",
    {"mujoco.geometry": GEOMETRIES, "mujoco.integrator": ("", *MUJOCO_INTEGRATORS)},
)
SHAPE_PARAMETERS = parameter_table("simulator", "shape", {"mujoco.<shape>.kind": PRIMITIVES})


def shape_parameters(name: str) -> list[Param]:
    """The parameters of one shape."""
    return [replace(param, name=param.name.replace("<shape>", name)) for param in SHAPE_PARAMETERS]


def check_shapes(parameters: Iterable[str], names: Iterable[str]) -> None:
    """Refuse parameters, given at the start, of shapes that are not listed."""
    own = {param.name for param in ENGINE_PARAMETERS}
    for parameter in parameters:
        head, _, rest = parameter.partition(".")
        shape, dot, _ = rest.rpartition(".")
        if head == "mujoco" and dot and parameter not in own and shape not in names:
            raise UnknownNameError("shape", shape, tuple(names), where=f"parameter {parameter!r}")


_OF_PLANT: tuple[tuple[str, Any], ...] = (("integrator", "moreau"), ("stop_restitution", 0.0))
"""Parameters, with their defaults, of the plant without MuJoCo and without closed loops alone."""


def check_engine(values: ParameterValues) -> None:
    """Refuse parameters that the chosen engine does not know."""
    if values["engine"] == "mujoco":
        foreign = _OF_PLANT
        remedy = "With engine 'mujoco' leave it at {!r}; mujoco.integrator chooses MuJoCo's method."
    else:
        foreign = tuple((param.name, param.default) for param in ENGINE_PARAMETERS[1:])
        remedy = "Leave it at {!r}, or set engine to 'mujoco'."
    for name, plain in foreign:
        if values[name] != plain:
            problem = f"has no meaning with engine {values['engine']!r}"
            raise ArgumentError(
                problem, where=f"parameter {name!r}", got=values[name], remedy=remedy.format(plain)
            )


def make_mujoco_plant(
    values: ParameterValues,
    model: RobotModel,
    urdf: str,
    **common: object,
) -> MujocoPlant:
    """The robot and its world in MuJoCo, with geometry of the ``urdf`` text; ``common`` is what
    every plant takes.
    """
    file = values["robot_description_file"]
    words = [param.name.rpartition(".")[2] for param in SHAPE_PARAMETERS]
    shapes = [
        WorldShape(name, **{word: values[f"mujoco.{name}.{word}"] for word in words})
        for name in values["mujoco.shapes"]
    ]
    names = ("geometry", "self_collision", "surface_friction", "contact_time")
    return MujocoPlant(
        model,
        1.0 / values["update_rate"],
        scene=values["mujoco.scene"] or None,
        shapes=shapes,
        urdf=urdf,
        directory=values["mujoco.meshes"]
        or (Path(file).parent if file and Path(file).is_file() else None),
        integrator=values["mujoco.integrator"] or None,
        **{name: values[f"mujoco.{name}"] for name in names},
        **common,
    )


SIMULATED_JOINT_PARAMETERS = (*parameter_table("simulator", "joint"), robot.MEASURED_EFFORT_FACTOR)


def make_driver(values: ParameterValues, plant: SimulatedRobot) -> Driver:
    """The driver that the parameters describe."""
    model = plant.model
    compensates = values["driver.compensates"]
    rates = np.array(
        [values.get(f"limits.{name}.effort_rate", 0.0) or math.inf for name in model.joint_names]
    )
    rate = rates if model.nv == len(rates) else math.inf
    return Driver(
        plant,
        compensates=compensates,
        measured=robot.measured_effort(values, model),
        effort_rate=rate,
    )


_MODEL_ERRORS = ("mass", "com", "inertia", "damping", "friction", "armature")


def sensors(values: ParameterValues) -> SensorSettings | None:
    """Errors of the sensors; ``None`` if there are none."""
    names = [field.name for field in fields(SensorSettings)]
    settings = SensorSettings(**{name: values[f"sensors.{name}"] for name in names})
    perfect = SensorSettings(seed=settings.seed)
    return None if settings == perfect else settings


def with_model_error(values: ParameterValues, model: RobotModel) -> RobotModel:
    """The simulated robot: ``model`` with the errors of ``robot_model_error``; ``model`` itself if
    there are none.
    """
    factors = {name: values[f"robot_model_error.{name}"] for name in _MODEL_ERRORS}
    if any(factor != 1.0 for factor in factors.values()):
        model = robot_model_error(model, **factors)
    spread: float = values["robot_model_error.spread"]
    if spread > 0.0:
        model = random_model_error(
            model, values["robot_model_error.seed"], **dict.fromkeys(_MODEL_ERRORS, spread)
        )
    return model


_START_PREFIX = "initial_positions."
SIMULATOR_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *ENGINE_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table(
        "simulator",
        "simulator",
        {
            "command_format": COMMAND_FORMATS,
            "integrator": INTEGRATORS,
            "driver.compensates": COMPENSATIONS,
        },
    ),
)


def initial_position_parameters(model: RobotModel) -> list[Param]:
    """One parameter a joint; by default its entry of the initial configuration."""
    start = model.initial_configuration()
    text = "Position at the start and after a reset."
    return [
        Param(
            f"{_START_PREFIX}{name}",
            float(start[model.q_slice(name).start]),
            text,
            unit="rad or m",
            read_only=True,
        )
        for name in _simple_joints(model)
    ]


def _simple_joints(model: RobotModel) -> list[str]:
    return [name for name in model.joint_names if model.joint(name).type.nq == 1]


def check_initial_positions(names: Iterable[str], model: RobotModel) -> None:
    """Refuse initial positions, given at the start, of joints that the robot does not have."""
    simple = _simple_joints(model)
    for name in names:
        if name.startswith(_START_PREFIX):
            check_name(
                "joint", name.removeprefix(_START_PREFIX), simple, where=f"parameter {name!r}"
            )


def initial_positions(values: ParameterValues, model: RobotModel) -> np.ndarray:
    """(nq,) the configuration at the start."""
    q = model.initial_configuration().copy()
    for name in model.joint_names:
        key = f"{_START_PREFIX}{name}"
        if key in values:
            q[model.q_slice(name)] = values[key]
    return q


def validate(values: ParameterValues) -> None:
    """Rules that concern more than one parameter."""
    check_joints(values["joints"])
    check_engine(values)
    if values["time_mode"] != "real_time" and values["real_time_factor"] != 1.0:
        problem = f"has no meaning with time_mode {values['time_mode']!r}"
        remedy = "Leave it at 1.0, or set time_mode to 'real_time'."
        raise ArgumentError(problem, where="parameter 'real_time_factor'", remedy=remedy)
    for name, most in (("sensors.duplicate_probability", 0.0), ("sensors.drop_probability", 0.99)):
        if values["time_mode"] == "lockstep" and values[name] > most:
            text = "cannot be combined with lockstep, where one step answers each joint state"
            remedy = "Use real_time or fast."
            raise ArgumentError(text, where=f"parameter {name!r}", got=values[name], remedy=remedy)


def _friction(values: ParameterValues, model: RobotModel) -> JointFriction | bool:
    path = values["friction_file"]
    if not path or not values["friction"]:
        return bool(values["friction"])
    friction = FrictionFile.read(path, model).friction(model, "the simulator does not have")
    own = friction.viscous, friction.coulomb, friction.breakaway, friction.stribeck_speed
    return JointFriction(*own, coupling=friction.rows[-len(COUPLING) :])


def _gears(values: ParameterValues, model: RobotModel) -> GearSprings | None:
    """Springs and play in the gears; ``None`` if they are rigid."""
    windup = values["gears.windup"]
    if not windup:
        if values["gears.backlash"]:
            problem = "has no meaning without springs: teeth that touch are as stiff as them"
            remedy = "Set gears.windup, for stiff gears to 0.001."
            raise ArgumentError(problem, where="parameter 'gears.backlash'", remedy=remedy)
        return None
    return GearSprings.of_windup(
        model,
        windup,
        backlash=values["gears.backlash"],
        damping_ratio=values["gears.damping_ratio"],
        rotor=values["gears.rotor"] or None,
        encoder=values["gears.encoder"],
    )


def make_plant(values: ParameterValues, model: RobotModel, urdf: str) -> SimulatedRobot:
    """The simulated robot of a description (``urdf``: its text), with the errors that it is to
    have.
    """
    model = with_model_error(values, model)
    period = 1.0 / values["update_rate"]
    common: dict[str, Any] = {
        "substeps": values["substeps"] or None,
        "friction": _friction(values, model),
        "limiter": values["limiter"],
        "brake_effort": values["brake_effort"] or math.inf,
        "q0": initial_positions(values, model),
        "gears": _gears(values, model),
    }
    rigid = "rigid" if values["position_stops"] else None
    if values["constraints_file"]:
        constraints = load_constraints(model, Path(values["constraints_file"]))
    else:
        constraints = None
    if values["engine"] == "mujoco":
        return make_mujoco_plant(
            values, model, urdf, stops=rigid, constraints=constraints, **common
        )
    if constraints is None:
        if values["position_stops"]:
            stops = RigidStops(values["stop_restitution"])
        else:
            stops = None
        return Plant(model, period, integrator=values["integrator"], stops=stops, **common)
    for name, plain in _OF_PLANT:
        if values[name] != plain:
            problem = (
                "a robot with closed loops is simulated by Moreau's midpoint step with stops "
                "that do not rebound"
            )
            remedy = f"Leave {name} at {plain!r}, or constraints_file empty."
            raise ArgumentError(problem, where=name, got=values[name], remedy=remedy)
    return ConstrainedPlant(constraints, period, stops=rigid, **common)
