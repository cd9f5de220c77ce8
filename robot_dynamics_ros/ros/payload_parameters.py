"""Parameters of the node that identifies payloads."""

from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import parameter_table
from robot_dynamics_ros.ros.transport.robot import MEASURED_EFFORT, ROBOT_PARAMETERS

PAYLOAD_IDENTIFICATION_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    MEASURED_EFFORT,
    *parameter_table("payload_identification", "payload_identification"),
)
