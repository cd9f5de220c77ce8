"""Pictures and films of a scene, drawn by a browser without a screen; and a motion as one web page
that needs neither a server nor a network.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.errors import ArgumentError, BackendError, optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Looks, read_looks
from robot_dynamics_ros.view.camera import FIELD_OF_VIEW
from robot_dynamics_ros.view.headless import Browser
from robot_dynamics_ros.view.legend import LegendEntry, draw_legend, legend_entries
from robot_dynamics_ros.view.nodes import RobotNodes
from robot_dynamics_ros.view.replay_plots import PLOTS_HEIGHT_PERCENT, replay_frame
from robot_dynamics_ros.view.source import MotionSource, ShownMotion, centre_paths
from robot_dynamics_ros.view.window import PAGE_HEAD, Window
from robot_dynamics_ros.whole_files import whole_file

if TYPE_CHECKING:
    from types import ModuleType

    from viser import ClientHandle, SceneApi

FILMS = (".mp4", ".gif")
_P = TypeVar("_P")
# s, for a browser without a graphics processor on a busy machine
_BROWSER_PATIENCE_S = 180.0
# Frames of a film: each takes about 0.1 s to draw. A longer motion gets fewer of them a second.
_MOST_FRAMES = 3000
# The page may run what is inside it and nothing else: no address of any kind can be reached.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob: data:; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src data: blob:; "
    "worker-src blob: data:"
)
# The first camera fits the shape of the page, which takes one from its own address.
_FIT = """<script>{{
const cameras = {cameras}, shape = innerWidth / ({scene_share} * innerHeight);
const [, position, target] = cameras.findLast(([aspect]) => aspect <= shape) || cameras[0];
history.replaceState(
  null, "", `?initialCameraPosition=${{position}}&initialCameraLookAt=${{target}}`);
}}</script>"""
# Width over height of the page, from a phone held upright to a wide screen: one camera for each.
_ASPECTS = (0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0)
_NOTICE = (
    "This page contains the client of viser, https://github.com/viser-project/viser, Apache "
    "License 2.0, "
    "https://www.apache.org/licenses/LICENSE-2.0, and with it three.js, React, Mantine, uPlot "
    "and others, MIT licence."
)


def need_pillow() -> ModuleType:
    """The module that writes pictures; a BackendError where Pillow is not installed."""
    return optional_package("PIL.Image", "pictures need", "picture", "'robot_dynamics_ros[view]'")


def need_imageio() -> ModuleType:
    """The package imageio; a BackendError where it is not installed."""
    return optional_package("imageio.v2", "films need", "video", "'robot_dynamics_ros[film]'")


def open_page(address: str, browser: Browser, pages: Callable[[], Mapping[int, _P]]) -> _P:
    """The newest page, once the browser shows it; it does not draw more coarsely while drawing is
    slow.
    """
    pages_before = set(pages())
    browser.go(f"{address}/?fixedDpr=1")
    if not browser.wait(lambda: bool(pages().keys() - pages_before), _BROWSER_PATIENCE_S):
        raise BackendError(
            "the browser does not show the page",
            where="browser",
            remedy="; ".join(browser.errors[:3]),
        )
    return pages()[max(pages())]


def settled(draw: Callable[[], np.ndarray], browser: Browser) -> np.ndarray:
    """A picture once textures, bones and letters have arrived in the page: when it has nothing left
    to draw, and three pictures in a row are alike.
    """
    alike = 0
    before = draw()
    for _ in range(30):
        browser.rest(0.3)
        drawn = browser.drawn(10.0)
        picture = draw()
        if drawn and np.array_equal(picture, before):
            alike = alike + 1
        else:
            alike = 0
        before = picture
        if alike == 2:
            break
    return before


def painter(
    client: ClientHandle,
    width: int,
    height: int,
    seen: tuple[Array, Array],
) -> Callable[[], np.ndarray]:
    """A function that has a page draw a picture, (height, width, 3), of what it shows now; ``seen``
    is where the camera is, (3,), and what it looks at, (3,) m.
    """
    position, target = seen
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    # z forward, x to the right, y down
    axes = np.stack([right, np.cross(forward, right), forward], axis=1)
    turned = np.roll(Rotation.from_matrix(axes).as_quat(), 1)
    camera = {
        "position": position,
        "wxyz": turned,
        "fov": FIELD_OF_VIEW,
        "timeout": _BROWSER_PATIENCE_S,
    }
    return lambda: np.asarray(client.get_render(height=height, width=width, **camera))[..., :3]


def write_video(
    motion: ShownMotion,
    path: str | Path,
    *,
    rate: float = 24.0,
    width: int = 960,
    height: int = 640,
    speed: float = 1.0,
    paths: bool = True,
    looks: Looks | None = None,
    progress: Callable[[float], None] | None = None,
) -> Path:
    """Write a film of a motion.

    Args:
        path: ending in ``.mp4`` or ``.gif``.
        rate: pictures per second.
        speed: how much faster than it was.
        paths: draw where the centres of mass go.
        progress: called with the share done.
    """
    path = Path(path)
    if path.suffix not in FILMS:
        raise ArgumentError(
            f"expected a name that ends in {' or '.join(FILMS)}", where="video", got=str(path)
        )
    need_imageio()
    width = width // 16 * 16
    height = height // 16 * 16
    with Window(port=0) as window, Browser(120, 80) as browser:
        rows = motion.frames(rate, speed)
        client = open_page(window.address, browser, window.server.get_clients)
        # on the page's own scene, so that a state and the request for its picture stay in order
        nodes, draw = stage(client.scene, motion, looks, paths)
        draw(int(rows[0]))
        paint = painter(client, width, height, nodes.view_point(motion, width / height))
        settled(paint, browser)
        explained = motion_legend(motion, paths)

        def pictures() -> Iterator[np.ndarray]:
            for number, k in enumerate(rows):
                draw(int(k))
                client.flush()
                yield draw_legend(paint(), explained)
                if progress is not None:
                    progress((number + 1) / len(rows))

        return write_film(path, pictures(), rate)


def write_film(path: Path, pictures: Iterable[np.ndarray], rate: float) -> Path:
    """Write (height, width, 3) pictures of 8 bits, sizes multiples of 16, as an mp4 or a gif at a
    rate in 1/s.
    """
    imageio = need_imageio()

    def write(target: Path) -> None:
        mp4 = path.suffix == ".mp4"
        if mp4:
            options = {"fps": rate, "macro_block_size": 16}
        else:
            options = {"duration": 1e3 / rate, "loop": 0}
        with imageio.get_writer(target, **options) as film:
            for picture in pictures:
                film.append_data(picture)

    return write_whole(path, write)


def write_replay(
    motion: ShownMotion,
    path: str | Path,
    *,
    rate: float = 30.0,
    looks: Looks | None = None,
    title: str = "",
) -> Path:
    """Write a page that replays the motion in 3-D, opened from anywhere, network or not.

    It holds viser's own page (Apache-2.0, named in a comment of the file) and the recorded scene:
    the robot, joint wrenches, external wrenches, the reference as a ghost, paths of centres of
    mass.  A time slider, speed and a list of what is shown are part of the page.

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
        nodes, draw = stage(window.server.scene, motion, looks)
        draw(int(rows[0]))
        # cameras that see the whole motion: aspect of the picture, position, target, m; the
        # tallest comes last: its texts stay, as large as a phone needs them, in the one scene
        cameras = [
            (aspect, *(point.tolist() for point in nodes.view_point(motion, aspect)))
            for aspect in reversed(_ASPECTS)
        ][::-1]
        window.look(*cameras[0][1:])
        recorder = window.server.get_scene_serializer()
        for k in rows[1:]:
            recorder.insert_sleep(1.0 / rate)
            draw(int(k))
        with redirect_stdout(io.StringIO()):
            html = recorder.as_html()
    name = title or f"{motion.model.name}: replay"
    html = html.replace("<title>Viser</title>", f"<title>{escape(name)}</title>", 1)
    head = (
        f'<head>\n    <!-- {_NOTICE} -->\n    <meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}" />'
    )
    scene_share = 1.0 - PLOTS_HEIGHT_PERCENT / 100.0
    head += _FIT.format(cameras=json.dumps(cameras), scene_share=scene_share) + PAGE_HEAD
    html = html.replace("<head>", head, 1)
    before, end, after = html.rpartition("</body>")
    html = before + replay_frame(motion, motion.model.name, motion_legend(motion)) + end + after
    return write_whole(path, lambda target: target.write_text(html, encoding="utf-8"))


def motion_legend(motion: ShownMotion, paths: bool = True) -> tuple[LegendEntry, ...]:
    """The legend of a motion of which everything is shown."""
    return legend_entries(
        motion.scale,
        lambda name: name != "clear",
        motion.model,
        MotionSource(motion).row(0),
        has_paths=paths and len(motion) > 2,
    )


def stage(
    scene: SceneApi,
    motion: ShownMotion,
    looks: Looks | None,
    paths: bool = True,
) -> tuple[RobotNodes, Callable[[int], None]]:
    """The robot of a motion in a scene, and a function that shows everything of a row of the
    motion.
    """
    nodes = RobotNodes(
        scene, motion.model, looks if looks is not None else read_looks(motion.model)
    )
    if paths and len(motion) > 2:
        nodes.paths(centre_paths(motion))
    row = MotionSource(motion).row
    scale = motion.scale
    return nodes, lambda k: nodes.draw(row(k), scale, lambda _name: True)


def write_whole(path: str | Path, write: Callable[[Path], object]) -> Path:
    """Have a file written that bears its name only once it is whole."""
    path = Path(path)
    try:
        with whole_file(path) as part:
            write(part)
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"cannot be written: {error}", where=str(path), remedy="Choose another place."
        ) from None
    return path
