"""Keeping the control cycle undisturbed: garbage collection, processor, scheduling, memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import platform
import struct
from collections.abc import Callable
from pathlib import Path

from rclpy.impl.rcutils_logger import RcutilsLogger

from robot_dynamics_ros.ros.transport.parameters import ParameterValues, parameter_table

try:
    import resource
except ImportError:
    # not on every system
    resource = None  # type: ignore[assignment]

REALTIME_PARAMETERS = parameter_table("common", "realtime")
# whether :func:`keep_collections_short` has been called in this process
_collections_are_short = False


def apply_scheduling(parameters: ParameterValues, logger: RcutilsLogger) -> None:
    """Pin the process to processors, raise its priority, as far as the system permits."""
    wake_sooner()
    if processors := parameters["cpu_affinity"]:
        try:
            _for_each_thread(lambda thread: os.sched_setaffinity(thread, processors))
        except (OSError, AttributeError, ValueError) as error:
            logger.warning(
                f"cpu_affinity {list(processors)} cannot be set ({error}); continuing without it"
            )
    if priority := parameters["thread_priority"]:
        try:
            _for_each_thread(
                lambda thread: os.sched_setscheduler(
                    thread, os.SCHED_FIFO, os.sched_param(priority)
                )
            )
        except (OSError, AttributeError) as error:
            logger.warning(
                f"thread_priority {priority} cannot be set ({error}); continuing with ordinary "
                "scheduling. It needs the right to "
                "real-time scheduling (ulimit -r, or CAP_SYS_NICE)."
            )
    if parameters["lock_memory"] and (problem := _lock_memory()):
        logger.warning(
            f"lock_memory is not possible ({problem}); continuing without it. It needs ulimit -l "
            "unlimited, or CAP_IPC_LOCK."
        )


def _for_each_thread(apply: Callable[[int], None]) -> None:
    """Do something to every thread of this process, those of the middleware too; threads that these
    start inherit it.
    """
    try:
        threads = [int(name) for name in os.listdir("/proc/self/task")]
    except OSError:
        # the calling one
        threads = [0]
    for thread in threads:
        # it has ended meanwhile
        with contextlib.suppress(ProcessLookupError):
            apply(thread)


def step_back() -> None:
    """Let the control cycle go first: a thread of real-time priority calls this for itself if its
    work may wait.
    """
    with contextlib.suppress(OSError, AttributeError):
        if (
            os.sched_getscheduler(0) == os.SCHED_FIFO
            and (priority := os.sched_getparam(0).sched_priority) > 1
        ):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority - 1))


def yield_to_others() -> None:
    """Have this process, and every thread that it starts from now on, wait while others need the
    processor.
    """
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
    with contextlib.suppress(OSError, AttributeError):
        # a message that arrives does not interrupt whoever runs
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with contextlib.suppress(OSError, AttributeError):
        # Linux may group processes by session (sched(7), autogroup): niceness then counts only
        # within the session
        if os.getsid(0) == os.getpid():
            Path("/proc/self/autogroup").write_text("10")


# ``struct sched_attr``, its first version: size, policy, flags, nice, priority, runtime,
# deadline, period
_SCHED_ATTR = struct.Struct("=IIQiIQQQ")
# Numbers of the system call, which the C library does not offer.
_SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
# The slice of the scheduler: the shortest that Linux accepts, so that a thread that has waited
# comes next.
_REALTIME_SLICE_NS = 100_000


def wake_sooner() -> None:
    """Have every thread of this process run in short slices.

    From Linux 6.12 on, a thread of ordinary scheduling that wakes up interrupts one with longer
    slices at once, and does not wait until that one's slice of some milliseconds is over. It takes
    no right. Older kernels ignore the request.
    """
    number = _SCHED_SETATTR.get(platform.machine())
    syscall = _libc("syscall")
    if number is None or syscall is None:
        return

    def shorten(thread: int) -> None:
        if os.sched_getscheduler(thread) == os.SCHED_OTHER:
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            syscall(
                number,
                thread,
                _SCHED_ATTR.pack(
                    _SCHED_ATTR.size, os.SCHED_OTHER, 0, nice, 0, _REALTIME_SLICE_NS, 0, 0
                ),
                0,
            )

    _for_each_thread(shorten)


_MCL_CURRENT = 1
_MCL_FUTURE = 2


def _libc(name: str) -> Callable[..., int] | None:
    """A function of the C library; ``None`` where the system does not have it."""
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), name, None)
    except (OSError, TypeError):
        return None


def _lock_memory() -> str:
    """Lock present and future memory; returns why not, or nothing."""
    lock = _libc("mlockall")
    if lock is None or resource is None:
        return "this system has no mlockall"
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    if limit != resource.RLIM_INFINITY and os.geteuid() != 0:
        # within a limit, whatever came later and did not fit would not be given at all
        return f"no more than {limit // 1024} kB may be locked"
    if lock(_MCL_CURRENT | _MCL_FUTURE):
        return os.strerror(ctypes.get_errno())
    return ""


def keep_collections_short() -> None:
    """Have Python's cyclic garbage collector look only at what is made from now on: then it takes
    less than a millisecond.

    What was made before an earlier call is looked at once more, as it may have become garbage; what
    somebody else has had left out stays so.
    """
    global _collections_are_short
    if _collections_are_short:
        gc.unfreeze()
    gc.collect()
    gc.freeze()
    _collections_are_short = True
