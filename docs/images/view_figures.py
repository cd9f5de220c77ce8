"""The pictures of docs/how_to/viewing.md and the README's film: ``python docs/images/view_figures.py`` (needs a browser)."""

from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.view.film import write_video
from robot_dynamics_ros.view.motion import Motion

HERE = Path(__file__).parent

arm = rd.load_robot("six_axis")
q0 = np.array([1.5, -1.3, 1.1, -0.8, -1.2, 0.0])
rd.draw(arm, q0, path=HERE / "draw_six_axis.png")

with rd.view(arm, q0, port=0) as viewer:
    viewer.picture(HERE / "view_six_axis.png", 960, 640)


def swing(t: float) -> np.ndarray:
    return q0 + np.array([0.9, 0.35, 0.5, 0.5, 0.6, 0.0]) * np.sin(np.pi * t / 2.0 * np.array([1, 1, 2, 1, 2, 1]))


t = np.linspace(0.0, 4.0, 401)[:320]
motion = Motion.of(arm, (t, np.array([swing(x) for x in t])))
write_video(motion, HERE / "view_six_axis.gif", rate=8.0, width=720, height=432, paths=False)
