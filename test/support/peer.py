"""The other side of the conversation in node tests: one node in this process, spun by hand, with
deadlines.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor, TimeoutException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from robot_dynamics_ros.ros.transport.spinning import listen_until

CONTROLLER = "computed_torque_controller"
SIMULATOR = "robot_simulator"


class Peer:
    """Listens, publishes and calls services in one ROS domain.  Use as a context manager."""

    def __init__(self, domain: int) -> None:
        self.context = Context()
        rclpy.init(args=[], context=self.context, domain_id=domain)
        self.node = Node(
            "peer", context=self.context, enable_rosout=False, start_parameter_services=False
        )
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: Any) -> None:
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def listen(
        self, message_type: type, topic: str, qos: Any = qos_profile_sensor_data
    ) -> list[Any]:
        """A list that fills with messages while the peer spins."""
        messages: list[Any] = []
        self.node.create_subscription(message_type, topic, messages.append, qos)
        return messages

    def publisher(self, message_type: type, topic: str, qos: Any = 10) -> Any:
        return self.node.create_publisher(message_type, topic, qos)

    def spin_for(self, seconds: float) -> None:
        """Listen for a while; only for checking that something does *not* happen."""
        listen_until(self.executor, lambda: False, seconds)
        self.drain()

    def drain(self) -> None:
        """Hear everything that has arrived, however long this process has been stopped."""
        with contextlib.suppress(TimeoutException):
            for _ in range(1000):
                handler, _, _ = self.executor.wait_for_ready_callbacks(timeout_sec=0.0)
                handler()
                handler.result()

    def wait(self, condition: Callable[[], Any], what: str, timeout: float = 60.0) -> Any:
        """Listen until ``condition`` is true, and return it; fail after ``timeout`` seconds."""
        values = []

        def holds() -> bool:
            values[:] = [condition()]
            return bool(values[0])

        if not listen_until(self.executor, holds, timeout):
            # it may be here, and only this process have been stopped
            self.drain()
            if not holds():
                raise AssertionError(f"waited {timeout:g} s in vain for {what}")
        return values[0]

    def insist(self, publisher: Any, message: Any, condition: Callable[[], Any], what: str) -> None:
        """Publish a message until ``condition`` is true: best effort may lose it; fail after a
        minute.
        """
        again = self.node.create_timer(0.5, lambda: publisher.publish(message))
        publisher.publish(message)
        try:
            self.wait(condition, what)
        finally:
            self.node.destroy_timer(again)

    def call(
        self,
        service_type: type,
        name: str,
        request: Any,
        timeout: float = 60.0,
        patience: float = 10.0,
    ) -> Any:
        """Call a service and return the response."""
        return self.call_again(service_type, name, [request], timeout, patience)[0]

    def call_again(
        self,
        service_type: type,
        name: str,
        requests: Iterable[Any],
        timeout: float = 60.0,
        patience: float = 10.0,
    ) -> list[Any]:
        """Call a service with one request after the other and return the responses.

        A request without an answer is sent again after ``patience`` seconds: that a service is
        there may be known before the way back from it.
        """
        client = self.node.create_client(service_type, name)
        self.wait(client.service_is_ready, f"service {name}", timeout)
        responses = []
        for request in requests:
            asked = [client.call_async(request)]
            again = self.node.create_timer(
                patience,
                lambda: asked.append(client.call_async(request)),  # noqa: B023
            )
            try:
                answered = self.wait(
                    lambda: [f for f in asked if f.done()],  # noqa: B023
                    f"an answer of {name}",
                    timeout,
                )
            finally:
                self.node.destroy_timer(again)
            responses.append(answered[0].result())
        self.node.destroy_client(client)
        return responses

    def subscribed(self, publisher: Any, count: int = 1) -> None:
        """Wait until somebody listens to a publisher."""
        self.wait(
            lambda: publisher.get_subscription_count() >= count,
            f"a listener to {publisher.topic_name}",
        )
