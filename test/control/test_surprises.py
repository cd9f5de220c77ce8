"""Surprised, the arm holds: what a person beside it sees, on arms that MuJoCo moves."""

import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

from support.surprised_robot import SURPRISES, Run

from robot_dynamics_ros.control import Mode
from robot_dynamics_ros.control.cycle.ladder import Level


def surprised(name, arm):
    make, moves = SURPRISES[name]
    try:
        return Run(arm, make())(moves)
    except FileNotFoundError:
        pytest.skip("example-robot-data is not installed")


@pytest.mark.parametrize("arm", ["panda", "ur10"])
@pytest.mark.parametrize("name", ["wall", "late brakes", "push 100 N at rest"])
def test_an_arm_that_was_kept_from_its_path_is_back_without_a_fault(name, arm):
    outcome = surprised(name, arm)
    assert not outcome.fault
    assert outcome.speed < 1.1
    assert outcome.goal < 5e-3 and outcome.still < 0.1
    assert outcome.controller.level is Level.PRECISE


@pytest.mark.parametrize("name", ["wall", "late brakes"])
def test_what_keeps_an_arm_from_its_path_is_named(name):
    outcome = surprised(name, "ur10")
    assert outcome.controller.counts["blocked"] or outcome.controller.counts["pushed"]
    assert "the largest" in outcome.controller.surprise


@pytest.mark.parametrize("name", ["set elsewhere", "reset, stamps too", "set elsewhere in motion"])
def test_an_arm_that_is_put_elsewhere_is_held_there(name):
    outcome = surprised(name, "ur10")
    assert not outcome.fault
    assert outcome.controller.mode is Mode.HOLD
    assert outcome.speed < 0.5 and outcome.still < 0.1
