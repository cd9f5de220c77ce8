"""A page's side of the connection, without a browser: for messages that no page would send."""

from __future__ import annotations

from typing import Any


def camera_message(**other: Any) -> bytes:
    """What a page sends first; with other values than the usual ones, if given."""
    import msgspec

    values = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0, 1.0, 1.0), "fov": 1.0, "near": 0.1, "far": 100.0}
    values |= {"image_height": 400, "image_width": 600, "look_at": (0.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0)}
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
    """What a page shows of a robot, once it is drawn; pages in the order in which they were opened."""
    assert wait_for(lambda: len(viewer.pages) > number)
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
