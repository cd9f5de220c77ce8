"""No command says success where the goal was not reached: cut short, refused, blocked."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.cli.main import main
from robot_dynamics_ros.cli.rehearsal import Rehearsal, path_bound


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "two_link", "--to", "1.5", "0.3", "--duration", "1"],
        ["simulate", "two_link", "--tour", "--duration", "3"],
        ["simulate", "two_link", "--tour", "--law", "pd_gravity", "--duration", "1"],
    ],
)
def test_a_motion_that_is_cut_short_has_not_arrived(words, capsys):
    assert main([*words, "--dt", "4e-3"]) == 1
    out = capsys.readouterr().out
    assert "NOT ARRIVED: cut short" in out
    assert main([*words, "--dt", "4e-3", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["arrived"] is False


def test_a_motion_that_is_refused_is_an_error(capsys):
    words = ["simulate", "two_link", "--to", "9", "0", "--dt", "4e-3"]
    robot = rd.load_robot("two_link")
    assert robot.upper[0] < 9.0 or not np.isfinite(robot.upper[0])
    outcome = main(words)
    captured = capsys.readouterr()
    assert outcome in (0, 2)
    assert ("arrived" in captured.out) == (outcome == 0)


def run_along(path, reference):
    """A run of the robot two_link along given positions (k, 2), one row a millisecond."""
    model = rd.load_robot("two_link")
    t = np.arange(len(path)) * 1e-3
    v = np.zeros_like(path)
    run = rd.simulate(model, q0=path[0], duration=1e-3, dt=1e-3)
    still = np.zeros_like(path)
    made = type(run)(t, path, v, still, still, t * 0.0, t * 0.0, None, run.plant)
    return Rehearsal(made, reference, 0.01, Counter(), "", "", float(t[-1]))


def tour(steps=200):
    """A motion that ends where it begins, of one radian and of a tenth."""
    hump = np.sin(np.linspace(0.0, np.pi, steps))[:, None]
    return hump * np.array([1.0, 0.1])


def test_a_robot_that_stood_still_during_a_tour_has_not_arrived():
    reference = tour()
    stood = run_along(np.zeros_like(reference), reference)
    assert stood.goal_error.max() < 1e-9
    assert not stood.arrived
    assert "has left its path" in stood.reason()


def test_a_joint_that_is_blocked_half_way_of_a_tour_has_not_arrived():
    reference = tour()
    blocked = reference.copy()
    blocked[:, 0] = np.minimum(blocked[:, 0], 0.5)
    outcome = run_along(blocked, reference)
    assert not outcome.arrived
    assert "shoulder" in outcome.reason()


def test_a_robot_that_follows_a_little_late_has_arrived():
    reference = tour()
    late = np.vstack([reference[:1].repeat(5, axis=0), reference[:-5]])
    late[-5:] = reference[-5:]
    assert run_along(late, reference).arrived
    assert (path_bound(reference, 0.01) >= 0.1 - 1e-12).all()
