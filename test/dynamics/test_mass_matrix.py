"""Mass matrix, its factors and inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_mass_matrix_is_the_slope_of_inverse_dynamics(seed):
    model, q, v, _ = draw(seed, armature=True, mimic=0.3)
    bias = rd.bias_forces(model, q, v)
    columns = rd.inverse_dynamics(model, q, v, np.eye(model.nv)) - bias
    M = rd.mass_matrix(model, q)
    assert_allclose(columns.T, M, atol=1e-11 * (scaled(M) + scaled(bias)))
    assert_allclose(M, M.T, atol=0)
    assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.parametrize("seed", range(3))
def test_the_mass_matrix_is_the_sum_over_links_of_their_jacobians(seed):
    """M = Σ mᵢ Jvᵀ Jv + Jωᵀ R I Rᵀ Jω, link by link, rotors aside."""
    model = random_model(seed, 6, types=ONE_DOF, mimic=0.2)
    q = np.random.default_rng(seed).normal(size=model.nq)
    total = np.zeros((model.nv, model.nv))
    for link in model.link_names:
        body = model.link(link).inertia
        J = rd.jacobian(model, q, link, offset=body.com)
        R = rd.link_pose(model, q, link)[:3, :3]
        total += body.mass * J[3:].T @ J[3:] + J[:3].T @ R @ body.rotational @ R.T @ J[:3]
    assert_allclose(
        total + np.diag(model.armature), rd.mass_matrix(model, q), rtol=1e-10, atol=1e-12
    )


@few
@given(seeds)
def test_factors_and_inverse(seed):
    model, q, _, _ = draw(seed, mimic=0.3, armature=True)
    M = rd.mass_matrix(model, q)
    L, D = rd.mass_matrix_factors(model, q)
    assert_allclose(L.T @ np.diag(D) @ L, M, atol=1e-12 * scaled(M))
    assert_allclose(np.diag(L), 1.0)
    assert_allclose(np.triu(L, 1), 0.0)
    assert_allclose(M @ rd.mass_matrix_inverse(model, q) @ M, M, atol=1e-9 * scaled(M))


def test_factors_keep_the_zeros_of_a_branched_tree():
    model = rd.load_robot("two_arm_torso").with_backend("numpy")
    q = rd.random_configuration(model, 0)
    M = rd.mass_matrix(model, q)
    L, _ = rd.mass_matrix_factors(model, q)
    zeros = np.tril(M == 0.0)
    assert zeros.any()
    assert np.all(L[zeros] == 0.0)
