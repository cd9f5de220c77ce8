"""The stack on a machine with ros2_control: mock hardware, and one goal sent through the action."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")
pytest.importorskip(
    "launch_ros", reason="launch_ros comes with a ROS 2 installation only, not as a wheel"
)
pytest.importorskip(
    "control_msgs", reason="control_msgs comes with a ROS 2 installation only, not as a wheel"
)

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from support.launching import launched, press_ctrl_c
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd

NEEDED = (
    "controller_manager",
    "forward_command_controller",
    "joint_state_broadcaster",
    "robot_state_publisher",
)


def _missing() -> list[str]:
    missing = []
    for package in NEEDED:
        try:
            get_package_prefix(package)
        except (PackageNotFoundError, LookupError):
            missing.append(package)
    return missing


pytestmark = [
    pytest.mark.middleware,
    pytest.mark.skipif(bool(_missing()), reason=f"not installed: {', '.join(_missing())}"),
]


def test_mock_hardware_is_brought_up_and_a_goal_to_stay_succeeds(peer, tmp_path):
    """Mock hardware does not move under efforts, so the one goal it can reach is the place where it
    is.
    """
    from control_msgs.action import FollowJointTrajectory

    with launched(tmp_path, robot="ros2_control", description="six_axis") as (process, log):
        states = peer.listen(JointState, "joint_states")
        peer.wait(lambda: states or process.poll() is not None, "joint states", 90.0)
        assert process.poll() is None, log.read_text()
        joints = rd.load_robot("six_axis").joint_names
        positions = dict(zip(states[-1].name, states[-1].position, strict=True))
        point = JointTrajectoryPoint(positions=[positions[name] for name in joints])
        point.time_from_start.sec = 1
        goal = FollowJointTrajectory.Goal(
            trajectory=JointTrajectory(joint_names=list(joints), points=[point])
        )
        commands = peer.listen(Float64MultiArray, "effort_controller/commands")
        peer.wait(
            lambda: commands,
            "a controller that has seen a joint state: it refuses goals before",
            60.0,
        )
        client = ActionClient(
            peer.node, FollowJointTrajectory, "computed_torque_controller/follow_joint_trajectory"
        )
        peer.wait(client.server_is_ready, "the action", 60.0)
        sent = client.send_goal_async(goal)
        peer.wait(sent.done, "an answer to the goal")
        assert sent.result().accepted
        result = sent.result().get_result_async()
        peer.wait(result.done, "the result", 30.0)
        assert result.result().result.error_code == 0, result.result().result.error_string
        press_ctrl_c(process)
        peer.wait(lambda: process.poll() is not None, "the end of the launch", 30.0)
