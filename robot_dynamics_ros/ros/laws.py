"""From parameters to the control law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.control.laws import ComputedTorque, Law
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["make_law"]


def make_law(values: Mapping[str, Any], model: RobotModel) -> Law:
    """Computed torque with the gains of the parameters, in model order; joints not commanded have none."""

    def gains(which: str) -> np.ndarray:
        return np.array([values.get(f"gains.{name}.{which}", 0.0) for name in model.joint_names])

    return ComputedTorque(kp=gains("p"), kd=gains("d"), ki=gains("i"))
