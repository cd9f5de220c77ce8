"""Commissioning: compare what a new arm says with what its equations say, step by step, and name the mistake."""

from robot_dynamics_ros.commissioning.arm import Arm, ArmState, Bounds, Command, Record, StepRunner
from robot_dynamics_ros.commissioning.findings import KINDS, STEPS, Change, Finding, Kind, StepReport
from robot_dynamics_ros.commissioning.floating import drift, float_arm
from robot_dynamics_ros.commissioning.joint_parameters import JointParameters, joint_parameters
from robot_dynamics_ros.commissioning.listen import listen
from robot_dynamics_ros.commissioning.move import move
from robot_dynamics_ros.commissioning.probe import Pushed, probe
from robot_dynamics_ros.commissioning.release import calm_pose, exposure
from robot_dynamics_ros.commissioning.session import ANNOUNCED, Commissioning
from robot_dynamics_ros.commissioning.stand_in import StandIn
from robot_dynamics_ros.commissioning.tune import ArmSettings, StepResponse, step_response, tune
from robot_dynamics_ros.commissioning.twitch import JointLoop, Sweep, hidden_way, loop_of, twitch, twitch_report
from robot_dynamics_ros.commissioning.weigh import weigh, weighing_poses

__all__ = [
    "ANNOUNCED",
    "KINDS",
    "STEPS",
    "Arm",
    "ArmSettings",
    "ArmState",
    "Bounds",
    "Change",
    "Command",
    "Commissioning",
    "Finding",
    "JointLoop",
    "JointParameters",
    "Kind",
    "Pushed",
    "Record",
    "StandIn",
    "StepReport",
    "StepResponse",
    "StepRunner",
    "Sweep",
    "calm_pose",
    "drift",
    "exposure",
    "float_arm",
    "hidden_way",
    "joint_parameters",
    "listen",
    "loop_of",
    "move",
    "probe",
    "step_response",
    "tune",
    "twitch",
    "twitch_report",
    "weigh",
    "weighing_poses",
]
