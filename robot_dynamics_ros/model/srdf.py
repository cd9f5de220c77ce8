"""Named configurations of an SRDF."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

from robot_dynamics_ros.errors import ModelWarning, UrdfError, level_of_caller
from robot_dynamics_ros.model.checks import beyond_limits
from robot_dynamics_ros.model.description import Configurations, JointType, RobotDescription
from robot_dynamics_ros.model.urdf_source import read_source
from robot_dynamics_ros.model.xml_guard import MAX_BYTES, parse_xml

_SRDF_SCHEMA: dict[str, Any] = {"robot": {"group_state": {"joint": {}}, "virtual_joint": {}}}


def read_srdf(robot: RobotDescription, source: str | os.PathLike[str]) -> Configurations:
    """The configurations of a robot's SRDF, text or path; a warning names what does not fit."""
    own = {
        j.name: j.type.nq for j in robot.joints if j.type is not JointType.FIXED and j.mimic is None
    }
    limits = {joint.name: joint.limits for joint in robot.joints}
    data, label = read_source(source, max_bytes=MAX_BYTES)
    label = "SRDF text" if label == "URDF text" else label
    root = parse_xml(data, _SRDF_SCHEMA, source=label)
    virtual = {node.attributes.get("name") for node in root.all("virtual_joint")}
    named: dict[str, dict[str, tuple[float, ...]]] = {}
    findings = []
    for state in root.all("group_state"):
        name = state.attributes.get("name", "")
        positions = named.setdefault(name, {})
        for node in state.all("joint"):
            joint = node.attributes.get("name", "")
            where = f"{label}, group_state {name!r} (line {node.line})"
            try:
                values = tuple(float(word) for word in node.attributes["value"].split())
            except (KeyError, ValueError):
                values = ()
            if not values or not all(map(math.isfinite, values)):
                problem = f"joint {joint!r} has no finite value"
                remedy = 'Write it like <joint name="NAME" value="0.5"/>, in rad or m.'
                raise UrdfError(
                    problem, where=where, got=node.attributes.get("value"), remedy=remedy
                )
            if joint not in own:
                if joint not in virtual and joint not in (j.name for j in robot.joints):
                    findings.append(f"{where}: the robot has no joint {joint!r}; it is ignored")
                continue
            if len(values) != own[joint]:
                findings.append(
                    f"{where}: joint {joint!r} has {own[joint]} coordinates; it is ignored"
                )
                continue
            beyond = beyond_limits(limits[joint], values)
            if beyond:
                findings.append(f"{where}: joint {joint!r} is at {beyond}")
            if positions.setdefault(joint, values) != values:
                findings.append(
                    f"{where}: joint {joint!r} is at {positions[joint]} in another group's "
                    "state; that counts"
                )
    if findings:
        warnings.warn(
            ModelWarning("\n  - ".join(["the SRDF is usable, but:", *findings]), findings),
            stacklevel=level_of_caller(),
        )
    return named
