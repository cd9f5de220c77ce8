"""URDF in, :class:`RobotModel` out."""

from __future__ import annotations

import dataclasses
import difflib
import logging
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.errors import (
    ArgumentError,
    ModelError,
    ModelWarning,
    UrdfError,
    check_name,
    level_of_caller,
)
from robot_dynamics_ros.model.checks import (
    AXIS_TOLERANCE,
    DEFAULT_POLICY,
    beyond_limits,
    check_policy,
    check_size,
    checked_joint,
    inertia_fault,
    inertial_place,
    listed,
    nearest_possible,
)
from robot_dynamics_ros.model.description import (
    Array,
    Coupling,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
    frozen_array,
)
from robot_dynamics_ros.model.edit import with_floating_base
from robot_dynamics_ros.model.geometry import check_missing_inertia, with_inertia_from_geometry
from robot_dynamics_ros.model.mjcf import is_mjcf, parse_mjcf
from robot_dynamics_ros.model.robot_model import DEFAULT_GRAVITY, RobotModel
from robot_dynamics_ros.model.urdf_clean import JOINT_TYPES, CleanUrdf
from robot_dynamics_ros.model.urdf_source import UrdfInput, read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, root_element

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from urdf_parser_py import urdf as parsed

_logger = logging.getLogger("robot_dynamics_ros.model")
_logger.addHandler(logging.NullHandler())
_logged: set[str] = set()
# Warnings of one description that are printed: its ``findings`` hold all.
_WARNINGS_SHOWN = 8
# of joints in one sentence
_NAMES_SHOWN = 4


def load_urdf(
    source: UrdfInput,
    gravity: Sequence[float] = DEFAULT_GRAVITY,
    *,
    base: Pose | ArrayLike | None = None,
    floating_base: bool = False,
    inertia_check: str = DEFAULT_POLICY,
    armature: Mapping[str, float] | None = None,
    xacro_arguments: Mapping[str, str] | None = None,
    missing_inertia: str = "keep",
    density: float | None = None,
    max_bytes: int = MAX_BYTES,
) -> RobotModel:
    """A robot from a URDF.

    Args:
        source: URDF text, or the path of a URDF, xacro or MJCF file (``package://`` and ``file://``
            addresses too).
        gravity: (3,) gravitational acceleration in the world frame, m/s².
        base: placement of the root link in the world frame, a :class:`Pose` or (4, 4) matrix;
            identity if not given.
        floating_base: put a floating joint (``root_joint``) between the world and the root link.
        inertia_check: ``"warn"`` takes physically impossible inertias of links as they are, and
            names the links, unless a mass or a moment of inertia of a moving body is negative;
            ``"error"`` refuses all bodies (links with all that is fixed to them) that cannot exist;
            ``"repair"`` takes the nearest inertias that can, and says what it changed.
        armature: joint name → reflected rotor inertia, kg m² (kg for prismatic joints).  URDF has
            no element for it; ``<drake:rotor_inertia>`` and ``<drake:gear_ratio>`` in a
            transmission's actuator are read, this argument has precedence.
        xacro_arguments: arguments for a xacro file.
        missing_inertia: ``"from_geometry"`` gives links without ``<inertial>`` the mass properties
            of their collision (else visual) geometry at ``density``, kg/m³, and reports each;
            meshes need trimesh.  ``"keep"``: they have no mass.
        density: kg/m³, for ``missing_inertia``.
        max_bytes: largest document accepted.

    Warns:
        ModelWarning: once for each load, with everything that is unusual but usable.

    Raises:
        UrdfError: the document is missing, unreadable, not a URDF, has a broken element or an
            inertia that cannot be computed with.
        ModelError: the joints do not form one tree, or the mass matrix is singular.
        ArgumentError: an argument other than the document is wrong.
    """
    check_missing_inertia(missing_inertia, density)
    estimates: list[str] = []
    description, places = _read(source, inertia_check, armature, xacro_arguments, max_bytes)
    if missing_inertia == "from_geometry" and density is not None:
        description, estimates = with_inertia_from_geometry(description, float(density))
        description = dataclasses.replace(description, findings=(*description.findings, *estimates))
    if floating_base:
        description = with_floating_base(description)
    try:
        model = RobotModel.from_description(description, gravity=gravity, base=Pose.of(base))
    except ModelError as error:
        # the cause, where geometry should have given mass and could not
        lost = [text for text in estimates if "keeps no mass" in text]
        problem = "; ".join([*(text.rstrip(".") for text in lost), error.problem])
        if error.where not in places:
            if lost:
                raise ModelError(
                    problem, where=error.where, got=error.got, remedy=error.remedy
                ) from None
            raise
        for line, place in places.items():
            problem = problem.replace(f"\n  {line}:", f"\n  {place}:")
        raise UrdfError(
            problem,
            where=places[error.where],
            got=error.got,
            remedy=error.remedy,
            setting=error.setting,
        ) from None
    _report(model.name, list(model.description.findings))
    return model


def parse_urdf(
    source: UrdfInput,
    *,
    inertia_check: str = DEFAULT_POLICY,
    armature: Mapping[str, float] | None = None,
    xacro_arguments: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> RobotDescription:
    """The content of a URDF. Each element is checked, the whole tree is not.  Arguments as
    :func:`load_urdf`.

    Args:
        source, inertia_check, armature, xacro_arguments, max_bytes: as :func:`load_urdf`.
    """
    return _read(source, inertia_check, armature, xacro_arguments, max_bytes)[0]


def _of_initial_positions(clean: CleanUrdf, joints: Sequence[Joint]) -> list[str]:
    """Findings on initial positions of joints that do not exist, or beyond their limits."""
    names = {joint.name for joint in joints}
    findings = [
        f"<ros2_control> gives an initial position for joint {name!r}, which does not exist"
        for name in clean.initial_positions.keys() - names
    ]
    for joint in joints:
        start = clean.initial_positions.get(joint.name)
        beyond = "" if start is None else beyond_limits(joint.limits, (start,))
        if beyond:
            findings.append(
                f"<ros2_control> has joint {joint.name!r} start at {beyond}; the nearest position "
                "within them is taken"
            )
    return findings


def _check_couplings(joints: Sequence[Joint]) -> None:
    """Refuse a motor that turns with a joint that does not exist, or with its own alone."""
    names = {joint.name for joint in joints}
    for joint in joints:
        if joint.coupling is not None and joint.coupling.joint not in names - {joint.name}:
            raise UrdfError(
                f"{joint.coupling.joint!r} is no other joint",
                where=f"joint {joint.name!r} <coupling>",
                remedy="Name a neighbour.",
            )


def _read(
    source: UrdfInput,
    inertia_check: str,
    armature: Mapping[str, float] | None,
    xacro_arguments: Mapping[str, str] | None,
    max_bytes: int,
) -> tuple[RobotDescription, dict[str, str]]:
    """The description, and where in the text the mass properties of links are (errors of the whole
    tree name links only).
    """
    check_policy(inertia_check)
    data, label = read_source(source, max_bytes=max_bytes, xacro_arguments=xacro_arguments)
    # no well-kept parser of it can be installed with pip
    if root_element(data) == "sdf":
        raise UrdfError(
            "it is SDF, which is not read",
            where=label,
            remedy="Convert it to URDF: robot_state_publisher with the ROS package sdformat_urdf "
            "publishes it as one, and "
            "the robot can then be named robot_description.",
        )
    if is_mjcf(data):
        path = label if label != "URDF text" else ""
        return _with_armature(parse_mjcf(data, path, inertia_check), armature), {}
    clean = CleanUrdf(data, source=label, max_bytes=max_bytes)
    robot = _urdf_parser(clean, label)
    findings = clean.findings
    links = [
        _link(link, line, inertia_check, findings)
        for link, line in zip(robot.links, clean.link_lines, strict=True)
    ]
    moving = {joint.name for joint in robot.joints if joint.type != "fixed"}
    for name in clean.armature.keys() - moving:
        findings.append(
            f"a transmission gives a rotor inertia for {name!r}, which is no moving joint"
        )
    rotor = _checked_armatures(clean.armature, moving, armature)
    joints = [
        _joint(joint, line, rotor.get(joint.name, 0.0), clean.couplings.get(joint.name), findings)
        for joint, line in zip(robot.joints, clean.joint_lines, strict=True)
    ]
    joints = [_with_more_limits(joint, clean, findings) for joint in joints]
    _note_limits_without_effect(joints, clean, findings)
    names = {joint.name for joint in joints}
    joints = [_without_stray_mimic(joint, names, findings) for joint in joints]
    _check_couplings(joints)
    joints = _without_limits_that_hold_masters(joints, findings)
    findings += _of_initial_positions(clean, joints)
    description = RobotDescription(
        name=robot.name,
        links=tuple(links),
        joints=tuple(joints),
        initial_positions={n: p for n, p in clean.initial_positions.items() if n in names},
        source=data if isinstance(data, str) else data.decode("utf-8", "replace"),
        findings=tuple(findings),
        inertia_check=inertia_check,
        path="" if label == "URDF text" else label,
    )
    return description, {
        inertial_place(link.name): _place(link, line)
        for link, line in zip(robot.links, clean.link_lines, strict=True)
    }


def _with_armature(
    description: RobotDescription, armature: Mapping[str, float] | None
) -> RobotDescription:
    """The description with the armatures given; those of the file stay elsewhere."""
    if not armature:
        return description
    moving = {
        joint.name: joint.armature
        for joint in description.joints
        if joint.type is not JointType.FIXED
    }
    return description.with_joints(_checked_armatures(moving, set(moving), armature))


def _urdf_parser(clean: CleanUrdf, label: str) -> parsed.Robot:
    # here, not above: importing it takes as long as loading ten robots
    from urdf_parser_py.urdf import (
        Robot,
    )

    try:
        return Robot.from_xml_string(clean.text)
    # urdf_parser_py raises plain Exception, AssertionError and its own ParseError
    except Exception as error:  # noqa: BLE001
        raise UrdfError(f"{error}", where=label, remedy="Correct the element named.") from None


def _place(link: parsed.Link, line: int) -> str:
    return f"{inertial_place(link.name)} (line {line})"


def _link(link: parsed.Link, line: int, policy: str, findings: list[str]) -> Link:
    inertial = link.inertial
    if inertial is None:
        return Link(link.name)
    i = inertial.inertia
    matrix = frozen_array(
        [[i.ixx, i.ixy, i.ixz], [i.ixy, i.iyy, i.iyz], [i.ixz, i.iyz, i.izz]], (3, 3)
    )
    inertia = Inertia(inertial.mass, frozen_array((0.0, 0.0, 0.0), (3,)), matrix)
    place = _place(link, line)
    check_size(inertia, place, UrdfError)
    fault = inertia_fault(inertia)
    if fault is not None and not (fault.impossible and policy == "repair"):
        # Whether it is an error depends on what is fixed to the link, which is not known yet.
        correction = ""
        if fault.impossible:
            moments = np.linalg.eigvalsh(nearest_possible(inertia).rotational)
            correction = f"; the nearest possible ones are {', '.join(f'{x:.6g}' for x in moments)}"
        findings.append(f"{place}: {fault.problem}{correction}")
    return Link(link.name, inertia.in_parent(_pose(inertial.origin)))


def _joint(
    joint: parsed.Joint,
    line: int,
    armature: float,
    coupling: Coupling | None,
    findings: list[str],
) -> Joint:
    where = f"joint {joint.name!r} (line {line})"
    kind = JOINT_TYPES[joint.type]
    origin = _pose(joint.origin)
    if kind is JointType.FIXED:
        return Joint(joint.name, kind, joint.parent, joint.child, origin)
    axis: Array = frozen_array((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, (3,))
    if kind is not JointType.FLOATING:
        length = float(np.linalg.norm(axis))
        if math.isfinite(length) and length > 0.0 and abs(length - 1.0) > AXIS_TOLERANCE:
            findings.append(f"{where} <axis>: it has length {length:.6g}; it is divided by that")
            axis = frozen_array(axis / length, (3,))
    dynamics = joint.dynamics
    damping, friction = (
        float(getattr(dynamics, name, None) or 0.0) for name in ("damping", "friction")
    )
    mimic = None
    if joint.mimic is not None:
        k = joint.mimic.multiplier
        d = joint.mimic.offset
        mimic = Mimic(
            joint.mimic.joint, 1.0 if k is None else float(k), 0.0 if d is None else float(d)
        )
    limits = _limits(joint, kind, where, findings)
    ends = (joint.parent, joint.child)
    made = Joint(
        joint.name,
        kind,
        *ends,
        origin,
        axis,
        limits,
        damping,
        friction,
        armature,
        mimic,
        coupling=coupling,
    )
    return checked_joint(made, where, UrdfError)


def _with_more_limits(joint: Joint, clean: CleanUrdf, findings: list[str]) -> Joint:
    """With limits of acceleration (URDF 1.2) and soft limits, which the parser does not know."""
    rates = clean.rates.get(joint.name, {})
    more = {}
    for name in ("acceleration", "deceleration"):
        value = rates.get(name, math.inf)
        if value == 0.0:
            findings.append(
                f"joint {joint.name!r} <limit>: {name} is 0, as if not known; no limit is assumed"
            )
        else:
            more[name] = value
    limits = dataclasses.replace(joint.limits, **more)
    bounded = joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
    if bounded and joint.name in clean.soft_limits:
        soft_lower, soft_upper = clean.soft_limits[joint.name]
        limits = dataclasses.replace(limits, soft_lower=soft_lower, soft_upper=soft_upper)
    where = f"joint {joint.name!r}"
    return checked_joint(dataclasses.replace(joint, limits=limits), where, UrdfError)


def _note_limits_without_effect(
    joints: Sequence[Joint],
    clean: CleanUrdf,
    findings: list[str],
) -> None:
    """One sentence for all joints whose limits only a driver enforces."""
    soft = [
        joint.name
        for joint in joints
        if joint.limits.soft_lower > joint.limits.lower
        or joint.limits.soft_upper < joint.limits.upper
    ]
    if soft:
        findings.append(
            "soft limits of <safety_controller> are narrower than the limits; excite stays within "
            f"them, controller and simulator do not enforce them: {_some(soft)}"
        )
    jerky = [name for name, rates in clean.rates.items() if rates.get("jerk", math.inf) < math.inf]
    if jerky:
        findings.append(f"limits of jerk are not used: {_some(jerky)}")


def _some(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _without_stray_mimic(joint: Joint, names: set[str], findings: list[str]) -> Joint:
    if joint.mimic is None or joint.mimic.joint in names:
        return joint
    near = difflib.get_close_matches(joint.mimic.joint, names, n=1)
    hint = f"; is {near[0]!r} meant?" if near else ""
    findings.append(
        f"joint {joint.name!r} <mimic>: joint {joint.mimic.joint!r} does not exist; the joint "
        f"moves on its own{hint}"
    )
    return dataclasses.replace(joint, mimic=None)


def _without_limits_that_hold_masters(joints: list[Joint], findings: list[str]) -> list[Joint]:
    """Mimic joints without position limits that would leave their masters no room: a multiplier of
    the other sign, as a rule.
    """
    named = {joint.name: joint for joint in joints}
    result = []
    for joint in joints:
        if joint.mimic is not None and joint.mimic.multiplier != 0.0:
            master = named[joint.mimic.joint].limits
            ends = [
                (x - joint.mimic.offset) / joint.mimic.multiplier
                for x in (joint.limits.lower, joint.limits.upper)
            ]
            room = min(master.upper, max(ends)) - max(master.lower, min(ends))
            if (
                room
                <= 1e-9
                < min(master.upper - master.lower, joint.limits.upper - joint.limits.lower)
            ):
                findings.append(
                    f"joint {joint.name!r} <limit>: {joint.limits.lower:g} to "
                    f"{joint.limits.upper:g} leave "
                    f"{joint.mimic.joint!r}, which it mimics with multiplier "
                    f"{joint.mimic.multiplier:g}, no room; they are "
                    "ignored"
                )
                limits = dataclasses.replace(joint.limits, lower=-math.inf, upper=math.inf)
                joint = dataclasses.replace(joint, limits=limits)
        result.append(joint)
    return result


def _limits(
    joint: parsed.Joint,
    kind: JointType,
    where: str,
    findings: list[str],
) -> JointLimits:
    limit = joint.limit
    bounded = kind in (JointType.REVOLUTE, JointType.PRISMATIC)
    if limit is None:
        if bounded:
            findings.append(
                f"{where}: <limit> is missing; no limits are assumed (other parsers refuse a "
                f"{joint.type} joint without)"
            )
        return JointLimits()
    effort = float(limit.effort)
    velocity = float(limit.velocity)
    where = f"{where} <limit>"
    if not bounded:
        if effort == velocity == 0.0:
            findings.append(
                f"{where}: effort and velocity are 0, as if not known; no limits are assumed"
            )
            return JointLimits()
        _note_zeros(where, {"effort": effort, "velocity": velocity}, findings)
        return JointLimits(velocity=velocity, effort=effort)
    lower = float(limit.lower or 0.0)
    upper = float(limit.upper or 0.0)
    if lower > upper:
        findings.append(f"{where}: lower = {lower:g} exceeds upper = {upper:g}; they are exchanged")
        lower, upper = upper, lower
    if kind is JointType.REVOLUTE and 2.0 < max(-lower, upper) / math.tau < 200.0:
        findings.append(f"{where}: {lower:g} to {upper:g} rad are many turns; are they degrees?")
    # what CAD exporters write where they know nothing
    if effort == velocity == 0.0 and joint.mimic is None:
        if lower == upper == 0.0:
            lower = -math.inf
            upper = math.inf
        findings.append(
            f"{where}: {'all limits' if math.isinf(upper) else 'effort and velocity'} are 0, as "
            "if not known; "
            "no limits are assumed in their place"
        )
        effort = velocity = math.inf
    limits = JointLimits(lower, upper, velocity, effort)
    if joint.mimic is not None:
        # its master is what is driven
        return limits
    if limits.lower == limits.upper:
        findings.append(f"{where}: lower = upper = {limits.lower:g}, so that the joint cannot move")
    _note_zeros(where, {"effort": limits.effort, "velocity": limits.velocity}, findings)
    return limits


def _note_zeros(where: str, limits: Mapping[str, float], findings: list[str]) -> None:
    """Name limits that leave the joint nothing to be driven with."""
    zero = [name for name, value in limits.items() if value == 0.0]
    if zero:
        findings.append(
            f"{where}: {' and '.join(zero)} limit 0, so that the joint cannot be driven"
        )


def _pose(origin: parsed.Pose | None) -> Pose:
    if origin is None:
        return Pose()
    return Pose.from_rpy(origin.xyz or (0.0, 0.0, 0.0), origin.rpy or (0.0, 0.0, 0.0))


def _checked_armatures(
    described: Mapping[str, float],
    moving: set[str],
    armature: Mapping[str, float] | None,
) -> dict[str, float]:
    result = dict(described)
    for name, value in (armature or {}).items():
        check_name("moving joint", name, sorted(moving), where="armature")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (math.isfinite(number) and number >= 0.0):
            problem = f"expected a number that is zero or more, got {value!r}"
            remedy = "It is the rotor's inertia times the square of the gear ratio, kg m²."
            raise ArgumentError(problem, where=f"armature[{name!r}]", remedy=remedy)
        result[name] = number
    return result


def _report(robot: str, findings: list[str]) -> None:
    if not findings:
        return
    message = (
        f"robot {robot!r} is usable, "
        f"but:{listed([f'- {finding}' for finding in findings], _WARNINGS_SHOWN)}"
    )
    if any("nearest possible" in finding for finding in findings):
        message += (
            "\n  Inertias are taken as they are; inertia_check 'repair' takes the nearest "
            "possible ones, 'error' none."
        )
    warnings.warn(ModelWarning(message, findings), stacklevel=level_of_caller())
    if message not in _logged:
        _logged.add(message)
        _logger.warning("%s", message)
