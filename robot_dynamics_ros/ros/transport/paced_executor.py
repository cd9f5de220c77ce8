"""An executor that looks at what has arrived a few times a second instead of at every message.

A viewer needs thirty states a second of a robot that publishes a thousand.  With queues of one message the middleware
drops the others itself, and this process leaves the processor to the control loop.
"""

from __future__ import annotations

import time

from rclpy.executors import SingleThreadedExecutor, TimeoutException
from rclpy.node import Node

_MOST = 200  # callbacks a round, so that a flood does not keep the signal from being seen


class PacedExecutor(SingleThreadedExecutor):
    """Spins one node; each :meth:`spin_once` is one round, of so many a second."""

    def __init__(self, node: Node, rate: float) -> None:
        super().__init__()
        self._period = 1.0 / rate
        self._due = time.monotonic()
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for the next round and run everything that is ready."""
        now = time.monotonic()
        self._due = max(self._due + self._period, now)
        time.sleep(min(self._due - now, self._period))
        for _ in range(_MOST):
            try:
                handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
            except (TimeoutException, StopIteration):
                return
            handler()
            if handler.exception() is not None:
                raise handler.exception()
