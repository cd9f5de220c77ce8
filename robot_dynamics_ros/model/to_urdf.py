"""A robot as URDF text, which loads as the same robot."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from robot_dynamics_ros.model.description import Inertia, Joint, JointType, Pose, RobotDescription
from robot_dynamics_ros.model.robot_model import RobotModel

DRAKE_NAMESPACE = "http://drake.mit.edu"
# URDF has no infinity; load_urdf reads 1e300 and more as "no limit"
_LARGEST_LIMIT = "1e+308"
LIMITED_RATES = ("effort", "velocity", "acceleration", "deceleration")


def to_urdf(robot: RobotModel | RobotDescription) -> str:
    """URDF text of ``robot``: links, inertias, joints, limits, friction, mimics.

    Numbers are written with all their digits.  Inertias are about the centre of mass, in link axes.
    Armature becomes a transmission with Drake's ``<drake:rotor_inertia>``, a motor of two joints a
    ``<coupling>``, initial positions a ``<ros2_control>`` element. Visuals, collisions, gains of
    safety controllers (hence their soft limits) and the base placement are not part of a model, so
    the URDF lacks them.

    Args:
        robot: a model or its description.
    """
    if isinstance(robot, RobotModel):
        robot = robot.description
    else:
        robot = robot
    root = Element("robot", {"name": robot.name})
    for link in robot.links:
        add_inertial(SubElement(root, "link", {"name": link.name}), link.inertia)
    for joint in robot.joints:
        _joint(
            SubElement(root, "joint", {"name": joint.name, "type": joint.type.name.lower()}), joint
        )
    for joint in robot.joints:
        if joint.armature + joint.rotor_inertia > 0.0:
            root.set("xmlns:drake", DRAKE_NAMESPACE)
            _transmission(root, joint)
    if robot.initial_positions:
        _ros2_control(root, robot)
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def _number(value: float) -> str:
    if math.isinf(value):
        return _LARGEST_LIMIT if value > 0 else "-" + _LARGEST_LIMIT
    return repr(float(value))


def _numbers(values: Iterable[float]) -> str:
    return " ".join(_number(value) for value in values)


def _add(parent: Element, tag: str, **values: float) -> None:
    SubElement(parent, tag, {name: _number(value) for name, value in values.items()})


def _origin(parent: Element, pose: Pose) -> None:
    SubElement(parent, "origin", {"xyz": _numbers(pose.position), "rpy": _numbers(pose.rpy())})


def add_inertial(element: Element, inertia: Inertia) -> None:
    """Add the ``<inertial>`` of a link, if it has one."""
    if inertia.mass == 0.0 and not inertia.rotational.any():
        return
    inertial = SubElement(element, "inertial")
    matrix = inertia.rotational
    _origin(inertial, Pose(position=inertia.com))
    _add(inertial, "mass", value=inertia.mass)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = matrix
    _add(inertial, "inertia", ixx=xx, ixy=xy, ixz=xz, iyy=yy, iyz=yz, izz=zz)


def _joint(element: Element, joint: Joint) -> None:
    _origin(element, joint.origin)
    SubElement(element, "parent", {"link": joint.parent})
    SubElement(element, "child", {"link": joint.child})
    if joint.type not in (JointType.FIXED, JointType.FLOATING):
        SubElement(element, "axis", {"xyz": _numbers(joint.axis)})
    limits = joint.limits
    bounded = joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
    if bounded or (
        joint.type is not JointType.FIXED
        and any(math.isfinite(getattr(limits, name)) for name in LIMITED_RATES)
    ):
        if bounded:
            position = {"lower": limits.lower, "upper": limits.upper}
        else:
            position = {}
        # no version="1.2" with them: parsers before it refuse the whole document then
        rates = {name: getattr(limits, name) for name in LIMITED_RATES}
        given = {
            name: value
            for name, value in rates.items()
            if math.isfinite(value) or name in ("effort", "velocity")
        }
        _add(element, "limit", **position, **given)
    if joint.damping or joint.friction:
        _add(element, "dynamics", damping=joint.damping, friction=joint.friction)
    if joint.mimic is not None:
        _add(element, "mimic", multiplier=joint.mimic.multiplier, offset=joint.mimic.offset)
        element[-1].set("joint", joint.mimic.joint)
    if joint.coupling is not None:
        _add(
            element,
            "coupling",
            **{k: x for k, x in dataclasses.asdict(joint.coupling).items() if k != "joint"},
        )
        element[-1].set("joint", joint.coupling.joint)


def _transmission(root: Element, joint: Joint) -> None:
    transmission = SubElement(root, "transmission", {"name": f"{joint.name}_transmission"})
    SubElement(transmission, "type").text = "transmission_interface/SimpleTransmission"
    driven = SubElement(transmission, "joint", {"name": joint.name})
    SubElement(driven, "hardwareInterface").text = "hardware_interface/EffortJointInterface"
    actuator = SubElement(transmission, "actuator", {"name": f"{joint.name}_motor"})
    _add(actuator, "drake:rotor_inertia", value=joint.armature + joint.rotor_inertia)
    _add(actuator, "drake:gear_ratio", value=1.0)


def _ros2_control(root: Element, robot: RobotDescription) -> None:
    control = SubElement(root, "ros2_control", {"name": "initial_positions", "type": "system"})
    SubElement(SubElement(control, "hardware"), "plugin").text = "mock_components/GenericSystem"
    for name, position in robot.initial_positions.items():
        joint = SubElement(control, "joint", {"name": name})
        SubElement(joint, "command_interface", {"name": "effort"})
        state = SubElement(joint, "state_interface", {"name": "position"})
        SubElement(state, "param", {"name": "initial_value"}).text = _number(position)
        SubElement(joint, "state_interface", {"name": "velocity"})
