"""SIGINT and SIGTERM as a flag that a node looks at between two callbacks."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # built in: there is no file to read while a signal comes
from typing import Any

__all__ = ["StopRequest"]


class StopRequest:
    """Becomes true with SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self._stopped = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, _number: int, _frame: Any) -> None:
        self._stopped = True

    def close(self) -> None:
        """The process is about to end: from now on both signals are ignored, or a late one would kill it half-way."""
        self._stopped = True
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)

    def __bool__(self) -> bool:
        return self._stopped
