"""What is written as URDF loads as the same robot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import (
    ALL_TYPES,
    random_description,
    random_model,
    random_state,
    with_normals_along_z,
)

import robot_dynamics_ros as rd

ARRAYS = (
    "parent",
    "joint_type",
    "joint_axis",
    "joint_rotation",
    "joint_position",
    "body_mass",
    "body_com",
    "body_inertia",
    "q_index",
    "v_index",
    "mimic_master",
    "mimic_multiplier",
    "mimic_offset",
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
    "damping",
    "friction",
    "armature",
    "link_body",
    "link_rotation",
    "link_position",
)
EXACT = {
    "parent",
    "joint_type",
    "q_index",
    "v_index",
    "mimic_master",
    "lower",
    "upper",
    "velocity_limit",
    "effort_limit",
}


def assert_same(one, other):
    assert (
        one.name == other.name
        and one.joint_names == other.joint_names
        and one.link_names == other.link_names
    )
    for name in ARRAYS:
        tolerance = 0 if name in EXACT else 1e-14
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol=tolerance, atol=tolerance, err_msg=name
        )
    assert dict(one.description.initial_positions) == dict(other.description.initial_positions)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_random_trees_survive_the_round_trip(seed, floating):
    model = random_model(
        seed,
        1 + seed % 12,
        types=ALL_TYPES,
        mimic=0.3,
        friction=True,
        armature=True,
        limits=seed % 3 > 0,
        floating_base=floating,
    )
    assert_same(rd.load_urdf(rd.to_urdf(model)), model)


@pytest.mark.parametrize("name", rd.robot_names())
def test_own_robots_survive_the_round_trip(name):
    model = rd.load_robot(name)
    assert_same(rd.load_urdf(rd.to_urdf(model)), model)
    assert rd.to_urdf(model) == rd.to_urdf(model.description)


def test_names_are_escaped():
    name = "a & b < \"c\" > 'd' é"
    model = rd.RobotModel.from_description(rd.RobotDescription(name, (rd.Link(name),), ()))
    assert rd.load_urdf(rd.to_urdf(model)).link_names == (name,)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.0, 0.0])
def test_orientations_survive_where_roll_and_yaw_coincide(pitch):
    pose = rd.Pose.from_rpy((0, 0, 0), (0.7, pitch, -1.1))
    np.testing.assert_allclose(rd.Pose.from_rpy(rpy=pose.rpy()).rotation, pose.rotation, atol=1e-15)


def test_pinocchio_reads_what_is_written():
    from support.pinocchio_bridge import PinocchioBridge

    pytest.importorskip("pinocchio")
    for seed in range(20):
        description = with_normals_along_z(
            random_description(seed, types=ALL_TYPES, limits=seed % 2 > 0)
        )
        model = rd.RobotModel.from_description(description)
        bridge = PinocchioBridge(model, rd.to_urdf(model))
        for i, name in enumerate(model.moving_joint_names):
            body = bridge.model.inertias[bridge.model.getJointId(name)]
            np.testing.assert_allclose(model.body_inertia[i], body.inertia, atol=1e-12)
            np.testing.assert_allclose(model.body_com[i], body.lever, atol=1e-12)


def test_turning_normals_to_z_changes_nothing_but_frames(monkeypatch):
    monkeypatch.setenv("ROBOT_DYNAMICS_BACKEND", "interpreted")
    for seed in range(20):
        description = random_description(seed, types=(rd.JointType.PLANAR, rd.JointType.REVOLUTE))
        one = rd.RobotModel.from_description(description)
        other = rd.RobotModel.from_description(with_normals_along_z(description))
        q, v, a = random_state(one, seed)
        tau = rd.inverse_dynamics(one, q, v, a)
        np.testing.assert_allclose(
            rd.inverse_dynamics(other, q, v, a), tau, rtol=0, atol=1e-12 * np.abs(tau).max()
        )
