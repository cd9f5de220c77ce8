"""A progress bar for long computations; on a terminal it moves, in a log it takes a few lines."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 30
silent = False
"""Whether nothing is shown (``--quiet``)."""


class Progress:
    """Shows the share of a computation that is done, on standard error if not told otherwise.  Use as a context manager."""

    def __init__(self, label: str, total: float, stream: TextIO | None = None) -> None:
        self._label, self._total = label, max(total, 1e-300)
        self._stream = stream if stream is not None else sys.stderr
        self._silent = silent
        self._moving = self._stream.isatty() and not silent
        self._due = 0.0
        self._quarter = 0
        self._line = ""

    def update(self, done: float, note: str = "") -> None:
        """Show how much of the total is done."""
        if self._silent:
            return
        share = min(max(done / self._total, 0.0), 1.0)
        filled = int(share * _WIDTH)
        self._line = f"{self._label:<11} [{'#' * filled}{'.' * (_WIDTH - filled)}] {share:4.0%}  {note}"
        if self._moving:
            now = time.monotonic()
            if now >= self._due:
                self._due = now + 0.1
                self._stream.write(f"\r{self._line}\x1b[K")
                self._stream.flush()
        elif int(share * 4) > self._quarter:
            self._quarter = int(share * 4)
            self._stream.write(self._line + "\n")
            self._stream.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._moving:
            self._stream.write(f"\r{self._line}\x1b[K\n")
            self._stream.flush()
