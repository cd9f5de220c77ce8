"""The controller's parameters, and what the control core makes of them.

Names follow ros2_controllers where it has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from robot_dynamics_ros.control.contact import CONTACTS, ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.controller import ControllerOptions
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.laws import CartesianImpedance, Law
from robot_dynamics_ros.control.laws.registry import LAWS, gain_fields
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.reference.goal import Tolerances
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, check_joints, of_joints, parameter_table
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.transport.robot import (
    MEASURED_EFFORT,
    MEASURED_EFFORT_FACTOR,
    ROBOT_PARAMETERS,
    measured_effort,
)

_ROBUST = Robustness()
LAW_PARAMETERS = parameter_table(
    "controller",
    "law",
    {"law": LAWS},
    {f"robustness.{name}": getattr(_ROBUST, name) for name in ("bandwidth", "rotor_share", "rejected_effort")},
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
    names = {field.name for field in fields(law)}
    settings["friction"] = friction
    if "friction_at" in names and friction is not None:
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


#: parameter value → what the control core calls it
ACCELERATION_SOURCES = {
    "commanded": "commanded",
    "model": "measured_effort",
    "differentiated": "differentiated",
    "reference": "reference",
}

CONTROLLER_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *LAW_PARAMETERS,
    MEASURED_EFFORT,
    *parameter_table(
        "controller",
        "controller",
        {
            "command_format": COMMAND_FORMATS,
            "joint_wrenches.acceleration_source": ACCELERATION_SOURCES,
            "flange.contact": CONTACTS,
        },
    ),
)
JOINT_PARAMETERS = (*GAINS.values(), *parameter_table("controller", "joint"), MEASURED_EFFORT_FACTOR)


def joint_parameters(joints: Sequence[str]) -> list[Param]:
    """The parameters that every joint has."""
    return of_joints(joints, *JOINT_PARAMETERS)


def validate(values: ParameterValues) -> None:
    """Rules that concern more than one parameter.

    Raises:
        ArgumentError: values that do not fit together.
    """
    check_joints(values["joints"])
    if values["payload.mass"] > 0.0 and not values["payload.link"]:
        raise ArgumentError(
            "is empty although payload.mass is not zero",
            where="parameter 'payload.link'",
            remedy="Name the link that carries the payload; set both in one request.",
        )
    unstable = [
        name[len("gains.") : -len(".i")]
        for name, ki in values.items()
        if name.startswith("gains.")
        and name.endswith(".i")
        and ki > 0.0
        and values["law"] == "computed_torque"
        and ki >= values[name[:-1] + "p"] * values[name[:-1] + "d"]
    ]
    if unstable:
        raise ArgumentError(
            f"makes joint {unstable[0]!r} unstable: i must be less than p times d",
            where=f"parameter 'gains.{unstable[0]}.i'",
            remedy="Lower i, or raise p or d.",
        )
    if values["payload.link"]:
        payload(values)


def payload(values: ParameterValues) -> Payload | None:
    """The payload, or ``None`` for none.

    Raises:
        ArgumentError: an inertia that no body has.
    """
    if not values["payload.link"] or values["payload.mass"] == 0.0:
        return None
    xx, xy, xz, yy, yz, zz = values["payload.inertia"] or (0.0,) * 6
    return Payload(
        link=values["payload.link"],
        mass=values["payload.mass"],
        com=np.array(values["payload.com"] or (0.0, 0.0, 0.0)),
        inertia=np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]),
    )


def tolerances(values: ParameterValues, model: RobotModel) -> Tolerances:
    """Default tolerances, in model order."""
    names = [f"constraints.{name}" for name in model.joint_names]
    return Tolerances.uniform(
        model.nv,
        path=[values.get(f"{name}.trajectory", 0.0) for name in names],
        goal=[values.get(f"{name}.goal", 0.0) for name in names],
        stopped_velocity=values["constraints.stopped_velocity_tolerance"],
        goal_time=values["constraints.goal_time"],
    )


def options(values: ParameterValues, model: RobotModel) -> ControllerOptions:
    """The settings that hold for one configuration.

    Raises:
        ArgumentError: measured efforts that cannot be what they are said to be, or that another parameter needs.
    """
    same = {field.name: values[field.name] for field in fields(ControllerOptions) if field.name in values}
    return ControllerOptions(
        **{
            **same,
            "joints": values["joints"] or None,
            "stream_timeout": values["cmd_timeout"],
            "wrench_acceleration": ACCELERATION_SOURCES[values["joint_wrenches.acceleration_source"]],
            "differentiation_cutoff": values["joint_wrenches.differentiation_cutoff"],
            "robustness": robustness(values) if values["robustness.enabled"] else None,
            "measured_effort": measured_effort(values, model),
        }
    )


def robustness(values: ParameterValues) -> Robustness:
    """How computed torque holds up on a robot that differs from its description."""
    names = ("rotor_share", "bandwidth", "rejected_effort")
    return Robustness(delay=values["robot_delay"], **{name: values[f"robustness.{name}"] for name in names})


def observer(values: ParameterValues, model: RobotModel) -> MomentumObserver | None:
    """The observer of external efforts, or ``None`` for none."""
    if values["observer_gain"] == 0.0:
        return None
    friction = joint_friction(values, model)
    return MomentumObserver(model, gain=values["observer_gain"], friction=friction)


def contact(values: ParameterValues, model: RobotModel) -> ContactEstimate | None:
    """The estimate of a contact wrench, or ``None`` for none.

    Raises:
        ArgumentError: a link, but no observer to know efforts from.
        UnknownNameError: no such link.
    """
    if not values["external_wrench_estimate.link"]:
        return None
    if values["observer_gain"] == 0.0:
        raise ArgumentError(
            "is 0 although a wrench is to be estimated",
            where="parameter 'observer_gain'",
            remedy="Give it a value, or leave external_wrench_estimate.link empty.",
        )
    return ContactEstimate(model, values["external_wrench_estimate.link"])


def flange(values: ParameterValues, model: RobotModel) -> FlangeLoad | None:
    """The load at the flange, or ``None`` for none.

    Raises:
        UnknownNameError: no such joint or link.
    """
    joint = values["flange.joint"]
    if not joint:
        return None
    every = all_joint_names(model)
    if joint not in every:
        raise UnknownNameError("joint", joint, every, where="parameter 'flange.joint'")
    return FlangeLoad(
        model,
        joint,
        frame=values["flange.frame"],
        subtract=values["flange.subtract_gravity_and_inertia"],
        contact=values["flange.contact"],
        gain=values["flange.observer_gain"],
        friction=joint_friction(values, model),
    )


def collision(values: ParameterValues, model: RobotModel) -> CollisionMonitor | None:
    """The collision flag, or ``None`` if no joint is watched.

    Raises:
        ArgumentError: joints are watched, but there is no estimate to watch.
    """
    threshold = np.array([values.get(f"collision.{name}", 0.0) for name in model.joint_names])
    if not threshold.any():
        return None
    if values["observer_gain"] == 0.0:
        raise ArgumentError(
            "is 0 although a collision threshold is set",
            where="parameter 'observer_gain'",
            remedy="Give it a value, or set all collision.<joint> to 0.",
        )
    return CollisionMonitor(model, np.where(threshold > 0.0, threshold, np.inf), values["collision_delay"])


def guards(values: ParameterValues, model: RobotModel) -> GuardSettings:
    """Limits beside those of the URDF, in model order."""

    def column(what: str) -> np.ndarray:
        bounds = np.array([values.get(f"limits.{name}.{what}", 0.0) for name in model.joint_names])
        return np.where(bounds > 0.0, bounds, np.inf)

    return GuardSettings(
        effort_limit=column("effort"),
        effort_rate=column("effort_rate"),
        effort_scale=values["effort_scale"],
        velocity_scale=values["velocity_scale"],
        position_margin=values["position_margin"],
    )
