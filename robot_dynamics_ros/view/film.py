"""Pictures and films of a scene, drawn by a browser without a screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.errors import ArgumentError, BackendError, optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.geometry import Looks
from robot_dynamics_ros.view.camera import FIELD_OF_VIEW
from robot_dynamics_ros.view.headless import Browser
from robot_dynamics_ros.view.motion import Motion
from robot_dynamics_ros.view.replay import stage, write_whole
from robot_dynamics_ros.view.window import Window

if TYPE_CHECKING:
    from types import ModuleType

    from viser import ClientHandle

FILMS = (".mp4", ".gif")
_P = TypeVar("_P")
_PATIENCE = 180.0  # s, for a browser without a graphics processor on a busy machine


def need_imageio() -> ModuleType:
    """The package imageio; a BackendError where it is not installed."""
    return optional_package("imageio.v2", "films and pictures need", "video", "'robot_dynamics_ros[view]'")


def open_page(address: str, browser: Browser, pages: Callable[[], Mapping[int, _P]]) -> _P:
    """The newest page, once the browser shows it; it does not draw more coarsely while drawing is slow."""
    pages_before = set(pages())
    browser.go(f"{address}/?fixedDpr=1")
    if not browser.wait(lambda: bool(pages().keys() - pages_before), _PATIENCE):
        raise BackendError("the browser does not show the page", where="browser", remedy="; ".join(browser.errors[:3]))
    return pages()[max(pages())]


def settled(draw: Callable[[], np.ndarray], browser: Browser) -> np.ndarray:
    """A picture once textures, bones and letters have arrived in the page: when it has nothing left to draw, and three
    pictures in a row are alike."""
    alike, before = 0, draw()
    for _ in range(30):
        browser.rest(0.3)
        drawn = browser.drawn(10.0)
        picture = draw()
        alike = alike + 1 if drawn and np.array_equal(picture, before) else 0
        before = picture
        if alike == 2:
            break
    return before


def painter(client: ClientHandle, width: int, height: int, seen: tuple[Array, Array]) -> Callable[[], np.ndarray]:
    """A function that has a page draw a picture, (height, width, 3), of what it shows now; ``seen`` is where the camera is, (3,),
    and what it looks at, (3,) m."""
    position, target = seen
    forward = (target - position) / np.linalg.norm(target - position)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    axes = np.stack([right, np.cross(forward, right), forward], axis=1)  # z forward, x to the right, y down
    turned = np.roll(Rotation.from_matrix(axes).as_quat(), 1)
    camera = {"position": position, "wxyz": turned, "fov": FIELD_OF_VIEW, "timeout": _PATIENCE}
    return lambda: np.asarray(client.get_render(height=height, width=width, **camera))[..., :3]


def write_picture(
    client: ClientHandle, browser: Browser, path: str | Path, width: int, height: int, seen: tuple[Array, Array]
) -> Path:
    """Write what a page shows, without its controls, as PNG or JPEG; ``seen`` as for :func:`painter`."""
    imageio = need_imageio()
    image = settled(painter(client, width, height, seen), browser)
    return write_whole(path, lambda target: imageio.imwrite(target, image))


def write_video(
    motion: Motion,
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
        raise ArgumentError(f"expected a name that ends in {' or '.join(FILMS)}", where="video", got=str(path))
    need_imageio()
    width, height = width // 16 * 16, height // 16 * 16
    with Window(port=0) as window, Browser(120, 80) as browser:
        rows = motion.frames(rate, speed)
        client = open_page(window.address, browser, window.server.get_clients)
        # on the page's own scene, so that a state and the request for its picture stay in order
        nodes, draw = stage(client.scene, motion, looks, paths)
        draw(int(rows[0]))
        paint = painter(client, width, height, nodes.view_point(motion, width / height))
        settled(paint, browser)

        def pictures() -> Iterator[np.ndarray]:
            for number, k in enumerate(rows):
                draw(int(k))
                client.flush()
                yield paint()
                if progress is not None:
                    progress((number + 1) / len(rows))

        return write_film(path, pictures(), rate)


def write_film(path: Path, pictures: Iterable[np.ndarray], rate: float) -> Path:
    """Write (height, width, 3) pictures of 8 bits, sizes multiples of 16, as an mp4 or a gif of so many pictures per second."""
    imageio = need_imageio()

    def write(target: Path) -> None:
        mp4 = path.suffix == ".mp4"
        options = {"fps": rate, "macro_block_size": 16} if mp4 else {"duration": 1e3 / rate, "loop": 0}
        with imageio.get_writer(target, **options) as film:
            for picture in pictures:
                film.append_data(picture)

    return write_whole(path, write)
