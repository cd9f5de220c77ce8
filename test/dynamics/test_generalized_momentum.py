"""Generalized momentum and its rate."""

from __future__ import annotations

import pytest
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, random_model, random_state

import robot_dynamics_ros as rd


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("backend", rd.available_backends())
def test_it_is_the_mass_matrix_and_the_transposed_coriolis_matrix(seed, backend):
    model = random_model(seed, 6, types=ALL_TYPES).with_backend("interpreted")
    q, v, _ = random_state(model, seed)
    p, rate = rd.kernel(model.with_backend(backend), "generalized_momentum")(q, v)
    assert_allclose(p, rd.mass_matrix(model, q) @ v, atol=1e-9)
    assert_allclose(
        rate, rd.coriolis_matrix(model, q, v).T @ v - rd.gravity_forces(model, q), atol=1e-8
    )


@pytest.mark.parametrize("seed", range(3))
def test_momentum_changes_by_its_rate_and_the_efforts(seed):
    model = random_model(seed, 5, types=ALL_TYPES)
    q, v, tau = random_state(model, seed)
    run = rd.kernel(model, "generalized_momentum")
    a = rd.forward_dynamics(model, q, v, tau)
    h = 1e-5
    before, _ = run(rd.integrate(model, q, -h * v + 0.5 * h * h * a), v - h * a)
    after, _ = run(rd.integrate(model, q, h * v + 0.5 * h * h * a), v + h * a)
    assert_allclose((after - before) / (2 * h), run(q, v)[1] + tau, atol=2e-4, rtol=2e-5)
