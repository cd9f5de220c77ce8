"""Robots whose motion is known in closed form."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Inertia, Joint, JointType, Link, RobotDescription
from robot_dynamics_ros.model.robot_model import RobotModel


def slider(
    mass: float = 2.0, *, joint_type: JointType = JointType.PRISMATIC, **joint
) -> RobotModel:
    """A block on a horizontal rail: M = mass, no bias."""
    block = Link("block", Inertia(mass, np.zeros(3), 0.1 * np.eye(3)))
    rail = Joint("rail", joint_type, "base", "block", axis=[1.0, 0.0, 0.0], **joint)
    return RobotModel.from_description(RobotDescription("slider", (Link("base"), block), (rail,)))


def wheel(inertia: float = 0.5, **joint) -> RobotModel:
    """A balanced wheel about a vertical axis: M = inertia, no bias."""
    rotor = Link("rotor", Inertia(1.0, np.zeros(3), inertia * np.eye(3)))
    axle = Joint("axle", JointType.CONTINUOUS, "base", "rotor", axis=[0.0, 0.0, 1.0], **joint)
    return RobotModel.from_description(RobotDescription("wheel", (Link("base"), rotor), (axle,)))


def cuboid_pendulum() -> RobotModel:
    """Exudyn's pendulum: 1 x 0.1 x 0.1 m, 1000 kg/m³, about z at one end, g = 9.81 m/s² along
    -y.
    """
    bar = Link(
        "bar", Inertia(10.0, [0.5, 0.0, 0.0], np.diag([1 / 60, 10 * 1.01 / 12, 10 * 1.01 / 12]))
    )
    hinge = Joint("hinge", JointType.REVOLUTE, "base", "bar", axis=[0.0, 0.0, 1.0])
    description = RobotDescription("pendulum", (Link("base"), bar), (hinge,))
    return RobotModel.from_description(description, gravity=(0.0, -9.81, 0.0))


def free_body(
    mass: float = 3.0,
    moments: tuple[float, float, float] = (0.2, 0.35, 0.5),
    com=(0.0, 0.0, 0.0),
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> RobotModel:
    """One rigid body without any joint to the world but a floating one."""
    body = Link("body", Inertia(mass, com, np.diag(moments)))
    joint = Joint("floating_base", JointType.FLOATING, "world", "body")
    return RobotModel.from_description(
        RobotDescription("free_body", (Link("world"), body), (joint,)), gravity=gravity
    )
