"""Recorded joint states: reading CSV and bags, smoothing, joint wrenches along them, writing and drawing."""

from robot_dynamics_ros.recordings.compute import Settings, WrenchHistory, compute, compute_each, of_run
from robot_dynamics_ros.recordings.external import read_bag_wrench, read_csv_positions, read_csv_wrench
from robot_dynamics_ros.recordings.external_wrench import ExternalWrench
from robot_dynamics_ros.recordings.pictures import draw_parts, draw_paths, draw_wrenches
from robot_dynamics_ros.recordings.read_bag import read_bag
from robot_dynamics_ros.recordings.read_csv import read_csv
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.recordings.write import write_bag, write_csv, write_run_csv

__all__ = [
    "ExternalWrench",
    "Recording",
    "Settings",
    "WrenchHistory",
    "compute",
    "compute_each",
    "draw_parts",
    "draw_paths",
    "draw_wrenches",
    "of_run",
    "read_bag",
    "read_bag_wrench",
    "read_csv",
    "read_csv_positions",
    "read_csv_wrench",
    "write_bag",
    "write_csv",
    "write_run_csv",
]
