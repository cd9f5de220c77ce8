"""Interpolation: waypoints are hit, derivatives are the derivatives, pieces join as smoothly as
their kind promises.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.references import splice, standing

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.tracks import TracksMemory, shift
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds
from robot_dynamics_ros.dynamics.engine.routines import Memory

NAMES = ("a", "b", "c")
# a real clock: nanoseconds must not be lost
T0 = 1_700_000_000_000_000_000


@st.composite
def trajectories(draw, degree=None, count=None, names=NAMES):
    n = draw(st.integers(1, 4)) if count is None else count
    steps = draw(st.lists(st.floats(0.05, 3.0), min_size=n, max_size=n))
    numbers = st.lists(st.floats(-3, 3), min_size=len(names), max_size=len(names))
    points = []
    for i, t in enumerate(np.cumsum(steps)):
        d = draw(st.sampled_from([1, 3, 5])) if degree is None else degree
        rest = [0.0] * len(names)
        v = draw(numbers) if i < n - 1 else rest
        a = draw(numbers) if i < n - 1 else rest
        points.append(
            TrajectoryPoint(nanoseconds(t), draw(numbers), v if d > 1 else (), a if d > 3 else ())
        )
    return Trajectory.from_points(names, points)


def follow(trajectory, q=(0.3, -0.2, 0.1), **kwargs):
    path, *_ = splice(standing(T0 - 1, q), trajectory, T0, **kwargs)
    return path


@settings(max_examples=60, deadline=None)
@given(trajectories())
def test_every_waypoint_is_hit_with_what_was_given_of_it(trajectory):
    path = follow(trajectory)
    for i, t in enumerate(trajectory.times):
        q, v, a = path.sample(T0 + int(t))
        np.testing.assert_allclose(q, trajectory.positions[i], rtol=0, atol=1e-12)
        last = i == len(trajectory) - 1
        incoming = int(trajectory.degree[i]) if i == 0 else min(trajectory.degree[i - 1 : i + 1])
        arriving = path.arriving(T0 + int(trajectory.times[i - 1] if i else 0), T0 + int(t))
        np.testing.assert_allclose(arriving[0], trajectory.positions[i], rtol=0, atol=1e-12)
        if incoming >= 3:
            np.testing.assert_allclose(arriving[1], trajectory.velocities[i], atol=1e-9)
        if incoming == 5:
            np.testing.assert_allclose(arriving[2], trajectory.accelerations[i], atol=1e-7)
        if last:
            assert not v.any() and not a.any()


@settings(max_examples=60, deadline=None)
@given(trajectories(), st.floats(0.0, 1.0))
def test_velocity_and_acceleration_are_the_derivatives_of_the_position(trajectory, where):
    path = follow(trajectory)
    knots = [T0, *(T0 + trajectory.times).tolist()]
    i = min(int(where * (len(knots) - 1)), len(knots) - 2)
    h = 1_000_000
    t = knots[i] + h + int(where * (knots[i + 1] - knots[i] - 3 * h))
    before = path.sample(t - h)
    here = path.sample(t)
    after = path.sample(t + h)
    x = h * 1e-9
    scale = 1.0 + np.abs(path.at(knots[i])[:6]).max() * 60
    np.testing.assert_allclose((after[0] - before[0]) / (2 * x), here[1], atol=1e-5 * scale)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * x), here[2], atol=1e-5 * scale)


def test_linear_cubic_and_quintic_by_hand():
    start = (0.0, 0.0, 0.0)
    half = T0 + nanoseconds(1.0)
    one = Trajectory.from_points(NAMES, [TrajectoryPoint(nanoseconds(2), (1, 2, 4))])
    np.testing.assert_allclose(
        follow(one, start).sample(half), [[0.5, 1, 2], [0.5, 1, 2], [0, 0, 0]]
    )
    rest = (0.0, 0.0, 0.0)
    three = Trajectory.from_points(NAMES, [TrajectoryPoint(nanoseconds(2), (1, 2, 4), rest)])
    # q = 3x² − 2x³ with x = t/T
    np.testing.assert_allclose(
        follow(three, start).sample(half), [[0.5, 1, 2], [0.75, 1.5, 3], [0, 0, 0]], atol=1e-15
    )
    five = Trajectory.from_points(NAMES, [TrajectoryPoint(nanoseconds(2), (1, 2, 4), rest, rest)])
    # q = 10x³ − 15x⁴ + 6x⁵; at x = 1/4: 53/512, 270/256 / T, 45/8 / T²
    np.testing.assert_allclose(
        follow(five, start).sample(T0 + nanoseconds(0.5))[:, 0],
        [53 / 512, 270 / 256 / 2, 45 / 8 / 4],
        atol=1e-15,
    )


def test_a_segment_has_the_smaller_degree_of_its_ends():
    rest = (0.0,) * 3
    mixed = Trajectory.from_points(
        NAMES,
        [
            TrajectoryPoint(nanoseconds(1), (1,) * 3, rest, rest),
            TrajectoryPoint(nanoseconds(2), (2,) * 3, rest),
            TrajectoryPoint(nanoseconds(3), (4,) * 3),
        ],
    )
    path = follow(mixed, rest)
    order = [
        int(np.flatnonzero(np.abs(path.at(T0 + nanoseconds(i))[:6, 0]) > 1e-12).max())
        for i in range(4)
    ]
    assert order == [5, 3, 1, 0]


@pytest.mark.parametrize("with_start", [False, True])
def test_smoothed_positions_make_a_motion_without_steps_in_velocity_or_acceleration(with_start):
    rng = np.random.default_rng(0)
    start = np.array([0.3, -0.2, 0.1])
    times = np.cumsum(rng.uniform(0.2, 1.0, 6))
    rows = rng.uniform(-1, 1, (6, 3))
    if not with_start:
        times = np.concatenate([[0.0], times])
        rows = np.vstack([start, rows])
    plain = Trajectory.from_waypoints(NAMES, times, rows)
    path = follow(plain.smoothed(start if with_start else None), tuple(start))
    knots = [T0 + nanoseconds(t) for t in ((0.0, *times) if with_start else times)]
    for before, t in itertools.pairwise(knots[:-1]):
        np.testing.assert_allclose(path.arriving(before, t), path.sample(t), atol=1e-9)
    np.testing.assert_allclose(path.sample(T0)[1], 0.0, atol=1e-12)
    with pytest.raises(TrajectoryRejected, match="only one"):
        Trajectory.from_waypoints(NAMES, [1.0], [[0, 0, 0]]).smoothed()
    with pytest.raises(TrajectoryRejected, match="start"):
        plain.smoothed([0.0]) if with_start else Trajectory.from_waypoints(
            NAMES, [1.0], [[0, 0, 0]]
        ).smoothed([0.0])


def test_before_the_start_and_after_the_end_the_arm_stays():
    path = follow(Trajectory.from_points(NAMES, [TrajectoryPoint(nanoseconds(1), (1, 2, 3))]))
    for t in (T0 - 10**12, T0 - 1):
        np.testing.assert_array_equal(path.sample(t)[0], [0.3, -0.2, 0.1])
    for t in (T0 + nanoseconds(1), T0 + 10**15):
        np.testing.assert_array_equal(path.sample(t), [[1, 2, 3], [0, 0, 0], [0, 0, 0]])


def test_an_end_velocity_is_dropped_after_the_end():
    fast = Trajectory.from_points(
        NAMES,
        [TrajectoryPoint(nanoseconds(1), (1, 2, 3), (1, 1, 1))],
        allow_nonzero_end_velocity=True,
    )
    path = follow(fast)
    np.testing.assert_allclose(path.sample(T0 + nanoseconds(1) - 1)[1], 1.0, atol=1e-6)
    np.testing.assert_array_equal(path.sample(T0 + nanoseconds(1))[1:], 0.0)


@given(st.lists(st.floats(-2, 2), min_size=6, max_size=6), st.floats(0, 3), st.floats(0, 3))
def test_shifted_polynomials_are_the_same_polynomials(coefficients, dt, x):
    c = np.array(coefficients)[:, None]
    there = np.polynomial.polynomial.polyval(dt + x, c)[0]
    memory = Memory(TracksMemory, {"nv": 1}, compiled=False)
    memory["now"][:6] = c
    shift(memory.python, 0, dt)
    here = np.polynomial.polynomial.polyval(x, memory["now"][:6])[0]
    assert here == pytest.approx(there, rel=1e-9, abs=1e-9)


def test_effort_is_interpolated_linearly_and_kept_at_the_end():
    e = Trajectory.from_points(
        NAMES,
        [
            TrajectoryPoint(nanoseconds(1), (0,) * 3, effort=(2, 4, 6)),
            TrajectoryPoint(nanoseconds(2), (0,) * 3, effort=(4, 4, 0)),
        ],
    )
    path = follow(e)
    np.testing.assert_allclose(path.at(T0 + nanoseconds(0.5))[6], [1, 2, 3])
    np.testing.assert_allclose(path.at(T0 + nanoseconds(1.5))[6], [3, 4, 3])
    np.testing.assert_allclose(path.at(T0 + nanoseconds(5))[6], [4, 4, 0])
    assert not standing(T0, (0.0, 0.0, 0.0)).at(T0)[6:].any()
