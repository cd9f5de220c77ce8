"""``trajectory_msgs`` to the values that the controller takes."""

from __future__ import annotations

from typing import Any

from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint

__all__ = ["point_from_message", "to_nanoseconds", "trajectory_from_message"]


def to_nanoseconds(time: Any) -> int:
    """``builtin_interfaces/Time`` or ``Duration`` as ns."""
    return int(time.sec) * 1_000_000_000 + int(time.nanosec)


def point_from_message(message: JointTrajectoryPoint) -> TrajectoryPoint:
    """One point; empty fields stay empty."""
    return TrajectoryPoint(
        to_nanoseconds(message.time_from_start),
        tuple(message.positions),
        tuple(message.velocities),
        tuple(message.accelerations),
        tuple(message.effort),
    )


def trajectory_from_message(message: JointTrajectory, *, allow_nonzero_end_velocity: bool = False) -> Trajectory:
    """A checked trajectory.

    Raises:
        TrajectoryRejected: the message cannot be followed as it is.
    """
    return Trajectory.from_points(
        tuple(message.joint_names),
        [point_from_message(point) for point in message.points],
        stamp=to_nanoseconds(message.header.stamp),
        allow_nonzero_end_velocity=allow_nonzero_end_velocity,
    )
