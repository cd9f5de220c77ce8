"""Energy, momentum and the centre of mass."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_gravity_is_the_slope_of_potential_energy(seed):
    model, q, _, _ = draw(seed, mimic=0.3)
    h = 1e-5
    steps = h * np.eye(model.nv)
    up = rd.integrate(model, q, steps)
    down = rd.integrate(model, q, -steps)
    slope = (rd.potential_energy(model, up) - rd.potential_energy(model, down)) / (2 * h)
    g = rd.gravity_forces(model, q)
    assert_allclose(slope, g, atol=1e-7 * scaled(g))


@few
@given(seeds)
def test_power_is_the_rate_of_energy(seed):
    model, q, v, tau = draw(seed, armature=True, mimic=0.3)
    a = rd.forward_dynamics(model, q, v, tau)
    h = 1e-6

    def energy(t):
        at = rd.integrate(model, q, v * t + 0.5 * a * t * t)
        return rd.kinetic_energy(model, at, v + a * t) + rd.potential_energy(model, at)

    rate = (energy(h) - energy(-h)) / (2 * h)
    scale = scaled(tau) * scaled(v) * model.nv + abs(energy(0.0))
    assert rate == pytest.approx(tau @ v, abs=1e-6 * scale)


@few
@given(seeds)
def test_momentum_and_centre_of_mass_belong_together(seed):
    model, q, v, a = draw(seed)
    A = rd.centroidal_momentum_matrix(model, q)
    position, velocity, acceleration = rd.center_of_mass_motion(model, q, v, a)
    momentum = rd.centroidal_momentum(model, q, v)
    assert_allclose(momentum, A @ v, atol=1e-12 * scaled(momentum))
    assert_allclose(momentum[3:], model.total_mass * velocity, atol=1e-11 * scaled(momentum))
    assert_allclose(
        rd.center_of_mass_jacobian(model, q) @ v, velocity, atol=1e-11 * scaled(velocity)
    )
    assert_allclose(rd.center_of_mass(model, q), position, atol=1e-13 * scaled(position))
    h = 1e-5
    at = [
        rd.center_of_mass(model, rd.integrate(model, q, v * t + a * t * t / 2))
        for t in (-h, 0.0, h)
    ]
    assert_allclose(
        (at[2] - 2 * at[1] + at[0]) / h**2, acceleration, atol=1e-4 * scaled(acceleration)
    )
