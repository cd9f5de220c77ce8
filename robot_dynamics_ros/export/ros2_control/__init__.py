"""A controller plugin for ros2_control, as a package of source code made for one robot."""

from robot_dynamics_ros.export.ros2_control.package import export_controller

__all__ = ["export_controller"]
