"""``~/external_efforts``: what the model does not explain, for each joint."""

from __future__ import annotations

from rclpy.node import Node
from sensor_msgs.msg import JointState

from robot_dynamics_ros.control.controller import JointController
from robot_dynamics_ros.ros.transport.cdr import Template, marks
from robot_dynamics_ros.ros.transport.qos import QUIET_PUBLISHER, STATE

__all__ = ["ExternalEfforts"]


class ExternalEfforts:
    """Publishes the momentum observer's estimate, while somebody listens.

    Args:
        node: the node.
        controller: where the estimate is; without an observer there is no topic.
    """

    def __init__(self, node: Node, controller: JointController) -> None:
        self._node = node
        self._observer = controller.observer
        self._wanted = False
        if self._observer is None:
            return
        effort = marks(controller.model.nv)
        self._template = Template(JointState(name=list(controller.model.joint_names), effort=effort), effort)
        self._publisher = node.create_publisher(
            JointState, "~/external_efforts", STATE, event_callbacks=QUIET_PUBLISHER
        )

    def look_for_listeners(self) -> None:
        """To be called a few times a second."""
        self._wanted = self._observer is not None and self._publisher.get_subscription_count() > 0

    def publish(self, stamp: int) -> None:
        """Publish the estimate of the joint state of time ``stamp``, ns."""
        if self._wanted and self._observer is not None:
            self._template.blocks[0][:] = self._observer.effort
            self._template.stamp(stamp)
            self._publisher.publish(self._template.bytes())

    def destroy(self) -> None:
        """Take the publisher down."""
        if self._observer is not None:
            self._node.destroy_publisher(self._publisher)
        self._wanted = False
