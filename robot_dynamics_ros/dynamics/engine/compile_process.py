"""Compiling in a process of its own, so that a control cycle in this one never waits for the
interpreter lock.

The process puts machine code into the kernel cache on disk, from where this one loads it in a
millisecond or two a function.  It stays for further robots, and ends with this process.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from robot_dynamics_ros.dynamics.engine.backends import backend_status, evaluator, in_cache
from robot_dynamics_ros.dynamics.engine.codegen.cache import cache_directory
from robot_dynamics_ros.dynamics.engine.registry import Options
from robot_dynamics_ros.model.robot_model import RobotModel

_HOME = str(Path(__file__).resolve().parents[3])
"""Where this package lies."""
_lock = threading.Lock()
_process: subprocess.Popen[bytes] | None = None


_WAIT_THEN_SERVE = f"""
import sys
if sys.stdin.buffer.peek(1):
    from {__name__} import serve
    serve()
"""


def start() -> None:
    """Start the process where one can be of use, before time matters: it may hold this one up for
    some milliseconds.  Until it is asked for something it has loaded nothing.
    """
    if cache_directory() is not None:
        with _lock, contextlib.suppress(OSError):
            _started()


def _started() -> subprocess.Popen[bytes]:
    global _process
    if _process is None or _process.poll() is not None:
        _process = subprocess.Popen(
            [sys.executable, "-c", _WAIT_THEN_SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, (_HOME, os.environ.get("PYTHONPATH")))),
            },
            # Ctrl-C is for this process; that one ends when its input does
            start_new_session=True,
        )
    return _process


def compile_elsewhere(model: RobotModel, functions: Iterable[tuple[str, Options]]) -> bool:
    """Have functions of a robot (names and options) compiled by another process; returns whether
    they are in the cache now.

    If not (no cache, no second process), this process compiles them itself when they are used.
    """
    if cache_directory() is None or not backend_status(model).compiled:
        return False
    missing = [(name, options) for name, options in functions if not in_cache(model, name, options)]
    if not missing:
        return True
    with _lock:
        try:
            process = _started()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(pickle.dumps((model, missing)))
            process.stdin.flush()
            answer = process.stdout.read(1)
        except (OSError, ValueError, pickle.PicklingError):
            answer = b""
        if not answer:
            stop()
        return answer == b"+"


def stop() -> None:
    """End the process, whatever it is doing."""
    global _process
    if _process is not None:
        with contextlib.suppress(OSError):
            _process.kill()
        _process.wait()
        _process = None


def serve() -> None:
    """Main function of the other process: one request after the other, until there are no more."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    # nothing else may write among the answers
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _step_back()
    while True:
        try:
            # from the process that started this one
            model, missing = pickle.load(requests)
        except (EOFError, pickle.UnpicklingError):
            return
        answer = b"+"
        try:
            for name, options in missing:
                evaluator(model, name, options)
        # the process that asked compiles the function itself, and its user sees the error there
        except Exception:  # noqa: BLE001
            answer = b"-"
        try:
            answers.write(answer)
        except BrokenPipeError:
            # the one who asked has ended meanwhile
            return


def _step_back() -> None:
    """Leave the processor to the control loop, whose priority and processors were inherited."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)
