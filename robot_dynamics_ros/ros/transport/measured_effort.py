"""The parameters that say what the efforts of joint states mean; controller, simulator and payload identification have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.model.measured_effort import MEANINGS, MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, of_joints

MEASURED_EFFORT = Param(
    "measured_effort",
    "torque",
    "Meaning of efforts in joint states: torque of the motor at the joint; torque at the link, after friction and rotor; torque "
    "without gravity; current; the command; none.",
    choices=MEANINGS,
    applies="at the next configure",
)


MEASURED_EFFORT_FACTOR = Param(
    "measured_effort_factor.<joint>",
    0.0,
    "Effort for each unit in joint states: the torque constant of a current, -1 for a sensor that counts the other "
    "way; 0: 1.",
    unit="N m or N for each unit",
    applies="at the next configure",
)


def factor_parameters(joints: Sequence[str]) -> list[Param]:
    """One parameter a joint."""
    return of_joints(joints, MEASURED_EFFORT_FACTOR)


def measured_effort(values: ParameterValues, model: RobotModel) -> MeasuredEffort:
    """The meaning that the parameters give.

    Raises:
        ArgumentError: currents without torque constants, or factors where nothing is measured.
    """
    factors = np.array([values.get(f"measured_effort_factor.{name}", 0.0) for name in model.joint_names])
    listed = factors != 0.0
    return MeasuredEffort(values["measured_effort"], np.where(listed, factors, 1.0) if listed.any() else None)
