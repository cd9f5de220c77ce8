"""``~/external_wrench`` of the simulator: somebody pushes a link, until the message is too old."""

from __future__ import annotations

from collections.abc import Callable

from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.ros.transport.qos import NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.wrench_topics import sensible_wrench, spatial_wrench


class Pushes:
    """Wrenches on links, each ending a while after its last message.

    Args:
        node: the node.
        model: the robot.
        now: tells the simulated time, ns.
        rejections: where unusable messages are reported.
    """

    def __init__(self, node: Node, model: RobotModel, now: Callable[[], int], rejections: Rejections) -> None:
        self._model, self._now, self._rejections = model, now, rejections
        self._pushes: dict[str, tuple[int, Array]] = {}
        self.subscription = node.create_subscription(
            WrenchStamped, "~/external_wrench", self._on_wrench, NEWEST, event_callbacks=QUIET_SUBSCRIPTION
        )

    def _on_wrench(self, message: WrenchStamped) -> None:
        link = message.header.frame_id
        try:
            wrench = sensible_wrench(spatial_wrench(message))
            self._model.link(link)
        except RobotDynamicsError as error:
            self._rejections.report("external_wrench", f"external wrench refused: {error}")
            return
        self._pushes[link] = (self._now(), wrench)

    def now(self, timeout: float) -> dict[str, Array] | None:
        """Link name → (6,) [moment; force] of the messages no older than ``timeout`` seconds; ``None`` without any."""
        if not self._pushes:
            return None
        oldest = self._now() - timeout * 1e9
        self._pushes = {link: push for link, push in self._pushes.items() if push[0] >= oldest}
        return {link: push[1] for link, push in self._pushes.items()} or None

    def clear(self) -> None:
        """Forget them all."""
        self._pushes = {}
