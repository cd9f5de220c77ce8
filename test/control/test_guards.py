"""Every guard, provoked."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.bumpless import Blend
from robot_dynamics_ros.control.guards import Guards, allowed_velocity, clip_effort, clip_rate, motion_bounds
from robot_dynamics_ros.control.integral import advance_integral
from robot_dynamics_ros.control.watchdog import Arrival, Freshness, Watchdog


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("two_link")  # 60 and 25 N m, 6 and 8 rad/s, ± 3.14 and ± 2.8 rad


def test_the_smaller_effort_limit_counts_and_is_derated(arm):
    np.testing.assert_allclose(Guards(arm).effort_limit, [60, 25])
    np.testing.assert_allclose(Guards(arm, rd.GuardSettings(effort_limit=[40, 100])).effort_limit, [40, 25])
    derated = Guards(arm, rd.GuardSettings(effort_limit=30.0, effort_scale=0.5))
    np.testing.assert_allclose(derated.effort_limit, [15, 12.5])


def test_effort_is_clipped_and_counted():
    tau = np.array([5.0, -7.0, 1.0])
    np.testing.assert_array_equal(clip_effort(tau, np.array([4.0, 6.0, 2.0])), [True, True, False])
    np.testing.assert_array_equal(tau, [4, -6, 1])


def test_rate_is_clipped():
    tau = np.array([5.0, 1.0])
    np.testing.assert_array_equal(clip_rate(tau, np.zeros(2), np.array([2.0, 2.0])), [True, False])
    np.testing.assert_array_equal(tau, [2, 1])


def test_guards_count_joints_by_cause(arm):
    guards = Guards(arm, rd.GuardSettings(effort_rate=[1000.0, np.inf]), Counter())
    tau = np.array([50.0, 99.0])
    assert guards.begin(tau)
    guards.limit_effort(tau, np.zeros(2), 0.001)
    guards.finish(tau)
    np.testing.assert_allclose(tau, [1.0, 25.0])
    assert guards.counts == {"effort_rate": 1, "effort_limit": 1}
    np.testing.assert_array_equal(guards.saturated, [1, 1])
    assert not guards.begin(np.array([np.nan, 0.0]))
    assert guards.counts["non_finite_effort"] == 1


def test_the_allowed_velocity_shrinks_in_the_zone_and_turns_back_beyond():
    one = np.ones(1)
    for q, low, high in (
        (0.0, -2, 2),
        (0.96, -2, 0.4),
        (1.0, -2, 0.0),
        (1.1, -2, -1.0),
        (-0.98, -0.2, 2),
        (-9, 2, 2),
        (0.95, -2, 0.5),
        (0.85, -2, np.sqrt(0.25 + 2 * 8 * 0.1)),
        (0.5, -2, 2),
    ):
        slowest, fastest = allowed_velocity(np.array([q]), -one, one, 2 * one, 0.05 * one, 10.0, 8 * one)
        np.testing.assert_allclose([slowest[0], fastest[0]], [low, high], atol=1e-12)


@given(st.floats(-3, 3), st.floats(-50, 50), st.floats(0.1, 5))
def test_motion_bounds_let_gravity_be_held_and_brake_an_excess(v, bias, inertia):
    low, high = motion_bounds(np.array([v]), -np.ones(1), np.ones(1), np.array([bias]), np.array([inertia]), 50.0)
    assert low[0] <= high[0]
    if abs(v) <= 1.0:
        assert low[0] <= bias <= high[0]
    if v > 1.0:
        assert high[0] < bias
    if v < -1.0:
        assert low[0] > bias


def test_limits_that_do_not_exist_bound_nothing():
    model = rd.load_robot("pendulum").replace()
    guards = Guards(model)
    tau = np.array([1e3])
    assert not guards.near_limits(np.array([1e3]), np.zeros(1))
    guards.limit_motion(tau, np.array([1e3]), np.zeros(1), np.zeros(1), np.ones(1))
    np.testing.assert_allclose(tau, 1e3)  # far below 20 rad/s × 50 / s


def test_holding_at_a_limit_is_no_violation_and_idle_joints_are_not_limited(arm):
    q, v = np.array([0.3, 2.8]), np.zeros(2)
    bias, inertia = rd.bias_forces(arm, q, v), np.ones(2)
    guards, tau = Guards(arm), bias * (1 + 1e-12)
    assert guards.near_limits(q, v)
    guards.limit_motion(tau, q, v, bias, inertia)
    assert not guards.counts
    idle, tau = Guards(arm, idle=np.array([1])), bias + 9.0
    assert not idle.near_limits(q, v)
    idle.limit_motion(tau, q, v, bias, inertia)
    np.testing.assert_array_equal(tau, bias + 9.0)


def test_driving_into_a_position_limit_is_stopped(arm):
    """A law that pushes the elbow with full effort against its limit: the guard brings it to rest inside."""
    guards, kernels = Guards(arm), rd.control.kernels.Kernels(arm)
    q, v, dt = np.array([0.0, 2.0]), np.zeros(2), 1e-3
    bias, M = np.zeros(2), np.zeros((2, 2))
    for _ in range(2000):
        kernels.bias_forces(q, v, bias)
        kernels.mass_matrix(q, M)
        tau = np.array([bias[0], 25.0])
        if guards.near_limits(q, v):
            guards.limit_motion(tau, q, v, bias, M.diagonal())
        v = v + dt * rd.forward_dynamics(arm, q, v, tau)
        q = q + dt * v
        assert q[1] < 2.8
    assert abs(v[1]) < 0.02
    assert guards.counts["position_zone"] > 0


def test_a_speed_above_the_limit_is_braked(arm):
    guards, kernels = Guards(arm, rd.GuardSettings(velocity_scale=0.25)), rd.control.kernels.Kernels(arm)
    q, v, dt = np.zeros(2), np.array([0.0, 1.0]), 1e-3
    bias, M, top = np.zeros(2), np.zeros((2, 2)), 0.0
    for _ in range(600):
        kernels.bias_forces(q, v, bias)
        kernels.mass_matrix(q, M)
        tau = np.array([bias[0], bias[1] + 1.0])
        if guards.near_limits(q, v):
            guards.limit_motion(tau, q, v, bias, M.diagonal())
        v = v + dt * rd.forward_dynamics(arm, q, v, tau)
        q = q + dt * v
        top = max(top, v[1])
    assert 1.9 < top < 2.1
    assert guards.counts["velocity_limit"] > 0


@pytest.mark.parametrize(
    "bad",
    [
        {"effort_limit": -1.0},
        {"effort_limit": [1.0]},
        {"effort_scale": 1.5},
        {"effort_scale": np.nan},
        {"velocity_scale": -0.1},
        {"effort_rate": "x"},
        {"position_margin": -1.0},
        {"max_deceleration": 0.0},
        {"max_deceleration": np.inf},
        {"braking_rate": np.inf},
    ],
)
def test_nonsense_settings_are_refused(arm, bad):
    with pytest.raises(rd.ArgumentError, match=next(iter(bad))):
        Guards(arm, rd.GuardSettings(**bad))


def test_the_watchdog_tells_what_an_arrival_means():
    dog = Watchdog(100)
    assert dog.check(10**9) is Freshness.NONE
    assert [dog.arrive(t) for t in (1000, 1050, 1050, 1049, 1100)] == [
        Arrival.FIRST,
        Arrival.NORMAL,
        Arrival.STILL,
        Arrival.LATE,
        Arrival.NORMAL,
    ]
    assert dog.check(1200) is Freshness.FRESH
    assert dog.check(1201) is Freshness.STALE
    assert dog.arrive(1210) is Arrival.RECOVERED
    assert dog.check(1220) is Freshness.FRESH
    assert dog.arrive(1400) is Arrival.RECOVERED  # a gap that nobody watched
    assert dog.arrive(500) is Arrival.BACKWARDS
    assert dog.arrive(550) is Arrival.NORMAL
    dog.reset()
    assert dog.arrive(5) is Arrival.FIRST
    with pytest.raises(rd.ArgumentError, match="state_timeout"):
        Watchdog(0)


def test_the_integral_stops_at_its_clamp_and_does_not_wind_up():
    z, ki = np.zeros(3), np.array([2.0, 2.0, 0.0])
    for _ in range(100):
        advance_integral(z, np.array([1.0, 1.0, 1.0]), 0.1, ki, np.array([4.0, np.inf, 1.0]), np.array([0, 1.0, 0]))
    np.testing.assert_allclose(ki * z, [4.0, 0.0, 0.0])
    np.testing.assert_allclose(z, [2.0, 0.0, 0.0])
    advance_integral(z, np.array([-1.0, -1.0, 0.0]), 0.1, ki, np.full(3, 4.0), np.array([1.0, 1.0, 0]))
    np.testing.assert_allclose(z, [1.9, -0.1, 0.0])  # unwinding is always allowed


def test_a_blend_starts_at_the_old_effort_and_ends_at_the_new():
    blend, old, new = Blend(1, 1000), np.array([3.0]), np.array([7.0])
    blend.start()
    seen = []
    for t in range(500, 1700, 100):
        tau = new.copy()
        blend.apply(t, tau, old)
        seen.append(tau[0])
    assert seen[0] == 3.0
    assert seen[5] == pytest.approx(5.0)
    assert seen[10] == seen[11] == 7.0
    assert (np.diff(seen) >= 0).all()
    assert not blend.active
    at_once = Blend(1, 0)
    at_once.start()
    tau = new.copy()
    at_once.apply(0, tau, old)
    assert tau[0] == 7.0
