"""From parameters to the control law."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.friction_file import FrictionFile
from robot_dynamics_ros.control.laws import CartesianImpedance, Law
from robot_dynamics_ros.control.laws.registry import LAWS, gain_fields
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues

_ROBUST = Robustness()

# fmt: off
LAW_PARAMETERS = (
    Param("law", "computed_torque", "Control law.", choices=tuple(LAWS)),
    Param("robustness.enabled", True,
        "Make computed_torque hold up on a robot that differs from its description. Its gains are then chosen from "
        "robustness.bandwidth, rate and delay; false: it is its equation, with gains.<joint>.",
        applies="at the next configure"),
    Param("robustness.bandwidth", _ROBUST.bandwidth,
        "Natural frequency of the error; less is used where rate and delay ask for it.", unit="rad/s", lower=1.0,
        upper=1000.0),
    Param("robustness.rotor_share", _ROBUST.rotor_share,
        "Rotor inertia assumed of joints without armature, as a share of the largest of their size, 0.2 kg m^2 "
        "sqrt(effort limit / 100 N m).", lower=0.0, upper=1.0),
    Param("robustness.rejected_effort", _ROBUST.rejected_effort,
        "Largest effort that makes up for what the model does not explain, as a share of the effort limit.", lower=0.0,
        upper=1.0),
    Param("robustness.friction_trust", _ROBUST.friction_trust,
        "Share of the compensated friction that is believed at the start; near 1 for one that was measured.", lower=0.0,
        upper=1.0, applies="at the next configure"),
    Param("robot_delay", 0.0,
        "Delay of the robot: from a measurement to its message and from a command to its effort, together.", unit="s",
        lower=0.0, upper=0.1),
    Param("friction_compensation", "reference",
        "The speed at which the friction of the URDF is compensated; none: it is not.",
        choices=("reference", "measured", "none")),
    Param("friction_file", "",
        "JSON file with the friction of the joints, as identification writes it; empty: the URDF's.", read_only=True),
    Param("cartesian.link", "",
        "Link that cartesian_impedance holds by its origin where the reference would have it; a name that is known at "
        "configure is prepared, so that a change of law does not delay a cycle."),
    Param("cartesian.stiffness", (30.0, 30.0, 30.0, 600.0, 600.0, 600.0),
        "Its stiffness about and along the world's axes; gains.<joint>.p and .d hold the posture in what freedom is "
        "left.", unit="N m/rad, N/m", length=6, element=float),
    Param("cartesian.damping_ratio", 0.7, "Its damping ratio.", lower=0.0, upper=10.0),
)
GAINS = {
    "p": Param("gains.<joint>.p", 100.0,
        "Position gain. With computed_torque the square of the error's natural frequency; with the other laws "
        "a stiffness. Computed_torque uses gains only without robustness.enabled.", unit="1/s^2, or N m/rad or N/m",
        lower=0.0, upper=1e6),
    "d": Param("gains.<joint>.d", 20.0,
        "Velocity gain. With computed_torque twice the damping ratio times the natural frequency; with the "
        "other laws a damping.", unit="1/s, or N m s/rad or N s/m", lower=0.0, upper=1e5),
    "i": Param("gains.<joint>.i", 0.0, "Integral gain.", unit="1/s^3, or N m/(rad s) or N/(m s)", lower=0.0,
        upper=1e7),
}
# fmt: on


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
            "is empty",
            where="parameter 'cartesian.link'",
            remedy="Name the link that cartesian_impedance controls.",
        )
    model.link(link)
    return {
        "link": link,
        "stiffness": values["cartesian.stiffness"] or 0.0,
        "damping_ratio": values["cartesian.damping_ratio"],
    }
