"""The parameters of the effort gate, and the bounds that they and the robot's description give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from robot_dynamics_ros.control.effort_gate import GateSettings
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS

# fmt: off
GATE_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    Param("joints", (), "Joints in the array of commands, in order; empty: all, in the order of the URDF.",
        read_only=True),
    Param("command_format", "multi_array", "multi_array: Float64MultiArray; joint_state: JointState; in and out alike.",
        choices=COMMAND_FORMATS, read_only=True),
    Param("command_timeout", 0.1, "Age of the last good command after which the safe command is sent.", unit="s",
        lower=0.001, upper=10.0, read_only=True),
    Param("state_timeout", 0.1,
        "Age of the last joint state after which its velocity is not used for braking any more.", unit="s", lower=0.001,
        upper=10.0, read_only=True),
    Param("on_limit", "clip",
        "clip: efforts beyond their limit or rate are cut; stop: they stop the gate until ~/reset.",
        choices=("clip", "stop"), read_only=True),
    Param("second_publisher", "stop",
        "A second publisher of commands: stop the gate until ~/reset, report it, or ignore it.",
        choices=("stop", "report", "ignore"), read_only=True),
)
# fmt: on


def limit_parameters(model: RobotModel, joints: Sequence[str]) -> Iterable[Param]:
    """The bounds of each joint; by default those of the description."""
    for name in joints:
        i = model.v_slice(name).start
        effort, velocity = float(model.effort_limit[i]), float(model.velocity_limit[i])
        # fmt: off
        yield Param(f"limits.{name}.effort", effort if math.isfinite(effort) else 0.0,
            "Largest effort; by default that of the description.", unit="N m or N", lower=0.0, read_only=True)
        yield Param(f"limits.{name}.effort_rate", 0.0, "Largest change of the effort in a second; 0: any.",
            unit="N m/s or N/s", lower=0.0, read_only=True)
        yield Param(f"limits.{name}.velocity", 2.0 * velocity if math.isfinite(velocity) else 0.0,
            "Measured speed above which the gate stops; 0: any; by default twice the limit of the description.",
            unit="rad/s or m/s", lower=0.0, read_only=True)
        yield Param(f"limits.{name}.braking", 0.0,
            "Effort per speed of the safe command; 0: the effort drops to zero.  Keep it well below the joint's "
            "inertia over the period of joint_states.", unit="N m s/rad or N s/m", lower=0.0, read_only=True)
        # fmt: on


def gate_settings(values: ParameterValues, model: RobotModel, joints: Sequence[str]) -> GateSettings:
    """The bounds for the joints.

    Raises:
        ArgumentError: a joint has no effort limit, neither in the description nor as a parameter.
    """

    def column(name: str, nothing: float) -> np.ndarray:
        return np.array([values[f"limits.{joint}.{name}"] or nothing for joint in joints])

    for joint in joints:
        described = math.isfinite(float(model.effort_limit[model.v_slice(joint).start]))
        if not described and not values[f"limits.{joint}.effort"]:
            raise ArgumentError(
                "has no effort limit",
                where=f"joint {joint!r} of robot {model.name!r}",
                remedy=f"Set the parameter limits.{joint}.effort.",
            )
    return GateSettings(
        column("effort", 0.0),
        column("effort_rate", math.inf),
        column("velocity", math.inf),
        column("braking", 0.0),
        values["command_timeout"],
        values["state_timeout"],
        values["on_limit"] == "clip",
    )
