"""The simulator's parameters about sensors and about a robot that differs from its description."""

from __future__ import annotations

from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues
from robot_dynamics_ros.simulation.model_error import random_model_error, robot_model_error
from robot_dynamics_ros.simulation.sensors import SensorSettings

# fmt: off
SENSOR_PARAMETERS = (
    Param("sensors.position_resolution", 0.0, "Encoder step; 0: continuous.", unit="rad or m", lower=0.0,
        read_only=True),
    Param("sensors.position_noise", 0.0, "Standard deviation of measured positions.", unit="rad or m", lower=0.0,
        read_only=True),
    Param("sensors.velocity_from_position", False, "Measure velocity as the difference quotient of positions.",
        read_only=True),
    Param("sensors.velocity_time_constant", 0.0, "Low-pass filter on measured velocities; 0: none.", unit="s",
        lower=0.0, read_only=True),
    Param("sensors.velocity_noise", 0.0, "Standard deviation of measured velocities.", unit="rad/s or m/s", lower=0.0,
        read_only=True),
    Param("sensors.effort_bias", 0.0, "Constant error of measured efforts.", unit="N m or N", read_only=True),
    Param("sensors.effort_noise", 0.0, "Standard deviation of measured efforts.", unit="N m or N", lower=0.0,
        read_only=True),
    Param("sensors.delay", 0.0, "Transport delay of joint states.", unit="s", lower=0.0, upper=10.0, read_only=True),
    Param("sensors.jitter", 0.0, "Further delay, uniform between 0 and this.", unit="s", lower=0.0, upper=10.0,
        read_only=True),
    Param("sensors.drop_probability", 0.0, "Share of joint states that are lost.", lower=0.0, upper=1.0,
        read_only=True),
    Param("sensors.duplicate_probability", 0.0, "Share of joint states that arrive twice.", lower=0.0, upper=1.0,
        read_only=True),
    Param("sensors.seed", 0, "Seed of everything random.", lower=0, read_only=True),
)
# fmt: on

# fmt: off
MODEL_ERROR_PARAMETERS = (
    Param("robot_model_error.mass", 1.0, "Factor on all masses of the simulated robot, inertias along with them.",
        lower=0.0, upper=100.0, read_only=True),
    Param("robot_model_error.com", 1.0, "Factor on the distances of the centres of mass from their links' origins.",
        lower=0.0, upper=100.0, read_only=True),
    Param("robot_model_error.inertia", 1.0, "Further factor on the rotational inertias.", lower=0.0, upper=100.0,
        read_only=True),
    Param("robot_model_error.damping", 1.0, "Factor on viscous friction.", lower=0.0, upper=100.0, read_only=True),
    Param("robot_model_error.friction", 1.0, "Factor on Coulomb friction.", lower=0.0, upper=100.0, read_only=True),
    Param("robot_model_error.armature", 1.0, "Factor on the inertias of rotors and gears.", lower=0.0, upper=100.0,
        read_only=True),
    Param("robot_model_error.spread", 0.0,
        "Random errors of each link and joint besides, as a share of the value; 0.1 is about ten percent.", lower=0.0,
        upper=1.0, read_only=True),
    Param("robot_model_error.seed", 0, "Seed of the random errors.", lower=0, read_only=True),
)
# fmt: on

_FIGURES = ("mass", "com", "inertia", "damping", "friction", "armature")


def sensors(values: ParameterValues) -> SensorSettings | None:
    """How the sensors err; ``None`` if they do not."""
    settings = SensorSettings(**{param.name.split(".")[1]: values[param.name] for param in SENSOR_PARAMETERS})
    perfect = SensorSettings(seed=settings.seed)
    return None if settings == perfect else settings


def with_model_error(values: ParameterValues, model: RobotModel) -> RobotModel:
    """The robot as it is, where ``model`` is what others know of it; ``model`` itself if there is no error."""
    factors = {name: values[f"robot_model_error.{name}"] for name in _FIGURES}
    if any(factor != 1.0 for factor in factors.values()):
        model = robot_model_error(model, **factors)
    spread: float = values["robot_model_error.spread"]
    if spread > 0.0:
        model = random_model_error(model, values["robot_model_error.seed"], **dict.fromkeys(_FIGURES, spread))
    return model
