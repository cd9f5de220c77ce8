"""Subscriptions that take large messages in a thread of their own, not in the control cycle.

rclpy holds the interpreter's lock while it takes a message: for one of ten megabytes that is longer than some cycles.  Here a
thread of its own waits for such messages and calls the middleware's C function, which needs no lock.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Callable

from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.waitable import NumberOfEntities, Waitable

from robot_dynamics_ros.ros.transport.client_library import client_library
from robot_dynamics_ros.ros.transport.realtime import step_back

_RETRY = 500_000_000  # ns between two looks whether the thread is to end, should a wake-up be lost


class Nobody(CallbackGroup):
    """Keeps an entity from executors."""

    def can_execute(self, entity: Waitable) -> bool:
        return False

    def beginning_execution(self, entity: Waitable) -> bool:
        return False

    def ending_execution(self, entity: Waitable) -> None:
        pass


class WaitingThread:
    """A thread that waits for entities of one node, which the node's executor leaves alone.

    Args:
        count: how many entities of each kind are waited for.
        entity: their handle, which nobody may destroy while it is waited for.
        add: puts them into the wait set.
        look: called in that thread after every wait with the wait set, and with whether the thread is to end.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        count: NumberOfEntities,
        entity: Waitable,
        add: Callable[[Waitable], None],
        look: Callable[[_rclpy.WaitSet, Callable[[], bool]], None],
    ) -> None:
        self._entity, self._add, self._look = entity, add, look
        self._closed = False
        context = node.context.handle
        with context:
            self._wake = _rclpy.GuardCondition(context)
            kinds = ("subscriptions", "guard_conditions", "timers", "clients", "services", "events")
            counts = [getattr(count, f"num_{kind}") + (kind == "guard_conditions") for kind in kinds]
            self._set = _rclpy.WaitSet(*counts, context)
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()
        atexit.register(self._end)  # a thread inside the middleware when the interpreter goes would end with a crash

    def _end(self) -> None:
        self._closed = True
        with contextlib.suppress(_rclpy.InvalidHandle, _rclpy.RCLError):
            self._wake.trigger_guard_condition()
        self._thread.join()

    def end(self) -> bool:
        """End the thread; false if it has been ended before."""
        if self._closed:
            return False
        atexit.unregister(self._end)
        self._end()
        return True

    def _work(self) -> None:
        step_back()
        with contextlib.suppress(_rclpy.InvalidHandle, _rclpy.RCLError), self._entity, self._wake:
            while not self._closed:
                self._set.clear_entities()
                self._add(self._set)
                self._set.add_guard_condition(self._wake)
                self._set.wait(_RETRY)
                self._look(self._set, lambda: self._closed)


class ApartSubscription:
    """A subscription to serialized messages that a thread of its own waits for and takes; ``arrived`` is called in that
    thread with the bytes of each message, in the order of arrival."""

    def __init__(
        self, node: Node, message_type: type, topic: str, qos: QoSProfile, arrived: Callable[[bytes | memoryview], None]
    ) -> None:
        self._node, self._arrived = node, arrived

        def taken(raw: bytes) -> None:  # by an executor that asks no callback group
            arrived(raw)

        self._subscription = node.create_subscription(message_type, topic, taken, qos, raw=True)
        self._subscription.callback_group = Nobody()  # its events (partners that do not fit) stay with the executor
        handle, one = self._subscription.handle, NumberOfEntities(1)  # subscriptions come first

        def add(wait_set: _rclpy.WaitSet) -> None:
            wait_set.add_subscription(handle)

        self._thread = WaitingThread(node, f"messages on {topic}", one, handle, add, self._take_all)

    def destroy(self) -> None:
        """End the thread and take the subscription down."""
        if self._thread.end():
            self._node.destroy_subscription(self._subscription)

    def _take_all(self, _wait_set: _rclpy.WaitSet, closed: Callable[[], bool]) -> None:
        while not closed() and (raw := self._take()) is not None:
            self._arrived(raw)
            del raw

    def _take(self) -> bytes | memoryview | None:
        library, handle = client_library(), self._subscription.handle
        if library is not None:
            return library.take(handle.pointer)
        taken = handle.take_message(self._subscription.msg_type, True)
        return None if taken is None else bytes(taken[0])
