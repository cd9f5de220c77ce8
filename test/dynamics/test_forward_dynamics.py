"""Forward dynamics undoes inverse dynamics, on easy and on hard robots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import random_model, random_state

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_forward_undoes_inverse(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-10 * scaled(tau))


@pytest.mark.parametrize("masses", [(1e-6, 1e-6), (1e4, 1e4), (1e-6, 1e4)])
@pytest.mark.parametrize("seed", range(5))
def test_ill_conditioned_robots(masses, seed):
    model = random_model(seed, 8, masses=masses).with_backend("interpreted")
    q, v, a = random_state(model, seed)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-9 * np.abs(tau).max())


@pytest.mark.parametrize("backend", rd.available_backends())
def test_hundreds_of_links(backend):
    # Python takes its time for a source of so many lines
    n = 100 if backend == "numpy" else 500
    model = rd.chain(n).with_backend(backend)
    rng = np.random.default_rng(0)
    q = rng.uniform(-1, 1, n)
    v = rng.normal(size=n)
    a = rng.normal(size=n)
    tau = rd.inverse_dynamics(model, q, v, a)
    again = rd.inverse_dynamics(model, q, v, rd.forward_dynamics(model, q, v, tau))
    assert_allclose(again, tau, atol=1e-8 * np.abs(tau).max())
    if backend in ("native", "loops"):
        M = rd.mass_matrix(model, q)
        assert_allclose(M @ a + rd.bias_forces(model, q, v), tau, atol=1e-11 * np.abs(tau).max())
