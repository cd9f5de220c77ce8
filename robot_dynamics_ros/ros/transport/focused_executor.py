"""An executor that spends its time on the control cycle.

rclpy looks at every entity of a node each time it waits: publishers' events, parameter and lifecycle services, timers.
With the thirty or so of these nodes that takes longer than the cycle itself.  Here the wait for the next joint state or
command looks at the few entities of the cycle only; everything else gets its turn many times a second.
"""

from __future__ import annotations

import time
from typing import Any, Protocol

from rclpy.executors import SingleThreadedExecutor

__all__ = ["CycleNode", "FocusedExecutor"]

_LOOK_AROUND_NS = 20_000_000


class CycleNode(Protocol):
    """What a node must tell to be focused on."""

    def cycle_subscriptions(self) -> list[Any]:
        """Subscriptions to be looked at in every wait; none: look at everything."""
        ...

    def cycle_timers(self) -> list[Any]:
        """Timers to be looked at in every wait; one of them must fire many times a second."""
        ...


class _Focus:
    """The part of a node that a wait looks at, with the attributes that the executor reads of a node."""

    def __init__(self, subscriptions: list[Any], timers: list[Any]) -> None:
        self.subscriptions = subscriptions
        self.timers = timers
        self.clients: tuple[Any, ...] = ()
        self.services: tuple[Any, ...] = ()
        self.guards: tuple[Any, ...] = ()
        self.waitables: tuple[Any, ...] = ()


class FocusedExecutor(SingleThreadedExecutor):
    """Spins one node.

    Args:
        node: the node.
    """

    def __init__(self, node: Any) -> None:
        super().__init__()
        self._node = node
        self._look_around_at = 0
        self.add_node(node)

    def get_nodes(self) -> list[Any]:
        """What the next wait looks at: the node, or the part of it that the cycle needs."""
        now = time.monotonic_ns()
        if now < self._look_around_at:
            subscriptions = self._node.cycle_subscriptions()
            if subscriptions:
                return [_Focus(subscriptions, self._node.cycle_timers())]
        self._look_around_at = now + _LOOK_AROUND_NS
        return super().get_nodes()
