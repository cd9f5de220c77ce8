"""The controller's parameters, and what the control core makes of them.

Names follow ros2_controllers where it has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from robot_dynamics_ros.control.contact import ContactEstimate
from robot_dynamics_ros.control.controller import ControllerOptions
from robot_dynamics_ros.control.flange import CONTACTS, FlangeLoad
from robot_dynamics_ros.control.guards import GuardSettings
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.payload import Payload
from robot_dynamics_ros.control.reference.tolerances import Tolerances
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import all_joint_names
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.controller.laws import GAINS, LAW_PARAMETERS, joint_friction
from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, check_joints, of_joints
from robot_dynamics_ros.ros.transport.realtime import REALTIME_PARAMETERS
from robot_dynamics_ros.ros.transport.robot import (
    MEASURED_EFFORT,
    MEASURED_EFFORT_FACTOR,
    ROBOT_PARAMETERS,
    measured_effort,
)

_CONFIGURE = "at the next configure"

#: parameter value → what the control core calls it
ACCELERATION_SOURCES = {
    "commanded": "commanded",
    "model": "measured_effort",
    "differentiated": "differentiated",
    "reference": "reference",
}

# fmt: off
CONTROLLER_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    *REALTIME_PARAMETERS,
    *LAW_PARAMETERS,
    MEASURED_EFFORT,
    Param("autostart", True, "Configure and activate without being asked, as soon as the description is known.",
        read_only=True),
    Param("joints", (), "Joints to command, in the order of the command message; empty: all, in the order of the URDF.",
        applies=_CONFIGURE),
    Param("command_format", "multi_array",
        "multi_array: Float64MultiArray on effort_controller/commands; joint_state: JointState on "
        "robot_joint_commands.", choices=COMMAND_FORMATS, applies=_CONFIGURE),
    Param("gravity_compensated_by", "controller",
        "Who supplies the effort against gravity; with 'robot' exactly that effort is taken off the command, with "
        "'robot_with_coriolis' that of Coriolis and centrifugal effects too.",
        choices=("controller", "robot", "robot_with_coriolis"), applies=_CONFIGURE),
    Param("safe_command", "zero",
        "What is sent when the state is stale, on deactivation and at the end: no effort, or the effort that holds the "
        "last known position against gravity.", choices=("zero", "gravity"), applies=_CONFIGURE),
    Param("state_timeout", 0.1, "Age of the newest joint state at which the safe command goes out.", unit="s",
        lower=0.001, upper=60.0, applies=_CONFIGURE),
    Param("second_publisher", "report",
        "What another publisher on the command topic brings about: nothing, a warning in the log and /diagnostics, or "
        "that the controller does not activate and, if active, sends the safe command and deactivates.",
        choices=("ignore", "report", "refuse")),
    Param("cycle_budget", 0.0,
        "Time that a control cycle may take; longer ones count as overruns; 0: the period of the joint states.",
        unit="s", lower=0.0, upper=60.0, applies=_CONFIGURE),
    Param("action_monitor_rate", 20.0, "Rate of the feedback of ~/follow_joint_trajectory, at most 50.", unit="Hz",
        lower=0.1, upper=50.0, read_only=True),
    Param("cmd_timeout", 0.2, "Time without a streamed set-point after which the arm is brought to a stop.", unit="s",
        lower=0.001, upper=60.0, applies=_CONFIGURE),
    Param("wrench_timeout", 0.2, "Time after which an external wrench is forgotten.", unit="s", lower=0.001, upper=60.0,
        applies=_CONFIGURE),
    Param("allow_partial_joints_goal", False, "Accept trajectories for some of the joints only.", applies=_CONFIGURE),
    Param("allow_nonzero_velocity_at_trajectory_end", False, "Accept a last trajectory point that moves.",
        applies=_CONFIGURE),
    Param("trajectory_effort", "ignore", "What happens to the effort of trajectory points.", choices=("ignore", "add"),
        applies=_CONFIGURE),
    Param("blend_time", 0.2, "Time over which a change of gains or payload is faded in.", unit="s", lower=0.0,
        upper=10.0, applies=_CONFIGURE),
    Param("max_step", 0.05, "Largest distance between the present reference and a set-point that is due at once.",
        unit="rad or m", lower=0.0, upper=10.0, applies=_CONFIGURE),
    Param("max_state_jump", 0.1,
        "How far a joint may be from where its speed can have brought it since the joint state before. A state farther "
        "off is dropped; if the jump lasts, the arm is held at its new place after state_timeout; 0: not watched.",
        unit="rad or m", lower=0.0, upper=1e6, applies=_CONFIGURE),
    Param("constraints.stopped_velocity_tolerance", 0.01,
        "Largest speed that counts as stopped at the goal; 0: not watched.", unit="rad/s or m/s", lower=0.0),
    Param("constraints.goal_time", 0.0, "How late the goal may be reached; 0: however long it takes.", unit="s",
        lower=0.0),
    Param("effort_scale", 1.0, "Factor on the effort limits of the URDF.", lower=0.0, upper=1.0, applies=_CONFIGURE),
    Param("velocity_scale", 1.0, "Factor on the velocity limits of the URDF.", lower=0.001, upper=1.0,
        applies=_CONFIGURE),
    Param("position_margin", 0.05, "Width of the soft zone inside each position limit.", unit="rad or m", lower=0.0,
        applies=_CONFIGURE),
    Param("payload.link", "", "Link that carries the payload; empty: none."),
    Param("payload.mass", 0.0, "Mass of the payload.", unit="kg", lower=0.0),
    Param("payload.com", (0.0, 0.0, 0.0), "Centre of mass of the payload in the link's frame.", unit="m", length=3,
        element=float),
    Param("payload.inertia", (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "Inertia of the payload about its centre of mass: ixx, ixy, ixz, iyy, iyz, izz.", unit="kg m^2", length=6,
        element=float),
    Param("joint_wrenches.rate_divisor", 1,
        "Publish joint wrenches, their parts and the flange wrench with every this-many-th joint state.", lower=1,
        upper=100000),
    Param("joint_wrenches.acceleration_source", "commanded",
        "Acceleration the wrenches are computed with: what the commanded effort gives by the model, what the measured "
        "effort gives by the model, the filtered derivative of the measured velocity, or the reference's.",
        choices=tuple(ACCELERATION_SOURCES), applies=_CONFIGURE),
    Param("joint_wrenches.differentiation_cutoff", 30.0,
        "Cut-off frequency of the differentiated velocity; its delay is 1 / (2 pi cut-off) and half a period of the "
        "joint states.", unit="Hz", lower=0.1, upper=10000.0, applies=_CONFIGURE),
    Param("joint_wrenches.fixed_joints", (),
        "Fixed joints to publish wrenches of as well: names or patterns with * and ?.", applies=_CONFIGURE),
    Param("wrench_parts.joints", (),
        "Joints to publish the parts of the balance of wrenches of, on ~/wrench_parts/<joint>/<part>: names or "
        "patterns, fixed joints too.", applies=_CONFIGURE),
    Param("wrench_parts.observer", "",
        "The link (or 'world') from which the parts are seen and in whose axes they are; empty: the link before each "
        "joint.", applies=_CONFIGURE),
    Param("flange.joint", "",
        "Joint at which ~/wrench is read as by a force/torque sensor, usually the fixed joint of the tool; empty: "
        "none.", applies=_CONFIGURE),
    Param("flange.frame", "",
        "Link about whose origin and in whose axes ~/wrench is; empty: the child link of the joint.",
        applies=_CONFIGURE),
    Param("flange.subtract_gravity_and_inertia", False,
        "Subtract weight and inertia of everything beyond the joint from ~/wrench, so that what the surroundings press "
        "on it remains.", applies=_CONFIGURE),
    Param("flange.contact", "estimated",
        "Source of the contact beyond the flange: estimated from the efforts that the model does not explain, or the "
        "known external wrenches.", choices=CONTACTS, applies=_CONFIGURE),
    Param("flange.observer_gain", 50.0, "Gain of the momentum observer that estimates it; its delay is the inverse.",
        unit="1/s", lower=0.1, upper=10000.0, applies=_CONFIGURE),
    Param("observer_gain", 50.0, "Bandwidth of the estimate of external efforts; 0: none is made.", unit="1/s",
        lower=0.0, upper=10000.0, applies=_CONFIGURE),
    Param("external_wrench_estimate.link", "",
        "Link at which ~/external_wrench_estimate takes a contact to be; empty: no estimate.", applies=_CONFIGURE),
    Param("collision_reaction", "none", "What an external effort beyond collision.<joint> brings about.",
        choices=("none", "hold", "gravity"), applies=_CONFIGURE),
    Param("collision_delay", 0.0, "How long it must stay beyond.", unit="s", lower=0.0, upper=10.0, applies=_CONFIGURE),
    Param("state_publish_rate", 50.0, "Rate of the reference and error topics.", unit="Hz", lower=0.1, upper=10000.0),
)
# fmt: on


# fmt: off
JOINT_PARAMETERS = (
    *GAINS.values(),
    Param("constraints.<joint>.trajectory", 0.0,
        "Largest position error on the way; more aborts the trajectory; 0: not watched.", unit="rad or m",
        lower=0.0),
    Param("constraints.<joint>.goal", 0.0, "Largest position error at the goal; 0: not watched.",
        unit="rad or m", lower=0.0),
    Param("limits.<joint>.effort", 0.0, "Effort limit beside the URDF's, the smaller counts; 0: the URDF's.",
        unit="N m or N", lower=0.0, applies=_CONFIGURE),
    Param("collision.<joint>", 0.0, "External effort that counts as a collision; 0: not watched.",
        unit="N m or N", lower=0.0, applies=_CONFIGURE),
    Param("limits.<joint>.effort_rate", 0.0, "Largest change of effort in time; 0: not limited.",
        unit="N m/s or N/s", lower=0.0, applies=_CONFIGURE),
    MEASURED_EFFORT_FACTOR,
)
# fmt: on


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
    known = [f"constraints.{name}" for name in model.joint_names]
    return Tolerances.uniform(
        model.nv,
        path=[values.get(f"{name}.trajectory", 0.0) for name in known],
        goal=[values.get(f"{name}.goal", 0.0) for name in known],
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
    names = ("rotor_share", "bandwidth", "rejected_effort", "friction_trust")
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
