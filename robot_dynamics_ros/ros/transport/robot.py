"""From a description and the parameters to the model that a node works with."""

from __future__ import annotations

import warnings

import numpy as np
from rclpy.impl.rcutils_logger import RcutilsLogger

from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.checks import DEFAULT_POLICY, INERTIA_POLICIES
from robot_dynamics_ros.model.measured_effort import MEANINGS, MeasuredEffort
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf, parse_urdf
from robot_dynamics_ros.ros.transport.parameters import (
    Param,
    ParameterSet,
    ParameterValues,
    check_joints,
    parameter_table,
)

_READ = "when the description is read"
_ARMATURE = "Inertia of rotor and gears as felt at the joint."

ROBOT_PARAMETERS = parameter_table(
    "common", "robot", {"inertia_check": INERTIA_POLICIES}, {"inertia_check": DEFAULT_POLICY}
)


def load_robot_model(description: str, values: ParameterSet, logger: RcutilsLogger) -> RobotModel:
    """Load the robot; declares one ``armature.<joint>`` parameter a moving joint, since URDF has no element for it.

    Findings about the description go to the log.
    """
    policy = values["inertia_check"]
    robot = parse_urdf(description, inertia_check=policy)
    moving = [joint for joint in robot.joints if joint.type.nv == 1 and joint.mimic is None]
    values.declare(
        Param(f"armature.{joint.name}", float(joint.armature), _ARMATURE, unit="kg m^2 or kg", lower=0.0, applies=_READ)
        for joint in moving
    )
    given = {joint.name: (values[f"armature.{joint.name}"], joint.armature) for joint in moving}
    armature = {name: value for name, (value, described) in given.items() if value != described}
    with warnings.catch_warnings(record=True) as findings:
        warnings.simplefilter("always")
        model = load_urdf(
            description, gravity=values["gravity"] or (0.0, 0.0, -9.81), inertia_check=policy, armature=armature or None
        )
    for finding in findings:
        logger.warning(str(finding.message))
    # those that mimic a locked joint are locked with it
    locked, start = [n for n in values["locked_joints"] if n in model.joint_names], model.initial_configuration()
    return model.lock(locked, {name: start[model.q_slice(name)] for name in locked}) if locked else model


def commanded_joints(values: ParameterValues, model: RobotModel) -> tuple[str, ...]:
    """The joints that the parameter ``joints`` names, in its order; all of the robot if it names none."""
    check_joints(values["joints"])
    for name in values["joints"]:
        check_name("joint", name, model.joint_names, where="parameter 'joints'")
    return values["joints"] or model.joint_names


MEASURED_EFFORT, MEASURED_EFFORT_FACTOR = parameter_table("common", "measured_effort", {"measured_effort": MEANINGS})


def measured_effort(values: ParameterValues, model: RobotModel) -> MeasuredEffort:
    """The meaning that the parameters give."""
    factors = np.array([values.get(f"measured_effort_factor.{name}", 0.0) for name in model.joint_names])
    listed = factors != 0.0
    return MeasuredEffort(values["measured_effort"], np.where(listed, factors, 1.0) if listed.any() else None)
