"""A node that is spun by hand: listen until something holds."""

from __future__ import annotations

import time
from collections.abc import Callable

from rclpy.executors import Executor

# s that one look at the middleware may last
_LOOK_S = 0.05


def spin_until(executor: Executor, condition: Callable[[], bool], timeout: float) -> bool:
    """Listen until ``condition`` holds; ``False`` if ``timeout`` s are up before."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        executor.spin_once(timeout_sec=_LOOK_S)
    return True
