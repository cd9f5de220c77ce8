"""``~/query_state``: where the trajectory that is being followed will be at a time, as joint_trajectory_controller tells it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rclpy.node import Node

from robot_dynamics_ros.ros.controller.control_loop import ControlLoop
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds
from robot_dynamics_ros.ros.transport.qos import MANY_REQUESTS

if TYPE_CHECKING:
    from control_msgs.srv import QueryTrajectoryState


def offer_query(node: Node, loop: Callable[[], ControlLoop | None]) -> bool:
    """Offer the service, if control_msgs, which has its type, is installed.

    Args:
        loop: the running control loop, or ``None``; says why to the log.
    """
    try:
        from control_msgs.srv import QueryTrajectoryState
    except ImportError:
        return False

    def on_query(
        request: QueryTrajectoryState.Request, response: QueryTrajectoryState.Response
    ) -> QueryTrajectoryState.Response:
        return answer(loop(), to_nanoseconds(request.time), response)

    node.create_service(QueryTrajectoryState, "~/query_state", on_query, qos_profile=MANY_REQUESTS)
    return True


def answer(
    loop: ControlLoop | None, time: int, response: QueryTrajectoryState.Response
) -> QueryTrajectoryState.Response:
    """Fill ``control_msgs/QueryTrajectoryState`` for a time, ns: no success without a trajectory that covers it."""
    response.success, response.message = False, "the controller is not active, or has no joint state yet"
    if loop is None:
        return response
    controller = loop.controller
    response.name = list(loop.joints)
    goal = controller.goal
    if goal is None:
        response.message = "no trajectory is being followed"
        return response
    if not goal.start <= time < goal.end:
        response.message = f"the trajectory lasts from {goal.start * 1e-9:.9f} s to {goal.end * 1e-9:.9f} s"
        return response
    index = [controller.model.joint_names.index(name) for name in loop.joints]
    rows = controller.desired(time)[:, index].tolist()
    response.success, response.message = True, ""
    response.position, response.velocity, response.acceleration = rows
    return response
