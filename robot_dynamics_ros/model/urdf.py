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

from robot_dynamics_ros.errors import ArgumentError, ModelError, ModelWarning, UrdfError, check_name
from robot_dynamics_ros.model.checks import (
    AXIS_TOLERANCE,
    DEFAULT_POLICY,
    check_policy,
    check_size,
    checked_joint,
    inertia_fault,
    inertial_place,
    listed,
    nearest_possible,
)
from robot_dynamics_ros.model.description import (
    Coupling,
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
)
from robot_dynamics_ros.model.edit import with_floating_base
from robot_dynamics_ros.model.geometry import check_missing_inertia, with_inertia_from_geometry
from robot_dynamics_ros.model.mjcf import is_mjcf, parse_mjcf
from robot_dynamics_ros.model.robot_model import DEFAULT_GRAVITY, RobotModel
from robot_dynamics_ros.model.urdf_elements import Element, number_of, version_of
from robot_dynamics_ros.model.urdf_source import UrdfInput, read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, Node, parse_xml, root_element, without_blanks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_logger = logging.getLogger("robot_dynamics_ros.model")
_logger.addHandler(logging.NullHandler())
_logged: set[str] = set()
_SHOWN = 8
_JOINT_TYPES = {kind.name.lower(): kind for kind in JointType}


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
        source: URDF text, or the path of a URDF, xacro or MJCF file (``package://`` and ``file://`` addresses too).
        gravity: (3,) gravitational acceleration in the world frame, m/s².
        base: placement of the root link in the world frame, a :class:`Pose` or (4, 4) matrix; identity if not given.
        floating_base: put a floating joint (``root_joint``) between the world and the root link.
        inertia_check: ``"warn"`` takes physically impossible inertias of links as they are, and names the links, unless a mass or
            a moment of inertia of a moving body is negative; ``"error"`` refuses all bodies (links with all that is
            fixed to them) that cannot exist; ``"repair"`` takes the nearest inertias that can, and says what it changed.
        armature: joint name → reflected rotor inertia, kg m² (kg for prismatic joints).  URDF has no element for it;
            ``<drake:rotor_inertia>`` and ``<drake:gear_ratio>`` in a transmission's actuator are read, this
            argument has precedence.
        xacro_arguments: arguments for a xacro file.
        missing_inertia: ``"from_geometry"`` gives links without ``<inertial>`` the mass properties of their collision
            (else visual) geometry at ``density``, kg/m³, and reports each; meshes need trimesh.  ``"keep"``: they have
            no mass.
        density: kg/m³, for ``missing_inertia``.
        max_bytes: largest document accepted.

    Warns:
        ModelWarning: once for each load, with everything that is unusual but usable.

    Raises:
        UrdfError: the document is missing, unreadable, not a URDF, has a broken element or an inertia that cannot be
            computed with.
        ModelError: the joints do not form one tree, or the mass matrix is singular.
        ArgumentError: an argument other than the document is wrong.
    """
    check_missing_inertia(missing_inertia, density)
    description, places = _read(source, inertia_check, armature, xacro_arguments, max_bytes)
    if missing_inertia == "from_geometry" and density is not None:
        description, estimates = with_inertia_from_geometry(description, float(density))
        description = dataclasses.replace(description, findings=(*description.findings, *estimates))
    if floating_base:
        description = with_floating_base(description)
    try:
        model = RobotModel.from_description(description, gravity=gravity, base=Pose.of(base))
    except ModelError as error:
        if error.where not in places:
            raise
        problem = error.problem
        for line, place in places.items():
            problem = problem.replace(f"\n  {line}:", f"\n  {place}:")
        raise UrdfError(
            problem, where=places[error.where], got=error.got, remedy=error.remedy, setting=error.setting
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
    """The content of a URDF. Each element is checked, the whole tree is not.  Arguments as :func:`load_urdf`.

    Args:
        source, inertia_check, armature, xacro_arguments, max_bytes: as :func:`load_urdf`.
    """
    return _read(source, inertia_check, armature, xacro_arguments, max_bytes)[0]


def _read(
    source: UrdfInput,
    inertia_check: str,
    armature: Mapping[str, float] | None,
    xacro_arguments: Mapping[str, str] | None,
    max_bytes: int,
) -> tuple[RobotDescription, dict[str, str]]:
    """The description, and where in the text the mass properties of links are (errors of the whole tree name links only)."""
    check_policy(inertia_check)
    data, label = read_source(source, max_bytes=max_bytes, xacro_arguments=xacro_arguments)
    path = "" if label == "URDF text" else label
    if root_element(data) == "sdf":  # no well-kept parser of it can be installed with pip
        raise UrdfError(
            "it is SDF, which is not read",
            where=label,
            remedy="Convert it to URDF: robot_state_publisher with the ROS package sdformat_urdf publishes it as one, and "
            "the robot can then be named robot_description.",
        )
    if is_mjcf(data):
        description = parse_mjcf(data, path, inertia_check)
        moving = {joint.name for joint in description.joints if joint.type is not JointType.FIXED}
        rotors = _checked_armatures(moving, armature)
        return (description.with_joints(rotors) if rotors else description), {}
    root = parse_xml(data, source=label, max_bytes=max_bytes)
    reader = _Reader(root, inertia_check)
    if without_blanks(data)[1]:
        reader.findings.append("blanks before the XML declaration are ignored")
    joints, findings = reader.joints, reader.findings
    moving = {joint.name for joint in joints if joint.type is not JointType.FIXED}
    for name in reader.armature.keys() - moving:
        findings.append(f"a transmission gives a rotor inertia for {name!r}, which is no moving joint")
    rotors = {**reader.armature, **_checked_armatures(moving, armature)}
    names = {joint.name for joint in joints}
    for i, joint in enumerate(joints):
        if joint.mimic is not None and joint.mimic.joint not in names:
            near = difflib.get_close_matches(joint.mimic.joint, names, n=1)
            hint = f"; is {near[0]!r} meant?" if near else ""
            problem = f"joint {joint.mimic.joint!r} does not exist; the joint moves on its own{hint}"
            findings.append(f"joint {joint.name!r} <mimic>: {problem}")
            joints[i] = dataclasses.replace(joint, mimic=None)
        if joint.coupling is not None and joint.coupling.joint not in names - {joint.name}:
            where = f"joint {joint.name!r} <coupling>"
            raise UrdfError(f"{joint.coupling.joint!r} is no other joint", where=where, remedy="Name a neighbour.")
    joints = [
        dataclasses.replace(j, armature=rotors[j.name]) if j.name in moving & rotors.keys() else j for j in joints
    ]
    for name in reader.initial_positions.keys() - names:
        findings.append(f"<ros2_control> gives an initial position for joint {name!r}, which does not exist")
    description = RobotDescription(
        name=root.name if root.name.strip() else "unnamed",
        links=tuple(reader.links),
        joints=tuple(_without_limits_that_hold_masters(joints, findings)),
        initial_positions={n: p for n, p in reader.initial_positions.items() if n in names},
        source=data if isinstance(data, str) else data.decode("utf-8", "replace"),
        findings=tuple(findings),
        inertia_check=inertia_check,
        path=path,
    )
    return description, reader.places


class _Reader:
    """Links and joints of a URDF, and what else its elements say.

    Attributes:
        links, joints: in the order of the text; a named frame is a link without mass, fixed to another.
        places: place of a link's mass properties in errors → the same with its line.
        armature: joint name → reflected rotor inertia, from ``<drake:rotor_inertia>``.
        initial_positions: joint name → position, from ``<ros2_control>``.
        findings: what was odd, one sentence each.
    """

    def __init__(self, root: Node, policy: str) -> None:
        self.policy = policy
        self.links: list[Link] = []
        self.joints: list[Joint] = []
        self.places: dict[str, str] = {}
        self.armature: dict[str, float] = {}
        self.initial_positions: dict[str, float] = {}
        self.findings: list[str] = []
        if not root.name.strip():
            self.findings.append("the robot has no name; it is called 'unnamed'")
        self.version = version_of(root, self.findings)
        readers = {"frame": self.frame, "ros2_control": self.ros2_control, "transmission": self.transmission}
        Element(root, self.findings)  # which names elements that nobody knows
        for node in root.children:
            if node.tag == "link":
                self.links.append(self.link(Element(node, self.findings)))
            elif node.tag == "joint":
                self.joints.append(self.joint(Element(node, self.findings)))
            elif node.tag in readers:
                readers[node.tag](node)

    def link(self, element: Element) -> Link:
        name, inertial = element.text("name"), element.child("inertial")
        if inertial is None:
            return Link(name)
        self.places[inertial_place(name)] = where = inertial.where
        origin = inertial.child("origin")
        mass, matrix = inertial.need("mass").number("value"), np.zeros((3, 3))
        if (tensor := inertial.child("inertia")) is None:
            self.findings.append(f"{where}: <inertia> is missing; the mass counts as a point")
        else:
            for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)):
                moment = f"i{'xyz'[i]}{'xyz'[j]}"
                if i != j and moment not in tensor.node.attributes:
                    self.findings.append(f"{tensor.where}: attribute {moment!r} is missing; it counts as zero")
                matrix[i, j] = matrix[j, i] = tensor.number(moment, "0" if i != j else None)
        inertia = Inertia(mass, rotational=matrix)
        check_size(inertia, where, UrdfError)
        fault = inertia_fault(inertia)
        if fault is not None and not (fault.impossible and self.policy == "repair"):
            # Whether it is an error depends on what is fixed to the link, which is not known yet.
            correction = ""
            if fault.impossible:
                moments = np.linalg.eigvalsh(nearest_possible(inertia).rotational)
                correction = f"; the nearest possible ones are {', '.join(f'{x:.6g}' for x in moments)}"
            self.findings.append(f"{where}: {fault.problem}{correction}")
        return Link(name, inertia if origin is None else inertia.in_parent(origin.pose(self.version)))

    def frame(self, node: Node) -> None:
        element = Element(node, self.findings)
        name, link = element.text("name"), element.text("link")
        self.links.append(Link(name))
        self.joints.append(Joint(f"{name}_joint", JointType.FIXED, link, name, element.pose(self.version)))

    def joint(self, element: Element) -> Joint:
        """A joint; what means nothing at fixed and floating ones need not be well formed there."""
        name, type_name, where = element.text("name"), element.text("type"), element.where
        if type_name not in _JOINT_TYPES:
            remedy = f"The types of URDF are {', '.join(_JOINT_TYPES)}."
            raise UrdfError(f"unknown joint type {type_name!r}", where=where, remedy=remedy)
        kind, origin = _JOINT_TYPES[type_name], element.child("origin")
        ends = element.need("parent").text("link"), element.need("child").text("link")
        pose = Pose() if origin is None else origin.pose(self.version)
        if kind is JointType.FIXED:
            return Joint(name, kind, *ends, pose)
        axis, mimic, coupling = np.array([1.0, 0.0, 0.0]), None, None
        if kind is not JointType.FLOATING:
            if given := element.child("axis"):
                axis = np.array(given.vector("xyz"))
            length = float(np.linalg.norm(axis))
            if 0.0 < length < math.inf and abs(length - 1.0) > AXIS_TOLERANCE:
                self.findings.append(f"{where} <axis>: it has length {length:.6g}; it is divided by that")
                axis = axis / length
            if given := element.child("mimic"):
                mimic = Mimic(given.text("joint"), given.number("multiplier", "1"), given.number("offset", "0"))
            if given := element.child("coupling"):
                words = [f.name for f in dataclasses.fields(Coupling)[1:] if f.name in given.node.attributes]
                coupling = Coupling(given.text("joint"), **{word: given.number(word) for word in words})
        damping = friction = 0.0
        if given := element.child("dynamics"):
            damping, friction = given.number("damping", "0"), given.number("friction", "0")
        limits = self.limits(element.child("limit"), kind, where, mimic is not None)
        joint = Joint(name, kind, *ends, pose, axis, limits, damping, friction, mimic=mimic, coupling=coupling)
        return checked_joint(joint, where, UrdfError)

    def limits(self, limit: Element | None, kind: JointType, where: str, follows: bool) -> JointLimits:
        bounded = kind in (JointType.REVOLUTE, JointType.PRISMATIC)
        if limit is None:
            if bounded:
                self.findings.append(
                    f"{where}: <limit> is missing; no limits are assumed (other parsers refuse a {kind.name.lower()} joint without)"
                )
            return JointLimits()
        for name in ("effort", "velocity"):
            if bounded and name not in limit.node.attributes:
                self.findings.append(f"{limit.where}: attribute {name!r} is missing; no {name} limit is assumed")
        effort, velocity = (limit.number(name, "inf", limit=True) for name in ("effort", "velocity"))
        where = f"{where} <limit>"
        if not bounded:
            if effort == velocity == 0.0:
                self.findings.append(f"{where}: effort and velocity are 0, as if not known; no limits are assumed")
                return JointLimits()
            return JointLimits(velocity=velocity, effort=effort)
        lower, upper = (limit.number(name, "0", limit=True) for name in ("lower", "upper"))
        if lower > upper:
            self.findings.append(f"{where}: lower = {lower:g} exceeds upper = {upper:g}; they are exchanged")
            lower, upper = upper, lower
        if kind is JointType.REVOLUTE and 2.0 < max(-lower, upper) / math.tau < 200.0:
            self.findings.append(f"{where}: {lower:g} to {upper:g} rad are many turns; are they degrees?")
        if follows:
            return JointLimits(lower, upper, velocity, effort)  # its master is what is driven
        if effort == velocity == 0.0:  # what CAD exporters write where they know nothing
            if lower == upper == 0.0:
                lower, upper = -math.inf, math.inf
            self.findings.append(
                f"{where}: {'all limits' if math.isinf(upper) else 'effort and velocity'} are 0, as if not known; "
                "no limits are assumed in their place"
            )
            effort = velocity = math.inf
        if lower == upper:
            self.findings.append(f"{where}: lower = upper = {lower:g}, so that the joint cannot move")
        if zero := [name for name, value in (("effort", effort), ("velocity", velocity)) if value == 0.0]:
            self.findings.append(f"{where}: {' and '.join(zero)} limit 0, so that the joint cannot be driven")
        return JointLimits(lower, upper, velocity, effort)

    def ros2_control(self, control: Node) -> None:
        for joint in control.all("joint"):
            interfaces = [x for x in joint.all("state_interface") if x.name == "position"]
            for param in (param for interface in interfaces for param in interface.all("param")):
                if param.name == "initial_value":
                    where = f"<ros2_control> joint {joint.name!r} (line {param.line})"
                    self.initial_positions[joint.name] = number_of(param.text.strip(), where)

    def transmission(self, transmission: Node) -> None:
        total, joints = 0.0, transmission.all("joint")
        where = f"transmission {transmission.name!r} (line {transmission.line})"
        for actuator in transmission.all("actuator"):
            values = {"drake:rotor_inertia": 0.0, "drake:gear_ratio": 1.0}
            for child in actuator.all(*values):
                values[child.tag] = number_of(child.attributes.get("value", ""), f"{where} <{child.tag}>")
            inertia, ratio = values.values()
            total += ratio * ratio * inertia  # overflows to infinity, where ** raises
            if inertia < 0.0 or not math.isfinite(total):
                problem = f"a rotor inertia of {inertia:g} and a gear ratio of {ratio:g} are not possible"
                remedy = "Correct the numbers: kg m^2, and turns of the motor for one of the joint."
                raise UrdfError(problem, where=where, remedy=remedy)
        if total > 0.0 and len(joints) == 1:
            self.armature[joints[0].name] = self.armature.get(joints[0].name, 0.0) + total
        elif total > 0.0:
            self.findings.append(f"{where}: rotor inertia is ignored, since not one joint alone is driven")


def _without_limits_that_hold_masters(joints: list[Joint], findings: list[str]) -> list[Joint]:
    """Mimic joints without position limits that would leave their masters no room: a multiplier of the other sign, as a
    rule."""
    named = {joint.name: joint for joint in joints}
    result = []
    for joint in joints:
        if joint.mimic is not None and joint.mimic.multiplier != 0.0:
            master = named[joint.mimic.joint].limits
            ends = [(x - joint.mimic.offset) / joint.mimic.multiplier for x in (joint.limits.lower, joint.limits.upper)]
            room = min(master.upper, max(ends)) - max(master.lower, min(ends))
            if room <= 1e-9 < min(master.upper - master.lower, joint.limits.upper - joint.limits.lower):
                findings.append(
                    f"joint {joint.name!r} <limit>: {joint.limits.lower:g} to {joint.limits.upper:g} leave "
                    f"{joint.mimic.joint!r}, which it mimics with multiplier {joint.mimic.multiplier:g}, no room; they are "
                    "ignored"
                )
                limits = dataclasses.replace(joint.limits, lower=-math.inf, upper=math.inf)
                joint = dataclasses.replace(joint, limits=limits)
        result.append(joint)
    return result


def _checked_armatures(moving: set[str], armature: Mapping[str, float] | None) -> dict[str, float]:
    result = {}
    for name, value in (armature or {}).items():
        check_name("moving joint", name, sorted(moving), where="armature")
        try:
            result[name] = float(value)
        except (TypeError, ValueError):
            result[name] = math.nan
        if not (math.isfinite(result[name]) and result[name] >= 0.0):
            problem = f"expected a number that is zero or more, got {value!r}"
            remedy = "It is the rotor's inertia times the square of the gear ratio, kg m²."
            raise ArgumentError(problem, where=f"armature[{name!r}]", remedy=remedy)
    return result


def _report(robot: str, findings: list[str]) -> None:
    if not findings:
        return
    message = f"robot {robot!r} is usable, but:{listed([f'- {finding}' for finding in findings], _SHOWN)}"
    if any("nearest possible" in finding for finding in findings):
        message += (
            "\n  Inertias are taken as they are; inertia_check 'repair' takes the nearest possible ones, 'error' none."
        )
    warnings.warn(ModelWarning(message, findings), stacklevel=3)
    if message not in _logged:
        _logged.add(message)
        _logger.warning("%s", message)
