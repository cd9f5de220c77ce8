"""Serialized messages read and written in place, held to what the middleware's own conversion
says.
"""

from __future__ import annotations

import array
import math
import struct

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="ROS 2 is not installed")

from geometry_msgs.msg import WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from robot_dynamics_ros.ros.transport.cdr import (
    JointStateLayout,
    JointStateReader,
    StateRejected,
    Template,
    marks,
    plain,
)

names = st.lists(
    st.text("abcdefghij_0123456789é", min_size=1, max_size=9), min_size=1, max_size=8, unique=True
)


def joint_state(
    joints, position=None, velocity=None, effort=None, frame="", stamp=(1, 2)
) -> JointState:
    n = len(joints)
    message = JointState(name=list(joints))
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = stamp
    message.position = array.array("d", np.arange(n) if position is None else position)
    message.velocity = array.array("d", 10.0 + np.arange(n) if velocity is None else velocity)
    message.effort = array.array("d", 20.0 + np.arange(n) if effort is None else effort)
    return message


@given(names, st.text(max_size=9), st.data())
def test_every_joint_lands_in_its_place_whatever_the_order(joints, frame, data):
    published = [*data.draw(st.permutations(joints)), "a foreign joint"]
    wanted = data.draw(st.lists(st.sampled_from(joints), min_size=1, unique=True))
    rng = np.random.default_rng(len(frame))
    values = rng.standard_normal((3, len(published)))
    raw = serialize_message(joint_state(published, *values, frame=frame, stamp=(-3, 999_999_999)))
    reader = JointStateReader(wanted)
    # the second time from the layout remembered
    for _ in range(2):
        reader.read(raw)
        where = [published.index(name) for name in wanted]
        assert reader.position.tolist() == values[0][where].tolist()
        assert reader.velocity.tolist() == values[1][where].tolist()
        assert reader.effort.tolist() == values[2][where].tolist()
        assert reader.effort_known
        assert reader.stamp == -3 * 10**9 + 999_999_999


@given(names, st.text(max_size=5), st.booleans(), st.data())
def test_bytes_that_are_the_same_in_all_messages(joints, frame, measured, data):
    effort = None if measured else []
    layout = JointStateLayout(serialize_message(joint_state(joints, effort=effort, frame=frame)))
    reader = JointStateReader(joints)
    values = data.draw(
        st.lists(st.floats(-10.0, 10.0), min_size=3 * len(joints), max_size=3 * len(joints))
    )
    rows = np.reshape(values, (3, -1))
    raw = serialize_message(
        joint_state(
            joints, rows[0], rows[1], rows[2] if measured else [], frame=frame, stamp=(7, 8)
        )
    )
    same = np.frombuffer(layout.fixed, np.uint8) > 0
    assert len(layout.example) == len(layout.fixed) <= len(raw)
    got, expected = (np.frombuffer(x[: len(same)], np.uint8) for x in (raw, layout.example))
    assert (got[same] == expected[same]).all()
    # and every change of such a byte makes it another layout
    at = data.draw(st.sampled_from(np.flatnonzero(same).tolist()))
    changed = bytearray(raw)
    changed[at] ^= data.draw(st.integers(1, 255))
    assert not layout.fits(bytes(changed))
    reader.read(raw)
    words = np.frombuffer(raw[: len(raw) // 4 * 4], np.uint32)
    (table,) = (layout.table for layout in reader._tables)
    for row, wanted in zip(range(3 if measured else 2), rows, strict=False):
        for k in range(len(joints)):
            at = int(table[3 + row * len(joints) + k])
            assert struct.unpack("=d", words[at : at + 2].tobytes())[0] == wanted[k]


@given(names)
def test_a_layout_fits_its_own_messages_and_no_other(joints):
    layout = JointStateLayout(serialize_message(joint_state(joints)))
    assert layout.fits(
        serialize_message(joint_state(joints, position=-np.arange(len(joints)), stamp=(9, 9)))
    )
    assert not layout.fits(serialize_message(joint_state(joints, frame="other")))
    assert not layout.fits(serialize_message(joint_state([*joints, "one more"])))
    assert not layout.fits(serialize_message(joint_state([f"{joints[0]}x", *joints[1:]])))
    assert not layout.fits(serialize_message(joint_state(joints, effort=[])))
    assert not layout.fits(serialize_message(joint_state(joints))[:-1])


def test_padding_between_strings_may_hold_anything():
    raw = bytearray(serialize_message(joint_state(["ab", "cde"])))
    layout = JointStateLayout(bytes(raw))
    at = raw.index(b"ab\0") + 3
    raw[at : at + 1] = b"\xee"
    assert layout.fits(bytes(raw))


def test_orders_that_alternate_are_both_remembered():
    reader = JointStateReader(["a", "b"])
    one = serialize_message(joint_state(["a", "b"], position=[1.0, 2.0]))
    two = serialize_message(joint_state(["b", "a"], position=[1.0, 2.0]))
    for _ in range(3):
        reader.read(one)
        assert reader.position.tolist() == [1.0, 2.0]
        reader.read(two)
        assert reader.position.tolist() == [2.0, 1.0]


def test_big_endian_messages_are_understood():
    body = struct.pack(">iI", 5, 7) + struct.pack(">I", 1) + b"\0" + b"\0" * 3
    body += struct.pack(">I", 1) + struct.pack(">I", 2) + b"j\0" + b"\0" * 2
    for value in (1.5, -2.5, 3.5):
        body += struct.pack(">I", 1)
        body += b"\0" * (-len(body) % 8) + struct.pack(">d", value)
    reader = JointStateReader(["j"])
    reader.read(b"\0\0\0\0" + body)
    assert (reader.stamp, reader.position[0], reader.velocity[0], reader.effort[0]) == (
        5_000_000_007,
        1.5,
        -2.5,
        3.5,
    )


@pytest.mark.parametrize(
    ("message", "cause", "words"),
    [
        (joint_state(["a"]), "missing_joint", "'b' is missing"),
        (joint_state(["x", "y"]), "unrelated", "none of the robot's joints"),
        (joint_state(["a", "b", "b"]), "duplicate_joint", "'b' is named 2 times"),
        (
            joint_state(["a", "b"], position=[1.0]),
            "wrong_length",
            "position has 1 values for 2 names",
        ),
        (joint_state(["a", "b"], position=[]), "wrong_length", "position has no values"),
        (
            joint_state(["a", "b"], velocity=[1.0, 2.0, 3.0]),
            "wrong_length",
            "velocity has 3 values for 2 names",
        ),
        (joint_state(["a", "b"], velocity=[]), "missing_velocity", "velocity has no values"),
        (joint_state(["a", "b"], effort=[1.0]), "wrong_length", "effort has 1 values for 2 names"),
        (
            joint_state(["a", "b"], position=[0.0, math.nan]),
            "not_finite",
            "position of joint 'b' is nan",
        ),
        (
            joint_state(["a", "b"], velocity=[-math.inf, 0.0]),
            "not_finite",
            "velocity of joint 'a' is -inf",
        ),
        (
            joint_state(["a", "b"], velocity=[1e100, 0.0]),
            "absurd",
            r"velocity of joint 'a' is 1e\+100",
        ),
        (
            joint_state(["a", "b"], velocity=[0.0, -1e300]),
            "absurd",
            r"velocity of joint 'b' is -1e\+300",
        ),
        (
            joint_state(["a", "b"], position=[1e160, 0.0]),
            "absurd",
            r"position of joint 'a' is 1e\+160",
        ),
    ],
)
def test_bad_states_are_refused_and_leave_the_last_good_one(message, cause, words):
    reader = JointStateReader(["a", "b"])
    reader.read(serialize_message(joint_state(["a", "b"], position=[3.0, 4.0], stamp=(8, 0))))
    for _ in range(2):
        with pytest.raises(StateRejected, match=words) as caught:
            reader.read(serialize_message(message))
        assert caught.value.cause == cause
        assert reader.position.tolist() == [3.0, 4.0]
        assert reader.stamp == 8_000_000_000


def test_values_of_foreign_joints_and_unknown_efforts_do_not_matter():
    reader = JointStateReader(["a", "b"])
    reader.read(serialize_message(joint_state(["a", "c", "b"], position=[1.0, math.nan, 2.0])))
    assert reader.position.tolist() == [1.0, 2.0]
    reader.read(serialize_message(joint_state(["a", "b"], effort=[math.nan, 1.0])))
    assert not reader.effort_known
    reader.read(serialize_message(joint_state(["a", "b"], effort=[1e300, 1.0])))
    assert not reader.effort_known
    reader.read(serialize_message(joint_state(["a", "b"], effort=[])))
    assert not reader.effort_known


def test_a_joint_that_has_turned_often_is_believed():
    reader = JointStateReader(["a", "b"])
    reader.read(serialize_message(joint_state(["a", "b"], position=[9e5, 0.0])))
    assert reader.position.tolist() == [9e5, 0.0]


@pytest.mark.parametrize(
    "garbage", [b"", b"\0\1\0\0", b"\0\1\0\0" + b"\xff" * 60, b"\7\7\7\7\7\7\7\7"]
)
def test_garbage_is_refused(garbage):
    with pytest.raises(StateRejected) as caught:
        JointStateReader(["a"]).read(garbage)
    assert caught.value.cause == "malformed"


@pytest.mark.parametrize("seconds", [2**31 - 1, 2**31, 2**32 - 1, -1, -(2**31)])
def test_a_stamp_of_any_second_is_written(seconds):
    """A safe command must go out whatever the joint state's stamp was."""
    effort = marks(2)
    template = Template(JointState(name=["a", "b"], effort=effort), effort)
    template.stamp(seconds * 10**9 + 4)
    stamp = deserialize_message(template.bytes(), JointState).header.stamp
    assert (stamp.sec - seconds) % 2**32 == 0 and stamp.nanosec == 4


def test_templates_write_what_the_middleware_reads():
    message = WrenchStamped()
    numbers = marks(6)
    message.header.frame_id = "a link"
    for vector, first in ((message.wrench.force, 0), (message.wrench.torque, 3)):
        vector.x, vector.y, vector.z = numbers[first : first + 3]
    template = Template(message, numbers)
    template.blocks[0][:] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    template.stamp(12_000_000_034)
    read = deserialize_message(template.bytes(), WrenchStamped)
    force = read.wrench.force
    torque = read.wrench.torque
    assert [force.x, force.y, force.z, torque.x, torque.y, torque.z] == [
        1.0,
        2.0,
        3.0,
        4.0,
        5.0,
        6.0,
    ]
    assert (read.header.frame_id, read.header.stamp.sec, read.header.stamp.nanosec) == (
        "a link",
        12,
        34,
    )

    template = Template(Float64MultiArray(data=marks(3)), marks(3))
    template.blocks[0][:] = [1.0, 2.0, 3.0]
    assert deserialize_message(template.bytes(), Float64MultiArray).data.tolist() == [1.0, 2.0, 3.0]
    assert plain(template.bytes(), Float64MultiArray) == template.bytes()


@given(names, st.booleans(), st.booleans())
def test_templates_of_joint_states_with_empty_fields(joints, with_position, with_velocity):
    n = len(joints)
    fields = {"effort": marks(n)}
    if with_position:
        fields["position"] = marks(n, n + 1)
    if with_velocity:
        fields["velocity"] = marks(n, 2 * n + 1)
    template = Template(JointState(name=joints, **fields), *fields.values())
    for k, block in enumerate(template.blocks):
        block[:] = np.arange(n) + 100.0 * k
    read = deserialize_message(template.bytes(), JointState)
    for k, field in enumerate(fields):
        assert getattr(read, field).tolist() == (np.arange(n) + 100.0 * k).tolist()
    assert list(read.name) == joints
