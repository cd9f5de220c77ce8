"""The viewer's parameters."""

from __future__ import annotations

from functools import partial

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.ros.transport.description_source import DESCRIPTION_PARAMETERS
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues
from robot_dynamics_ros.ros.transport.robot import ROBOT_PARAMETERS

_fixed = partial(Param, read_only=True)

VIEWER_PARAMETERS = (
    *DESCRIPTION_PARAMETERS,
    *ROBOT_PARAMETERS,
    _fixed("robots", (), "Namespaces of the robots to show, side by side; empty: the one in the node's own namespace."),
    _fixed("host", "127.0.0.1", "Address to listen on; the default can be reached from this machine only."),
    _fixed("port", 8080, "TCP port; the next free one if it is taken, any free one if 0.", lower=0, upper=65535),
    _fixed("open_browser", False, "Open the page in this machine's browser."),
    _fixed("rate", 30.0, "Pictures per second at most.", unit="Hz", lower=1.0, upper=120.0),
    _fixed(
        "controls", True, "Let people hold, reset, move and pull the robot from the page; otherwise they can only look."
    ),
    _fixed("controller", "computed_torque_controller", "Name of the controller's node, in the robot's namespace."),
    _fixed("simulator", "robot_simulator", "Name of the simulator's node, in the robot's namespace."),
    _fixed(
        "wrenches",
        "computed",
        "Joint wrenches from the joint states by the model, at no cost to the controller; or those that it publishes.",
        choices=("computed", "published", "none"),
    ),
    _fixed("meshes", "", "Folder where relative mesh addresses start; empty: that of the description's file."),
    _fixed(
        "mesh_up_axis",
        False,
        "Turn COLLADA files so that the up axis which they state is z, as Gazebo does; RViz ignores it.",
    ),
    _fixed("looks_file", "", "URDF or xacro file whose geometry is drawn, for a description without geometry."),
    _fixed(
        "executor",
        "paced",
        "paced: take the newest messages once a picture, whatever their rate.",
        choices=("paced", "single_threaded"),
    ),
)


def validate(values: ParameterValues) -> None:
    """Rules that concern more than one parameter.

    Raises:
        ArgumentError: a robot is named twice.
    """
    robots = values["robots"]
    if len(set(robots)) != len(robots):
        raise ArgumentError("names a robot twice", where="parameter 'robots'", got=robots, remedy="Name each once.")
