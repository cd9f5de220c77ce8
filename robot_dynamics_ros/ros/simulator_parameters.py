"""The simulator's parameters, and what the plant makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.parameters import Param
from robot_dynamics_ros.ros.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.robot import ROBOT_PARAMETERS
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import SensorSettings

__all__ = [
    "SIMULATOR_PARAMETERS", "TIME_MODES", "initial_position_parameters", "initial_positions", "make_plant", "sensors",
    "validate",
]

TIME_MODES = ("real_time", "fast", "lockstep")
INTEGRATORS = ("semi_implicit_euler", "rk4")

_SENSORS = (
    Param("sensors.position_resolution", 0.0, "Encoder step; 0: continuous.", unit="rad or m", lower=0.0,
          read_only=True),
    Param("sensors.position_noise", 0.0, "Standard deviation of measured positions.", unit="rad or m", lower=0.0,
          read_only=True),
    Param("sensors.velocity_from_position", False, "Measure velocity as the difference quotient of positions.",
          read_only=True),
    Param("sensors.velocity_time_constant", 0.0, "Low-pass filter on measured velocities; 0: none.", unit="s",
          lower=0.0, read_only=True),
    Param("sensors.velocity_noise", 0.0, "Standard deviation of measured velocities.", unit="rad/s or m/s", lower=0.0,
          read_only=True),
    Param("sensors.effort_bias", 0.0, "Constant error of measured efforts.", unit="N m or N", read_only=True),
    Param("sensors.effort_noise", 0.0, "Standard deviation of measured efforts.", unit="N m or N", lower=0.0,
          read_only=True),
    Param("sensors.delay", 0.0, "Transport delay of joint states.", unit="s", lower=0.0, upper=10.0, read_only=True),
    Param("sensors.jitter", 0.0, "Further delay, uniform between 0 and this.", unit="s", lower=0.0, upper=10.0,
          read_only=True),
    Param("sensors.drop_probability", 0.0, "Share of joint states that are lost.", lower=0.0, upper=1.0,
          read_only=True),
    Param("sensors.duplicate_probability", 0.0, "Share of joint states that arrive twice.", lower=0.0, upper=1.0,
          read_only=True),
    Param("sensors.seed", 0, "Seed of everything random.", lower=0, read_only=True),
)

SIMULATOR_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *_SENSORS,
    Param("joints", (), "Joints in joint_states and in the array of commands, in order; empty: all, in the order of "
          "the URDF.", read_only=True),
    Param("command_format", "multi_array", "multi_array: Float64MultiArray on effort_controller/commands; "
          "joint_state: JointState on robot_joint_commands.", choices=COMMAND_FORMATS, read_only=True),
    Param("command_timeout", 0.1, "Time without a command after which the effort goes to zero.", unit="s", lower=0.001,
          upper=3600.0),
    Param("wrench_timeout", 0.2, "Time without a message after which an external wrench ends.", unit="s", lower=0.001,
          upper=3600.0),
    Param("holding_brakes", False, "Brakes hold the joints while no command arrives.", read_only=True),
    Param("update_rate", 500.0, "Rate of joint states; a command is held for one period.", unit="Hz", lower=1.0,
          upper=20000.0, read_only=True),
    Param("substeps", 2, "Integration steps in one period.", lower=1, upper=1000, read_only=True),
    Param("integrator", "semi_implicit_euler", "Integration method.", choices=INTEGRATORS, read_only=True),
    Param("friction", True, "Simulate the friction of the URDF's <dynamics>.", read_only=True),
    Param("position_stops", True, "Joints stop at their position limits.", read_only=True),
    Param("limiter", True, "Limit efforts as ros2_control does.", read_only=True),
    Param("time_mode", "real_time", "real_time: paced to the clock; fast: as fast as possible; lockstep: one period "
          "for each command.", choices=TIME_MODES, read_only=True),
    Param("real_time_factor", 1.0, "Simulated seconds per second in real_time.", lower=0.001, upper=1000.0,
          read_only=True),
    Param("publish_clock", False, "Publish /clock: the simulator then owns time.", read_only=True),
    Param("publish_description", True, "Publish robot_description, unless it came by that topic.", read_only=True),
    Param("joint_wrenches.rate_divisor", 1, "Publish joint wrenches with every this-many-th joint state.", lower=1,
          upper=100000, read_only=True),
    Param("start_paused", False, "Wait for ~/set_pause with false.", read_only=True),
)


def initial_position_parameters(model: RobotModel) -> list[Param]:
    """One parameter a joint; by default what the description says, else zero, or where that is out of reach the middle."""
    given = model.description.initial_positions
    start = model.initial_configuration()
    table = []
    for name in model.joint_names:
        if model.joint(name).type.nq != 1:
            continue
        i = model.q_slice(name).start
        position, lower, upper = float(start[i]), float(model.lower[i]), float(model.upper[i])
        if name not in given and not lower <= position <= upper:
            position = 0.5 * (lower + upper) if math.isfinite(lower + upper) else min(max(position, lower), upper)
        table.append(
            Param(f"initial_positions.{name}", position, "Position at the start and after a reset.", unit="rad or m",
                  read_only=True)
        )
    return table


def initial_positions(values: Mapping[str, Any], model: RobotModel) -> np.ndarray:
    """(nq,) the configuration at the start."""
    q = model.initial_configuration().copy()
    for name in model.joint_names:
        key = f"initial_positions.{name}"
        if key in values:
            q[model.q_slice(name)] = values[key]
    return q


def validate(values: Mapping[str, Any]) -> None:
    """Rules that concern more than one parameter.

    Raises:
        ArgumentError: values that do not fit together.
    """
    joints = values["joints"]
    repeated = sorted({name for name in joints if joints.count(name) > 1})
    if repeated:
        raise ArgumentError(f"names {repeated[0]!r} more than once", where="parameter 'joints'", got=joints,
                            remedy="Name each joint once.")
    if values["time_mode"] != "real_time" and values["real_time_factor"] != 1.0:
        raise ArgumentError(f"has no meaning with time_mode {values['time_mode']!r}",
                            where="parameter 'real_time_factor'", got=values["real_time_factor"],
                            remedy="Leave it at 1.0, or set time_mode to 'real_time'.")


def sensors(values: Mapping[str, Any]) -> SensorSettings | None:
    """How the sensors err; ``None`` if they do not."""
    settings = SensorSettings(**{param.name.split(".")[1]: values[param.name] for param in _SENSORS})
    perfect = SensorSettings(seed=settings.seed)
    return None if settings == perfect else settings


def make_plant(values: Mapping[str, Any], model: RobotModel) -> Plant:
    """The simulated robot."""
    return Plant(
        model,
        1.0 / values["update_rate"],
        integrator=values["integrator"],
        substeps=values["substeps"],
        friction=values["friction"],
        stops="rigid" if values["position_stops"] else None,
        limiter=values["limiter"],
        q0=initial_positions(values, model),
    )
