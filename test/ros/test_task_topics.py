"""The tool's topics at the node: targets in, pose and error out, bad targets refused by name."""

from __future__ import annotations

import copy

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import PoseStamped, Transform, TwistStamped, WrenchStamped
from support.peer import CONTROLLER
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.library import robot_path

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ROBOT = "six_axis"


def place(message):
    x = message.pose.position
    return np.array([x.x, x.y, x.z])


def test_targets_move_the_tool_and_bad_ones_are_refused(peer, start):
    model = rd.load_urdf(str(robot_path(ROBOT)))
    home = [0.2, -0.8, 1.2, -0.7, 1.0, 0.3]
    poses = peer.listen(PoseStamped, f"/{CONTROLLER}/pose")
    errors = peer.listen(TwistStamped, f"/{CONTROLLER}/task_error")
    common = {"robot_description_file": ROBOT}
    common |= {f"armature__{name}": 0.1 for name in model.joint_names}
    initial = {
        f"initial_positions__{name}": x for name, x in zip(model.joint_names, home, strict=True)
    }
    # in lockstep: a busy machine delays nobody
    start("simulator", **common, **initial, time_mode="lockstep", holding_brakes=True)
    node = start("controller", **common, task__link="tool0")
    first = peer.wait(lambda: poses and poses[-1], "a pose of the tool")
    assert first.header.frame_id == model.link_names[0]
    X = rd.link_pose(model, home, "tool0")
    np.testing.assert_allclose(place(first), X[:3, 3], atol=0.02)

    target = PoseStamped()
    target.pose = copy.deepcopy(first.pose)
    goal = place(first) + np.array([0.03, 0.02, 0.04])
    target.pose.position.x, target.pose.position.y, target.pose.position.z = goal.tolist()
    publisher = peer.publisher(PoseStamped, f"/{CONTROLLER}/target_pose")
    peer.subscribed(publisher)
    peer.insist(
        publisher,
        target,
        lambda: np.abs(place(poses[-1]) - goal).max() < 2e-3,
        "the tool at its target",
    )
    peer.wait(lambda: errors, "an error")

    # in a frame that nobody knows
    target.header.frame_id = "nowhere"
    target.pose.position.z += 0.1
    peer.insist(publisher, target, lambda: "unknown frame 'nowhere'" in node.output(), "a refusal")
    assert np.abs(place(poses[-1]) - goal).max() < 4e-3

    # the default law would take it for a disturbance
    press = peer.publisher(WrenchStamped, f"/{CONTROLLER}/target_wrench")
    peer.subscribed(press)
    refused = "takes a wrench for a disturbance"
    peer.insist(press, WrenchStamped(), lambda: refused in node.output(), "a refusal")

    path = MultiDOFJointTrajectory()
    for k, z in enumerate((0.02, 0.0)):
        move = Transform()
        x = goal + np.array([0.0, 0.0, z - 0.03])
        move.translation.x, move.translation.y, move.translation.z = x.tolist()
        move.rotation = target.pose.orientation
        point = MultiDOFJointTrajectoryPoint(transforms=[move])
        point.time_from_start.nanosec = 400_000_000 * (k + 1)
        path.points.append(point)
    follow = peer.publisher(MultiDOFJointTrajectory, f"/{CONTROLLER}/target_trajectory")
    peer.subscribed(follow)
    follow.publish(path)
    peer.wait(
        lambda: np.abs(place(poses[-1]) - goal + [0.0, 0.0, 0.03]).max() < 2e-3, "the path's end"
    )
