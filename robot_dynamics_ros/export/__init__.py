"""Code to take away: a robot's dynamics as C99 or NumPy source that depends on nothing of this package."""

from robot_dynamics_ros.export.package import ExportedCode, export_code, operation_report

__all__ = ["ExportedCode", "export_code", "operation_report"]
