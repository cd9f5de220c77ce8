"""Control laws: small frozen values, each a pure function of the state in a workspace."""

from robot_dynamics_ros.control.laws.base import Law

__all__ = ["Law"]
