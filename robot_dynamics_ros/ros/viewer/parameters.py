"""The viewer's parameters."""

from __future__ import annotations

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import ParameterValues, parameter_table
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS

VIEWER_PARAMETERS = (*DESCRIPTION_PARAMETERS, *ROBOT_PARAMETERS, *parameter_table("viewer", "viewer"))


def validate(values: ParameterValues) -> None:
    """Refuse a robot that is named twice."""
    robots = values["robots"]
    if len(set(robots)) != len(robots):
        raise ArgumentError("names a robot twice", where="parameter 'robots'", got=robots, remedy="Name each once.")
