"""Control without ROS: laws as small values, trajectories, guards, estimation, and one object that runs them."""

from robot_dynamics_ros.control.contact import ContactEstimate, contact_wrench
from robot_dynamics_ros.control.controller import ControllerOptions, JointController, Mode
from robot_dynamics_ros.control.effort_gate import EffortGate, GateSettings, GateState
from robot_dynamics_ros.control.flange import FlangeLoad
from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.guards import Guards, GuardSettings
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import (
    CartesianImpedance,
    ComputedTorque,
    FeedforwardPD,
    GravityCompensation,
    JointImpedance,
    Law,
    PDGravity,
    bind,
    cartesian_impedance,
    computed_torque,
    feedforward_pd,
    gravity_compensation,
    joint_impedance,
    pd_gravity,
)
from robot_dynamics_ros.control.linearization import LinearModel, discretize, linearize, lqr
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.payload import Payload, carrying
from robot_dynamics_ros.control.reference.move import plan_move
from robot_dynamics_ros.control.reference.result import Goal, GoalStatus, ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.tolerances import JointTolerance, Tolerances
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.model.published import publish

__all__ = [
    "CartesianImpedance",
    "CollisionMonitor",
    "ComputedTorque",
    "ContactEstimate",
    "ControllerOptions",
    "EffortGate",
    "FeedforwardPD",
    "FlangeLoad",
    "Friction",
    "GateSettings",
    "GateState",
    "Goal",
    "GoalStatus",
    "GravityCompensation",
    "GuardSettings",
    "Guards",
    "JointController",
    "JointImpedance",
    "JointTolerance",
    "Kernels",
    "Law",
    "LinearModel",
    "Mode",
    "MomentumObserver",
    "PDGravity",
    "Payload",
    "ResultCode",
    "Robustness",
    "Tolerances",
    "Trajectory",
    "TrajectoryPoint",
    "TrajectoryRejected",
    "bind",
    "carrying",
    "cartesian_impedance",
    "computed_torque",
    "contact_wrench",
    "discretize",
    "feedforward_pd",
    "gravity_compensation",
    "joint_impedance",
    "linearize",
    "lqr",
    "nanoseconds",
    "pd_gravity",
    "plan_move",
]

publish(__name__)
