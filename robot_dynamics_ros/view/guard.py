"""Checks of all that a browser sends to the server, before it can reach a robot.

viser passes on what arrives.  Here every message is looked at before: other kinds than the few that the page sends,
numbers that are not finite or outside a slider's range, and long texts are dropped and reported, and connections that
come from another web site's page are refused, since any page a person has open can reach a server on loopback.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

__all__ = ["LONGEST_TEXT", "Guard", "is_loopback"]

LONGEST_TEXT = 1000
"""Characters of a text that is still taken."""

_REPEAT = 5.0  # s between two log lines about the same cause
_logger = logging.getLogger("robot_dynamics_ros.view")


def is_loopback(host: str) -> bool:
    """Whether an address reaches this machine only."""
    return host in ("localhost", "::1", "[::1]") or host.startswith("127.")


class Guard:
    """Stands between the connections of a viser server and its handlers.

    Args:
        server: the ``viser.ViserServer``.
        host: the address that it listens on.
        report: called with (cause, sentence) for what is refused; the log by default.

    Attributes:
        refused: cause → how often.
    """

    def __init__(self, server: Any, host: str, report: Callable[[str, str], None] | None = None) -> None:
        from viser import _messages as messages

        self.refused: Counter[str] = Counter()
        self._report = report or self._log
        self._logged: dict[str, float] = {}
        self._lock = threading.Lock()
        self._host = host
        self._connections = server._websock_server
        self._inputs = server.gui._gui_input_handle_from_uuid
        self._admitted: set[int] = set()
        self._checks: dict[type, Callable[[Any], str]] = {
            messages.ViewerCameraMessage: self._camera,
            messages.GuiUpdateMessage: self._gui,
            messages.SceneNodeDragMessage: lambda m: _finite((*m.start_position, *m.end_position)),
            messages.SceneNodeClickMessage: lambda m: "",
            messages.GetRenderResponseMessage: lambda m: "",
        }
        self._through(self._connections)
        self._connections.on_client_connect(self._connected)
        self._handler = _Broken(self)
        logging.getLogger("websockets.server").addHandler(self._handler)

    def close(self) -> None:
        """Stop listening to the log of the connections."""
        logging.getLogger("websockets.server").removeHandler(self._handler)

    def refuse(self, cause: str, text: str) -> None:
        """Count and report."""
        with self._lock:
            self.refused[cause] += 1
        self._report(cause, text)

    def _log(self, cause: str, text: str) -> None:
        now = time.monotonic()
        if now - self._logged.get(cause, -_REPEAT) >= _REPEAT:
            self._logged[cause] = now
            _logger.warning("%s (%d so far)", text, self.refused[cause])

    def _through(self, connection: Any) -> None:
        """Have the messages of a connection looked at before its handlers see them."""
        handle = connection._handle_incoming_message

        async def checked(client_id: int, message: Any) -> None:
            if client_id not in self._admitted:
                return
            check = self._checks.get(type(message))
            if check is None:
                cause, fault = "message_kind", f"{type(message).__name__} is not one that the page sends"
            else:
                cause = "bad_value"
                try:
                    fault = check(message)
                except (TypeError, ValueError, AttributeError, KeyError) as error:
                    fault = f"{type(error).__name__}: {error}"
            if not fault:
                await handle(client_id, message)
            elif (
                connection is self._connections
            ):  # each message passes by twice, once for all clients and once for its own
                self.refuse(cause, f"message from browser {client_id} refused: {fault}")

        connection._handle_incoming_message = checked

    def _connected(self, connection: Any) -> None:
        number = connection.client_id
        fault = self._origin(self._connections._live_connections[number].request.headers)
        self._through(connection)
        if not fault:
            self._admitted.add(number)
            return
        self.refuse("origin", f"connection {number} refused: {fault}")
        socket = self._connections._live_connections[number]
        connection._state.event_loop.create_task(socket.close(1008, "refused"))

    def _origin(self, headers: Any) -> str:
        host = headers.get("Host", "")
        name = urlsplit(f"//{host}").hostname or ""
        if is_loopback(self._host) and not is_loopback(name):
            return f"it was made to {host!r}, which is no name of this machine"
        origin = headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return f"it comes from a page of {origin!r}"
        return ""

    def _camera(self, message: Any) -> str:
        numbers = (*message.wxyz, *message.position, *message.look_at, *message.up_direction)
        fault = _finite((*numbers, message.fov, message.near, message.far))
        return fault or ("" if all(0 <= n < 1e5 for n in (message.image_height, message.image_width)) else "image size")

    def _gui(self, message: Any) -> str:
        handle = self._inputs.get(message.uuid)
        if handle is None:
            return ""  # removed a moment ago
        if set(message.updates) != {"value"}:
            return f"properties {sorted(map(str, message.updates))[:5]} cannot be set from a page"
        return _unfit(handle, message.updates["value"])


def _unfit(handle: Any, value: Any) -> str:
    """Why a value cannot be that of an input, or ``""``."""
    label = getattr(handle, "label", "?")
    kind = type(handle).__name__
    if kind in ("GuiSliderHandle", "GuiNumberHandle"):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"{label!r} cannot be {str(value)[:50]!r}"
        low, high = handle.min, handle.max
        slack = 1e-9 * max(abs(low or 0.0), abs(high or 0.0), 1.0)
        if (low is not None and value < low - slack) or (high is not None and value > high + slack):
            return f"{label!r} cannot be {value:g}, it goes from {low:g} to {high:g}"
        return ""
    if kind == "GuiCheckboxHandle":
        return "" if isinstance(value, bool) else f"{label!r} is on or off"
    if kind in ("GuiDropdownHandle", "GuiButtonGroupHandle"):
        return "" if value in handle.options else f"{label!r} has no choice {str(value)[:50]!r}"
    if kind == "GuiButtonHandle":
        return ""
    if kind == "GuiTextHandle":
        fits = isinstance(value, str) and len(value) <= LONGEST_TEXT
        return "" if fits else f"{label!r} takes a text of at most {LONGEST_TEXT} characters"
    return f"an input of kind {kind} is not expected"


def _finite(numbers: Iterable[float]) -> str:
    return "" if all(math.isfinite(x) for x in numbers) else "not every number is finite"


class _Broken(logging.Handler):
    """Hears of connections that ended because what arrived was no message at all."""

    def __init__(self, guard: Guard) -> None:
        super().__init__(logging.ERROR)
        self._guard = guard

    def emit(self, record: logging.LogRecord) -> None:
        """Count one."""
        error = record.exc_info[1] if record.exc_info else None
        text = f"{type(error).__name__}: {str(error)[:100]}" if error is not None else record.getMessage()
        self._guard.refuse("not_a_message", f"a browser sent no message of the page; its connection is closed ({text})")
