"""The web server of a view: on loopback unless asked otherwise, silent, and guarded.

viser passes on what arrives.  Here every message of a browser is looked at before it can reach a
robot: other kinds than the few that the page sends, numbers that are not finite or outside a
slider's range, and texts are dropped and reported.  Requests that come from another web site's
page, or by a name that is not this machine's, are refused, since any page a person has open can
reach a server on loopback; and no page may frame this one, so none can cover its buttons.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import html
import io
import logging
import math
import socket
import threading
import time
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from http import HTTPStatus
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from robot_dynamics_ros.errors import ArgumentError, optional_package
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.view.camera import FIELD_OF_VIEW
from robot_dynamics_ros.view.day_and_night import LOOK

if TYPE_CHECKING:
    from viser import ClientHandle, GuiInputHandle, infra
    from viser._messages import GuiUpdateMessage, Message, ViewerCameraMessage
    from viser.infra import WebsockClientConnection, WebsockServer
    from websockets.asyncio.server import Request, Response, ServerConnection
    from websockets.datastructures import Headers

DEFAULT_PORT = 8080
# that may be sent in one piece
MOST_MESSAGES = 100_000
WITHOUT_ROOM = """
const load = fetch;
window.fetch = (what, ...more) =>
    String(what.url ?? what).startsWith("data:image/jpeg")
      ? new Promise(() => {}) : load(what, ...more);
"""
"""A script for the head of a page, which then never gets the picture of a room: viser's page begins
with it, and a replay returns to it whenever it starts over, until the lights of :class:`Window`
have come.
"""
PAGE_HEAD = f"{LOOK}<script>{{{WITHOUT_ROOM}}}</script>"
"""What the heads of views and replays have in common."""
# s between two log lines about the same cause
_REPEAT = 5.0
_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
# while a server starts, the library's function that makes servers is replaced
_starting = threading.Lock()
_logger = logging.getLogger("robot_dynamics_ros.view")


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None


class Guard:
    """Stands between the connections of a viser ``server``, which it starts, and its handlers;
    arguments as of :class:`Window`.

    Attributes:
        refused: cause → how often.
        loopback: whether only this machine can reach it.
    """

    def __init__(
        self,
        host: str,
        port: int,
        title: str,
        report: Callable[[str, str], None] | None,
    ) -> None:
        import websockets.asyncio.server as library
        from viser import ViserServer
        from viser import _messages as messages

        self._title = title
        self.refused: Counter[str] = Counter()
        self._report = report or self._log
        self._logged: dict[str, float] = {}
        self._lock = threading.Lock()
        address = _address(host)
        if address is not None:
            self.loopback = address.is_loopback
        else:
            self.loopback = host == "localhost"
        self._names = {"localhost", host}
        if not self.loopback:
            own = socket.gethostname().lower()
            self._names |= {own, f"{own.partition('.')[0]}.local", socket.getfqdn().lower()}
        # before it is known, no page is let in
        self._connections: WebsockServer | None = None
        # of a message and the page that has sent it
        self._checks: dict[type, Callable[[Any, int], str]] = {
            messages.ViewerCameraMessage: _camera,
            messages.GuiUpdateMessage: self._gui,
            messages.SceneNodeDragMessage: lambda m, _: _finite(
                (*m.start_position, *m.end_position)
            ),
            messages.SceneNodeClickMessage: lambda m, _: "",
            messages.GetRenderResponseMessage: lambda m, _: "",
            messages.FileTransferPartAck: lambda m, _: "",
        }
        with _starting:
            own_serve = library.serve
            filtered = functools.partial(own_serve, process_response=self._answer)
            library.serve = filtered  # type: ignore[assignment, misc]
            try:
                self.server = ViserServer(host=host, port=port, label=title, verbose=False)
            finally:
                library.serve = own_serve  # type: ignore[misc]
        connections = self.server._websock_server
        self._through(connections)
        connections.on_client_connect(self._through)
        logging.getLogger("websockets.server").addFilter(self._broken)
        self._connections = connections

    def close(self) -> None:
        """Stop listening to the log of the connections."""
        logging.getLogger("websockets.server").removeFilter(self._broken)

    def _broken(self, record: logging.LogRecord) -> bool:
        """Hear of connections that ended because what arrived was no message at all; browsers also
        open connections that they close unused, which is no fault.
        """
        if record.exc_info:
            error = record.exc_info[1]
        else:
            error = None
        if record.levelno >= logging.ERROR and not isinstance(
            getattr(error, "__cause__", None), EOFError
        ):
            if error is not None:
                text = f"{type(error).__name__}: {str(error)[:100]}"
            else:
                text = record.getMessage()
            self.refuse(
                "not_a_message",
                f"a browser sent no message of the page; its connection is closed ({text})",
            )
        return True

    def refuse(self, cause: str, text: str) -> None:
        with self._lock:
            self.refused[cause] += 1
        self._report(cause, text)

    def _log(self, cause: str, text: str) -> None:
        now = time.monotonic()
        if now - self._logged.get(cause, -_REPEAT) >= _REPEAT:
            self._logged[cause] = now
            _logger.warning("%s (%d so far)", text, self.refused[cause])

    def _through(self, connection: WebsockServer | WebsockClientConnection) -> None:
        """Have the messages of a connection looked at before its handlers see them."""
        handle = connection._handle_incoming_message

        async def checked(client_id: int, message: Message) -> None:
            check = self._checks.get(type(message))
            if check is None:
                cause = "message_kind"
                fault = f"{type(message).__name__} is not one that the page sends"
            else:
                cause = "bad_value"
                try:
                    fault = check(message, client_id)
                except (TypeError, ValueError, AttributeError, KeyError) as error:
                    fault = f"{type(error).__name__}: {error}"
            if not fault:
                await handle(client_id, message)
            # each message passes by twice, once for all clients and once for its own
            elif connection is self._connections:
                self.refuse(cause, f"message from browser {client_id} refused: {fault}")
                self._show_again(message, client_id)

        connection._handle_incoming_message = checked

    def _answer(
        self,
        connection: ServerConnection,
        request: Request,
        response: Response,
    ) -> Response | None:
        """The answer to a request for the page or for a connection: refused, or with headers
        against framing.
        """
        fault = self._stranger(request.headers)
        if fault:
            self.refuse("origin", f"a request is refused: {fault}")
            text = "Open the page by the address that the viewer has printed.\n"
            return connection.respond(HTTPStatus.FORBIDDEN, text)
        if self._connections is None:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "The viewer starts.\n")
        response.headers.update(_HEADERS)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            zipped = response.headers.get("Content-Encoding") == "gzip"
            if zipped:
                page = gzip.decompress(response.body)
            else:
                page = bytes(response.body)
            page = page.replace(b"<head>", f"<head>{PAGE_HEAD}".encode(), 1)
            named = f"<title>{html.escape(self._title)}</title>".encode()
            page = page.replace(b"<title>Viser</title>", named, 1)
            if zipped:
                response.body = gzip.compress(page, 1)
            else:
                response.body = page
            del response.headers["Content-Length"]
            response.headers["Content-Length"] = str(len(response.body))
        return None

    def _stranger(self, headers: Headers) -> str:
        """Why a request does not come from this page on this machine's name, or ``""``."""
        host = headers.get("Host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
            origin = headers.get("Origin")
            if origin is None:
                site = host
            else:
                site = urlsplit(origin).netloc
        except ValueError:
            return "its addresses cannot be read"
        address = _address(name)
        if name not in self._names and (
            address is None or (self.loopback and not address.is_loopback)
        ):
            return f"it was made to {host[:100]!r}, which is no name of this machine"
        if site == host:
            return ""
        return f"it comes from a page of {str(origin)[:100]!r}"

    def _control(self, uuid: str, page: int) -> GuiInputHandle[Any] | None:
        """The control that a page wants to change, if it is its own."""
        client = self.server.get_clients().get(page)
        if client is None:
            return None
        return client.gui._gui_input_handle_from_uuid.get(uuid)

    def _show_again(self, message: Message, page: int) -> None:
        """Have a page's control show what holds, after another value was refused."""
        from viser._messages import GuiUpdateMessage

        uuid = getattr(message, "uuid", None)
        if isinstance(uuid, str):
            handle = self._control(uuid, page)
        else:
            handle = None
        if handle is not None:
            queue = handle._impl.gui_api._websock_interface.queue_message
            queue(GuiUpdateMessage(handle._impl.uuid, {"value": handle.value}))

    def _gui(self, message: GuiUpdateMessage, page: int) -> str:
        handle = self._control(message.uuid, page)
        if handle is None:
            # another page's, which viser does not let it reach, or removed a moment ago
            return ""
        if set(message.updates) != {"value"}:
            return f"properties {sorted(map(str, message.updates))[:5]} cannot be set from a page"
        return _unfit(handle, message.updates["value"])


def _camera(m: ViewerCameraMessage, _page: int) -> str:
    fault = _finite((*m.wxyz, *m.position, *m.look_at, *m.up_direction, m.fov, m.near, m.far))
    return fault or (
        "" if all(0 <= n < 1e5 for n in (m.image_height, m.image_width)) else "image size"
    )


def _unfit(handle: GuiInputHandle[Any], value: object) -> str:
    """Why a value cannot be that of an input, or ``""``."""
    label = repr(getattr(handle, "label", "?"))
    match type(handle).__name__:
        case "GuiSliderHandle" | "GuiNumberHandle":
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
            ):
                return f"{label} cannot be {str(value)[:50]!r}"
            low = handle.min
            high = handle.max
            slack = 1e-9 * max(abs(low or 0.0), abs(high or 0.0), 1.0)
            beyond = (low is not None and value < low - slack) or (
                high is not None and value > high + slack
            )
            if beyond:
                return f"{label} cannot be {value:g}, it goes from {low:g} to {high:g}"
            return ""
        case "GuiCheckboxHandle":
            if isinstance(value, bool):
                return ""
            return f"{label} is on or off"
        case "GuiDropdownHandle" | "GuiButtonGroupHandle":
            if value in handle.options:
                return ""
            return f"{label} has no choice {str(value)[:50]!r}"
        case "GuiButtonHandle":
            return ""
        case kind:
            return f"an input of kind {kind} is not expected"


def _finite(numbers: Iterable[float]) -> str:
    if all(math.isfinite(x) for x in numbers):
        return ""
    return "not every number is finite"


def _taken(host: str, port: int) -> Exception | None:
    """Why nobody can listen there."""
    try:
        with socket.socket(
            socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM
        ) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
    # names that cannot be written for the system are of the last two kinds
    except (OSError, OverflowError, TypeError, ValueError) as error:
        return error
    return None


def in_one_piece(client: ClientHandle) -> Callable[[], AbstractContextManager[None]]:
    """A context in which a thread's messages to a page are gathered; at its end the page gets all
    of them at once.

    The thread that sends puts them into its queue itself.  From another thread, as viser does it,
    messages may come into the queue while others are taken out: half of a picture, or an error,
    would be sent (``client.atomic()`` too).
    """
    buffer = client._websock_connection.get_message_buffer()
    buffer.max_window_size = MOST_MESSAGES
    put = buffer.push
    gathered = threading.local()

    def put_all(messages: Sequence[infra.Message]) -> None:
        # the page may be closed at any moment
        with buffer.sanctioned_dead_writes():
            for message in messages:
                put(message)

    def hand_over(messages: Sequence[infra.Message]) -> None:
        # the server has stopped
        with contextlib.suppress(RuntimeError):
            buffer.event_loop.call_soon_threadsafe(put_all, messages)

    def push(message: infra.Message) -> None:
        if (messages := getattr(gathered, "messages", None)) is not None:
            messages.append(message)
        else:
            hand_over([message])

    @contextlib.contextmanager
    def gather() -> Iterator[None]:
        # a piece that this one is part of
        larger: list[infra.Message] | None = getattr(gathered, "messages", None)
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
    """A page in a browser: a ``viser.ViserServer`` with a guard.  Use as a context manager, or call
    :meth:`close`.

    Args:
        title: shown above the controls.
        host: address to listen on.  Anything but loopback lets others on the network see and move
            the robot.
        port: TCP port; the next free one if it is taken, any free one if 0.
        report: called with (cause, sentence) for input of a browser that is refused; the log by
            default.
    """

    def __init__(
        self,
        title: str = "robot",
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        report: Callable[[str, str], None] | None = None,
    ) -> None:
        optional_package("viser", "the viewer needs", "view", "'robot_dynamics_ros[view]'")
        if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= 65535:
            raise ArgumentError("expected a port number from 0 to 65535", where="port", got=port)
        if (fault := _taken(host, 0)) is not None:
            remedy = "Use 127.0.0.1, or an address of this machine."
            raise ArgumentError(
                f"cannot listen there ({fault})", where="host", got=host, remedy=remedy
            )
        # viser looks for a free port itself, but waits for ever if there is none up to the last
        if all(_taken(host, number) for number in range(port, min(port + 100, 65536))):
            raise ArgumentError(
                "it is taken, as are those that follow",
                where="port",
                got=port,
                remedy="Use 0: any.",
            )
        # viser greets on the terminal
        with contextlib.redirect_stdout(io.StringIO()):
            self.guard = Guard(host, port, title, report)
        self.server = self.guard.server
        # what belongs to one instant is sent in one piece, however many links and wrenches there
        # are
        self.server._websock_server.get_message_buffer().max_window_size = MOST_MESSAGES
        self.host = host
        self.loopback = self.guard.loopback
        # a shadow on the ground shows how high a robot is; without a graphics processor a picture
        # takes 1.2 to 1.7 times as long.  On the robot itself none falls: it would hide what lies
        # in it.
        self.server.scene.configure_default_lights(enabled=True, cast_shadow=True)
        # light from a picture of a room looks no better, and without a graphics processor it takes
        # half a minute to begin
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
        if self.host not in ("0.0.0.0", "::"):
            shown = self.host
        else:
            shown = "localhost"
        if ":" in shown:
            return f"http://[{shown}]:{self.port}"
        return f"http://{shown}:{self.port}"

    def open(self) -> bool:
        """Open the page in this machine's browser; whether there is one."""
        return webbrowser.open(self.address)

    def look(self, position: Array, target: Array) -> None:
        """Put the camera of pages opened from now on at a position, looking at a target, m."""
        camera = self.server.initial_camera
        camera.position, camera.look_at = (
            (float(x), float(y), float(z)) for x, y, z in (position, target)
        )
        camera.up = (0.0, 0.0, 1.0)
        camera.fov = FIELD_OF_VIEW

    def close(self) -> None:
        self.guard.close()
        with contextlib.redirect_stdout(io.StringIO()):
            self.server.stop()

    def __exit__(self, *_: object) -> None:
        self.close()
