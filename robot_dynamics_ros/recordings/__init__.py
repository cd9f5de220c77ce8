"""Recorded joint states: reading CSV and bags, smoothing, joint wrenches along them, writing and
drawing.
"""

from robot_dynamics_ros.recordings.compute import (
    Settings,
    WrenchHistory,
    compute,
    compute_each,
    of_run,
)
from robot_dynamics_ros.recordings.read_bag import read_bag, read_bag_wrench
from robot_dynamics_ros.recordings.read_csv import read_csv, read_csv_positions, read_csv_wrench
from robot_dynamics_ros.recordings.recording import ExternalWrench, Recording
from robot_dynamics_ros.recordings.write import (
    draw_parts,
    draw_paths,
    draw_wrenches,
    write_bag,
    write_csv,
    write_run_csv,
)

__all__ = [
    "read_csv",
    "read_bag",
    "Recording",
    "compute",
    "WrenchHistory",
    "Settings",
    "compute_each",
    "of_run",
    "ExternalWrench",
    "read_csv_wrench",
    "read_bag_wrench",
    "read_csv_positions",
    "write_csv",
    "write_bag",
    "write_run_csv",
    "draw_wrenches",
    "draw_paths",
    "draw_parts",
]
