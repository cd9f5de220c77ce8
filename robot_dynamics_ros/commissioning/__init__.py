"""Commissioning: compare what a new arm says with what its equations say, step by step, and name
the mistake.
"""

from robot_dynamics_ros.commissioning.arm import Arm, ArmState, Bounds, Command, Record, StepRunner
from robot_dynamics_ros.commissioning.findings import (
    ANNOUNCED,
    KINDS,
    STEPS,
    Change,
    Finding,
    Kind,
    StepReport,
)
from robot_dynamics_ros.commissioning.floating import Pushed, drift, float_arm, probe
from robot_dynamics_ros.commissioning.joint_parameters import JointParameters, joint_parameters
from robot_dynamics_ros.commissioning.listen import listen
from robot_dynamics_ros.commissioning.release import calm_pose, exposure
from robot_dynamics_ros.commissioning.session import Commissioning
from robot_dynamics_ros.commissioning.stand_in import StandIn
from robot_dynamics_ros.commissioning.tune import (
    ArmSettings,
    StepResponse,
    move,
    step_response,
    tune,
)
from robot_dynamics_ros.commissioning.twitch import (
    JointLoop,
    Sweep,
    hidden_way,
    loop_of,
    twitch,
    twitch_report,
)
from robot_dynamics_ros.commissioning.weigh import weigh, weighing_poses

__all__ = [
    "Commissioning",
    "STEPS",
    "StepReport",
    "Finding",
    "Kind",
    "KINDS",
    "Change",
    "Arm",
    "ArmState",
    "Command",
    "Bounds",
    "StandIn",
    "listen",
    "float_arm",
    "drift",
    "probe",
    "Pushed",
    "weigh",
    "weighing_poses",
    "twitch",
    "twitch_report",
    "hidden_way",
    "loop_of",
    "JointLoop",
    "Sweep",
    "tune",
    "ArmSettings",
    "step_response",
    "StepResponse",
    "move",
    "calm_pose",
    "exposure",
    "joint_parameters",
    "JointParameters",
    "Record",
    "StepRunner",
    "ANNOUNCED",
]
