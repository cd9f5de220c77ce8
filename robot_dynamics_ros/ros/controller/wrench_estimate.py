"""``~/external_wrench_estimate``: the contact at one link that explains best what the model does not."""

from __future__ import annotations

from rclpy.node import Node

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.control.observer import contact_wrench
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.ros.transport.wrench_publisher import WrenchPublisher

__all__ = ["WrenchEstimate"]


class WrenchEstimate:
    """Publishes the estimate, while somebody listens.

    Args:
        node: the node.
        controller: where the estimate of efforts is.
        link: the link that is touched; empty: there is no topic.

    Raises:
        ArgumentError: a link, but no observer to know efforts from.
        UnknownNameError: no such link.
    """

    def __init__(self, node: Node, controller: JointController, link: str) -> None:
        self._controller, self._link = controller, link
        self._publisher: WrenchPublisher | None = None
        if not link:
            return
        controller.model.link(link)
        if controller.observer is None:
            raise ArgumentError(
                "is 0 although a wrench is to be estimated",
                where="parameter 'observer_gain'",
                remedy="Give it a value, or leave external_wrench_estimate.link empty.",
            )
        self._publisher = WrenchPublisher(node, "~/external_wrench_estimate", link)
        self._solve(controller.model.initial_configuration())  # compiles the Jacobian before the first cycle

    def _solve(self, q: Array) -> Array:
        observer = self._controller.observer
        assert observer is not None
        return contact_wrench(self._controller.model, q, self._link, observer.effort)[0]

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        if self._publisher is not None:
            self._publisher.look()

    def publish(self, stamp: int) -> None:
        """Publish the estimate of the joint state of time ``stamp``, ns."""
        if self._publisher is not None and self._publisher.wanted:
            self._publisher.publish(self._solve(self._controller.state[0]), stamp)

    def destroy(self) -> None:
        """Take the publisher down."""
        if self._publisher is not None:
            self._publisher.destroy()
