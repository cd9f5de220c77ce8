"""Every arm's driver as a stand-in: the controller moves it, it arrives, and nothing pushes it at
rest.

The stand-in is a robot of this package with the driver's habits: who compensates gravity, what
effort means, rate, delay,
limits of the rate.  Joints beyond the arm's are locked, as grippers are.  In lockstep, so that
numbers do not depend on how busy the machine is.
"""

from __future__ import annotations

import dataclasses
import json
import os

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from sensor_msgs.msg import JointState
from support.peer import CONTROLLER
from trajectory_msgs.msg import JointTrajectory

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.planning import plan_motion
from robot_dynamics_ros.model.arm_profile import ArmProfile, JointFacts, arm_names, load_arm_profile
from robot_dynamics_ros.model.library import robot_path
from robot_dynamics_ros.ros.arm_parameters import controller_parameters, simulator_parameters
from robot_dynamics_ros.ros.controller.trajectory_messages import to_nanoseconds, trajectory_message

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]

ARMS = [name for name in arm_names() if load_arm_profile(name).commands_efforts]
BY_DEFAULT = ("franka_fr3", "kinova_gen3", "unitree_z1")
"""One whose robot compensates gravity, one whose sensors count the other way, one that does nothing
by itself; ARMS=all for all.
"""


def stand_in(profile: ArmProfile) -> tuple[str, ArmProfile]:
    """A robot of this package, and the profile for its joints."""
    robot = "seven_axis" if len(profile.joints) == 7 else "six_axis"
    names = rd.load_robot(robot).joint_names
    currents = 0.05 if profile.efforts.measured == "current" else None
    joints = tuple(
        JointFacts(
            name,
            effort_rate=facts.effort_rate,
            armature=facts.armature or 0.1,
            measured_factor=facts.measured_factor or currents,
        )
        for name, facts in zip(names, profile.joints, strict=False)
    )
    return robot, dataclasses.replace(profile, joints=joints, elsewhere=names[len(joints) :])


def written(table: dict, path) -> str:
    filled = {name: value for name, value in table.items() if value not in ({}, [])}
    path.write_text(json.dumps({"/**": {"ros__parameters": filled}}), encoding="utf-8")
    return str(path)


def values(message: JointState, field: str, names) -> np.ndarray:
    table = dict(zip(message.name, getattr(message, field), strict=True))
    return np.array([table[name] for name in names])


@pytest.mark.parametrize("arm", ARMS if os.environ.get("ARMS") == "all" else BY_DEFAULT)
def test_the_arm_arrives_and_nothing_pushes_it_at_rest(peer, start, tmp_path, arm):
    robot, profile = stand_in(load_arm_profile(arm))
    names = profile.joint_names
    # friction is the subject of other tests: stiction would be seen as a push, and rightly so
    simulator = {**simulator_parameters(profile), "time_mode": "lockstep", "friction": False}
    simulator["robot_description_file"] = robot
    controller = {
        **controller_parameters(profile),
        "friction_compensation": "none",
        "state_timeout": 60.0,
    }
    start("simulator", params_file=written(simulator, tmp_path / "simulator.yaml"))
    states = peer.listen(JointState, "joint_states", 10)
    external = peer.listen(JointState, f"{CONTROLLER}/external_efforts", 10)
    start("controller", params_file=written(controller, tmp_path / "controller.yaml"))
    trajectories = peer.publisher(JointTrajectory, f"{CONTROLLER}/joint_trajectory")
    peer.subscribed(trajectories)
    peer.wait(lambda: external and states, "the controller's estimates")

    whole = rd.load_urdf(robot_path(robot))
    locked = dict(zip(whole.joint_names, whole.initial_configuration(), strict=True))
    model = whole.lock(list(profile.elsewhere), {name: locked[name] for name in profile.elsewhere})
    motion = plan_motion(model, values(states[-1], "position", names), waypoints=2, duration=2.0)
    goal = motion.waypoints[-1]
    rows = motion.waypoints, motion.at(motion.times, 1), motion.at(motion.times, 2)
    # at once: simulated time runs as fast as it can, and a start that is over when the message
    # arrives makes it hurry
    trajectories.publish(trajectory_message(motion.joint_names, motion.times, *rows, 0))

    def away() -> float:
        return float(np.abs(values(states[-1], "position", names) - goal).max())

    peer.wait(lambda: away() > 0.02, "the motion, which ends where it begins")
    peer.wait(lambda: away() < 3e-3, "the arrival", 100.0)
    end = to_nanoseconds(states[-1].header.stamp) + 2 * 10**9
    peer.wait(lambda: to_nanoseconds(states[-1].header.stamp) > end, "two seconds at rest", 100.0)

    assert list(states[-1].name) == list(names)
    assert away() < 3e-3
    assert np.abs(values(external[-1], "effort", names)).max() < 0.05
    efforts = values(states[-1], "effort", names)
    gravity = rd.gravity_forces(model, goal)
    factors = np.array([facts.measured_factor or 1.0 for facts in profile.joints])
    # none of these drivers takes gravity off
    np.testing.assert_allclose(factors * efforts, gravity, atol=0.2)
