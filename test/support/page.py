"""A page's side of the connection, without a browser: for messages that no page would send."""

from __future__ import annotations

from typing import Any


def camera_message(**other: Any) -> bytes:
    """What a page sends first; with other values than the usual ones, if given."""
    import msgspec

    values = {
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": (1.0, 1.0, 1.0),
        "fov": 1.0,
        "near": 0.1,
        "far": 100.0,
    }
    values |= {
        "image_height": 400,
        "image_width": 600,
        "look_at": (0.0, 0.0, 0.0),
        "up_direction": (0.0, 0.0, 1.0),
    }
    return msgspec.msgpack.encode({"type": "ViewerCameraMessage", **values, **other})


class Page:
    """One connection to a view's server.  Use as a context manager.

    Args:
        address: ``http://…`` of the view.
        origin: of the web site that the page claims to come from; that of the view if not given.
    """

    def __init__(self, address: str, origin: str | None = None) -> None:
        import viser
        from websockets.sync.client import connect

        self._socket = connect(
            address.replace("http", "ws", 1),
            subprotocols=[f"viser-v{viser.__version__}"],
            origin=address if origin is None else origin,
            max_size=None,
            proxy=None,
        )
        self.camera()

    def camera(self, **other: Any) -> None:
        """The first thing that a page sends."""
        self._socket.send(camera_message(**other))

    def send(self, kind: str, **values: Any) -> None:
        """One message."""
        import msgspec

        self._socket.send(msgspec.msgpack.encode({"type": kind, **values}))

    def set(self, handle: Any, value: Any, name: str = "value") -> None:
        """Change a control."""
        self.send("GuiUpdateMessage", uuid=handle._impl.uuid, updates={name: value})

    def raw(self, data: str | bytes) -> None:
        """Send anything."""
        self._socket.send(data)

    @property
    def open(self) -> bool:
        """Whether the server still talks to it."""
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._socket.recv(timeout=0.05)
        except TimeoutError:
            return True
        except ConnectionClosed:
            return False

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def robot_on(viewer: Any, number: int = 0, robot: int = 0) -> Any:
    """What a page shows of a robot, once all pages are drawn; pages in the order in which they were
    opened.
    """
    clients = viewer.window.server.get_clients
    assert wait_for(lambda: len(viewer.pages) > number and viewer.pages.keys() == clients().keys())
    return [viewer.pages[k] for k in sorted(viewer.pages)][number].views[robot]


def wait_for(condition: Any, seconds: float = 60.0) -> bool:
    """Wait until something holds; ``False`` if time is up before."""
    import time

    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return bool(condition())
        time.sleep(0.01)
    return True


# -- in a browser ----------------------------------------------------------------------------------

PATIENCE = 180.0
"""s; a browser without a graphics processor on a busy machine takes long for a picture."""


def pixels(browser: Any) -> Any:
    """(height, width, 3) of the scene on a page, and its place (2,) on the page: left, top.

    The page's notes are closed, as a person does it: one of them tells of drawing without a
    graphics processor, on top of the robot.
    """
    import io

    import numpy as np
    from PIL import Image

    place = browser.run(
        "(() => {document.querySelectorAll('.mantine-Notification-closeButton').forEach((button) "
        "=> button.click());"
        "const r = document.querySelector('canvas').getBoundingClientRect(); return [r.x, r.y, "
        "r.width, r.height]})()"
    )
    x, y, width, height = (round(number) for number in place)
    picture = np.asarray(Image.open(io.BytesIO(browser.picture())).convert("RGB")).astype(int)
    return picture[y : y + height, x : x + width], (x, y)


def _mouse(browser: Any, kind: str, point: tuple[float, float], **more: Any) -> None:
    browser.call(
        "Input.dispatchMouseEvent", type=kind, x=float(point[0]), y=float(point[1]), **more
    )


def click(browser: Any, point: tuple[float, float]) -> None:
    """Click a pixel of a page with the left button."""
    _mouse(browser, "mouseMoved", point)
    _mouse(browser, "mousePressed", point, button="left", buttons=1, clickCount=1)
    _mouse(browser, "mouseReleased", point, button="left", buttons=0, clickCount=1)


def drag(
    browser: Any, start: tuple[float, float], end: tuple[float, float], until: Any, seconds: float
) -> None:
    """Press the left button at one pixel of a page, move to another, wait until something holds,
    release.

    Args:
        seconds: that are waited at most.
    """
    _mouse(browser, "mouseMoved", start)
    _mouse(browser, "mousePressed", start, button="left", buttons=1, clickCount=1)
    for k in range(1, 9):
        point = tuple(a + (b - a) * k / 8.0 for a, b in zip(start, end, strict=True))
        _mouse(browser, "mouseMoved", point, button="left", buttons=1)  # type: ignore[arg-type]
    browser.wait(until, seconds)
    _mouse(browser, "mouseReleased", end, button="left", buttons=0, clickCount=1)
