"""Rigid-body dynamics: one algorithm a file, one table of functions, several ways to run them."""

from robot_dynamics_ros.dynamics import api, configuration, configuration_space, frames, parameters
from robot_dynamics_ros.dynamics.api import *  # noqa: F403
from robot_dynamics_ros.dynamics.arguments import check_finite
from robot_dynamics_ros.dynamics.backends import available_backends, kernel, prepare
from robot_dynamics_ros.dynamics.configuration import *  # noqa: F403
from robot_dynamics_ros.dynamics.configuration_space import *  # noqa: F403
from robot_dynamics_ros.dynamics.frames import *  # noqa: F403
from robot_dynamics_ros.dynamics.parameters import *  # noqa: F403
from robot_dynamics_ros.dynamics.rollout import rollout

__all__ = [
    "available_backends",
    "check_finite",
    "kernel",
    "prepare",
    "rollout",
    *api.__all__,
    *parameters.__all__,
    *configuration.__all__,
    *configuration_space.__all__,
    *frames.__all__,
]
