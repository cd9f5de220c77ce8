"""Robots: written down (:class:`RobotDescription`), ready to compute with (:class:`RobotModel`),
loaded, made, edited.
"""

from robot_dynamics_ros.model.denavit_hartenberg import (
    DHRow,
    DHTable,
    denavit_hartenberg,
    from_denavit_hartenberg,
)
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
from robot_dynamics_ros.model.published import publish
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.model.shapes import (
    combined_inertia,
    inertia_of_capsule,
    inertia_of_cone,
    inertia_of_cuboid,
    inertia_of_cylinder,
    inertia_of_density,
    inertia_of_ellipsoid,
    inertia_of_mesh,
    inertia_of_mesh_file,
    inertia_of_sphere,
)
from robot_dynamics_ros.model.to_urdf import to_urdf
from robot_dynamics_ros.model.urdf import load_urdf, parse_urdf

__all__ = [
    "load_urdf",
    "load_robot",
    "RobotModel",
    "robot_names",
    "robot_path",
    "find_robot",
    "parse_urdf",
    "to_urdf",
    "limb",
    "chain",
    "DHTable",
    "DHRow",
    "denavit_hartenberg",
    "from_denavit_hartenberg",
    "RobotDescription",
    "Link",
    "Joint",
    "JointType",
    "JointLimits",
    "Inertia",
    "Pose",
    "Mimic",
    "add_rotors",
    "DCMotor",
    "inertia_of_mesh_file",
    "inertia_of_mesh",
    "inertia_of_cuboid",
    "inertia_of_cylinder",
    "inertia_of_capsule",
    "inertia_of_sphere",
    "inertia_of_ellipsoid",
    "inertia_of_cone",
    "inertia_of_density",
    "combined_inertia",
]

publish(__name__)
