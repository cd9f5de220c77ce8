"""Processes halted at random, as a busy machine halts them: ``HALTS=SEED`` does it to every process
that a test starts.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# s
LONGEST = 0.3
APART = 0.5


def descendants(pid: int) -> Iterator[int]:
    """Processes that run below this one."""
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def runs(pid: int) -> bool:
    """Whether nobody else, a test above all, has halted it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "TtZ"
    except OSError:
        return False


@contextmanager
def halted_at_random(seed: str) -> Iterator[None]:
    """One process after the other stands still for up to ``LONGEST`` s, up to ``APART`` s apart."""
    dice = random.Random(seed)
    over = threading.Event()

    def halt() -> None:
        while not over.wait(dice.uniform(0.0, APART)):
            running = [pid for pid in descendants(os.getpid()) if runs(pid)]
            if running:
                pid = dice.choice(running)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGSTOP)
                    over.wait(dice.uniform(0.0, LONGEST))
                    os.kill(pid, signal.SIGCONT)

    thread = threading.Thread(target=halt, name="halts", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
