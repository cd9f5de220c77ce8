"""Robots: written down (:class:`RobotDescription`), ready to compute with (:class:`RobotModel`), loaded, made, edited."""

from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    Pose,
    RobotDescription,
)
from robot_dynamics_ros.model.generate import chain, limb
from robot_dynamics_ros.model.library import find_robot, load_robot, robot_names, robot_path
from robot_dynamics_ros.model.motors import DCMotor, add_rotors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.to_urdf import to_urdf
from robot_dynamics_ros.model.urdf import load_urdf, parse_urdf

__all__ = [
    "DCMotor",
    "Inertia",
    "Joint",
    "JointLimits",
    "JointType",
    "Link",
    "Mimic",
    "Pose",
    "RobotDescription",
    "RobotModel",
    "add_rotors",
    "chain",
    "find_robot",
    "limb",
    "load_robot",
    "load_urdf",
    "parse_urdf",
    "robot_names",
    "robot_path",
    "to_urdf",
]
