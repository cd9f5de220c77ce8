"""Threads for batches: each computes one piece of states after the other, in machine code that
needs no interpreter lock.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from robot_dynamics_ros.errors import ArgumentError

_threads: int | None = None
PARALLEL_BYTES = 1 << 21
"""Batches whose arrays are smaller than this take some 300 µs, in which a second thread gains
nothing: it has to wake first.
"""
GRAIN = 64
"""Pieces start at multiples of so many states: of any vector's width, and no two threads write to
one cache line.
"""
PIECES = 8
"""Pieces of a thread's share, at least: a thread that the system stops holds up its piece only."""
MOST_THREADS = 256
"""Threads, at most."""


def threads() -> int:
    """Threads that batches use: what :func:`set_threads` said, else one for each processor this
    process may use.
    """
    if _threads is not None:
        return _threads
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return min(MOST_THREADS, processors)


def set_threads(count: int | None) -> None:
    """Set the number of threads for batches; ``None`` for one a processor.

    Raises:
        ArgumentError: not a whole number from 1 to 256.
    """
    global _threads
    if count is not None and (not isinstance(count, int) or not 1 <= count <= MOST_THREADS):
        raise ArgumentError(
            f"expected a whole number from 1 to {MOST_THREADS} or None, got {count!r}",
            where="threads",
            got=count,
        )
    _threads = count


def run_pieces(
    run: Callable[[int, int, int], bool],
    count: int,
    several: int,
    most: int,
) -> bool:
    """Have ``several`` threads compute ``count`` states, at most ``most`` at a time; between two
    pieces the keyboard is looked at.

    ``run(begin, end, thread)`` is false if it refused these states; returns whether it refused
    none.
    """
    if several > 1:
        grain = GRAIN if count > GRAIN * several else 1
        most = min(most, max(grain, count // (several * PIECES) // grain * grain))
    pieces = iter(range(0, count, most))
    refused: list[int] = []

    def work(thread: int) -> None:
        for begin in pieces:
            if not run(begin, min(begin + most, count), thread):
                refused.append(begin)
                # the others find none any more
                deque(pieces, 0)

    helpers: list[Future[None]] = []
    # the system has no more threads
    with contextlib.suppress(RuntimeError):
        helpers += (_pool().submit(work, thread) for thread in range(1, several))
    try:
        work(0)
    finally:
        # a helper that begins only now finds no piece
        deque(pieces, 0)
        for helper in helpers:
            if not helper.cancel():
                helper.result()
    return not refused


@functools.lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_THREADS, "robot_dynamics")


if hasattr(os, "register_at_fork"):
    # the child has the memory, not the threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
