"""Parameters of the node that commissions an arm."""

from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param
from robot_dynamics_ros.ros.transport.robot import MEASURED_EFFORT, ROBOT_PARAMETERS

COMMISSIONING_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    MEASURED_EFFORT,
    Param(
        "command_format",
        "multi_array",
        "multi_array: Float64MultiArray on effort_controller/commands; joint_state: JointState on robot_joint_commands.",
        choices=COMMAND_FORMATS,
        read_only=True,
    ),
    Param(
        "gravity_compensated_by",
        "controller",
        "Who supplies the effort against gravity, as the controller has it.",
        choices=("controller", "robot", "robot_with_coriolis"),
        read_only=True,
    ),
    Param(
        "safe_command",
        "gravity",
        "What is sent last: no effort, or the effort that held the arm.",
        choices=("zero", "gravity"),
        read_only=True,
    ),
    Param("robot_delay", 0.0, "Delay of the robot as far as known.", unit="s", lower=0.0, upper=0.1, read_only=True),
    Param("declared_rate", 0.0, "Rate of joint states as published; 0: unknown.", unit="Hz", lower=0.0, read_only=True),
    Param(
        "state_timeout",
        0.1,
        "Time without joint states after which a step stops.",
        unit="s",
        lower=0.01,
        upper=10.0,
        read_only=True,
    ),
    Param("output", "commissioning", "Folder for report and parameter file, written after every step.", read_only=True),
    Param("executor", "single_threaded", "Executor.", choices=("single_threaded",), read_only=True),
)
