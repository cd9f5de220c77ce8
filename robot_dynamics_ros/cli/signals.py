"""SIGINT and SIGTERM end a command in order: children are stopped, files closed, no traceback."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

__all__ = ["Terminated", "ending_signals", "held_back"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Signals so soon after one that is being obeyed mean the same, and must not cut short what it has begun, s.
PATIENCE = 1.0
_raised = -math.inf


class Terminated(KeyboardInterrupt):
    """SIGTERM, raised where the program is, as Python does with SIGINT.

    Attributes:
        code: exit code that tells a shell of it.
    """

    code = 128 + signal.SIGTERM


def _raise(number: int, _frame: FrameType | None) -> None:
    global _raised
    now = time.monotonic()
    if now - _raised < PATIENCE:
        return
    _raised = now
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


@contextmanager
def ending_signals() -> Iterator[None]:
    """Turn both signals into exceptions; what was before is put back.  Without effect outside the main thread.

    A block that a signal has ended leaves both ignored: the process is about to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.signal(number, _raise) for number in _SIGNALS}
    try:
        with _nothing_lost():
            yield
    except KeyboardInterrupt:
        before = dict.fromkeys(_SIGNALS, signal.SIG_IGN)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _nothing_lost() -> Iterator[None]:
    """Raise again what Python drops: an exception in a finalizer or a weak reference's callback, as every import has some,
    goes no further."""
    hook, lost = sys.unraisablehook, [KeyboardInterrupt()]

    def note(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            lost[0] = unraisable.exc_value
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            hook(unraisable)

    def again(_number: int, _frame: FrameType | None) -> None:
        raise lost[0]

    before = signal.signal(signal.SIGALRM, again)
    sys.unraisablehook = note
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def held_back() -> Iterator[None]:
    """Both signals wait until the block is through; for starting and stopping children, which must not be cut short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before: dict[int, Any] = {number: signal.signal(number, note) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came and callable(before[came[0]]):
            before[came[0]](came[0], None)
