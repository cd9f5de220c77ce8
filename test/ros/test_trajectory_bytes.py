"""Trajectories read from serialized messages are those that rclpy's own objects give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy")

from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.ros.controller.trajectory_messages import trajectory_from_bytes, trajectory_from_message


def message(rng, n, k, kinds, frame=""):
    """n points of k joints; ``kinds``: for each point in turn, how many of the four fields it has."""
    m = JointTrajectory(joint_names=[f"joint{i}" * (1 + i % 3) for i in range(k)])
    m.header.frame_id = frame
    m.header.stamp.sec = int(rng.integers(0, 100))
    for i in range(n):
        values = [rng.normal(size=k).tolist() for _ in range(4)]
        kind = kinds[i % len(kinds)]
        point = JointTrajectoryPoint(positions=values[0])
        if kind > 1:
            point.velocities = values[1] if i < n - 1 else [0.0] * k
        if kind > 2:
            point.accelerations = values[2]
        if kind > 3:
            point.effort = values[3]
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(10_000_000 * (i + 1), 10**9)
        m.points.append(point)
    return m


def same(a, b):
    assert (a.joint_names, a.stamp) == (b.joint_names, b.stamp)
    for name in ("times", "positions", "velocities", "accelerations", "degree"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.effort is None) == (b.effort is None)
    if a.effort is not None:
        np.testing.assert_array_equal(a.effort, b.effort)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.integers(1, 8),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.text("abc_/", max_size=5),
)
def test_bytes_and_objects_give_the_same_trajectory(seed, n, k, kinds, frame):
    m = message(np.random.default_rng(seed), n, k, kinds, frame)
    same(trajectory_from_bytes(bytes(serialize_message(m))), trajectory_from_message(m))


@settings(max_examples=100)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.binary(max_size=20), st.integers(0, 10**6))
def test_broken_bytes_are_refused_with_a_reason(seed, n, junk, cut):
    raw = bytes(serialize_message(message(np.random.default_rng(seed), n, 3, [2])))
    at = cut % len(raw)
    for broken in (raw[:at], raw[:at] + junk + raw[at + len(junk) :]):
        try:
            trajectory_from_bytes(broken)
        except rd.TrajectoryRejected as error:
            assert str(error)


@pytest.mark.parametrize(
    ("spoil", "where"),
    [
        (lambda m: setattr(m.points[700], "positions", [1.0, 2.0]), r"points\[700\].positions"),
        (lambda m: m.points[700].positions.__setitem__(1, float("nan")), r"points\[700\].positions"),
        (lambda m: setattr(m.points[700].time_from_start, "sec", 0), r"points\[700\].time_from_start"),
        (lambda m: setattr(m.points[700], "positions", []), r"points\[700\]"),
        (lambda m: setattr(m, "joint_names", ["a", "b", "a"]), r"joint_names\[2\]"),
    ],
)
def test_what_is_wrong_with_one_of_a_thousand_points_is_said(spoil, where):
    m = message(np.random.default_rng(1), 1000, 3, [2])
    spoil(m)
    with pytest.raises(rd.TrajectoryRejected, match=where):
        trajectory_from_bytes(bytes(serialize_message(m)))
