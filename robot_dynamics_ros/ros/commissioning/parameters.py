"""Parameters of the node that commissions an arm."""

from robot_dynamics_ros.ros.transport.commands import COMMAND_FORMATS
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import parameter_table
from robot_dynamics_ros.ros.transport.robot import MEASURED_EFFORT, ROBOT_PARAMETERS

COMMISSIONING_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    MEASURED_EFFORT,
    *parameter_table("commissioning", "commissioning", {"command_format": COMMAND_FORMATS}),
)
