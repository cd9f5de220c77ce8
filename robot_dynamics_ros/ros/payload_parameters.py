"""Parameters of the node that identifies payloads."""

from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param
from robot_dynamics_ros.ros.transport.robot import MEASURED_EFFORT, ROBOT_PARAMETERS

PAYLOAD_IDENTIFICATION_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    MEASURED_EFFORT,
    Param("link", "", "Link that carries the payload, e.g. the flange."),
    Param("controller", "computed_torque_controller", "Name of the controller that moves the arm.", read_only=True),
    Param("method", "motion", "A gentle motion, or gravity alone where the arm stands.", choices=("motion", "rest")),
    Param("span", 0.5, "How far each joint may move to either side.", unit="rad or m", lower=0.0),
    Param("lower", (), "Position limits narrower than the URDF's, in model order.", unit="rad or m", element=float),
    Param("upper", (), "Position limits narrower than the URDF's, in model order.", unit="rad or m", element=float),
    Param("velocity_scale", 0.3, "Share of the velocity limits of the motion.", lower=0.01, upper=1.0),
    Param("duration", 24.0, "Length of the motion.", unit="s", lower=4.0, upper=120.0),
    Param("rest_duration", 1.0, "Time over which efforts at rest are averaged.", unit="s", lower=0.1, upper=60.0),
    Param("apply", False, "Set the controller's payload parameters to what was found."),
    Param("executor", "single_threaded", "Executor.", choices=("single_threaded",), read_only=True),
)
