"""The controller's parameters, and what the control core makes of them.

Names follow ros2_controllers where it has them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from robot_dynamics_ros.control.contact import CONTACTS, ContactEstimate, FlangeLoad
from robot_dynamics_ros.control.controller import ControllerOptions
from robot_dynamics_ros.control.cycle.limits import GuardSettings
from robot_dynamics_ros.control.laws import LAWS, CartesianImpedance, Law, gain_fields
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.reference.goal import Tolerances
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.rest_efforts import check_friction_at_rest
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.dynamics.payload import Payload
from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.description import Pose
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport import robot
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.parameters import (
    ParameterValues,
    check_joints,
    parameter_table,
)
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS

_ROBUST = ("rotor_share", "bandwidth", "rejected_effort")
_TASK = ("speed", "acceleration", "jerk", "wrench", "posture_rate")
GAIN_PARAMETERS = {param.name[-1]: param for param in parameter_table("controller", "gains")}


def joint_friction(values: ParameterValues, model: RobotModel) -> Friction | None:
    """The friction that is compensated: of the file, or of the URDF; ``None`` if it is not."""
    if values["friction_compensation"] == "none":
        return None
    path = values["friction_file"]
    if not path:
        return Friction.of(model)
    friction = FrictionFile.read(path, model).friction(model)
    check_friction_at_rest(model, friction, path)
    return friction


def unused_gains(values: ParameterValues) -> str:
    """A sentence about gains that were set and are not used; empty where there are none."""
    if values["law"] != "computed_torque" or not values["robustness.enabled"]:
        return ""
    names = sorted(
        name
        for name in values
        if name.startswith("gains.") and values[name] != GAIN_PARAMETERS[name[-1]].default
    )
    if not names:
        return ""
    return (
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''} not used: with "
        "robustness.enabled, "
        "computed_torque takes its gains from robustness.bandwidth; set that, or set "
        "robustness.enabled to false"
    )


def _of_joints(values: ParameterValues, model: RobotModel, name: str) -> np.ndarray:
    """(nv,) the parameter of each joint; 0 for those that are not commanded."""
    return np.array(
        [values.get(name.replace("<joint>", joint), 0.0) for joint in model.joint_names]
    )


def make_law(values: ParameterValues, model: RobotModel) -> Law:
    """The law that the parameters describe, its gains in model order; joints not commanded have
    none.
    """
    law = LAWS[values["law"]]
    friction = joint_friction(values, model)
    gains = {
        field: _of_joints(values, model, f"gains.<joint>.{gain}")
        for gain, field in gain_fields(law).items()
    }
    settings: dict[str, Any] = {**gains, "friction": friction}
    if friction is not None and "friction_at" in {field.name for field in fields(law)}:
        settings["friction_at"] = values["friction_compensation"]
    if law is CartesianImpedance:
        link = values["cartesian.link"]
        remedy = "Name the link that cartesian_impedance controls."
        if not link:
            raise ArgumentError("is empty", where="parameter 'cartesian.link'", remedy=remedy)
        model.link(link)
        settings |= {
            "link": link,
            "stiffness": _six_or_matrix(values, "cartesian.stiffness", 0.0),
            "damping": _six_or_matrix(values, "cartesian.damping", None),
            "damping_ratio": values["cartesian.damping_ratio"],
            "axes": values["cartesian.axes"],
        }
    return law(**settings)


def _six_or_matrix(
    values: ParameterValues,
    name: str,
    without: float | None,
) -> np.ndarray | float | None:
    """(6,) or (6, 6) numbers of a parameter, ``without`` where it is empty."""
    numbers = np.array(values[name], dtype=float)
    if not numbers.size:
        return without
    if numbers.size not in (6, 36):
        remedy = "Give 6, or a matrix as 36, row after row."
        problem = f"has {numbers.size} values"
        raise ArgumentError(problem, where=f"parameter {name!r}", remedy=remedy)
    return numbers if numbers.size == 6 else numbers.reshape(6, 6)


# parameter value → what the control core calls it
ACCELERATION_SOURCES = {
    "commanded": "commanded",
    "model": "measured_effort",
    "differentiated": "differentiated",
    "reference": "reference",
}

CONTROLLER_PARAMETERS = (
    *robot.ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    robot.MEASURED_EFFORT,
    *parameter_table(
        "controller",
        "controller",
        {
            "law": LAWS,
            "command_format": COMMAND_FORMATS,
            "joint_wrenches.acceleration_source": ACCELERATION_SOURCES,
            "flange.contact": CONTACTS,
        },
        {
            **{f"robustness.{name}": getattr(Robustness(), name) for name in _ROBUST},
            **{f"task.{name}": getattr(TaskSettings(), name) for name in _TASK},
        },
    ),
)
JOINT_PARAMETERS = (
    *GAIN_PARAMETERS.values(),
    *parameter_table("controller", "joint"),
    robot.MEASURED_EFFORT_FACTOR,
)


def validate(values: ParameterValues) -> None:
    """Rules that concern more than one parameter."""
    check_joints(values["joints"])
    if values["payload.mass"] > 0.0 and not values["payload.link"]:
        problem = "is empty although payload.mass is not zero"
        remedy = "Name the link that carries the payload; set both in one request."
        raise ArgumentError(problem, where="parameter 'payload.link'", remedy=remedy)
    integral = [
        name[:-1]
        for name in values
        if name.startswith("gains.") and name.endswith(".i") and values[name] > 0.0
    ]
    for gains in integral if values["law"] == "computed_torque" else ():
        if values[gains + "i"] >= values[gains + "p"] * values[gains + "d"]:
            joint = gains.removeprefix("gains.")[:-1]
            problem = f"makes joint {joint!r} unstable: i must be less than p times d"
            raise ArgumentError(
                problem, where=f"parameter '{gains}i'", remedy="Lower i, or raise p or d."
            )
    if values["payload.link"]:
        payload(values)


def payload(values: ParameterValues) -> Payload | None:
    """The payload, or ``None`` for none; an inertia that no body has is an ArgumentError."""
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
    return Tolerances.uniform(
        model.nv,
        path=_of_joints(values, model, "constraints.<joint>.trajectory").tolist(),
        goal=_of_joints(values, model, "constraints.<joint>.goal").tolist(),
        stopped_velocity=values["constraints.stopped_velocity_tolerance"],
        goal_time=values["constraints.goal_time"],
    )


def options(values: ParameterValues, model: RobotModel) -> ControllerOptions:
    """The settings that hold for one configuration."""
    same = {
        field.name: values[field.name]
        for field in fields(ControllerOptions)
        if field.name in values
    }
    return ControllerOptions(
        **{
            **same,
            "joints": values["joints"] or None,
            "stream_timeout": values["cmd_timeout"],
            "wrench_acceleration": ACCELERATION_SOURCES[
                values["joint_wrenches.acceleration_source"]
            ],
            "differentiation_cutoff": values["joint_wrenches.differentiation_cutoff"],
            "robustness": robustness(values) if values["robustness.enabled"] else None,
            "measured_effort": robot.measured_effort(values, model),
        }
    )


def robustness(values: ParameterValues) -> Robustness:
    """How computed torque holds up on a robot that differs from its description."""
    return Robustness(
        delay=values["robot_delay"], **{name: values[f"robustness.{name}"] for name in _ROBUST}
    )


def observer(values: ParameterValues, model: RobotModel) -> MomentumObserver | None:
    """The observer of external efforts, or ``None`` for none."""
    if values["observer_gain"] == 0.0:
        return None
    friction = joint_friction(values, model)
    return MomentumObserver(model, gain=values["observer_gain"], friction=friction)


def _need_observer(values: ParameterValues, why: str, instead: str) -> None:
    if values["observer_gain"] == 0.0:
        text = f"is 0 although {why}"
        remedy = f"Give it a value, or {instead}."
        raise ArgumentError(text, where="parameter 'observer_gain'", remedy=remedy)


def contact(values: ParameterValues, model: RobotModel) -> ContactEstimate | None:
    """The estimate of a contact wrench, or ``None`` for none."""
    link = values["external_wrench_estimate.link"]
    if not link:
        return None
    _need_observer(
        values, "a wrench is to be estimated", "leave external_wrench_estimate.link empty"
    )
    return ContactEstimate(model, link)


def task(values: ParameterValues, model: RobotModel) -> TaskSettings | None:
    """The tool that is moved by targets, or ``None`` for none."""
    link = values["task.link"] or values["cartesian.link"]
    if not link:
        return None
    check_name("link", link, model.link_names, where="parameter 'task.link'")
    offset = values["task.offset"] or (0.0,) * 6
    return TaskSettings(
        link=link,
        offset=Pose.from_rpy(offset[:3], offset[3:]),
        posture_rate=values["task.posture_rate"],
        twist_timeout=values["cmd_timeout"],
        wrench=tuple(values["task.wrench"]),
        wrench_timeout=values["wrench_timeout"],
        speed=tuple(values["task.speed"]),
        acceleration=tuple(values["task.acceleration"]),
        jerk=tuple(values["task.jerk"]),
    )


def flange(values: ParameterValues, model: RobotModel) -> FlangeLoad | None:
    """The load at the flange, or ``None`` for none."""
    joint = values["flange.joint"]
    if not joint:
        return None
    every = all_joint_names(model)
    check_name("joint", joint, every, where="parameter 'flange.joint'")
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
    """The collision flag, or ``None`` if no joint is watched."""
    threshold = _of_joints(values, model, "collision.<joint>")
    if not threshold.any():
        return None
    _need_observer(values, "a collision threshold is set", "set all collision.<joint> to 0")
    return CollisionMonitor(
        model, np.where(threshold > 0.0, threshold, np.inf), values["collision_delay"]
    )


def guards(values: ParameterValues, model: RobotModel) -> GuardSettings:
    """Limits beside those of the URDF, in model order."""
    bounds = (
        _of_joints(values, model, f"limits.<joint>.{what}") for what in ("effort", "effort_rate")
    )
    effort_limit, effort_rate = (np.where(bound > 0.0, bound, np.inf) for bound in bounds)
    names = ("effort_scale", "velocity_scale", "position_margin")
    return GuardSettings(
        effort_limit=effort_limit, effort_rate=effort_rate, **{name: values[name] for name in names}
    )
