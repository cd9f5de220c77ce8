"""The demonstration in a browser: live while it runs, and a page that replays it."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.control.reference.tour import Motion as PlannedMotion
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["LiveView", "write_page"]

_INSTALL = "viser is not installed (pip install 'robot_dynamics_ros[view]')"


class LiveView:
    """The viewer as a third process.  Its end or its absence is no matter for the demonstration.

    Args:
        robot: what names it for a node.
        log: file for its output.
        open_browser: open the page, too.
    """

    def __init__(self, robot: str, log: Path, open_browser: bool) -> None:
        self._process: NodeProcess | None = None
        if find_spec("viser") is None:
            print(f"view        none: {_INSTALL}")
            return
        arguments = ["--ros-args", "-p", f"robot_description_file:={robot}"]
        if open_browser:
            arguments += ["-p", "open_browser:=true"]
        self._process = NodeProcess("viewer", arguments, log)

    def announce(self) -> None:
        """Print the address, once it is known."""
        if self._process is None:
            return
        up = self._process.wait_for_output("in a browser", 3.0)
        if not up:
            print("view        waiting for the viewer, which starts and compiles what it needs", flush=True)
            up = self._process.wait_for_output("in a browser", 60.0)
        address = re.search(r"open (http\S+) in a browser", self._process.output()) if up else None
        if address:
            print(f"view        {address[1]}   (while it runs)")
            return
        print(f"view        none: the viewer has not come up; see {self._process.log}")

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.stop()


def write_page(model: RobotModel, planned: PlannedMotion, recording, path: Path) -> None:
    """A page that replays what was heard, beside what was planned.

    Args:
        recording: a :class:`~robot_dynamics_ros.ros.demo_client.Recording`.
    """
    if find_spec("viser") is None:
        print(f"no replay: {_INSTALL}")
        return
    from robot_dynamics_ros.view.motion import Motion
    from robot_dynamics_ros.view.replay import write_replay

    good = np.concatenate([[True], np.diff(recording.t) > 0.0])
    t, q, v, efforts = (table[good] for table in (recording.t, recording.q, recording.v, recording.effort))
    efforts = efforts if np.isfinite(efforts).all() else None
    a = np.gradient(v, t, axis=0)
    motion = Motion(model, t, q, v, a, efforts, planned.at(t), source="demonstration")
    write_replay(motion, path, title=f"{model.name}: the demonstration")
    print(f"replay      {path.resolve()}   (opens in any browser, without a server)")
