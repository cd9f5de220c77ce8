"""Surprised, the arm holds: robots that MuJoCo moves, of kinds that throw the precise law."""

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="MuJoCo is not installed")

import robot_dynamics_ros as rd
from benchmarks.differing_robots.kinds_cases import KINDS
from benchmarks.differing_robots.kinds_laws import Ours
from benchmarks.differing_robots.kinds_robot import make_scene
from benchmarks.differing_robots.kinds_run import run_kind
from robot_dynamics_ros.control.cycle.ladder import Level
from robot_dynamics_ros.control.reference.goal import Tolerances


def surprised(kind, arm):
    """Figures of a run, and the controller at its end."""
    kept = []

    class Kept(Ours):
        def start(self, t, q, v):
            kept.append(self.controller)
            super().start(t, q, v)

    return run_kind(Kept, make_scene(KINDS[kind], arm, 0)), kept[0]


@pytest.mark.parametrize("kind", ["spring_motor", "lag_20ms", "late_commands_10ms"])
def test_an_arm_that_the_precise_law_drives_is_led_by_the_plain_one_to_its_goal(kind):
    figures, controller = surprised(kind, "panda")
    assert not figures["lost"], figures["fault"]
    assert not figures["swings"]
    assert figures["goal"] < 10.0
    assert controller.level is Level.PLAIN
    assert controller.counts["swings"] + controller.counts["braked"] >= 1
    assert any("by itself" in gap for gap in controller.description_gaps())


@pytest.mark.parametrize("kind", ["push_100_rest", "vanishing_wall", "late_brake"])
def test_an_arm_that_was_kept_from_its_path_comes_back(kind):
    figures, controller = surprised(kind, "panda")
    assert not figures["lost"], figures["fault"]
    assert figures["goal"] < 10.0
    assert figures["speed"] < 1.4
    assert controller.counts["blocked"] + controller.counts["pushed"] >= 1


def test_an_arm_that_is_put_elsewhere_is_held_there():
    figures, controller = surprised("reset", "ur10")
    assert not figures["lost"], figures["fault"]
    assert controller.counts["relocated"] == 1
    assert "was put elsewhere" in controller.surprise


def test_an_arm_that_falls_as_the_controller_starts_is_caught():
    figures, controller = surprised("falling", "j2s6s200")
    assert not figures["lost"], figures["fault"]
    assert controller.counts["started_moving"] == 1
    assert figures["goal"] < 1.0
    assert controller.level is Level.PRECISE


def test_the_usual_robot_does_not_surprise():
    figures, controller = surprised("usual", "panda")
    assert not figures["lost"]
    assert controller.surprise == "" and controller.level is Level.PRECISE
    assert not np.any(controller.memory["lag"])


def test_a_blocked_arm_whose_goal_is_aborted_is_held_where_it_is():
    """Not pushed to the other side by what it had lagged on the path."""
    arm = rd.load_robot("two_link")
    tolerances = Tolerances.uniform(2, path=0.5)
    control = rd.JointController(arm, tolerances=tolerances)
    start = np.array([0.3, 0.5])
    still = np.zeros(2)
    control.activate(0, start, still)
    goal = control.accept_trajectory(rd.plan_move(arm, start, start + 1.0), 0)
    longest_lag = 0.0
    for k in range(1, 2000):
        # an encoder's noise: the joints are not dead
        control.update(k * 2_000_000, start + 1e-5 * (k % 2), still)
        lag = np.abs(control.memory["lag"]).max()
        longest_lag = max(longest_lag, lag)
        if goal.status.done:
            break
    assert goal.status is rd.GoalStatus.ABORTED and longest_lag > 0.2
    assert not control.fault
    ended = k
    for later in range(ended + 1, ended + 300):
        control.update(later * 2_000_000, start + 1e-5 * (later % 2), still)
        assert np.abs(control.memory["lag"]).max() == 0.0
        assert np.abs(control.memory["error"][0]).max() < 1e-3
