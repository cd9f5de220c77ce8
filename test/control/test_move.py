"""Planned moves keep every limit, and come close to one of them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.references import splice, standing

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.reference.reference import JointTable

SIX = rd.load_robot("six_axis")
HOME = np.array([0.0, -1.2, 1.3, -0.5, 0.6, 0.0])


def follow(model, trajectory, q0):
    table = JointTable.of(model)
    path, start, end = splice(standing(10, q0, table), trajectory, 10, table)
    times = np.linspace(start, end, 501).astype(np.int64)
    return np.array([path.sample(int(t)) for t in times])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1.5, 1.5), min_size=6, max_size=6), st.floats(0.1, 1.0))
def test_velocity_acceleration_and_effort_stay_within_limits(way, scale):
    goal = np.clip(HOME + way, SIX.lower, SIX.upper)
    trajectory = rd.plan_move(SIX, HOME, goal, scale=scale)
    q, v, a = follow(SIX, trajectory, HOME).transpose(1, 0, 2)
    np.testing.assert_allclose(q[[0, -1]], [HOME, goal], atol=1e-12)
    speed = np.abs(v).max(axis=0) / (scale * SIX.velocity_limit)
    rate = np.abs(a).max(axis=0) / (scale * default_deceleration(SIX.velocity_limit))
    tau = rd.inverse_dynamics(SIX, q, v, a) + SIX.damping * v + SIX.friction * np.sign(v)
    effort = np.abs(tau).max(axis=0) / (0.9 * SIX.effort_limit)
    tightest = max(speed.max(), rate.max(), effort.max())
    assert tightest <= 1.0 + 1e-3
    if np.abs(goal - HOME).max() > 1e-3:
        assert tightest >= 0.97


def test_a_heavy_load_makes_it_slower_and_a_too_heavy_one_impossible():
    goal = HOME + np.array([0.2, 1.0, -0.5, 0, 0, 0])
    fast = {"scale": 1.0, "acceleration": 100.0}
    durations = [
        rd.plan_move(rd.carrying(SIX, rd.Payload("tool0", mass)), HOME, goal, **fast).duration
        for mass in (0, 5, 8, 10)
    ]
    assert (np.diff(durations) > 0.1).all()
    with pytest.raises(rd.TrajectoryError, match="to hold against gravity and friction"):
        rd.plan_move(rd.carrying(SIX, rd.Payload("tool0", 80.0)), HOME, goal)


def test_a_duration_is_kept_or_refused():
    assert rd.plan_move(SIX, HOME, HOME + 0.3, duration=5.0).duration == 5.0
    with pytest.raises(rd.TrajectoryError, match="too short"):
        rd.plan_move(SIX, HOME, HOME + 0.3, duration=0.01)


def test_continuous_joints_take_the_short_way():
    model = rd.load_robot("pendulum")
    trajectory = rd.plan_move(model, [3.0], [-3.0])
    np.testing.assert_allclose(trajectory.positions[:, 0], [3.0, 2 * np.pi - 3.0])


def test_no_way_to_go_is_a_short_hold():
    assert 0.0 < rd.plan_move(SIX, HOME, HOME).duration < 0.01


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"q0": HOME[:3]}, "q0: expected 6"),
        ({"q1": HOME * np.nan}, "q1: expected 6"),
        ({"q1": HOME + 7}, "outside the limits"),
        ({"scale": 0.0}, "scale"),
        ({"scale": 1.1}, "scale"),
        ({"acceleration": -1.0}, "acceleration"),
        ({"acceleration": [1.0]}, "acceleration"),
        ({"effort_scale": np.nan}, "effort_scale"),
    ],
)
def test_nonsense_is_refused(arguments, text):
    with pytest.raises(rd.ArgumentError, match=text):
        rd.plan_move(SIX, **{"q0": HOME, "q1": HOME + 0.1, **arguments})
