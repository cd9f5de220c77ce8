"""SIGINT, SIGTERM and SIGHUP end a command in order: children are stopped, files closed, no
traceback.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
# Signals so soon after one that is being obeyed mean the same, and must not cut short what it has
# begun, s.
STOP_PATIENCE_S = 1.0
_raised = -math.inf
_ending: KeyboardInterrupt | None = None


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised where the program is, as Python does with SIGINT; the exit ``code``
    tells a shell of it.
    """

    def __init__(self, number: int) -> None:
        self.code = 128 + number


def _raise(number: int, _frame: FrameType | None) -> None:
    global _raised, _ending
    now = time.monotonic()
    if now - _raised < STOP_PATIENCE_S:
        return
    _raised = now
    if number == signal.SIGINT:
        _ending = KeyboardInterrupt()
    else:
        _ending = Terminated(number)
    raise _ending


def ending() -> bool:
    """Whether a signal has come in this block of :func:`ending_signals`."""
    return _ending is not None


@contextmanager
def handled(handler: Callable[[int, FrameType | None], object]) -> Iterator[dict[int, Any]]:
    """Handle the signals for as long as the block lasts; the value is what is put back then, of
    each.

    Without effect outside the main thread.  A SIGHUP that is ignored stays so (``nohup``).
    """
    main = threading.current_thread() is threading.main_thread()
    numbers = [
        n for n in _SIGNALS if main and (n in _SIGNALS[:2] or signal.getsignal(n) != signal.SIG_IGN)
    ]
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield before
    finally:
        for number, handler_before in before.items():
            signal.signal(number, handler_before)


@contextmanager
def ending_signals() -> Iterator[None]:
    """Turn the signals into exceptions.  A block that one has ended leaves all ignored: the process
    is about to end.

    An import in C may turn the exception into an ImportError: any error after a signal means the
    signal.
    """
    global _ending
    _ending = None
    with handled(_raise) as before:
        try:
            with _nothing_lost() if before else nullcontext():
                yield
        except (KeyboardInterrupt, Exception) as error:
            if _ending is None and not isinstance(error, KeyboardInterrupt):
                raise
            before.update(dict.fromkeys(before, signal.SIG_IGN))
            raise _ending or error from None


@contextmanager
def _nothing_lost() -> Iterator[None]:
    """Raise again what Python drops: exceptions in finalizers and in weak references' callbacks, as
    every import has some.
    """
    # Windows
    if not hasattr(signal, "setitimer"):
        yield
        return
    hook = sys.unraisablehook
    lost = [KeyboardInterrupt()]

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
    """The signals wait until the block is through; for starting and stopping children, which must
    not be cut short.
    """
    came: list[int] = []
    try:
        with handled(lambda number, _frame: came.append(number)) as before:
            yield
    finally:
        if came and callable(before[came[0]]):
            before[came[0]](came[0], None)
