"""A node that is spun by hand: listen until something holds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.subscription import Subscription

# s that one look at the middleware may last
_LOOK_S = 0.05
# s in which messages gather before they are heard together: rclpy makes a new wait set of every
# entity, and a timer, for each wait, which takes a third of a processor if it is done for each
# message of a robot.  A queue of five messages bears it at 1 kHz.
_GATHERING_S = 0.003
# Messages of each subscription that are heard together at most: more than a queue of five has
_MOST_TURNS = 10


def spin_until(executor: Executor, condition: Callable[[], bool], timeout: float) -> bool:
    """Listen until ``condition`` holds; ``False`` if ``timeout`` s are up before.

    It is looked at after each message, as soon as that arrives.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        executor.spin_once(timeout_sec=_LOOK_S)
    return True


def listen_until(executor: Executor, condition: Callable[[], bool], timeout: float) -> bool:
    """Likewise for nodes that hear much and need not answer at once: messages that come shortly
    after one another are heard together.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        left = deadline - time.monotonic()
        if left < 0.0:
            return False
        executor.spin_once(timeout_sec=min(left, _LOOK_S))
        if condition():
            return True
        time.sleep(_GATHERING_S)
        for _ in heard(executor):
            if condition():
                return True
    return True


def heard(executor: Executor) -> Iterator[None]:
    """Call back for the messages that have arrived, one at each step, without a wait set.

    Subscriptions take turns, some messages each: one of them may get messages as fast as they are
    heard.
    """
    for _ in range(_MOST_TURNS):
        silent = True
        for node in executor.get_nodes():
            for subscription in list(node.subscriptions):
                taken = _taken(subscription)
                if taken is None:
                    continue
                silent = False
                message_only = subscription._callback_type is Subscription.CallbackType.MessageOnly
                subscription.callback(*(taken[:1] if message_only else taken))
                yield
        if silent:
            return


def _taken(subscription: Subscription) -> tuple[object, object] | None:
    """The next message and what is known of it; ``None`` without one, or when the subscription has
    been destroyed.
    """
    try:
        handle = subscription.handle
        with handle:
            taken: tuple[object, object] | None = handle.take_message(
                subscription.msg_type, subscription.raw
            )
            return taken
    except _rclpy.InvalidHandle:
        return None
