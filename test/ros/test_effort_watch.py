"""The controller notices efforts that are not what they are said to be, from how they change with
the pose at rest.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

import robot_dynamics_ros as rd
from robot_dynamics_ros.control import ControllerOptions, JointController
from robot_dynamics_ros.model.measured_effort import MeasuredEffort
from robot_dynamics_ros.ros.controller.control_loop import EffortWatch


@pytest.fixture(scope="module")
def model():
    return rd.load_robot("six_axis")


def watch_of(model, meaning):
    options = ControllerOptions(measured_effort=MeasuredEffort(meaning))
    return EffortWatch(
        JointController(model, rd.ComputedTorque(kp=100.0, kd=20.0), options=options)
    )


def visit(watch, poses, effort_at):
    """Rest in each pose for two seconds; what was said there."""
    return [watch.look(q, effort_at(q)) for q in poses for _ in range(2)]


@pytest.fixture(scope="module")
def poses():
    return np.random.default_rng(5).uniform(-1.0, 1.0, (5, 6))


def test_efforts_that_hold_gravity_are_no_residuals(model, poses):
    said = visit(
        watch_of(model, "torque_without_gravity"), poses, lambda q: rd.gravity_forces(model, q)
    )
    # two poses tell nothing
    assert said[:5] == [""] * 5
    assert "rather torque or link_torque" in said[5]
    assert not any(
        visit(watch_of(model, "link_torque"), poses, lambda q: rd.gravity_forces(model, q))
    )


def test_a_moving_arm_and_the_same_pose_again_say_nothing(model, poses):
    watch = watch_of(model, "torque_without_gravity")
    gravity = lambda q: rd.gravity_forces(model, q)  # noqa: E731
    assert not any(watch.look(q, gravity(q)) for q in np.linspace(poses[0], poses[1], 30))
    assert not any(visit(watch, [poses[0]] * 6, gravity))


def test_looks_compile_nothing(tmp_path):
    # in a process in which nothing else has compiled
    code = (
        "import numpy as np, robot_dynamics_ros as rd\n"
        "from robot_dynamics_ros.dynamics.engine import native_engine\n"
        "from robot_dynamics_ros.dynamics.engine.codegen import native\n"
        "from robot_dynamics_ros.ros.controller.control_loop import EffortWatch\n"
        "watch = EffortWatch(rd.JointController(rd.load_robot('six_axis')))\n"
        "native.compile_module = native_engine.compile_module = None\n"
        "for pose in np.random.default_rng(5).uniform(-1.0, 1.0, (3, 6)):\n"
        "    for _ in range(2):\n"
        "        watch.look(pose, np.zeros(6))\n"
        "print(len(watch._poses))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "ROBOT_DYNAMICS_CACHE": str(tmp_path)},
    )
    assert run.stdout == "3\n", run.stderr
