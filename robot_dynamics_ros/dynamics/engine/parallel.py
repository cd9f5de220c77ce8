"""Threads for batches: each computes one piece after the other, in machine code (:mod:`.codegen.llvm_pool`)."""

from __future__ import annotations

import concurrent.futures
import ctypes
import functools
import os
import threading
from typing import Any

import numpy as np

from robot_dynamics_ros.errors import ArgumentError

__all__ = ["PARALLEL_BYTES", "run_pieces", "set_threads", "threads"]

_threads: int | None = None
PARALLEL_BYTES = 1 << 19
"""Batches whose arrays are smaller than this take some 50 µs, and a second thread that sleeps takes as long to wake."""
GRAIN = 64
"""Pieces start at multiples of so many states: of any vector's width, and no two threads write to one cache line."""
PIECES = 16
"""Pieces for each thread: a thread that the system stops holds up its piece only, the others do the rest."""
MOST = 256
"""Threads, at most."""


def threads() -> int:
    """Threads that batches use: what :func:`set_threads` said, else one for each processor this process may use."""
    if _threads is not None:
        return _threads
    return min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def set_threads(count: int | None) -> None:
    """Set the number of threads for batches; ``None`` for one a processor.

    Raises:
        ArgumentError: not a whole number from 1 to 256.
    """
    global _threads
    if count is not None and (not isinstance(count, int) or not 1 <= count <= MOST):
        raise ArgumentError(
            f"expected a whole number from 1 to {MOST} or None, got {count!r}", where="threads", got=count
        )
    _threads = count


def run_pieces(piece: int, context: np.ndarray, count: int, several: int, most: int) -> int:
    """Have ``several`` threads compute ``count`` states with a compiled piece function.

    No state is computed one way by one thread and another way by two, see :data:`GRAIN`.

    Args:
        piece: its address.
        context: int64, what it takes; alive and unchanged as long as this runs.
        most: states after which the keyboard is looked at.

    Returns:
        the first state of a group that the function refused; −1 if there was none.
    """
    pool = _pool()
    shared = several > 1 and pool.lock.acquire(blocking=False)  # else a second caller works for itself
    try:
        for begin in range(0, count, most):
            end = min(begin + most, count)
            if shared:
                refused = pool.run(piece, context.ctypes.data, begin, end, several)
            else:
                refused = pool.alone(piece, begin, end, context.ctypes.data)
            if refused >= 0:
                return refused
        return -1
    finally:
        if shared:
            pool.lock.release()


class _Pool:
    """Threads that wait for jobs in machine code, and the memory through which they hear of them."""

    def __init__(self) -> None:
        from robot_dynamics_ros.dynamics.engine.codegen import llvm_pool
        from robot_dynamics_ros.dynamics.engine.codegen.native import processor
        from robot_dynamics_ros.dynamics.engine.traced_function import compiled

        self._words = llvm_pool
        self._library = compiled(llvm_pool.pool_module(processor()))
        number, pointer = ctypes.c_int64, ctypes.c_void_p
        share = ctypes.CFUNCTYPE(None, pointer, number)
        self._helper, self._work = (share(self._library.address(name)) for name in ("helper", "work"))
        self._run = ctypes.CFUNCTYPE(None, pointer)(self._library.address("run"))
        self.alone: Any = ctypes.CFUNCTYPE(number, pointer, number, number, pointer)(self._library.address("alone"))
        room = np.zeros(llvm_pool.RANGES + MOST * llvm_pool.STRIDE + 16, np.int64)
        self._memory = room[-room.ctypes.data // 8 % 16 :]
        self._at = self._memory.ctypes.data
        self._helpers: list[threading.Thread] = []
        self._executor: concurrent.futures.ThreadPoolExecutor | None = None
        self.lock = threading.Lock()
        self._semaphores = all(
            self._semaphore(place)
            for place in (
                llvm_pool.MAIN_SEMAPHORE,
                *(llvm_pool.RANGES + k * llvm_pool.STRIDE + llvm_pool.SEMAPHORE for k in range(MOST)),
            )
        )
        # threads may be in this code until the process ends
        ctypes.pythonapi.Py_IncRef(ctypes.py_object((self._library, room)))

    def _semaphore(self, place: int) -> bool:
        """Make one; false where the system has none of this kind."""
        from robot_dynamics_ros.dynamics.engine.codegen.native import process_function

        init = process_function("sem_init")
        if init is None:
            return False
        init.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_uint]
        return init(self._at + 8 * place, 0, 0) == 0

    def run(self, piece: int, context: int, begin: int, end: int, several: int) -> int:
        """One job.  The lock is held."""
        words, memory = self._words, self._memory
        count = end - begin
        grain = GRAIN if count > GRAIN * several else 1
        edges = [begin + count * k // several // grain * grain for k in range(several)] + [end]
        length = max(grain, count // (several * PIECES) // grain * grain)
        memory[: words.JOB_WORDS] = piece, context, several, length
        memory[words.BAD] = words.NONE_BAD
        for k in range(several):
            first = words.RANGES + k * words.STRIDE
            memory[first : first + 2] = edges[k], edges[k + 1]
        if self._semaphores:
            while len(self._helpers) < several - 1:
                self._start(len(self._helpers) + 1)
            self._run(self._at)
        else:
            self._run_with_futures(several)
        refused = int(memory[words.BAD])
        return -1 if refused == words.NONE_BAD else refused

    def _start(self, number: int) -> None:
        helper = threading.Thread(
            target=self._helper, args=(self._at, number), name=f"robot_dynamics_{number}", daemon=True
        )
        helper.start()
        self._helpers.append(helper)

    def _run_with_futures(self, several: int) -> None:
        if self._executor is None or self._executor._max_workers < several - 1:
            self._executor = concurrent.futures.ThreadPoolExecutor(several - 1, thread_name_prefix="robot_dynamics")
        futures = [self._executor.submit(self._work, self._at, k) for k in range(1, several)]
        self._work(self._at, 0)
        for future in futures:
            future.result()


@functools.lru_cache(maxsize=1)
def _pool() -> _Pool:
    return _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the child has the memory, not the threads
