"""The pictures of docs/reference/wrenches.md: ``python docs/images/wrench_figures.py``."""

from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.recordings.compute import Settings, compute
from robot_dynamics_ros.recordings.recording import Recording
from robot_dynamics_ros.recordings.write import draw_parts, draw_paths

HERE = Path(__file__).parent

limb = rd.limb(
    3, lengths=[0.8, 0.6, 0.4], masses=[0.7, 0.5, 0.3], inertia="point", gravity=(0.0, -9.81, 0.0)
)
t = np.linspace(0.0, 2.0 * np.pi, 3000)
rates = np.array([1.0, 2.0, 4.0])
q = t[:, None] * rates
swing = Recording(
    "limb", limb.joint_names, t, q, np.broadcast_to(rates, q.shape), None, np.arange(len(t))
)
history = compute(limb, swing, Settings(balance="joint3", observer="segment2"))
draw_paths(history, HERE / "limb_paths.png")
draw_parts(history, HERE / "limb_parts.png")
