"""Control without ROS: laws as small values, trajectories, guards, estimation, and one object that
runs them.
"""

from robot_dynamics_ros.control import laws
from robot_dynamics_ros.control.contact import ContactEstimate, FlangeLoad, contact_wrench
from robot_dynamics_ros.control.controller import ControllerOptions, JointController, Mode
from robot_dynamics_ros.control.cycle.limits import Guards, GuardSettings
from robot_dynamics_ros.control.effort_gate import EffortGate, GateSettings, GateState
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.laws import *  # noqa: F403
from robot_dynamics_ros.control.observer import CollisionMonitor, MomentumObserver
from robot_dynamics_ros.control.reference.goal import (
    Goal,
    GoalStatus,
    JointTolerance,
    ResultCode,
    Tolerances,
    TrajectoryRejected,
)
from robot_dynamics_ros.control.reference.planning import plan_move
from robot_dynamics_ros.control.reference.task.path import ToolPath
from robot_dynamics_ros.control.reference.task.settings import TaskSettings
from robot_dynamics_ros.control.reference.task.tool import ToolReference
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.control.regulator import discretize, lqr
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.published import publish

__all__ = [
    "JointController",
    "ControllerOptions",
    "Robustness",
    "plan_move",
    "Trajectory",
    "TrajectoryPoint",
    "nanoseconds",
    "Goal",
    "GoalStatus",
    "ResultCode",
    "TrajectoryRejected",
    "JointTolerance",
    "Tolerances",
    "TaskSettings",
    "ToolPath",
    "ToolReference",
    "Mode",
    *laws.__all__,
    "Friction",
    "GuardSettings",
    "Guards",
    "EffortGate",
    "GateSettings",
    "GateState",
    "MomentumObserver",
    "CollisionMonitor",
    "Payload",
    "carrying",
    "FlangeLoad",
    "contact_wrench",
    "ContactEstimate",
    "discretize",
    "lqr",
    "Kernels",
]

publish(__name__)
