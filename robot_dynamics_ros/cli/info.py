"""``robot_dynamics info``: links, masses, centres of mass, inertias, joints, axes and limits of a
robot.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy as np

from robot_dynamics_ros.cli.output import result, table
from robot_dynamics_ros.cli.robots import add_robot, load_named
from robot_dynamics_ros.model.robot_model import RobotModel

_MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_robot(parser)


def run(options: argparse.Namespace) -> int:
    """Print the tables."""
    robot = load_named(options)
    data = facts(robot.model)
    data["file"] = None if robot.path is None else str(robot.path)
    data["backend"] = robot.model.backend
    result(options, data, describe(data))
    return 0


def facts(model: RobotModel) -> dict[str, Any]:
    """Everything about the robot as plain values: SI units, radians; None for a limit that does not
    exist.

    A link's centre of mass is in the link's frame, its inertia about the centre of mass in the
    link's axes; origin and axis of a joint are in the parent link's and the joint's frame.
    """
    links = []
    for name in model.link_names:
        body = model.link(name).inertia
        inertia = dict(zip(_MOMENTS, body.rotational[np.triu_indices(3)], strict=True))
        links.append({"name": name, "mass": body.mass, "com": body.com, "inertia": inertia})
    joints = []
    for joint in map(model.joint, (*model.moving_joint_names, *model.fixed_joint_names)):
        mimic = joint.mimic
        joints.append(
            {
                "name": joint.name,
                "type": joint.type.name.lower(),
                "parent": joint.parent,
                "child": joint.child,
                "xyz": joint.origin.position,
                "rpy": joint.origin.rpy(),
                "axis": joint.axis if joint.type.nv in (1, 3) else None,
                **{
                    key: getattr(joint.limits, key)
                    for key in ("lower", "upper", "velocity", "effort")
                },
                "damping": joint.damping,
                "friction": joint.friction,
                "armature": joint.armature + joint.rotor_inertia,
                "mimic": None if mimic is None else [mimic.joint, mimic.multiplier, mimic.offset],
            }
        )
    return {
        "name": model.name,
        "degrees_of_freedom": model.nv,
        "positions": model.nq,
        "mass": model.total_mass,
        "root": model.root_link,
        "gravity": model.gravity,
        "base": {"xyz": model.base.position, "rpy": model.base.rpy()},
        "joint_names": model.joint_names,
        "initial_configuration": model.initial_configuration(),
        "configurations": {
            name: model.configuration(name) for name in model.description.configurations
        },
        "links": links,
        "joints": joints,
        "findings": model.description.findings,
    }


def describe(data: dict[str, Any]) -> str:
    """The facts as two tables for people."""
    count = data["degrees_of_freedom"]
    freedom = "1 degree" if count == 1 else f"{count} degrees"
    paragraphs = [
        f"{data['name']}: {freedom} of freedom, {len(data['links'])} links, "
        f"{data['mass']:.6g} kg, root {data['root']!r}",
        _joints(data["joints"]),
        "mass in kg; centre of mass in the link's frame, m; inertia about it, link axes, kg m^2",
        _links(data["links"]),
        *(f"configuration {name}: {_vector(q)}" for name, q in data["configurations"].items()),
    ]
    return "\n\n".join(paragraphs)


def _number(value: float) -> str:
    return "-" if not np.isfinite(value) else f"{value:.4g}"


def _vector(values: Iterable[float] | None) -> str:
    if values is None:
        return "-"
    return " ".join(f"{x:.4g}" for x in np.asarray(values) + 0.0)


def _joints(joints: list[dict[str, Any]]) -> str:
    head = [
        "joint",
        "type",
        "parent",
        "child",
        "axis",
        "lower",
        "upper",
        "unit",
        "velocity",
        "effort",
        "unit of effort",
        "damping",
        "friction",
    ]
    numbers = ("lower", "upper", "velocity", "effort", "damping", "friction")
    rows = []
    for joint in joints:
        kind = joint["type"]
        sliding = kind == "prismatic"
        units = {"unit": "m" if sliding else "rad", "unit of effort": "N" if sliding else "N m"}
        if joint["mimic"] is not None:
            leader, multiplier, offset = joint["mimic"]
            kind = f"{kind}, {multiplier:g} x {leader}" + (f" {offset:+.4g}" if offset else "")
        row = [joint["name"], kind, joint["parent"], joint["child"], _vector(joint["axis"])]
        cells = {key: _number(joint[key]) for key in numbers} | units
        if kind == "fixed":
            cells = dict.fromkeys(cells, "-")
        rows.append([*row, *(cells[key] for key in head[5:])])
    legend = (
        "velocity in the unit of positions a second; damping in N m s/rad, or N s/m; friction in "
        "the unit of effort"
    )
    return f"{table(head, rows)}\n\n{legend}"


def _links(links: list[dict[str, Any]]) -> str:
    rows = [
        [link["name"], _number(link["mass"]), _vector(link["com"])]
        + [f"{link['inertia'][key] + 0.0:.4g}" for key in _MOMENTS]
        for link in links
    ]
    head = ["link", "mass [kg]", "centre of mass [m]", *_MOMENTS]
    return table(head, rows)
