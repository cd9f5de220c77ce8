"""The viewer's page with the Panda in three sizes, as a person sees it: ``python -m docs.images.view_sizes`` (needs a browser)."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from docs.images.every_robot import robots
from robot_dynamics_ros.view.headless import Browser

HERE = Path(__file__).parent
SIZES = {"phone": (400, 800), "small": (800, 600), "desk": (1280, 800)}
POSE = (0.0, -0.3, 0.0, -2.0, 0.0, 1.8, 0.8, 0.02, 0.02)
NOTE = "document.querySelectorAll('.mantine-Notification-closeButton').forEach((button) => button.click())"


def main() -> None:
    """Draw the three pictures."""
    warnings.simplefilter("ignore")  # of inertias
    panda = rd.load_urdf(next(path for path in robots("panda.urdf") if path.name == "panda.urdf"))
    with rd.view(panda, np.array(POSE[: panda.nq]), port=0) as viewer:
        for name, (width, height) in SIZES.items():
            with Browser(width, height, pause=0.5) as browser:
                browser.call(
                    "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                    mobile=width < 500,
                )  # fmt: skip
                browser.go(viewer.address)
                browser.wait(lambda: viewer.pages, 120.0)
                before, deadline = b"", time.monotonic() + 240.0
                for _ in range(30):  # until letters and meshes have arrived
                    browser.rest(4.0)
                    browser.run(NOTE)
                    browser.rest(1.0)
                    picture = browser.picture()
                    if picture == before or time.monotonic() > deadline:
                        break
                    before = picture
                (HERE / f"view_panda_{name}.png").write_bytes(picture)
                print(name, flush=True)


if __name__ == "__main__":
    main()
