"""Mass matrix, its factors and inverse, Coriolis matrix, configuration-space form."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import ONE_DOF

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


@few
@given(seeds)
def test_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(seed):
    model, q, v, _ = draw(seed, mimic=0.3)
    h = 1e-5
    rate = (
        rd.mass_matrix(model, rd.integrate(model, q, v * h)) - rd.mass_matrix(model, rd.integrate(model, q, -v * h))
    ) / (2 * h)
    C = rd.coriolis_matrix(model, q, v)
    N = rate - 2 * C
    assert_allclose(N, -N.T, atol=2e-6 * scaled(C))
    assert_allclose(
        C @ v, rd.bias_forces(model, q, v) - rd.gravity_forces(model, q), atol=1e-10 * scaled(C) * scaled(v)
    )


@few
@given(seeds)
def test_configuration_space_form_adds_up(seed):
    model, q, v, a = draw(seed, types=ONE_DOF, mimic=0.3)
    B, C = rd.configuration_space_form(model, q)
    tau = rd.mass_matrix(model, q) @ a + B @ rd.velocity_products(v) + C @ v**2 + rd.gravity_forces(model, q)
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-10 * scaled(expected))
    symbols = rd.christoffel_symbols(model, q)
    assert_allclose(symbols, np.swapaxes(symbols, -1, -2), atol=1e-10 * scaled(symbols))
    assert_allclose(symbols @ v, rd.coriolis_matrix(model, q, v), atol=1e-10 * scaled(symbols) * scaled(v))


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
