"""From parameters to the control law."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from robot_dynamics_ros.control.laws import CartesianImpedance, Law
from robot_dynamics_ros.control.laws.registry import LAWS, gain_fields
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import ParameterValues, parameter_table

_ROBUST = Robustness()
LAW_PARAMETERS = parameter_table(
    "controller",
    "law",
    {"law": LAWS},
    {
        f"robustness.{name}": getattr(_ROBUST, name)
        for name in ("bandwidth", "rotor_share", "rejected_effort", "friction_trust")
    },
)
GAINS = {param.name[-1]: param for param in parameter_table("controller", "gains")}


def joint_friction(values: ParameterValues, model: RobotModel) -> Friction | None:
    """The friction that is compensated: of the file, or of the URDF; ``None`` if it is not.

    Raises:
        RobotDynamicsError: the file cannot be used.
    """
    if values["friction_compensation"] == "none":
        return None
    path = values["friction_file"]
    return FrictionFile.read(path, model).friction(model) if path else Friction.of(model)


def unused_gains(values: ParameterValues) -> str:
    """A sentence about gains that were set and are not used; empty where there are none."""
    if values["law"] != "computed_torque" or not values["robustness.enabled"]:
        return ""
    names = sorted(name for name in values if name.startswith("gains.") and values[name] != GAINS[name[-1]].default)
    if not names:
        return ""
    return (
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''} not used: with robustness.enabled, "
        "computed_torque takes its gains from robustness.bandwidth; set that, or set robustness.enabled to false"
    )


def make_law(values: ParameterValues, model: RobotModel) -> Law:
    """The law that the parameters describe, its gains in model order; joints not commanded have none."""

    def gains(which: str) -> np.ndarray:
        return np.array([values.get(f"gains.{name}.{which}", 0.0) for name in model.joint_names])

    law, friction = LAWS[values["law"]], joint_friction(values, model)
    settings: dict[str, Any] = {field: gains(parameter) for parameter, field in gain_fields(law).items()}
    fields = {f.name for f in dataclasses.fields(law)}
    settings["friction"] = friction
    if "friction_at" in fields and friction is not None:
        settings["friction_at"] = values["friction_compensation"]
    if law is CartesianImpedance:
        settings |= _cartesian_settings(values, model)
    return law(**settings)


def _cartesian_settings(values: ParameterValues, model: RobotModel) -> dict[str, object]:
    link = values["cartesian.link"]
    if not link:
        raise ArgumentError(
            "is empty", where="parameter 'cartesian.link'", remedy="Name the link that cartesian_impedance controls."
        )
    model.link(link)
    return {
        "link": link,
        "stiffness": values["cartesian.stiffness"] or 0.0,
        "damping_ratio": values["cartesian.damping_ratio"],
    }
