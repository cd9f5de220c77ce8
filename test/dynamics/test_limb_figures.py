"""The three-segment limb of point masses, against its solution in closed form.

Segments of 0.8, 0.6 and 0.4 m and 0.7, 0.5 and 0.3 kg turn at 1, 2 and 4 rad/s relative to each
other, without gravity.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy import cos, sin

import robot_dynamics_ros as rd

TIMES = np.random.default_rng(5).uniform(-10.0, 10.0, 40)
RATES = np.array([1.0, 2.0, 4.0])
LIMB = rd.limb(
    3, lengths=[0.8, 0.6, 0.4], masses=[0.7, 0.5, 0.3], inertia="point", gravity=(0.0, 0.0, 0.0)
)

q = TIMES[:, None] * RATES
v = np.broadcast_to(RATES, q.shape)
a = np.zeros_like(q)
t = TIMES


def planar(fx, fy, mz):
    """(n, 6) [moment; force] of a planar wrench."""
    zero = np.zeros_like(t)
    return np.stack([zero, zero, mz + zero, fx + zero, fy + zero, zero], axis=-1)


JOINTS = {
    "joint3": planar(
        -81 / 50 * sin(4 * t) - 6 / 25 * sin(6 * t),
        -81 / 50 * cos(4 * t) - 6 / 25 * cos(6 * t) - 147 / 50,
        81 / 250 * sin(4 * t) + 6 / 125 * sin(6 * t),
    ),
    "joint2": planar(
        -16 / 25 * sin(2 * t) + 147 / 50 * sin(4 * t),
        -16 / 25 * cos(2 * t) - 147 / 50 * cos(4 * t) - 297 / 100,
        33 / 125 * sin(2 * t) - 36 / 25 * sin(4 * t) + 6 / 125 * sin(6 * t),
    ),
    "joint1": planar(
        297 / 100 * sin(2 * t) + 147 / 50 * sin(6 * t),
        -297 / 100 * cos(2 * t) - 147 / 50 * cos(6 * t) - 23 / 25,
        -264 / 125 * sin(2 * t) - 36 / 25 * sin(4 * t) - 288 / 125 * sin(6 * t),
    ),
}


@pytest.mark.parametrize("joint", JOINTS)
def test_joint_wrenches(joint):
    found = rd.joint_wrenches(LIMB, q, v, a)[:, LIMB.joint_names.index(joint)]
    np.testing.assert_allclose(found, JOINTS[joint], atol=1e-13)


SEEN_FROM_MIDDLE = {
    "dynamic": planar(24 / 25 * sin(4 * t), -24 / 25 * cos(4 * t), 0.0),
    "dalembert": planar(
        6 / 25 * sin(2 * t),
        6 / 25 * cos(2 * t) + 81 / 50,
        -81 / 250 * sin(4 * t) - 6 / 125 * sin(6 * t),
    ),
    "euler": planar(0.0, 0.0, 0.0),
    "centrifugal": planar(-27 / 50 * sin(4 * t), 27 / 50 * cos(4 * t), 0.0),
    "coriolis": planar(-36 / 25 * sin(4 * t), 36 / 25 * cos(4 * t), 0.0),
}


def observer_at_the_tip_joint():
    """The middle segment's axes, attached where the tip segment begins."""
    return rd.Frame("segment2", pose=(0.0, 0.6, 0.0))


@pytest.mark.parametrize("part", SEEN_FROM_MIDDLE)
def test_parts_of_the_tip_joint_seen_from_the_middle_segment(part):
    balance = rd.wrench_balance(LIMB, q, v, a, "segment3", observer=observer_at_the_tip_joint())
    np.testing.assert_allclose(balance[part], SEEN_FROM_MIDDLE[part], atol=1e-13)


def test_where_the_observer_is_attached_changes_the_parts_and_not_the_joint_wrench():
    at_joint = rd.wrench_balance(LIMB, q, v, a, "segment3", observer=observer_at_the_tip_joint())
    at_origin = rd.wrench_balance(LIMB, q, v, a, "segment3", observer="segment2")
    assert np.abs(at_joint["centrifugal"] - at_origin["centrifugal"]).max() > 0.1
    np.testing.assert_allclose(at_joint.fictitious, at_origin.fictitious, atol=1e-13)
    np.testing.assert_allclose(at_joint.joint, at_origin.joint, atol=1e-13)


def test_the_middle_segment_seen_from_its_own_frame_attached_at_its_far_end():
    observer = rd.Frame("segment2", pose=(0.0, 0.6, 0.0))
    balance = rd.wrench_balance(LIMB, q, v, a, "segment2", observer=observer)
    expected = planar(2 / 5 * sin(2 * t), 2 / 5 * cos(2 * t) + 27 / 10, -3 / 25 * sin(2 * t))
    np.testing.assert_allclose(balance["dalembert"], expected, atol=1e-13)
    np.testing.assert_allclose(balance["distal"][:, 3:], -in_parent_of("joint3")[:, 3:], atol=1e-13)
    np.testing.assert_allclose(balance.joint, JOINTS["joint2"], atol=1e-13)


IN_PARENT = {
    "joint3": planar(
        -6 / 25 * sin(2 * t) + 147 / 50 * sin(4 * t),
        -6 / 25 * cos(2 * t) - 147 / 50 * cos(4 * t) - 81 / 50,
        81 / 250 * sin(4 * t) + 6 / 125 * sin(6 * t),
    ),
    "joint2": planar(
        297 / 100 * sin(2 * t) + 147 / 50 * sin(6 * t),
        -297 / 100 * cos(2 * t) - 147 / 50 * cos(6 * t) - 16 / 25,
        33 / 125 * sin(2 * t) - 36 / 25 * sin(4 * t) + 6 / 125 * sin(6 * t),
    ),
}


def in_parent_of(joint):
    return rd.joint_wrenches(LIMB, q, v, a, joints=joint, expressed_in="parent")[:, 0]


@pytest.mark.parametrize("joint", IN_PARENT)
def test_joint_wrenches_in_the_parents_frame(joint):
    np.testing.assert_allclose(in_parent_of(joint), IN_PARENT[joint], atol=1e-13)


def test_tip_joint_in_the_world_frame():
    found = rd.joint_wrenches(LIMB, q, v, a, joints=["joint3"], expressed_in="world")[:, 0]
    expected = planar(
        6 / 25 * sin(t) + 81 / 50 * sin(3 * t) + 147 / 50 * sin(7 * t),
        -6 / 25 * cos(t) - 81 / 50 * cos(3 * t) - 147 / 50 * cos(7 * t),
        81 / 250 * sin(4 * t) + 6 / 125 * sin(6 * t),
    )
    np.testing.assert_allclose(found, expected, atol=1e-13)


def test_the_same_joint_wrench_from_every_frame_of_the_limb():
    frames = ["world", *LIMB.link_names, observer_at_the_tip_joint()]
    for link, joint in (("segment1", "joint1"), ("segment2", "joint2"), ("segment3", "joint3")):
        for observer in frames:
            balance = rd.wrench_balance(
                LIMB, q, v, a, link, observer=observer, expressed_in="child"
            )
            np.testing.assert_allclose(balance.joint, JOINTS[joint], atol=1e-12)


def test_inertia_of_the_middle_segment_about_its_joint_in_the_world_frame():
    """9/200 kg m² across the segment, none along it, turned by R I Rᵀ."""
    found = rd.inertia_about(LIMB, q, "segment2", point="segment2", frame="world")
    along = np.stack([-sin(3 * t), cos(3 * t), 0.0 * t], axis=-1)
    np.testing.assert_allclose(
        found, 9 / 200 * (np.eye(3) - along[:, :, None] * along[:, None, :]), atol=1e-14
    )


def test_angular_velocities_add_up_along_the_limb():
    for link, speed in (("segment1", 1.0), ("segment2", 3.0), ("segment3", 7.0)):
        seen = rd.motion(LIMB, q, v, a, point_on=link)
        np.testing.assert_allclose(seen.angular_velocity, [[0.0, 0.0, speed]] * len(t), atol=1e-13)


@pytest.mark.parametrize("segments", [1, 2, 7])
def test_the_number_of_segments_is_one_parameter(segments):
    """Uniform rotation about the base alone: the base joint carries Σ m ω² r towards itself."""
    limb = rd.limb(segments, lengths=0.5, masses=2.0, inertia="point", gravity=(0.0, 0.0, 0.0))
    speed = np.zeros(segments)
    speed[0] = 3.0
    wrench = rd.joint_wrenches(limb, np.zeros(segments), speed, np.zeros(segments))[0]
    radii = 0.5 * (np.arange(segments) + 0.5)
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, -2.0 * 9.0 * radii.sum(), 0], atol=1e-12)
