"""Trajectories read from serialized messages are those that rclpy's own objects give."""

from __future__ import annotations

import struct
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("rclpy")

from builtin_interfaces.msg import Duration
from rclpy.serialization import serialize_message
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.reference.trajectory import Trajectory
from robot_dynamics_ros.ros.controller import trajectory_messages
from robot_dynamics_ros.ros.controller.trajectory_messages import (
    ActionGoal,
    point_from_message,
    to_nanoseconds,
    trajectory_from_bytes,
)
from robot_dynamics_ros.ros.transport.cdr import CdrReader


def trajectory_from_message(m):
    """By an object of rclpy for each point."""
    points = [point_from_message(point) for point in m.points]
    return Trajectory.from_points(
        tuple(m.joint_names), points, stamp=to_nanoseconds(m.header.stamp)
    )


def message(rng, n, k, kinds, frame=""):
    """n points of k joints; ``kinds``: for each point in turn, how many of the four fields it
    has.
    """
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
        point.time_from_start.sec, point.time_from_start.nanosec = divmod(
            10_000_000 * (i + 1), 10**9
        )
        m.points.append(point)
    return m


def same(a, b):
    assert (a.joint_names, a.stamp) == (b.joint_names, b.stamp)
    for name in ("times", "positions", "velocities", "accelerations", "degree"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.effort is None) == (b.effort is None)
    if a.effort is not None:
        np.testing.assert_array_equal(a.effort, b.effort)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_small_message_does_not_take_all_memory(extra):
    """Room for 4000 points of 4000 joints is half a gigabyte; there is nothing to put into it."""
    m = JointTrajectory(
        joint_names=[f"j{k}" for k in range(4000)], points=[JointTrajectoryPoint()] * 4000
    )
    m.points[0] = JointTrajectoryPoint(positions=[0.0] * 4000 * extra)
    raw = serialize_message(m)
    tracemalloc.start()
    with pytest.raises(rd.TrajectoryRejected, match="positions"):
        trajectory_from_bytes(raw)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 * len(raw)


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
        (
            lambda m: m.points[700].positions.__setitem__(1, float("nan")),
            r"points\[700\].positions",
        ),
        (
            lambda m: setattr(m.points[700].time_from_start, "sec", 0),
            r"points\[700\].time_from_start",
        ),
        (lambda m: setattr(m.points[700], "positions", []), r"points\[700\]"),
        (lambda m: setattr(m, "joint_names", ["a", "b", "a"]), r"joint_names\[2\]"),
    ],
)
def test_what_is_wrong_with_one_of_a_thousand_points_is_said(spoil, where):
    m = message(np.random.default_rng(1), 1000, 3, [2])
    spoil(m)
    with pytest.raises(rd.TrajectoryRejected, match=where):
        trajectory_from_bytes(bytes(serialize_message(m)))


@given(
    names=st.lists(st.text("abc", min_size=1, max_size=9), min_size=1, max_size=3, unique=True),
    n=st.integers(1, 40),
    frame=st.text("xyz", max_size=9),
    tail=st.lists(st.floats(allow_nan=False), min_size=1, max_size=4),
)
def test_the_request_around_a_long_trajectory_keeps_its_identity_and_what_follows(
    names, n, frame, tail
):
    """What is left is a request with an empty trajectory, in which the numbers behind it are
    aligned as they were.
    """
    message = JointTrajectory(joint_names=names)
    message.header.frame_id = frame
    message.header.stamp.sec = 7
    for i in range(n):
        message.points.append(
            JointTrajectoryPoint(
                positions=[0.5 + i] * len(names), time_from_start=Duration(sec=i + 1)
            )
        )
    writer = bytearray(bytes(serialize_message(message)))
    identity = bytes(range(16))
    # 16 bytes leave the alignment as it is
    raw = writer[:4] + identity + writer[4:]
    end = trajectory_messages.read_trajectory(bytes(raw), 20).end
    raw = raw[:end] + struct.pack("=I", len(tail))
    raw += bytes(-(len(raw) - 4) % 8) + struct.pack(f"={len(tail)}d", *tail)
    seen = []

    def deserialize(short, request_type):
        assert request_type == "the type"
        reader = CdrReader(short, 4)
        assert short[4:20] == identity
        reader.offset = 20
        # the stamp
        assert reader.int32() == 0 and reader.uint32() == 0
        assert not reader.string().strip()
        # joints, points
        assert reader.uint32() == 0 and reader.uint32() == 0
        seen.extend(reader.doubles())
        assert reader.offset == len(short)
        goal = SimpleNamespace(
            path_tolerance="path", goal_tolerance="goal", goal_time_tolerance="time"
        )
        return SimpleNamespace(goal_id="identity", goal=goal)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trajectory_messages, "deserialize_message", deserialize)
        goal_id, goal = ActionGoal.read("the type", bytes(raw))
    assert seen == tail
    assert (goal_id, goal.path_tolerance, goal.size) == ("identity", "path", len(raw))
    same(goal.trajectory.checked(), trajectory_from_message(message))


def test_a_request_that_is_none_is_said_to_be_none():
    for raw in (b"", b"\0\1\0\0" + bytes(16), b"\0\1\0\0" + bytes(64), b"\0\1\0\0" + b"\xff" * 80):
        with pytest.raises(ValueError):
            ActionGoal.read(JointTrajectory, raw)
