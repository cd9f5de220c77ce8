"""A trajectory in a moving controller: mapping by name, stamps, replacement, partial joints,
angles, streams.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.references import FREE, splice, stream
from support.references import standing as standing_at

from robot_dynamics_ros.control.reference.goal import ResultCode, TrajectoryRejected
from robot_dynamics_ros.control.reference.reference import JointTable
from robot_dynamics_ros.control.reference.trajectory import Trajectory, TrajectoryPoint, nanoseconds

NAMES = ("a", "b", "c")
T0 = 1_700_000_000_000_000_000
INF = np.full(3, np.inf)
TURNING = JointTable(NAMES, np.ones(3, bool), np.array([True, True, False]), -INF, INF)


def s(seconds):
    return T0 + nanoseconds(seconds)


def make(points, names=NAMES, stamp=0, moving_end=False):
    return Trajectory.from_points(
        names,
        [TrajectoryPoint(nanoseconds(t), *fields) for t, *fields in points],
        stamp=stamp,
        allow_nonzero_end_velocity=moving_end,
    )


def standing(q=(0.0, 0.0, 0.0)):
    return standing_at(T0, q)


def moving():
    """A smooth path that is under way everywhere between T0 and T0 + 4 s."""
    rest = (0.0,) * 3
    path, *_ = splice(
        standing(),
        make([(2, (1, 2, -1), (0.5, 0.5, -0.5), rest), (4, (2, 3, -2), rest, rest)]),
        T0,
        FREE,
    )
    return path


def test_joints_in_another_order_are_mapped_by_name():
    path, *_ = splice(standing(), make([(1, (3, 1, 2))], names=("c", "a", "b")), T0, FREE)
    np.testing.assert_array_equal(path.sample(s(1))[0], [1, 2, 3])


@pytest.mark.parametrize("times", [(1e-9, 1.0), (1.0, 1.0 + 1e-9)])
def test_a_way_that_no_joint_covers_in_its_time_is_refused(times):
    first, second = times
    points = (
        [(first, (0.5, 0, 0)), (second, (0.5, 0, 0))]
        if first < 1e-6
        else [(first, (0.0,) * 3), (second, (0.5, 0, 0))]
    )
    with pytest.raises(
        TrajectoryRejected, match=r"time_from_start.*'a' would have to move by 0\.5 in 1e-09 s"
    ):
        splice(standing(), make(points), T0, FREE, max_step=0.05)
    splice(standing(), make([(1e-9, (0.04, 0, 0)), (1.0, (0.5, 0, 0))]), T0, FREE, max_step=0.05)


@pytest.mark.parametrize(
    ("names", "q", "text"),
    [(("a", "b", "x"), (1, 2, 3), "'x' is none"), (("a", "b"), (1, 2), "'c' is missing")],
)
def test_joints_that_do_not_match_are_refused(names, q, text):
    with pytest.raises(TrajectoryRejected, match=text) as caught:
        splice(standing(), make([(1, q)], names=names), T0, FREE)
    assert caught.value.code is ResultCode.INVALID_JOINTS


def test_a_joint_that_is_not_commanded_is_none_of_the_controllers():
    table = JointTable(NAMES, np.array([True, True, False]), np.zeros(3, bool), -INF, INF)
    with pytest.raises(TrajectoryRejected, match="'c' is none of the controller's"):
        splice(standing(), make([(1, (1, 2, 3))]), T0, table)
    path, *_ = splice(standing(), make([(1, (1, 2))], names=("a", "b")), T0, table)
    np.testing.assert_array_equal(path.sample(s(1))[0], [1, 2, 0])


def test_omitted_joints_stay_where_they_are_or_go_on_as_they_were():
    partial = make([(1, (5.0,))], names=("b",))
    path, *_ = splice(standing((1, 2, 3)), partial, T0, FREE, allow_partial=True)
    np.testing.assert_array_equal(path.sample(s(1))[0], [1, 5, 3])

    old = moving()
    path, *_ = splice(old, partial, s(1), FREE, allow_partial=True)
    for t in (1.0, 1.3, 2.0, 2.7, 4.0, 5.0):
        np.testing.assert_allclose(
            path.sample(s(t))[:, [0, 2]], old.sample(s(t))[:, [0, 2]], atol=1e-12
        )
    assert path.sample(s(2))[0, 1] == 5.0


def test_stamp_zero_starts_now():
    path, start, end = splice(standing(), make([(1, (1, 1, 1))]), s(0.25), FREE)
    assert (start, end) == (s(0.25), s(1.25))
    np.testing.assert_allclose(path.sample(s(0.75))[0], 0.5)


def test_a_stamp_in_the_future_lets_the_old_one_go_on_until_then():
    old = moving()
    new = make([(1, (0, 0, 0), (0, 0, 0))], stamp=s(3))
    path, start, end = splice(old, new, s(1), FREE)
    assert (start, end) == (s(3), s(4))
    for t in (1.0, 1.5, 2.5, 2.999):
        np.testing.assert_allclose(path.sample(s(t)), old.sample(s(t)), atol=1e-12)
    np.testing.assert_allclose(path.sample(s(3))[:2], old.sample(s(3))[:2], atol=1e-12)
    np.testing.assert_allclose(path.sample(s(4)), 0.0, atol=1e-12)


def test_a_stamp_in_the_past_leaves_out_what_is_over():
    new = make([(1, (1, 1, 1)), (2, (2, 2, 2)), (3, (3, 3, 3))], stamp=s(-1.5))
    path, start, end = splice(standing((5, 5, 5)), new, T0, FREE)
    assert (start, end) == (T0, s(1.5))
    # no jump onto the trajectory
    np.testing.assert_array_equal(path.sample(T0)[0], 5)
    # half way to the first point left
    np.testing.assert_allclose(path.sample(s(0.25))[0], 3.5)
    np.testing.assert_allclose(path.sample(s(0.5))[0], 2.0)


def test_all_in_the_past_is_refused_and_says_by_how_much():
    new = make([(1, (1, 1, 1)), (2, (2, 2, 2))], stamp=s(-3))
    with pytest.raises(TrajectoryRejected, match=r"1\.000 s ago") as caught:
        splice(standing(), new, T0, FREE)
    assert caught.value.code is ResultCode.OLD_HEADER_TIMESTAMP


def test_a_first_point_at_time_zero_is_the_present_and_makes_no_jump():
    path, *_ = splice(standing((1, 1, 1)), make([(0, (0, 0, 0)), (1, (2, 2, 2))]), T0, FREE)
    np.testing.assert_array_equal(path.sample(T0)[0], 1.0)
    np.testing.assert_allclose(path.sample(s(0.5))[0], 1.5)


def test_a_single_point_due_at_once_is_a_step_of_limited_size():
    step = make([(0, (0.01, 0, 0))])
    path, start, end = splice(standing(), step, T0, FREE, max_step=0.05)
    assert start == end == T0
    np.testing.assert_array_equal(path.sample(T0)[0], [0.01, 0, 0])
    with pytest.raises(
        TrajectoryRejected, match=r"'a' would have to jump by 0\.2.*time_from_start"
    ):
        splice(standing(), make([(0, (0.2, 0, 0))]), T0, FREE, max_step=0.05)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.0, 4.5),
    st.floats(0.0, 2.0),
    st.floats(0.05, 2.0),
    st.sampled_from([1, 3, 5]),
    st.lists(st.floats(-3, 3), min_size=3, max_size=3),
)
def test_replacement_under_way_never_makes_position_or_velocity_jump(
    now, delay, duration, degree, goal
):
    old = moving()
    rest = (0.0,) * 3
    fields = [tuple(goal), *((rest,) if degree > 1 else ()), *((rest,) if degree > 3 else ())]
    stamp = 0 if delay == 0.0 else s(now + delay)
    path, start, _ = splice(old, make([(duration, *fields)], stamp=stamp), s(now), FREE)
    before = old.sample(start)
    after = path.sample(start)
    np.testing.assert_allclose(after[0], before[0], atol=1e-12)
    resting = np.abs(before[1]) == 0.0
    # from rest a straight line is what was asked for
    check = ~resting if degree == 1 else np.ones(3, bool)
    np.testing.assert_allclose(after[1][check], before[1][check], atol=1e-12)
    if degree == 5:
        np.testing.assert_allclose(after[2], before[2], atol=1e-9)
    np.testing.assert_allclose(path.sample(start + nanoseconds(duration))[0], goal, atol=1e-12)


def test_successive_replacements_leave_only_the_last():
    path = standing()
    for k in range(20):
        path, *_ = splice(path, make([(1, (k, k, k), (0, 0, 0))]), s(0.1 * k), FREE)
    # the others are given back
    assert len(path.generator._motions) == 1
    np.testing.assert_allclose(path.sample(s(2.9))[0], 19)


def test_continuous_joints_take_the_short_way_round():
    path, *_ = splice(standing((3.0, -3.0, 3.0)), make([(1, (-3.0, 3.0, -3.0))]), T0, TURNING)
    np.testing.assert_allclose(path.sample(s(1))[0], [2 * np.pi - 3.0, 3.0 - 2 * np.pi, -3.0])
    # what the message says between its own points is kept: a turn and a half is a turn and a half
    path, *_ = splice(standing((7.0, 0, 0)), make([(1, (0, 0, 0)), (3, (9.0, 0, 0))]), T0, TURNING)
    np.testing.assert_allclose(path.sample(s(3))[0, 0] - path.sample(s(1))[0, 0], 9.0)


def test_points_outside_the_limits_are_refused_by_name():
    table = JointTable(
        NAMES, np.ones(3, bool), np.zeros(3, bool), np.full(3, -1.0), np.full(3, 1.0)
    )
    with pytest.raises(
        TrajectoryRejected, match=r"points\[1\].positions: joint 'b' is sent to 1\.5"
    ):
        splice(standing(), make([(1, (0, 0, 0)), (2, (0, 1.5, 0))]), T0, table)


def test_efforts_go_with_their_joints():
    path, *_ = splice(standing(), make([(1, (0.0, 0.0, 0.0), (), (), (1, 2, 3))]), T0, FREE)
    partial = make([(1, (1.0,), (), (), (8.0,))], names=("b",))
    path, *_ = splice(path, partial, s(0.5), FREE, allow_partial=True)
    np.testing.assert_allclose(path.at(s(1.5))[6], [1, 8, 3])


STOP = np.full(3, 2.0)


def test_a_stream_goes_on_with_its_velocity_and_then_stops():
    point = make([(0, (0.01, 0, 0), (1.0, -0.5, 0.0))], moving_end=True)
    path = stream(standing(), point, T0, FREE, 0.1, STOP, max_step=0.05)
    np.testing.assert_allclose(path.sample(s(0.05))[0], [0.06, -0.025, 0])
    np.testing.assert_allclose(path.sample(s(0.1))[1], [1.0, -0.5, 0])
    # braking at 2 rad/s² when half the time is over, the slower joint at rest by then
    np.testing.assert_allclose(path.sample(s(0.475))[1:], [[0.5, 0, 0], [-2, 0, 0]], atol=1e-8)
    np.testing.assert_allclose(
        path.sample(s(9.0)), [[0.01 + 0.1 + 0.375, -0.05 - 0.09375, 0], [0] * 3, [0] * 3], atol=1e-8
    )


def test_a_stream_with_a_time_is_reached_smoothly():
    point = make([(0.1, (0.5, 0, 0), (0, 0, 0))])
    path = stream(standing(), point, T0, FREE, 0.05, STOP, max_step=0.05)
    np.testing.assert_allclose(path.sample(s(0.05))[0, 0], 0.25)
    np.testing.assert_allclose(path.sample(s(0.1))[0, 0], 0.5)


def test_a_stream_for_some_joints_leaves_the_others():
    old = moving()
    point = make([(0, (old.sample(s(1))[0, 1],), (0.2,))], names=("b",), moving_end=True)
    path = stream(old, point, s(1), FREE, 0.1, STOP)
    for t in (1.0, 1.05, 1.5, 3.0):
        np.testing.assert_allclose(path.sample(s(t))[:, 0], old.sample(s(t))[:, 0], atol=1e-12)


@pytest.mark.parametrize(
    "names", [NAMES, ("c", "a", "b"), ("c", "a")], ids=["all", "another order", "some"]
)
@pytest.mark.parametrize("with_effort", [False, True], ids=["", "effort"])
def test_a_long_trajectory_goes_through_every_point(names, with_effort):
    dice = np.random.default_rng(5)
    n = 150
    k = len(names)
    q, v, a, effort = 0.1 * dice.normal(size=(4, n, k))
    v[-1] = 0.0
    kinds = dice.integers(1, 4, n)
    points = [
        (
            0.05 * (i + 1),
            q[i],
            v[i] if kinds[i] > 1 or i == n - 1 else (),
            a[i] if kinds[i] > 2 else (),
        )
        + ((effort[i],) if with_effort else ())
        for i in range(n)
    ]
    path, *_ = splice(moving(), make(points, names, stamp=s(1)), T0, FREE, allow_partial=True)
    columns = [NAMES.index(name) for name in names]
    for i in range(0, n, 7):
        t = s(1 + 0.05 * (i + 1))
        np.testing.assert_allclose(path.sample(t)[0, columns], q[i], atol=1e-12)
        if with_effort:
            np.testing.assert_allclose(path.at(t)[6, columns], effort[i], atol=1e-12)
    others = [j for j in range(3) if j not in columns]
    for t in (s(1.7), s(3.3), s(9.9)):
        np.testing.assert_allclose(
            path.sample(t)[:, others], moving().sample(t)[:, others], atol=1e-9
        )


@pytest.mark.parametrize("wrong", [40, 149])
def test_a_point_that_is_wrong_is_named(wrong):
    points = [(0.1 * (i + 1), (0.0,) * 3, (0.0,) * 3) for i in range(150)]
    table = JointTable(NAMES, np.ones(3, bool), np.zeros(3, bool), -np.ones(3), np.ones(3))
    for field, value, text in (
        (1, 2.0, rf"points\[{wrong}\].positions.*'b' is sent to 2"),
        (1, 0.9, rf"points\[{wrong}\].time_from_start.*'b' would have to move by 0\.9 in 1e-09"),
        (2, 1e9, rf"points\[{wrong}\].velocities"),
    ):
        bad = [list(p) for p in points]
        bad[wrong][field] = (0.0, value, 0.0)
        if value == 0.9:
            bad[wrong][0] = bad[wrong - 1][0] + 1e-9
        with pytest.raises(TrajectoryRejected, match=text):
            splice(standing(), make(bad, moving_end=True), T0, table, max_step=0.05)
