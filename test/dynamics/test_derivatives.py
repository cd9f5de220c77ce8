"""Analytical derivatives against difference quotients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import ALL_TYPES, ONE_DOF, random_model, random_state

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_derivatives_are_difference_quotients(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    link = model.link_names[-1]
    external = {link: np.arange(1.0, 7.0)}
    by_q, by_v = rd.inverse_dynamics_derivatives(model, q, v, a, external=external)
    h = 1e-6
    steps = h * np.eye(model.nv)

    def tau(q, v):
        return rd.inverse_dynamics(model, q, v, a, external=external)

    expected_q = (
        tau(rd.integrate(model, q, steps), v) - tau(rd.integrate(model, q, -steps), v)
    ).T / (2 * h)
    expected_v = (tau(q, v + steps) - tau(q, v - steps)).T / (2 * h)
    assert_allclose(by_q, expected_q, atol=2e-7 * scaled(expected_q))
    assert_allclose(by_v, expected_v, atol=2e-7 * scaled(expected_v))


@few
@given(seeds)
def test_forward_derivatives_are_difference_quotients(seed):
    model, q, v, tau = draw(seed, types=ONE_DOF, armature=True)
    by_q, by_v, by_tau = rd.forward_dynamics_derivatives(model, q, v, tau)
    h = 1e-6
    steps = h * np.eye(model.nv)

    def a(q, v, tau):
        return rd.forward_dynamics(model, q, v, tau)

    for ours, up, down in (
        (by_q, (q + steps, v, tau), (q - steps, v, tau)),
        (by_v, (q, v + steps, tau), (q, v - steps, tau)),
        (by_tau, (q, v, tau + steps), (q, v, tau - steps)),
    ):
        expected = (a(*up) - a(*down)).T / (2 * h)
        assert_allclose(ours, expected, atol=1e-6 * scaled(expected))


@pytest.mark.parametrize(("bodies", "types"), [(9, ONE_DOF), (30, ALL_TYPES)])
def test_large_robots_divide_by_the_mass_matrix_as_numpy_does(bodies, types):
    """Trees with branches and joints of six degrees of freedom, and more columns than are processed
    at a time.
    """
    model = random_model(bodies, bodies, types=types, armature=True)
    assert bodies < 30 or model.nv > 64
    q, v, tau = random_state(model, 1)
    by_q, by_v, inverse = rd.forward_dynamics_derivatives(model, q, v, tau)
    plain = model.with_backend("interpreted")
    a = rd.forward_dynamics(plain, q, v, tau)
    M = rd.mass_matrix(plain, q)
    assert_allclose(M @ inverse, np.eye(model.nv), atol=1e-8)
    for ours, of_efforts in zip(
        (by_q, by_v), rd.inverse_dynamics_derivatives(plain, q, v, a), strict=True
    ):
        assert_allclose(ours, -np.linalg.solve(M, of_efforts), atol=1e-8 * scaled(ours))
