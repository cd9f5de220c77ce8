"""From parameters to the control law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.laws import (
    ComputedTorque,
    FeedforwardPD,
    GravityCompensation,
    JointImpedance,
    Law,
    PDGravity,
)
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.parameters import Param

__all__ = ["LAWS", "LAW_PARAMETERS", "make_law"]

LAWS = ("computed_torque", "pd_gravity", "feedforward_pd", "joint_impedance", "gravity_compensation")

LAW_PARAMETERS = (
    Param("law", "computed_torque", "Control law.", choices=LAWS),
    Param("friction_compensation", "reference", "The speed at which the friction of the URDF is compensated; none: it "
          "is not.", choices=("reference", "measured", "none")),
)


def make_law(values: Mapping[str, Any], model: RobotModel) -> Law:
    """The law that the parameters describe, its gains in model order; joints not commanded have none."""

    def gains(which: str) -> np.ndarray:
        return np.array([values.get(f"gains.{name}.{which}", 0.0) for name in model.joint_names])

    name, compensated_at = values["law"], values["friction_compensation"]
    friction = Friction.of(model) if compensated_at != "none" else None
    at = compensated_at if friction is not None else "reference"
    if name == "pd_gravity":
        return PDGravity(kp=gains("p"), kd=gains("d"), ki=gains("i"), friction=friction, friction_at=at)
    if name == "feedforward_pd":
        return FeedforwardPD(kp=gains("p"), kd=gains("d"), ki=gains("i"), friction=friction)
    if name == "joint_impedance":
        return JointImpedance(stiffness=gains("p"), damping=gains("d"), friction=friction, friction_at=at)
    if name == "gravity_compensation":
        return GravityCompensation(damping=gains("d"), friction=friction)
    return ComputedTorque(kp=gains("p"), kd=gains("d"), ki=gains("i"), friction=friction, friction_at=at)
