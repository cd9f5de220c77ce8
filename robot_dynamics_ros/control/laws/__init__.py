"""Control laws: small frozen values, each a pure function of the state and reference in a workspace."""

from robot_dynamics_ros.control.laws.base import Law
from robot_dynamics_ros.control.laws.joint_space import (
    ComputedTorque,
    FeedforwardPD,
    GravityCompensation,
    JointImpedance,
    PDGravity,
)
from robot_dynamics_ros.control.laws.registry import (
    bind,
    cartesian_impedance,
    computed_torque,
    feedforward_pd,
    gravity_compensation,
    joint_impedance,
    pd_gravity,
)
from robot_dynamics_ros.control.laws.task_space import CartesianImpedance

__all__ = [
    "ComputedTorque",
    "PDGravity",
    "GravityCompensation",
    "FeedforwardPD",
    "JointImpedance",
    "CartesianImpedance",
    "Law",
    "computed_torque",
    "pd_gravity",
    "gravity_compensation",
    "feedforward_pd",
    "joint_impedance",
    "cartesian_impedance",
    "bind",
]
