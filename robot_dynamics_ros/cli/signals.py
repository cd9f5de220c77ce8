"""SIGINT, SIGTERM and SIGHUP end a command in order: children are stopped, files closed, no traceback."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
#: Signals so soon after one that is being obeyed mean the same, and must not cut short what it has begun, s.
PATIENCE = 1.0
_raised = -math.inf


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised where the program is, as Python does with SIGINT.

    Attributes:
        code: exit code that tells a shell of it.
    """

    def __init__(self, number: int) -> None:
        self.code = 128 + number


def _raise(number: int, _frame: FrameType | None) -> None:
    global _raised
    now = time.monotonic()
    if now - _raised < PATIENCE:
        return
    _raised = now
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)


def _replaced(handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Handle the signals from now on; what handled them before."""
    numbers = [n for n in _SIGNALS if n in _SIGNALS[:2] or signal.getsignal(n) != signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in numbers}


@contextmanager
def ending_signals() -> Iterator[None]:
    """Turn the signals into exceptions; what was before is put back.  Without effect outside the main thread.

    A SIGHUP that is ignored stays so (``nohup``).  A block that a signal has ended leaves all ignored: the process is about
    to end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = _replaced(_raise)
    try:
        with _nothing_lost():
            yield
    except KeyboardInterrupt:
        before = dict.fromkeys(before, signal.SIG_IGN)
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _nothing_lost() -> Iterator[None]:
    """Raise again what Python drops: an exception in a finalizer or a weak reference's callback, as every import has some,
    goes no further."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    hook, lost = sys.unraisablehook, [KeyboardInterrupt()]

    def note(unraisable: sys.UnraisableHookArgs) -> None:
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
    """The signals wait until the block is through; for starting and stopping children, which must not be cut short."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    before = _replaced(note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came and callable(before[came[0]]):
            before[came[0]](came[0], None)
