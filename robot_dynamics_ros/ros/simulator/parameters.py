"""The simulator's parameters, and what the plant makes of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction_file import FrictionFile
from robot_dynamics_ros.dynamics import load_constraints
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.simulator.driver import DRIVER_PARAMETERS
from robot_dynamics_ros.ros.simulator.engine import ENGINE_PARAMETERS, check_engine, make_mujoco_plant
from robot_dynamics_ros.ros.simulator.sensors import MODEL_ERROR_PARAMETERS, SENSOR_PARAMETERS, with_model_error
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, check_joints
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS
from robot_dynamics_ros.simulation.constrained import ConstrainedPlant
from robot_dynamics_ros.simulation.effects.friction import JointFriction
from robot_dynamics_ros.simulation.effects.limits import RigidStops
from robot_dynamics_ros.simulation.integrators.runge_kutta import INTEGRATORS
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot

TIME_MODES = ("real_time", "fast", "lockstep")
_START = "initial_positions."
STATE_INTERFACES = ("position", "velocity", "effort")

# fmt: off
SIMULATOR_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *ENGINE_PARAMETERS,
    *DRIVER_PARAMETERS,
    *SENSOR_PARAMETERS,
    *MODEL_ERROR_PARAMETERS,
    Param("joints", (),
        "Joints in joint_states and in the array of commands, in order; empty: all, in the order of the URDF.",
        read_only=True),
    Param("state_interfaces", STATE_INTERFACES,
        "Interfaces that joint_states publishes; the others are NaN, at full length.", choices=STATE_INTERFACES,
        read_only=True),
    Param("command_format", "multi_array",
        "multi_array: Float64MultiArray on effort_controller/commands; joint_state: JointState on "
        "robot_joint_commands.", choices=COMMAND_FORMATS, read_only=True),
    Param("command_timeout", 0.1, "Time without a command after which the effort goes to zero.", unit="s", lower=0.001,
        upper=3600.0),
    Param("wrench_timeout", 0.2, "Time without a message after which an external wrench ends.", unit="s", lower=0.001,
        upper=3600.0),
    Param("holding_brakes", False, "Brakes hold the joints while no command arrives and while the robot is disabled.",
        read_only=True),
    Param("brake_effort", 0.0, "Breakaway effort of the brakes; 0: they hold anything.", unit="N m or N", lower=0.0,
        read_only=True),
    Param("start_enabled", True, "Take commands from the start; otherwise ~/set_enabled with true comes first.",
        read_only=True),
    Param("update_rate", 500.0, "Rate of joint states; a command is held for one period.", unit="Hz", lower=1.0,
        upper=20000.0, read_only=True),
    Param("substeps", 0,
        "Integration steps in one period; 0: one, or as many as the method needs to follow the joints' damping.",
        lower=0, upper=1000, read_only=True),
    Param("integrator", "moreau", "Integration method.", choices=tuple(INTEGRATORS), read_only=True),
    Param("friction", True, "Simulate the friction of the URDF's <dynamics>.", read_only=True),
    Param("friction_file", "",
        "JSON file with the friction of the joints, as identification writes it, instead of the URDF's.",
        read_only=True),
    Param("constraints_file", "",
        "YAML file of closed loops and other constraints beside the robot description, or an MJCF file with "
        "<equality>; empty for none.", read_only=True),
    Param("position_stops", True, "Joints stop at their position limits.", read_only=True),
    Param("stop_restitution", 0.0, "Share of its speed with which a joint rebounds from its stop.", lower=0.0,
        upper=1.0, read_only=True),
    Param("limiter", True, "Limit efforts as ros2_control does.", read_only=True),
    Param("time_mode", "real_time",
        "real_time: paced to the clock; fast: as fast as possible; lockstep: one period for each command.",
        choices=TIME_MODES, read_only=True),
    Param("real_time_factor", 1.0, "Simulated seconds per second in real_time.", lower=0.001, upper=1000.0,
        read_only=True),
    Param("publish_clock", False, "Publish /clock: the simulator then owns time.", read_only=True),
    Param("publish_description", True, "Publish robot_description, unless it came by that topic.", read_only=True),
    Param("joint_wrenches.rate_divisor", 1, "Publish joint wrenches with every this-many-th joint state.", lower=1,
        upper=100000, read_only=True),
    Param("start_paused", False, "Wait for ~/set_pause with false.", read_only=True),
)
# fmt: on


def initial_position_parameters(model: RobotModel) -> list[Param]:
    """One parameter a joint; by default its entry of the initial configuration."""
    start, text = model.initial_configuration(), "Position at the start and after a reset."
    return [
        Param(f"{_START}{name}", float(start[model.q_slice(name).start]), text, unit="rad or m", read_only=True)
        for name in _simple_joints(model)
    ]


def _simple_joints(model: RobotModel) -> list[str]:
    return [name for name in model.joint_names if model.joint(name).type.nq == 1]


def check_initial_positions(names: Iterable[str], model: RobotModel) -> None:
    """Refuse initial positions of joints that the robot does not have.

    Raises:
        UnknownNameError: a name among the parameters given at the start.
    """
    simple = _simple_joints(model)
    for name in names:
        if name.startswith(_START) and name.removeprefix(_START) not in simple:
            raise UnknownNameError("joint", name.removeprefix(_START), simple, where=f"parameter {name!r}")


def initial_positions(values: ParameterValues, model: RobotModel) -> np.ndarray:
    """(nq,) the configuration at the start."""
    q = model.initial_configuration().copy()
    for name in model.joint_names:
        key = f"{_START}{name}"
        if key in values:
            q[model.q_slice(name)] = values[key]
    return q


def validate(values: ParameterValues) -> None:
    """Rules that concern more than one parameter.

    Raises:
        ArgumentError: values that do not fit together.
    """
    check_joints(values["joints"])
    check_engine(values)
    if values["time_mode"] != "real_time" and values["real_time_factor"] != 1.0:
        raise ArgumentError(
            f"has no meaning with time_mode {values['time_mode']!r}",
            where="parameter 'real_time_factor'",
            got=values["real_time_factor"],
            remedy="Leave it at 1.0, or set time_mode to 'real_time'.",
        )
    if values["time_mode"] == "lockstep":
        for name in ("sensors.duplicate_probability", "sensors.drop_probability"):
            if values[name] > (0.0 if "duplicate" in name else 0.99):
                raise ArgumentError(
                    "cannot be combined with lockstep, where one step answers each joint state",
                    where=f"parameter {name!r}",
                    got=values[name],
                    remedy="Use real_time or fast.",
                )


def _friction(values: ParameterValues, model: RobotModel) -> JointFriction | bool:
    path = values["friction_file"]
    if not path or not values["friction"]:
        return bool(values["friction"])
    friction = FrictionFile.read(path, model).friction(model)
    return JointFriction(friction.viscous, friction.coulomb, friction.breakaway, friction.stribeck_speed)


def make_plant(values: ParameterValues, model: RobotModel, urdf: str) -> SimulatedRobot:
    """The simulated robot, with the errors that it is to have.

    Args:
        urdf: the text of the description.

    Raises:
        SimulationError: the step is too large for the damping.
        ArgumentError, ConstraintError: a file of constraints that does not fit the robot or the other parameters.
        BackendError: the engine is not installed.
    """
    model = with_model_error(values, model)
    period = 1.0 / values["update_rate"]
    common: dict[str, Any] = {
        "substeps": values["substeps"] or None,
        "friction": _friction(values, model),
        "limiter": values["limiter"],
        "brake_effort": values["brake_effort"] or math.inf,
        "q0": initial_positions(values, model),
    }
    rigid = "rigid" if values["position_stops"] else None
    constraints = load_constraints(model, Path(values["constraints_file"])) if values["constraints_file"] else None
    if values["engine"] == "mujoco":
        return make_mujoco_plant(values, model, urdf, stops=rigid, constraints=constraints, **common)
    if constraints is not None:
        _check_constrained(values)
        return ConstrainedPlant(constraints, period, stops=rigid, **common)
    stops = RigidStops(values["stop_restitution"]) if values["position_stops"] else None
    return Plant(model, period, integrator=values["integrator"], stops=stops, **common)


def _check_constrained(values: ParameterValues) -> None:
    for name, plain in (("integrator", "moreau"), ("stop_restitution", 0.0)):
        if values[name] != plain:
            raise ArgumentError(
                "a robot with closed loops is simulated by Moreau's midpoint step with stops that do not rebound",
                where=name,
                got=values[name],
                remedy=f"Leave {name} at {plain!r}, or constraints_file empty.",
            )
