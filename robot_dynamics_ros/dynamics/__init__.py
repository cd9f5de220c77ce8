"""Rigid-body dynamics: one algorithm a file, one table of functions, several ways to run them."""

from robot_dynamics_ros.dynamics import (
    api,
    configuration,
    configuration_space,
    inertias,
    kinematics,
    parameters,
    relative_motion,
    wrenches,
)
from robot_dynamics_ros.dynamics.algorithms import time_step  # noqa: F401 (enters its functions in the registry)
from robot_dynamics_ros.dynamics.api import *  # noqa: F403
from robot_dynamics_ros.dynamics.configuration import *  # noqa: F403
from robot_dynamics_ros.dynamics.configuration_space import *  # noqa: F403
from robot_dynamics_ros.dynamics.engine import link_functions  # noqa: F401 (likewise)
from robot_dynamics_ros.dynamics.engine.arguments import check_finite
from robot_dynamics_ros.dynamics.engine.backends import available_backends, backend_of, kernel, prepare, prepared
from robot_dynamics_ros.dynamics.external_wrenches import WrenchGatherer, body_wrenches, link_wrenches
from robot_dynamics_ros.dynamics.inertias import *  # noqa: F403
from robot_dynamics_ros.dynamics.kinematics import *  # noqa: F403
from robot_dynamics_ros.dynamics.parameters import *  # noqa: F403
from robot_dynamics_ros.dynamics.reference_frame import Frame
from robot_dynamics_ros.dynamics.relative_motion import *  # noqa: F403
from robot_dynamics_ros.dynamics.rollout import rollout
from robot_dynamics_ros.dynamics.wrenches import *  # noqa: F403
from robot_dynamics_ros.wrench import Wrench

__all__ = [
    "Frame",
    "Wrench",
    "WrenchGatherer",
    "available_backends",
    "backend_of",
    "body_wrenches",
    "check_finite",
    "kernel",
    "link_wrenches",
    "prepare",
    "prepared",
    "rollout",
    *api.__all__,
    *parameters.__all__,
    *configuration.__all__,
    *configuration_space.__all__,
    *kinematics.__all__,
    *inertias.__all__,
    *relative_motion.__all__,
    *wrenches.__all__,
]
