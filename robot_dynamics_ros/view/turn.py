"""Who controls a robot that several people look at."""

from __future__ import annotations

import threading
import time


class Turn:
    """The page that touches a control first has the controls, until it gives them back or has been idle.

    Pages are named by numbers.
    """

    IDLE = 10.0  # s

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._page = -1
        self._last = -self.IDLE

    def take(self, page: int) -> bool:
        """A page touches a control; whether it may."""
        with self._lock:
            if self._has() not in (-1, page):
                return False
            self._page, self._last = page, time.monotonic()
            return True

    def release(self, page: int) -> None:
        """A page gives the controls back, or is closed."""
        with self._lock:
            if self._page == page:
                self._page = -1

    @property
    def page(self) -> int:
        """The page that has the controls, -1 while none has."""
        with self._lock:
            return self._has()

    def _has(self) -> int:
        return self._page if time.monotonic() - self._last < self.IDLE else -1
