"""``robot_dynamics info``: what a URDF amounts to."""

from __future__ import annotations

import argparse
import math

from robot_dynamics_ros.cli.robots import find_robot
from robot_dynamics_ros.cli.table import table
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.urdf import load_urdf

__all__ = ["add_arguments", "describe", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", help="path to a URDF, or the name of a robot that ships with the package")


def run(options: argparse.Namespace) -> int:
    """Print the summary."""
    print(describe(load_urdf(str(find_robot(options.robot)))))
    return 0


def describe(model: RobotModel) -> str:
    """A summary of the robot for people."""

    def number(value: float) -> str:
        return "-" if math.isinf(value) else f"{value:.4g}"

    rows = []
    for name in model.moving_joint_names:
        joint = model.joint(name)
        kind = joint.type.name.lower()
        if joint.mimic is not None:
            kind = f"{kind}, {joint.mimic.multiplier:g} x {joint.mimic.joint}"
        limits = joint.limits
        rows.append(
            [
                name,
                kind,
                joint.parent,
                joint.child,
                number(limits.lower),
                number(limits.upper),
                number(limits.velocity),
                number(limits.effort),
                number(joint.damping),
                number(joint.friction),
            ]
        )
    head = ["joint", "type", "parent", "child", "lower", "upper", "velocity", "effort", "damping", "friction"]
    return "\n".join(
        [
            f"{model.name}: {model.nv} degrees of freedom, {len(model.link_names)} links, {model.total_mass:.6g} kg, "
            f"root {model.root_link!r}",
            "",
            table(head, rows),
        ]
    )
