"""Coriolis matrix and forces, Christoffel symbols, configuration-space form."""

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
def test_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(seed):
    model, q, v, _ = draw(seed, mimic=0.3)
    h = 1e-5
    rate = (
        rd.mass_matrix(model, rd.integrate(model, q, v * h))
        - rd.mass_matrix(model, rd.integrate(model, q, -v * h))
    ) / (2 * h)
    C = rd.coriolis_matrix(model, q, v)
    N = rate - 2 * C
    assert_allclose(N, -N.T, atol=2e-6 * scaled(C))
    assert_allclose(
        C @ v,
        rd.bias_forces(model, q, v) - rd.gravity_forces(model, q),
        atol=1e-10 * scaled(C) * scaled(v),
    )


@few
@given(seeds)
def test_configuration_space_form_adds_up(seed):
    model, q, v, a = draw(seed, types=ONE_DOF, mimic=0.3)
    B, C = rd.configuration_space_form(model, q)
    tau = (
        rd.mass_matrix(model, q) @ a
        + B @ rd.velocity_products(v)
        + C @ v**2
        + rd.gravity_forces(model, q)
    )
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-10 * scaled(expected))
    symbols = rd.christoffel_symbols(model, q)
    assert_allclose(symbols, np.swapaxes(symbols, -1, -2), atol=1e-10 * scaled(symbols))
    assert_allclose(
        symbols @ v, rd.coriolis_matrix(model, q, v), atol=1e-10 * scaled(symbols) * scaled(v)
    )


@pytest.mark.parametrize("seed", range(2))
def test_coriolis_forces_are_the_bias_without_gravity(seed):
    model = random_model(seed, 6)
    q = rd.random_configuration(model, np.random.default_rng(seed))
    v = np.random.default_rng(seed).normal(size=model.nv)
    expected = rd.bias_forces(model, q, v) - rd.gravity_forces(model, q)
    assert_allclose(rd.coriolis_forces(model, q, v), expected, rtol=1e-10, atol=1e-10)
    assert_allclose(rd.coriolis_matrix(model, q, v) @ v, expected, rtol=1e-9, atol=1e-9)
