"""Control laws: small frozen values, each a pure function of the state and reference in a workspace."""

from robot_dynamics_ros.control.laws.registry import *  # noqa: F403
from robot_dynamics_ros.control.laws.registry import __all__ as __all__
