"""A motion as one web page that needs neither a server nor a network."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.geometry import Looks, read_looks
from robot_dynamics_ros.view.motion import Motion, centre_paths
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.source import MotionSource
from robot_dynamics_ros.view.window import WITHOUT_ROOM, Window

if TYPE_CHECKING:
    from viser import SceneApi

_MOST_FRAMES = 3000
# The page may run what is inside it and nothing else: no address of any kind can be reached.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src data: blob:; worker-src blob: data:"
)
# The first camera fits the shape of the page, which takes one from its own address.
_FIT = """<script>{{
const cameras = {cameras}, shape = innerWidth / innerHeight;
const [, position, target] = cameras.findLast(([aspect]) => aspect <= shape) || cameras[0];
history.replaceState(null, "", `?initialCameraPosition=${{position}}&initialCameraLookAt=${{target}}`);
}}</script>"""
_ASPECTS = (0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0)
_NOTICE = (
    "This page contains the client of viser, https://github.com/viser-project/viser, Apache License 2.0, "
    "https://www.apache.org/licenses/LICENSE-2.0, and with it three.js, React, Mantine, uPlot and others, MIT licence."
)


def write_replay(
    motion: Motion,
    path: str | Path,
    *,
    rate: float = 30.0,
    looks: Looks | None = None,
    title: str = "",
    paths: bool = True,
) -> Path:
    """Write a page that replays the motion in 3-D, opened from anywhere, network or not.

    It holds viser's own page (Apache-2.0, named in a comment of the file) and the recorded scene: the robot, joint
    wrenches, external wrenches, the reference as a ghost, paths of centres of mass.  A time slider, speed and a list of
    what is shown are part of the page.

    Args:
        rate: pictures per second of the motion; lowered where that makes more than 3000.
        looks: geometry; by default read from the robot's URDF.
        title: of the page.
    """
    if not (np.isfinite(rate) and rate > 0.0):
        raise ArgumentError("expected a positive rate", where="rate", got=rate)
    rate = min(rate, _MOST_FRAMES / max(motion.duration, 1e-9))
    with Window(port=0) as window:
        rows = motion.frames(rate)
        nodes, draw = stage(window.server.scene, motion, looks, paths)
        draw(int(rows[0]))
        # cameras that see the whole motion: aspect of the picture, position, target, m
        cameras = [(aspect, *(point.tolist() for point in nodes.view_point(motion, aspect))) for aspect in _ASPECTS]
        window.look(*cameras[0][1:])
        recorder = window.server.get_scene_serializer()
        for k in rows[1:]:
            recorder.insert_sleep(1.0 / rate)
            draw(int(k))
        with redirect_stdout(io.StringIO()):
            html = recorder.as_html()
    name = title or f"{motion.model.name}: replay"
    html = html.replace("<title>Viser</title>", f"<title>{escape(name)}</title>", 1)
    head = f'<head>\n    <!-- {_NOTICE} -->\n    <meta http-equiv="Content-Security-Policy" content="{_POLICY}" />'
    head += _FIT.format(cameras=json.dumps(cameras)) + f"<script>{{{WITHOUT_ROOM}}}</script>"
    html = html.replace("<head>", head, 1)
    return write_whole(path, lambda target: target.write_text(html, encoding="utf-8"))


def stage(
    scene: SceneApi, motion: Motion, looks: Looks | None, paths: bool
) -> tuple[RobotNodes, Callable[[int], None]]:
    """The robot of a motion in a scene, and a function that shows everything of a row of the motion."""
    nodes = RobotNodes(scene, motion.model, looks if looks is not None else read_looks(motion.model))
    if paths and len(motion) > 2:
        nodes.paths(centre_paths(motion))
    row, scale = MotionSource(motion).row, motion.scale
    return nodes, lambda k: nodes.draw(row(k), scale, lambda _name: True)


def write_whole(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Have a file written that bears its name only once it is whole."""
    path = Path(path)
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        write(part)
        part.replace(path)
    except (OSError, ValueError) as error:
        raise ArgumentError(f"cannot be written: {error}", where=str(path), remedy="Choose another place.") from None
    finally:
        part.unlink(missing_ok=True)
    return path
