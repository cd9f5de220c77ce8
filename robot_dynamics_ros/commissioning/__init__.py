"""Commissioning: compare what a new arm says with what its equations say, step by step, and name the mistake."""

from robot_dynamics_ros.commissioning.findings import KINDS, STEPS, Change, Finding, Kind, StepReport
from robot_dynamics_ros.commissioning.listen import listen
from robot_dynamics_ros.commissioning.weigh import weigh, weighing_poses

__all__ = ["KINDS", "STEPS", "Change", "Finding", "Kind", "StepReport", "listen", "weigh", "weighing_poses"]
