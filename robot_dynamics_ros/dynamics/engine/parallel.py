"""Batches shared among threads: compiled code and NumPy's loops let go of the interpreter lock while they run."""

from __future__ import annotations

import concurrent.futures
import functools
import itertools
import os
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from robot_dynamics_ros.errors import ArgumentError

__all__ = ["PARALLEL_BYTES", "all_finite", "set_threads", "share", "threads"]

_threads: int | None = None
PARALLEL_BYTES = 1 << 21
"""Batches whose arrays are smaller than this take some 0.3 ms, and waking a second thread takes 0.1 ms: not worth it."""
GRAIN = 64
"""Pieces start at multiples of so many states: of any vector's width, and no two threads write to one cache line."""
PIECES = 8
"""Pieces for each thread: a thread that the system stops holds up its piece only, the others do the rest."""


def threads() -> int:
    """Threads that batches use: what :func:`set_threads` said, else one for each processor this process may use."""
    if _threads is not None:
        return _threads
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def set_threads(count: int | None) -> None:
    """Set the number of threads for batches; ``None`` for one a processor.

    Raises:
        ArgumentError: not a positive whole number.
    """
    global _threads
    if count is not None and (not isinstance(count, int) or count < 1):
        raise ArgumentError(f"expected a positive whole number or None, got {count!r}", where="threads", got=count)
    _threads = count


@functools.lru_cache(maxsize=4)
def _pool(count: int) -> concurrent.futures.ThreadPoolExecutor:
    return concurrent.futures.ThreadPoolExecutor(count, thread_name_prefix="robot_dynamics")


def share(count: int, work: Callable[[int, int], None], *, worth: bool) -> None:
    """Run ``work(begin, end)`` over ``count`` states, in several threads if that is worth their trouble.

    Each thread takes the next piece when it is done with one.  No state is computed one way by one thread and another
    way by two, see :data:`GRAIN`.
    """
    several = threads() if worth and count > 1 else 1
    if several == 1:
        work(0, count)
        return
    pieces = several * PIECES
    grain = GRAIN if count > GRAIN * several else 1
    edges = sorted({count * k // pieces // grain * grain for k in range(pieces)} | {count})
    left = deque(itertools.pairwise(edges))

    def run() -> None:
        while True:
            try:
                begin, end = left.popleft()
            except IndexError:
                return
            work(begin, end)

    helpers = [_pool(several - 1).submit(run) for _ in range(several - 1)]
    try:
        run()
    finally:
        left.clear()
        for helper in helpers:
            if not helper.cancel():  # one that has not begun has nothing left to do
                helper.result()


def all_finite(arrays: Sequence[np.ndarray]) -> bool:
    """Whether C-contiguous arrays hold neither NaN nor infinities."""
    flat = [x.reshape(-1) for x in arrays]
    if sum(x.nbytes for x in flat) <= 4 * PARALLEL_BYTES or threads() == 1:
        return all(bool(np.isfinite(x).all()) for x in flat)
    parts = 1024  # of each array: a thread's piece of it then is still near the processor when it is computed with
    bad: list[bool] = []

    def look(begin: int, end: int) -> None:
        for x in flat:
            if not np.isfinite(x[len(x) * begin // parts : len(x) * end // parts]).all():
                bad.append(True)

    share(parts, look, worth=True)
    return not bad
