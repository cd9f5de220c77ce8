"""Inverse dynamics, and what external wrenches and a moving base do to it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import ONE_DOF, random_model, random_state

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_external_wrench_acts_as_its_jacobian_says(seed):
    model, q, v, a = draw(seed, mimic=0.3)
    rng = np.random.default_rng(seed)
    link = model.link_names[int(rng.integers(len(model.link_names)))]
    wrench = rng.normal(size=6)
    J = rd.jacobian(model, q, link, expressed_in="link")
    with_it = rd.inverse_dynamics(model, q, v, a, external={link: wrench})
    without = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(without - with_it, J.T @ wrench, atol=1e-10 * scaled(without))


@few
@given(seeds)
def test_moving_base_is_a_floating_base_whose_motion_is_given(seed):
    fixed = random_model(seed, 4)
    floating = rd.load_urdf(rd.to_urdf(fixed), floating_base=True).with_backend("interpreted")
    fixed = fixed.with_backend("interpreted")
    q, v, a = random_state(floating, seed)
    k = floating.v_slice("root_joint").stop
    assert floating.joint_names[0] == "root_joint"
    # the root's axes are the world's: gravity keeps its components
    q[:7] = rd.neutral(floating)[:7]
    w = v[:3]
    lin = v[3:6]
    classical = np.concatenate([a[:3], a[3:6] + np.cross(w, lin)])
    tau = rd.inverse_dynamics(fixed, q[7:], v[k:], a[k:], base=(v[:6], classical))
    expected = rd.inverse_dynamics(floating, q, v, a)[k:]
    assert_allclose(tau, expected, atol=1e-10 * scaled(expected))
    again = rd.forward_dynamics(fixed, q[7:], v[k:], tau, base=(v[:6], classical))
    assert_allclose(again, a[k:], atol=1e-6 * scaled(a))


@few
@given(seeds, st.floats(-3.0, 3.0))
def test_turning_base_and_gravity_together_changes_nothing(seed, roll):
    from robot_dynamics_ros.model.description import Pose

    model = random_model(seed, 4, types=ONE_DOF)
    pose = Pose.from_rpy([0.3, -0.2, 0.5], [roll, 0.4, -1.0])
    turned = model.replace(base=pose, gravity=pose.rotation @ model.gravity)
    turned = turned.with_backend("interpreted")
    model = model.with_backend("interpreted")
    q, v, a = random_state(model, seed)
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(rd.inverse_dynamics(turned, q, v, a), expected, atol=1e-11 * scaled(expected))
    link = model.link_names[-1]
    assert_allclose(
        rd.link_pose(turned, q, link), pose.matrix() @ rd.link_pose(model, q, link), atol=1e-12
    )


def test_nearly_singular_pose():
    model = rd.load_robot("six_axis").with_backend("interpreted")
    # stretched elbow, aligned wrist
    q = np.array([0.0, -1.2, 1e-9, 0.0, 1e-9, 0.0])
    v = np.ones(6)
    a = np.ones(6)
    tau = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(rd.forward_dynamics(model, q, v, tau), a, rtol=1e-9)
    with pytest.raises(rd.ArgumentError, match="cannot move in all six directions"):
        rd.operational_space_inertia(model, np.zeros(6), model.link_names[-1])
