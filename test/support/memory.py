"""What a piece of code leaves behind in memory, or needs for a moment, beside other threads of this
process.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

__all__ = ["least_memory"]


def least_memory(work: Callable[[], object], tries: int = 3) -> tuple[int, int]:
    """Bytes left behind, and the most at once, in the cheapest of several rounds, while
    ``tracemalloc`` runs.

    Threads that tests before have left may allocate in one round; what the work itself needs it
    needs in every one.
    """
    left = []
    peak = []
    for _ in range(tries):
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        work()
        gc.collect()
        after, most = tracemalloc.get_traced_memory()
        left.append(after - before)
        peak.append(most - before)
    return min(left), min(peak)
