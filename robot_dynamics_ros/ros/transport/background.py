"""Work that need not be done in the cycle's thread: log lines, diagnostics."""

from __future__ import annotations

import queue
import sys
import threading
import traceback
from collections.abc import Callable

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
