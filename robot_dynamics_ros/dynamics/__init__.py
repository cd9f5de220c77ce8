"""Rigid-body dynamics: one algorithm a file, one table of functions, several ways to run them."""

from robot_dynamics_ros.dynamics.api import (
    bias_forces,
    forward_dynamics,
    gravity_forces,
    inverse_dynamics,
    jacobian,
    joint_wrenches,
    kinetic_energy,
    link_pose,
    mass_matrix,
    potential_energy,
)
from robot_dynamics_ros.dynamics.arguments import check_finite
from robot_dynamics_ros.dynamics.backends import available_backends, kernel
from robot_dynamics_ros.dynamics.configuration import (
    clamp_to_limits,
    difference,
    integrate,
    neutral,
    random_configuration,
)

__all__ = [
    "available_backends",
    "bias_forces",
    "check_finite",
    "clamp_to_limits",
    "difference",
    "forward_dynamics",
    "gravity_forces",
    "integrate",
    "inverse_dynamics",
    "jacobian",
    "joint_wrenches",
    "kernel",
    "kinetic_energy",
    "link_pose",
    "mass_matrix",
    "neutral",
    "potential_energy",
    "random_configuration",
]
