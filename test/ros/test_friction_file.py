"""Friction beside the URDF, in a file: what both nodes make of it."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from support.played_robot import ROBOT, Q, Robot
from support.simulator_bench import Bench

import robot_dynamics_ros as rd
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.model.library import robot_path

pytestmark = [pytest.mark.middleware, pytest.mark.usefixtures("warm")]


@pytest.fixture
def model():
    return rd.load_urdf(robot_path(ROBOT))


@pytest.fixture
def file(model, tmp_path):
    """A file of the form that identification writes, with figures far from the URDF's."""
    first, second = model.joint_names
    rows = {
        first: {
            "viscous": 0.9,
            "coulomb": 2.0,
            "breakaway": 3.0,
            "stribeck_speed": 0.2,
            "smoothing": 0.05,
            "offset": -0.7,
        },
        second: {
            "viscous": 0.4,
            "coulomb": 0.6,
            "presliding": 0.002,
            "effects": {"asymmetry": 0.1},
        },
    }
    (tmp_path / "friction.json").write_text(json.dumps({"joints": rows}))
    return tmp_path / "friction.json"


def test_the_simulator_has_the_friction_of_the_file(peer, start, model, file):
    efforts = np.random.default_rng(1).uniform(-9.0, 9.0, (60, 2))
    node = start(
        "simulator",
        robot_description_file=ROBOT,
        friction_file=file,
        time_mode="lockstep",
        update_rate=200.0,
        substeps=1,
    )
    bench = Bench(peer)
    bench.ready()
    answers = bench.lockstep(efforts)[1:]
    assert f"the simulator does not have asymmetry of {model.joint_names[1]}" in node.output()
    given = FrictionFile.read(file, model).friction(model)
    same = rd.JointFriction(given.viscous, given.coulomb, given.breakaway, given.stribeck_speed)
    plants = [rd.Plant(model, 5e-3, substeps=1, friction=friction) for friction in (same, True)]
    for effort, message in zip(efforts, answers, strict=True):
        for plant in plants:
            plant.step(effort)
        np.testing.assert_allclose(message.position, plants[0].q, atol=1e-12)
    # by the URDF's friction it would be elsewhere
    assert np.abs(plants[0].q - plants[1].q).max() > 1e-3


def test_the_controller_compensates_the_friction_of_the_file(peer, start, model, file):
    robot = Robot(peer, model)
    robot.quiet()
    v = np.array([0.15, -0.8])
    gains = {f"gains__{name}__{g}": 0.0 for name in model.joint_names for g in "pd"}
    node = start(
        "controller",
        robot_description_file=ROBOT,
        friction_file=file,
        law="pd_gravity",
        friction_compensation="measured",
        state_timeout=30.0,
        **gains,
    )
    expected = rd.gravity_forces(model, Q) + FrictionFile.read(file, model).friction(model).effort(
        v
    )
    timer = peer.node.create_timer(0.05, lambda: robot.say(robot.state(velocity=v.tolist())))
    peer.wait(lambda: robot.commands, "a command")
    robot.commands.clear()
    peer.wait(lambda: robot.commands, "another command")
    timer.cancel()
    np.testing.assert_allclose(robot.commands[-1].data, expected, atol=1e-9)
    (line,) = [
        x
        for x in node.output().splitlines()
        if f"do not compensate asymmetry of {model.joint_names[1]}" in x
    ]
    assert "[WARN]" in line
