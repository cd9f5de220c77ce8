"""Executors: one that spends its time on the control cycle, and one that looks at what has arrived
a few times a second.

rclpy makes a new wait set of every entity of a node each time it waits: publishers' events,
parameter and lifecycle services, timers. With the thirty or so of these nodes that takes longer
than the cycle itself. Here one wait set of the few entities of the cycle is kept and waited on;
everything else gets its turn many times a second, through rclpy's own way.
"""

from __future__ import annotations

import time

from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor, TimeoutException
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.subscription import Subscription
from rclpy.timer import Timer

# Between two looks at everything but the cycle's own messages: services, timers, other topics. With
# half of it a message of the cycle waits twice as often for one of them.
_LOOK_AROUND_NS = 20_000_000
# callbacks a round of the paced executor, so that a flood does not keep the signal from being seen
_MOST_CALLBACKS = 200


class _CycleWait:
    """One wait set for the entities of the cycle, used again and again: ``subscriptions``, the list
    it was made of, and so many ``timers``.
    """

    def __init__(
        self,
        subscriptions: list[Subscription],
        timers: list[Timer],
        context: Context,
    ) -> None:
        self.subscriptions = subscriptions
        self.timers = len(timers)
        self._subscriptions = [
            (
                s,
                s.handle,
                s.msg_type,
                s.raw,
                s._callback_type is Subscription.CallbackType.MessageOnly,
            )
            for s in subscriptions
        ]
        self._timers = [(t, t.handle) for t in timers]
        self._handles = [*(s[1] for s in self._subscriptions), *(t[1] for t in self._timers)]
        with context.handle:
            self._set = _rclpy.WaitSet(len(subscriptions), 0, len(timers), 0, 0, 0, context.handle)

    def wait(self, timeout_ns: int) -> None:
        """Wait until something is ready; an InvalidHandle if one of the entities has been
        destroyed.
        """
        wait_set = self._set
        entered = 0
        try:
            for handle in self._handles:
                # nobody may destroy it while it is waited for
                handle.__enter__()
                entered += 1
            wait_set.clear_entities()
            for subscription in self._subscriptions:
                wait_set.add_subscription(subscription[1])
            for timer in self._timers:
                wait_set.add_timer(timer[1])
            wait_set.wait(timeout_ns)
        finally:
            for handle in self._handles[:entered]:
                handle.__exit__(None, None, None)

    def run(self) -> None:
        """Call the callbacks of all that was ready; those of entities that have been destroyed
        meanwhile are left out.
        """
        for k, (subscription, handle, kind, raw, message_only) in enumerate(self._subscriptions):
            if self._set.is_ready("subscription", k):
                try:
                    with handle:
                        taken = handle.take_message(kind, raw)
                except _rclpy.InvalidHandle:
                    continue
                if taken is not None:
                    subscription.callback(*(taken[:1] if message_only else taken))
        for k, (timer, handle) in enumerate(self._timers):
            if self._set.is_ready("timer", k):
                try:
                    with handle:
                        if not handle.is_timer_ready():
                            continue
                        handle.call_timer()
                except _rclpy.InvalidHandle:
                    continue
                timer.callback()


class _Steps(SingleThreadedExecutor):
    def _run_next(self) -> bool:
        """Run one callback of whatever is ready; whether there was one."""
        try:
            handler, _, _ = self.wait_for_ready_callbacks(timeout_sec=0.0)
        except (TimeoutException, StopIteration):
            return False
        handler()
        if handler.exception() is not None:
            raise handler.exception()
        return True


class FocusedExecutor(_Steps):
    """Spins one node; :meth:`spin_once` is to be called again and again.  From rclpy 7.1.9 on
    ``spin()`` does not call it.

    In every wait it looks at the node's ``cycle_subscriptions`` (none: at everything; another list
    when they change) and ``cycle_timers``, of which one must fire many times a second.  The
    callbacks of both are plain functions, not coroutines.
    """

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node
        self._looking_around = False
        self._look_around_at = 0
        self._wait: _CycleWait | None = None
        self.add_node(node)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run what the cycle has ready, or else wait for it; now and then one callback of
        everything else.
        """
        subscriptions = self._node.cycle_subscriptions
        if not subscriptions or self._is_shutdown:
            self._wait = None
            super().spin_once(timeout_sec)
            return
        remaining = self._look_around_at - time.monotonic_ns()
        if self._looking_around or remaining <= 0:
            # the one after it follows the cycle's own
            self._looking_around = self._run_next()
            if not self._looking_around:
                self._look_around_at = time.monotonic_ns() + _LOOK_AROUND_NS
            subscriptions = self._node.cycle_subscriptions
            remaining = 0
            if not subscriptions:
                return
        wait = self._wait
        if (
            wait is None
            or wait.subscriptions is not subscriptions
            or wait.timers != len(self._node.cycle_timers)
        ):
            wait = self._wait = _CycleWait(subscriptions, self._node.cycle_timers, self._context)
        try:
            wait.wait(
                remaining
                if timeout_sec is None or timeout_sec < 0.0
                else min(remaining, round(timeout_sec * 1e9))
            )
        except _rclpy.InvalidHandle:
            self._wait = None
            return
        wait.run()


class PacedExecutor(_Steps):
    """Spins one node; each :meth:`spin_once` is one round, of so many a second.

    A viewer needs thirty states a second of a robot that publishes a thousand.  With queues of one
    message the middleware drops the others itself, and this process leaves the processor to the
    control loop.
    """

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
        for _ in range(_MOST_CALLBACKS):
            if not self._run_next():
                return
