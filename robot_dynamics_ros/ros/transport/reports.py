"""Counting what goes wrong, and saying so without flooding the log; no request of a stranger ends a node."""

from __future__ import annotations

import inspect
import queue
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

_MOST_TEXTS = 100
_INTERVAL = 5.0  # s between two log lines about the same cause


class Rejections:
    """Counts events by cause and logs each cause at once, then at most every few seconds.

    The background writes the lines; without it whoever reports does.  ``counts``: cause → how often since the start.
    """

    def __init__(self, logger: RcutilsLogger, background: Background | None = None) -> None:
        self._logger, self._background = logger, background
        self._next: dict[str, float] = {}
        self._silent: Counter[str] = Counter()
        self._logged_texts: set[str] = set()
        self.counts: Counter[str] = Counter()

    def report(self, cause: str, text: str, severity: str = "warning", *, distinct: bool = False) -> None:
        """Count one event and say so, as ``"info"``, ``"warning"`` or ``"error"``, if it is time to.

        ``distinct``: say a text that has not been said yet at once, whenever the cause was reported last; only for texts of
        which there are few.
        """
        self.counts[cause] += 1
        self.say(cause, text, severity, distinct=distinct)

    def say(
        self, cause: str, text: str | Callable[[], str], severity: str = "warning", *, distinct: bool = False
    ) -> None:
        """The same for an event that is counted elsewhere; a text that takes time to make may be a function."""
        now = time.monotonic()
        if now < self._next.get(cause, 0.0) and not (distinct and text not in self._logged_texts):
            self._silent[cause] += 1
            return
        text = text if isinstance(text, str) else text()
        if distinct and len(self._logged_texts) < _MOST_TEXTS:
            self._logged_texts.add(text)
        more = self._silent.pop(cause, 0)
        self._next[cause] = now + _INTERVAL
        line = f"{text} [{cause}" + (f", {more} more since the last report]" if more else "]")
        if self._background is not None:
            self._background.call(self._write, severity, line)
        else:
            self._write(severity, line)

    def _write(self, severity: str, line: str) -> None:
        # rclpy allows one severity for each place in the source
        if severity == "info":
            self._logger.info(line)
        elif severity == "error":
            self._logger.error(line)
        else:
            self._logger.warning(line)


_PATIENCE = 2.0  # s that closing waits for what is still to be done


class Background:
    """A thread that makes calls one after the other, in the order in which they were handed over."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[tuple[Callable[..., object], tuple[object, ...]] | None] = queue.SimpleQueue()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="reports", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Have ``function`` called soon; at once when this is closed."""
        if self._closed:
            function(*arguments)
        else:
            self._calls.put((function, arguments))

    def close(self) -> None:
        """Do what is left, and every further call in the caller's thread.  Before the node is destroyed."""
        if not self._closed:
            self._closed = True
            self._calls.put(None)
            self._thread.join(_PATIENCE)

    def _work(self) -> None:
        while (job := self._calls.get()) is not None:
            function, arguments = job
            try:
                function(*arguments)
            except Exception:  # noqa: BLE001 (a report that fails must not end the reports)
                traceback.print_exc(file=sys.stderr)


Message: TypeAlias = object  # a request or a response of any service


def guard_services(node: Node, report: Callable[[str, str], None]) -> None:
    """Wrap the callbacks of a node's services, rclpy's own included; those wrapped already stay as they are.

    rclpy lets exceptions through that a request can provoke: a lifecycle transition that the present state does not
    have, a parameter of a type that does not exist.  Uncaught they end the process, and the caller waits in vain.
    A request that fails is answered with the response as it then is, for services that have ``success`` with false.
    """
    for service in node.services:
        if not hasattr(service.callback, "guarded"):
            service.callback = _guarded(service.callback, service.srv_name, report)


def _guarded(
    callback: Callable[..., Message | Awaitable[Message]], name: str, report: Callable[[str, str], None]
) -> Callable[..., object]:
    def failed(error: Exception, response: Message) -> Message:
        report("bad_request", f"a request to {name} failed: {type(error).__name__}: {error}")
        if hasattr(response, "success"):
            response.success = False
        return response

    def guarded(request: Message, response: Message) -> object:
        try:
            return callback(request, response)
        except Exception as error:  # noqa: BLE001 (whatever it is, it belongs to the request)
            return failed(error, response)

    async def guarded_coroutine(request: Message, response: Message) -> object:
        try:
            return await callback(request, response)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001
            return failed(error, response)

    outer = guarded_coroutine if inspect.iscoroutinefunction(callback) else guarded
    outer.guarded = True  # type: ignore[attr-defined]
    return outer
