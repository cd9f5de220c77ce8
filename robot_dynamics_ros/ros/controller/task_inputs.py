"""Targets of the tool, as messages."""

from __future__ import annotations

from collections.abc import Callable

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.node import Node
from rclpy.subscription import Subscription
from trajectory_msgs.msg import MultiDOFJointTrajectory

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.task.path import ToolPath
from robot_dynamics_ros.control.reference.task.settings import MOST_PATH_POINTS
from robot_dynamics_ros.errors import RobotDynamicsError
from robot_dynamics_ros.ros.controller.control_loop import ControlLoop
from robot_dynamics_ros.ros.transport.qos import EVENT, NEWEST, QUIET_SUBSCRIPTION
from robot_dynamics_ros.ros.transport.reports import Rejections
from robot_dynamics_ros.ros.transport.stamps import to_nanoseconds


class TaskInputs:
    """Subscriptions to targets of the tool; ``running`` returns the loop, or reports why there is
    none.
    """

    def __init__(
        self,
        node: Node,
        running: Callable[[str], ControlLoop | None],
        rejections: Rejections,
    ) -> None:
        self._running = running
        self._rejections = rejections
        self.subscriptions: list[Subscription] = [
            node.create_subscription(
                kind, topic, callback, quality, event_callbacks=QUIET_SUBSCRIPTION
            )
            for kind, topic, callback, quality in (
                (PoseStamped, "~/target_pose", self._on_pose, NEWEST),
                (TwistStamped, "~/target_twist", self._on_twist, NEWEST),
                (WrenchStamped, "~/target_wrench", self._on_wrench, NEWEST),
                (MultiDOFJointTrajectory, "~/target_trajectory", self._on_path, EVENT),
            )
        ]

    def _accept(self, topic: str, accept: Callable[[ControlLoop], None]) -> None:
        loop = self._running(topic)
        if loop is None:
            return
        try:
            accept(loop)
        except RobotDynamicsError as error:
            self._rejections.report(topic, f"{topic} refused: {error}")

    def _on_pose(self, message: PoseStamped) -> None:
        position = message.pose.position
        turn = message.pose.orientation

        def accept(loop: ControlLoop) -> None:
            loop.controller.accept_pose(
                (position.x, position.y, position.z),
                (turn.x, turn.y, turn.z, turn.w),
                loop.stamp,
                frame=message.header.frame_id,
                stamp=_stamp(message.header.stamp, loop),
            )

        self._accept("target_pose", accept)

    def _on_twist(self, message: TwistStamped) -> None:
        angular = message.twist.angular
        linear = message.twist.linear

        def accept(loop: ControlLoop) -> None:
            loop.controller.accept_twist(
                (angular.x, angular.y, angular.z),
                (linear.x, linear.y, linear.z),
                loop.stamp,
                frame=message.header.frame_id,
                stamp=_stamp(message.header.stamp, loop),
            )

        self._accept("target_twist", accept)

    def _on_wrench(self, message: WrenchStamped) -> None:
        moment = message.wrench.torque
        force = message.wrench.force

        def accept(loop: ControlLoop) -> None:
            loop.controller.accept_wrench(
                (moment.x, moment.y, moment.z),
                (force.x, force.y, force.z),
                loop.stamp,
                frame=message.header.frame_id,
                stamp=_stamp(message.header.stamp, loop),
            )

        self._accept("target_wrench", accept)

    def _on_path(self, message: MultiDOFJointTrajectory) -> None:
        def accept(loop: ControlLoop) -> None:
            path = path_from_message(message)
            if path is None:
                loop.controller.hold(loop.stamp)
            else:
                loop.controller.accept_path(path, loop.stamp)

        self._accept("target_trajectory", accept)


def _stamp(time: Time, loop: ControlLoop) -> int:
    """When a target was meant, ns: its stamp, or the present time where it has none."""
    return to_nanoseconds(time) or loop.now()


def path_from_message(message: MultiDOFJointTrajectory) -> ToolPath | None:
    """The path of the tool in a message, or ``None`` if it has no points: hold.

    TrajectoryRejected: points for something else than one frame, too many of them, twists for some
    of them only.
    """
    if not message.points:
        return None
    remedy = "Send one transform a point, for the tool."
    if len(message.points) > MOST_PATH_POINTS:
        problem = f"{len(message.points)} points, {MOST_PATH_POINTS} are accepted"
        fewer = "Send fewer: poses in between are on a smooth curve."
        raise TrajectoryRejected(problem, where="points", remedy=fewer)
    for k, point in enumerate(message.points):
        if len(point.transforms) != 1:
            problem = f"{len(point.transforms)} transforms"
            raise TrajectoryRejected(problem, where=f"points[{k}].transforms", remedy=remedy)
    given = sum(len(point.velocities) == 1 for point in message.points)
    if given not in (0, len(message.points)):
        problem = f"{given} of {len(message.points)} points have a velocity"
        every = "Give one for each point, or for none."
        raise TrajectoryRejected(problem, where="points", remedy=every)
    moves = [point.transforms[0] for point in message.points]
    twists = None
    if given:
        rates = [point.velocities[0] for point in message.points]
        twists = [
            (x.angular.x, x.angular.y, x.angular.z, x.linear.x, x.linear.y, x.linear.z)
            for x in rates
        ]
    return ToolPath.of(
        [to_nanoseconds(point.time_from_start) * 1e-9 for point in message.points],
        [(x.translation.x, x.translation.y, x.translation.z) for x in moves],
        [(x.rotation.x, x.rotation.y, x.rotation.z, x.rotation.w) for x in moves],
        twists,
        frame=message.header.frame_id,
    )
