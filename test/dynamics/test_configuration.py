"""Moving about in configuration space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation
from support.random_trees import ALL_TYPES, random_model, random_state
from support.simple_robots import free_body

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.kinematics import quaternion_of, rpy_of

seeds = st.integers(0, 1000)


@given(seeds, st.sampled_from([1e-9, 1e-4, 0.1, 1.0]))
def test_difference_undoes_integrate(seed, size):
    model = random_model(seed, 4, types=ALL_TYPES)
    q, v, _ = random_state(model, seed)
    dv = size * v / np.linalg.norm(v)
    moved = rd.integrate(model, q, dv)
    assert_allclose(rd.difference(model, q, moved), dv, atol=1e-14 + 1e-12 * size)
    assert_allclose(rd.integrate(model, moved, -dv), q, atol=1e-12)
    out = np.empty(model.nq)
    assert rd.integrate(model, q, dv, out=out) is out
    assert_allclose(out, moved)


@given(seeds)
def test_against_pinocchio(seed):
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(seed)
    q = np.concatenate([rng.normal(size=3), Rotation.random(random_state=seed).as_quat()])
    twist = rng.normal(size=6)
    free = pin.Model()
    free.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "free")
    ours = rd.integrate(free_body(), q, twist)
    theirs = pin.integrate(free, q, twist[[3, 4, 5, 0, 1, 2]])
    # either sign is the same rotation
    theirs[3:] *= np.sign(theirs[3:] @ ours[3:])
    assert_allclose(ours, theirs, atol=1e-13)
    assert_allclose(
        rd.difference(free_body(), q, ours),
        pin.difference(free, q, theirs)[[3, 4, 5, 0, 1, 2]],
        atol=1e-12,
    )


def test_one_step_is_many_small_ones():
    model = free_body()
    q = rd.neutral(model)
    twist = np.array([0.4, -1.0, 2.0, 0.3, 0.2, -0.5])
    small = q
    for _ in range(100):
        small = rd.integrate(model, small, twist / 100)
    assert_allclose(small, rd.integrate(model, q, twist), atol=1e-12)


def test_random_configurations_stay_within_limits():
    model = random_model(3, 8, types=ALL_TYPES)
    q = rd.random_configuration(model, 0, size=(50, 2))
    assert q.shape == (50, 2, model.nq)
    assert np.all(q >= model.lower) and np.all(q <= model.upper)
    assert np.array_equal(q, rd.random_configuration(model, 0, size=(50, 2)))
    assert_allclose(
        rd.mass_matrix(model.with_backend("numpy"), q).shape, (50, 2, model.nv, model.nv)
    )


def test_clamp_to_limits():
    model = random_model(4, 6, types=ALL_TYPES)
    q, _, _ = random_state(model, 0)
    clamped = rd.clamp_to_limits(model, 10.0 * q)
    bounded = np.isfinite(model.lower)
    assert np.all(clamped[bounded] >= model.lower[bounded]) and np.all(
        clamped[bounded] <= model.upper[bounded]
    )
    with pytest.raises(rd.ArgumentError):
        rd.clamp_to_limits(model, q[:-1])


@given(seeds)
def test_orientations(seed):
    R = Rotation.random(5, random_state=seed)
    assert_allclose(
        Rotation.from_quat(quaternion_of(R.as_matrix())).as_matrix(), R.as_matrix(), atol=1e-14
    )
    assert_allclose(
        Rotation.from_euler("xyz", rpy_of(R.as_matrix())).as_matrix(), R.as_matrix(), atol=1e-13
    )


def test_half_turns_have_quaternions():
    for axis in np.eye(3):
        R = Rotation.from_rotvec(np.pi * axis).as_matrix()
        assert_allclose(np.abs(quaternion_of(R)[:3]), axis, atol=1e-15)
