"""A robot as URDF text, which loads as the same robot."""

from __future__ import annotations

import math
from collections.abc import Iterable

from robot_dynamics_ros.model.description import Inertia, Joint, JointType, Pose, RobotDescription
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["to_urdf"]

DRAKE_NAMESPACE = "http://drake.mit.edu"
_LARGEST = "1e+308"  # URDF has no infinity; load_urdf reads 1e300 and more as "no limit"


def to_urdf(robot: RobotModel | RobotDescription) -> str:
    """URDF text of ``robot``: links, inertias, joints, limits, friction, mimics.

    Numbers are written with all their digits.  Inertias are about the centre of mass, in link axes.  Armature
    becomes a transmission with Drake's ``<drake:rotor_inertia>``, initial positions a ``<ros2_control>`` element.
    Visuals, collisions and the base placement are not part of a model, so the URDF lacks them.

    Args:
        robot: a model or its description.
    """
    robot = robot.description if isinstance(robot, RobotModel) else robot
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    armature = [joint for joint in robot.joints if joint.armature + joint.rotor_inertia > 0.0]
    namespace = f" xmlns:drake={_quoted(DRAKE_NAMESPACE)}" if armature else ""
    lines.append(f"<robot name={_quoted(robot.name)}{namespace}>")
    for link in robot.links:
        lines += _link(link.name, link.inertia)
    for joint in robot.joints:
        lines += _joint(joint)
    for joint in armature:
        lines += _transmission(joint)
    if robot.initial_positions:
        lines += _ros2_control(robot)
    lines.append("</robot>")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """``text`` as an attribute value, quotes included."""
    for character, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ('"', "&quot;"),
        ("\n", "&#10;"),
        ("\t", "&#9;"),
    ):
        text = text.replace(character, entity)
    return f'"{text}"'


def _number(value: float) -> str:
    if math.isinf(value):
        return _LARGEST if value > 0 else "-" + _LARGEST
    return repr(float(value))


def _vector(values: Iterable[float]) -> str:
    return _quoted(" ".join(_number(value) for value in values))


def _origin(pose: Pose, indent: str) -> str:
    return f"{indent}<origin xyz={_vector(pose.position)} rpy={_vector(pose.rpy())}/>"


def _link(name: str, inertia: Inertia) -> list[str]:
    if inertia.mass == 0.0 and not inertia.rotational.any():
        return [f"  <link name={_quoted(name)}/>"]
    matrix = inertia.rotational
    entries = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
    text = " ".join(f'{key}="{_number(matrix[at])}"' for key, at in entries.items())
    return [
        f"  <link name={_quoted(name)}>",
        "    <inertial>",
        f'      <origin xyz={_vector(inertia.com)} rpy="0 0 0"/>',
        f'      <mass value="{_number(inertia.mass)}"/>',
        f"      <inertia {text}/>",
        "    </inertial>",
        "  </link>",
    ]


def _joint(joint: Joint) -> list[str]:
    lines = [
        f'  <joint name={_quoted(joint.name)} type="{joint.type.name.lower()}">',
        _origin(joint.origin, "    "),
        f"    <parent link={_quoted(joint.parent)}/>",
        f"    <child link={_quoted(joint.child)}/>",
    ]
    if joint.type not in (JointType.FIXED, JointType.FLOATING):
        lines.append(f"    <axis xyz={_vector(joint.axis)}/>")
    limits = joint.limits
    bounded = joint.type in (JointType.REVOLUTE, JointType.PRISMATIC)
    if bounded or (
        joint.type is not JointType.FIXED and not (math.isinf(limits.effort) and math.isinf(limits.velocity))
    ):
        position = f'lower="{_number(limits.lower)}" upper="{_number(limits.upper)}" ' if bounded else ""
        lines.append(f'    <limit {position}effort="{_number(limits.effort)}" velocity="{_number(limits.velocity)}"/>')
    if joint.damping or joint.friction:
        lines.append(f'    <dynamics damping="{_number(joint.damping)}" friction="{_number(joint.friction)}"/>')
    if joint.mimic is not None:
        m = joint.mimic
        lines.append(
            f'    <mimic joint={_quoted(m.joint)} multiplier="{_number(m.multiplier)}" offset="{_number(m.offset)}"/>'
        )
    return [*lines, "  </joint>"]


def _transmission(joint: Joint) -> list[str]:
    return [
        f"  <transmission name={_quoted(joint.name + '_transmission')}>",
        "    <type>transmission_interface/SimpleTransmission</type>",
        f"    <joint name={_quoted(joint.name)}>",
        "      <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>",
        "    </joint>",
        f"    <actuator name={_quoted(joint.name + '_motor')}>",
        f'      <drake:rotor_inertia value="{_number(joint.armature + joint.rotor_inertia)}"/>',
        '      <drake:gear_ratio value="1.0"/>',
        "    </actuator>",
        "  </transmission>",
    ]


def _ros2_control(robot: RobotDescription) -> list[str]:
    lines = [
        '  <ros2_control name="initial_positions" type="system">',
        "    <hardware>",
        "      <plugin>mock_components/GenericSystem</plugin>",
        "    </hardware>",
    ]
    for name, position in robot.initial_positions.items():
        lines += [
            f"    <joint name={_quoted(name)}>",
            '      <command_interface name="effort"/>',
            '      <state_interface name="position">',
            f'        <param name="initial_value">{_number(position)}</param>',
            "      </state_interface>",
            '      <state_interface name="velocity"/>',
            "    </joint>",
        ]
    return [*lines, "  </ros2_control>"]
