"""Commissioning: compare what a new arm says with its equations, step by step, and name the mistake."""

from robot_dynamics_ros.commissioning.findings import KINDS, STEPS, Change, Finding, Kind, StepReport

__all__ = ["KINDS", "STEPS", "Change", "Finding", "Kind", "StepReport"]
