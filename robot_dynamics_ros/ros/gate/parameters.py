"""The parameters of the effort gate, and the bounds that they and the robot's description give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics_ros.control.effort_gate import GateSettings
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, of_joints, parameter_table
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS

GATE_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *parameter_table("gate", "gate", {"command_format": COMMAND_FORMATS}),
)
_JOINT_PARAMETERS = parameter_table("gate", "joint")


def limit_parameters(model: RobotModel, joints: Sequence[str]) -> Iterable[Param]:
    """The bounds of each joint; by default those of the description."""
    for name in joints:
        i = model.v_slice(name).start
        effort, velocity = float(model.effort_limit[i]), 2.0 * float(model.velocity_limit[i])
        described = {f"limits.{name}.effort": effort, f"limits.{name}.velocity": velocity}
        for param in of_joints([name], *_JOINT_PARAMETERS):
            default = described.get(param.name, 0.0)
            yield replace(param, default=default if math.isfinite(default) else 0.0)


def gate_settings(values: ParameterValues, model: RobotModel, joints: Sequence[str]) -> GateSettings:
    """The bounds for the joints; one without an effort limit in the description and as a parameter is an ArgumentError."""

    def column(name: str, nothing: float) -> np.ndarray:
        return np.array([values[f"limits.{joint}.{name}"] or nothing for joint in joints])

    for joint in joints:
        described = math.isfinite(float(model.effort_limit[model.v_slice(joint).start]))
        if not described and not values[f"limits.{joint}.effort"]:
            where, remedy = f"joint {joint!r} of robot {model.name!r}", f"Set the parameter limits.{joint}.effort."
            raise ArgumentError("has no effort limit", where=where, remedy=remedy)
    return GateSettings(
        column("effort", 0.0),
        column("effort_rate", math.inf),
        column("velocity", math.inf),
        column("braking", 0.0),
        values["command_timeout"],
        values["state_timeout"],
        values["on_limit"] == "clip",
    )
