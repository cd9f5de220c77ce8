"""Stopping: the documented distance and time, within limits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.references import stop_from

from robot_dynamics_ros.control.cycle.limits import default_deceleration
from robot_dynamics_ros.control.reference.tracks import NEVER
from robot_dynamics_ros.control.reference.trajectory import nanoseconds

T0 = 10**18


def test_each_joint_stops_after_its_own_time_and_distance():
    q = np.array([1.0, 2.0, 3.0])
    v = np.array([2.0, -1.0, 0.0])
    a = np.array([4.0, 1.0, 1.0])
    path = stop_from(T0, q, v, a)
    np.testing.assert_array_equal(path.sample(T0)[:2], [q, v])
    # half-way in time: half the speed, the largest acceleration, and 13/16 of the way
    first, second = (path.sample(T0 + nanoseconds(x)) for x in (0.375, 0.75))
    np.testing.assert_allclose(first[:, 0], [1.0 + 0.8125 * 0.75, 1.0, -4.0])
    np.testing.assert_allclose(second[:, 1], [2.0 - 0.8125 * 0.75, -0.5, 1.0])
    ends = [[1.75, 1.25, 3.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(path.sample(T0 + nanoseconds(1.5)), ends, atol=1e-12)
    np.testing.assert_allclose(path.sample(T0 + nanoseconds(99)), ends, atol=1e-12)


def test_the_acceleration_of_a_stop_has_no_step():
    path = stop_from(T0, np.array([0.0]), np.array([1.0]), np.array([4.0]))
    times = T0 + np.arange(0, 400 * 10**6, 10**6)
    accelerations = np.array([path.sample(int(t))[2, 0] for t in times])
    assert abs(accelerations[0]) < 1e-9
    assert np.abs(np.diff(accelerations)).max() < 0.05
    np.testing.assert_allclose(np.abs(accelerations).max(), 4.0, rtol=1e-3)


def test_at_rest_it_is_a_plain_hold():
    path = stop_from(T0, np.array([1.0]), np.zeros(1), np.ones(1))
    assert path.generator.load(T0)[1] == NEVER
    np.testing.assert_array_equal(path.sample(T0 + 5), [[1.0], [0], [0]])


@given(st.floats(-2, 2), st.floats(0.5, 20), st.floats(-0.9, 0.9))
def test_a_stop_stays_within_the_position_limits_and_never_turns_back(v, a, q):
    lower = np.array([-1.0])
    upper = np.array([1.0])
    path = stop_from(T0, np.array([q]), np.array([v]), np.array([a]), lower, upper)
    times = T0 + np.linspace(0, 5e9, 400).astype(np.int64)
    samples = np.array([path.sample(int(t))[:, 0] for t in times])
    assert (np.sign(v) * samples[:, 1] >= -1e-9).all()
    assert (np.diff(np.abs(samples[:, 1])) <= 1e-9).all()
    if 0.75 * v * v <= 10.0 * a * min(1 - q, 1 + q):
        assert (np.abs(samples[:, 0]) <= 1.0 + 1e-9).all()


def test_the_default_stops_from_full_speed_in_a_quarter_of_a_second():
    np.testing.assert_allclose(default_deceleration(np.array([2.0, np.inf, 0.0])), [8.0, 5.0, 5.0])
