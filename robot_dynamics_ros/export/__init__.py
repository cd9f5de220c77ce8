"""A robot's dynamics as C99, C++ or NumPy source, and a ros2_control controller made of it."""

from robot_dynamics_ros.export.package import ExportedCode, export_code, operation_report
from robot_dynamics_ros.export.ros2_control import export_controller
from robot_dynamics_ros.model.published import publish

__all__ = ["ExportedCode", "export_code", "export_controller", "operation_report"]

publish(__name__)
