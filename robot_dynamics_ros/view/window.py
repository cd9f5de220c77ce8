"""The web server of a view: on loopback unless asked otherwise, guarded, silent."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from robot_dynamics_ros.errors import ArgumentError, optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.view.camera import FIELD_OF_VIEW
from robot_dynamics_ros.view.guard import Guard, is_loopback

if TYPE_CHECKING:
    from viser import ClientHandle
    from viser.infra import Message

DEFAULT_PORT = 8080
MOST_MESSAGES = 100_000  # that may be sent in one piece
WITHOUT_ROOM = """
const load = fetch;
window.fetch = (what, ...more) =>
    String(what.url ?? what).startsWith("data:image/jpeg") ? new Promise(() => {}) : load(what, ...more);
"""
"""A script for the head of a page, which then never gets the picture of a room: viser's page begins with it, and a replay returns to
it whenever it starts over, until the lights of :class:`Window` have come."""


def _taken(host: str, port: int) -> Exception | None:
    """Why nobody can listen there."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    except (OSError, OverflowError) as error:
        return error
    return None


def in_one_piece(client: ClientHandle) -> Callable[[], AbstractContextManager[None]]:
    """A context in which a thread's messages to a page are gathered; at its end the page gets all of them at once.

    The thread that sends puts them into its queue itself.  From another thread, as viser does it, messages may come into
    the queue while others are taken out: half of a picture, or an error, would be sent (``client.atomic()`` too).
    """
    buffer = client._websock_connection.get_message_buffer()
    buffer.max_window_size = MOST_MESSAGES
    put, gathered = buffer.push, threading.local()

    def put_all(messages: Sequence[Message]) -> None:
        with buffer.sanctioned_dead_writes():  # the page may be closed at any moment
            for message in messages:
                put(message)

    def hand_over(messages: Sequence[Message]) -> None:
        with contextlib.suppress(RuntimeError):  # the server has stopped
            buffer.event_loop.call_soon_threadsafe(put_all, messages)

    def push(message: Message) -> None:
        if (messages := getattr(gathered, "messages", None)) is not None:
            messages.append(message)
        else:
            hand_over([message])

    @contextlib.contextmanager
    def gather() -> Iterator[None]:
        larger: list[Message] | None = getattr(gathered, "messages", None)  # a piece that this one is part of
        gathered.messages = messages = [] if larger is None else larger
        try:
            yield
        finally:
            gathered.messages = larger
            if larger is None:
                hand_over(messages)

    buffer.push = push
    return gather


class Window(AbstractContextManager["Window"]):
    """A page in a browser: a ``viser.ViserServer`` with a guard.  Use as a context manager, or call :meth:`close`.

    Args:
        title: shown above the controls.
        host: address to listen on.  Anything but loopback lets others on the network see and move the robot.
        port: TCP port; the next free one if it is taken, any free one if 0.
        report: called with (cause, sentence) for input of a browser that is refused; the log by default.
    """

    def __init__(
        self,
        title: str = "robot",
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        report: Callable[[str, str], None] | None = None,
    ) -> None:
        viser = optional_package("viser", "the viewer needs", "view", "'robot_dynamics_ros[view]'")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise ArgumentError("expected a port number from 0 to 65535", where="port", got=port)
        if (fault := _taken(host, 0)) is not None:
            remedy = "Use 127.0.0.1, or an address of this machine."
            raise ArgumentError(f"cannot listen there ({fault})", where="host", got=host, remedy=remedy)
        # viser looks for a free port itself, but waits for ever if there is none up to the last
        if all(_taken(host, number) for number in range(port, min(port + 100, 65536))):
            raise ArgumentError("it is taken, as are those that follow", where="port", got=port, remedy="Use 0: any.")
        with contextlib.redirect_stdout(io.StringIO()):  # viser greets on the terminal
            self.guard = Guard(viser.ViserServer, host, port, title, report, WITHOUT_ROOM)
        self.server = self.guard.server
        # what belongs to one instant is sent in one piece, however many links and wrenches there are
        self.server._websock_server.get_message_buffer().max_window_size = MOST_MESSAGES
        self.host = host
        # shadows cost more than all the rest where there is no graphics processor, and hide what lies in them
        self.server.scene.configure_default_lights(enabled=True, cast_shadow=False)
        # light from a picture of a room looks no better, and without a graphics processor it takes half a minute to begin
        self.server.scene.configure_environment_map(hdri=None)
        self.server.scene.add_light_hemisphere(
            "/sky", sky_color=(255, 255, 255), ground_color=(150, 150, 150), intensity=2.0
        )
        self.server.gui.configure_theme(show_logo=False, show_share_button=False)
        self.server.gui.main_panel.dock_right()

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    @property
    def address(self) -> str:
        """Address to open in a browser."""
        shown = self.host if self.host not in ("0.0.0.0", "::") else "localhost"
        return f"http://[{shown}]:{self.port}" if ":" in shown else f"http://{shown}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def open(self) -> bool:
        """Open the page in this machine's browser; whether there is one."""
        return webbrowser.open(self.address)

    def look(self, position: Array, target: Array) -> None:
        """Put the camera of pages opened from now on at a position, looking at a target, m."""
        camera = self.server.initial_camera
        camera.position, camera.look_at = ((float(x), float(y), float(z)) for x, y, z in (position, target))
        camera.up = (0.0, 0.0, 1.0)
        camera.fov = FIELD_OF_VIEW

    def close(self) -> None:
        self.guard.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def __exit__(self, *_: object) -> None:
        self.close()
