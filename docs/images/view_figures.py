"""The pictures of docs/how_to/viewing.md and the README's film: ``python -m
docs.images.view_figures`` (needs a browser).
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image

import robot_dynamics_ros as rd
from docs.images.every_robot import robots
from robot_dynamics_ros.view.film import open_page, write_video
from robot_dynamics_ros.view.headless import Browser
from robot_dynamics_ros.view.source import ShownMotion

HERE = Path(__file__).parent
# across the picture
START = np.array([0.65, -0.8, 1.0, -0.5, -1.2, 0.0])
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.0]
WINDOWS = {
    "view_panda.png": (1600, 1000),
    "view_panda_small.png": (800, 600),
    "view_panda_phone.png": (400, 800),
}
_NOTE = (
    "document.querySelectorAll('.mantine-Notification-closeButton').forEach((button) => "
    "button.click())"
)


def window(model: rd.RobotModel, q: list[float], path: Path, width: int, height: int) -> None:
    """A picture of the whole page, as a window of a size shows it; without the note that there is
    no graphics processor.
    """
    with Browser(width, height, pause=0.5) as browser, rd.view(model, q, port=0) as viewer:
        open_page(viewer.address, browser, lambda: viewer.pages)
        browser.rest(12.0)
        browser.run(_NOTE)
        browser.rest(4.0)
        browser.drawn()
        Image.open(io.BytesIO(browser.picture())).convert("RGB").save(path, optimize=True)


def six_axis() -> None:
    """A drawing, a picture and a film of the six-axis arm."""
    arm = rd.load_robot("six_axis")
    rd.draw(arm, START, path=HERE / "draw_six_axis.png")
    with rd.view(arm, START, port=0) as viewer:
        viewer.picture(HERE / "view_six_axis.png", 960, 640)
    t = np.linspace(0.0, 4.0, 401)[:320]
    swing = np.array([0.25, 0.2, 0.3, 0.5, 0.6, 0.0]) * np.sin(
        np.pi * t[:, None] / 2.0 * np.array([1, 1, 2, 1, 2, 1])
    )
    motion = ShownMotion.of(arm, (t, START + swing))
    write_video(motion, HERE / "view_six_axis.gif", rate=8.0, width=720, height=544, paths=False)


def main() -> None:
    """Draw all."""
    six_axis()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rd.ModelWarning)
        panda = rd.load_urdf(robots("panda.urdf")[0])
        for name, (width, height) in WINDOWS.items():
            window(panda, READY, HERE / name, width, height)


if __name__ == "__main__":
    main()
