"""The demonstration in a browser: live while it runs, and a page that replays it."""

from __future__ import annotations

import dataclasses
import re
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from robot_dynamics_ros.cli.processes import NodeProcess
from robot_dynamics_ros.control.reference.planning import Motion as PlannedMotion
from robot_dynamics_ros.simulation.simulate import SimulationResult

_INSTALL = "viser is not installed (pip install 'robot_dynamics_ros[view]')"


class LiveView:
    """The viewer as a third process.  Its end or its absence is no matter for the demonstration.

    Args:
        robot: what names it for a node.
        looks: names the robot whose geometry is drawn, if ``robot`` has none.
        log: file for its output.
        open_browser: open the page, too.
    """

    def __init__(self, robot: str, log: Path, open_browser: bool, looks: str = "") -> None:
        self._process: NodeProcess | None = None
        self._announced, self._due = True, 0.0
        if find_spec("viser") is None:
            print(f"view        none: {_INSTALL}")
            return
        arguments = ["--ros-args", "-p", f"robot_description_file:={robot}"]
        if looks and looks != robot:
            arguments += ["-p", f"looks_file:={looks}"]
        if open_browser:
            arguments += ["-p", "open_browser:=true"]
        self._process, self._announced = NodeProcess("viewer", arguments, log), False

    def announce(self) -> None:
        """Print the address, once it is known; a viewer that takes long is announced later, by :meth:`look`."""
        if self._process is None or self._process.wait_for_output("in a browser", 3.0):
            return self.look()
        print("view        waiting for the viewer, which starts and compiles what it needs", flush=True)
        if not self._process.wait_for_output("in a browser", 60.0):
            print("view        not ready yet: the robot moves now, the address is printed later", flush=True)
        return self.look()

    def look(self) -> None:
        """Print the address of a viewer that has come up since, or that it has ended; costs nothing most of the time."""
        if self._announced or self._process is None or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + 0.5
        ended = self._process.exit_code is not None
        address = re.search(r"open (http\S+) in a browser", self._process.output())
        self._announced = ended or address is not None
        if ended:
            print(f"\rview        none: the viewer has ended; see {self._process.log}")
        elif address:
            print(f"\rview        {address[1]}   (while it runs)", flush=True)

    def __enter__(self) -> LiveView:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._due = 0.0
            self.look()
            if not self._announced:
                print(f"view        none: the viewer has not come up in time; see {self._process.log}")
            self._process.stop()


def write_page(run: SimulationResult, planned: PlannedMotion, path: Path) -> None:
    """A page that replays what was heard, beside what was planned."""
    if find_spec("viser") is None:
        print(f"no replay: {_INSTALL}")
        return
    from robot_dynamics_ros.view.motion import Motion
    from robot_dynamics_ros.view.replay import write_replay

    motion = Motion.of(run.model, run, reference=planned.at(run.t))
    if not np.isfinite(run.tau).all():  # the arm measures no efforts
        motion = dataclasses.replace(motion, efforts=None)
    write_replay(motion, path, title=f"{run.model.name}: the demonstration")
    print(f"replay      {path.resolve()}   (opens in any browser, without a server)")
