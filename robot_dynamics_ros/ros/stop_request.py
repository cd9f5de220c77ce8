"""SIGINT and SIGTERM as a flag that a node looks at between two callbacks."""

from __future__ import annotations

import signal
from types import FrameType

__all__ = ["StopRequest"]


class StopRequest:
    """Becomes true with SIGINT or SIGTERM."""

    def __init__(self) -> None:
        self._stopped = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._stop)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopped = True

    def __bool__(self) -> bool:
        return self._stopped
