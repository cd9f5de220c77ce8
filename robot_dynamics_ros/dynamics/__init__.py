"""Rigid-body dynamics: one algorithm a file, one table of functions, several ways to run them."""

from robot_dynamics_ros.dynamics import (
    api,
    configuration,
    configuration_space,
    frames,
    inertias,
    link_functions,  # noqa: F401 (enters its functions in the table)
    motions,
    parameters,
    time_step,  # noqa: F401 (likewise)
    wrenches,
)
from robot_dynamics_ros.dynamics.api import *  # noqa: F403
from robot_dynamics_ros.dynamics.arguments import check_finite
from robot_dynamics_ros.dynamics.backends import available_backends, kernel, prepare
from robot_dynamics_ros.dynamics.configuration import *  # noqa: F403
from robot_dynamics_ros.dynamics.configuration_space import *  # noqa: F403
from robot_dynamics_ros.dynamics.frames import *  # noqa: F403
from robot_dynamics_ros.dynamics.inertias import *  # noqa: F403
from robot_dynamics_ros.dynamics.motions import *  # noqa: F403
from robot_dynamics_ros.dynamics.observer import Frame
from robot_dynamics_ros.dynamics.parameters import *  # noqa: F403
from robot_dynamics_ros.dynamics.rollout import rollout
from robot_dynamics_ros.dynamics.wrenches import *  # noqa: F403
from robot_dynamics_ros.wrench import Wrench

__all__ = [
    "Frame",
    "Wrench",
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
    *inertias.__all__,
    *motions.__all__,
    *wrenches.__all__,
]
