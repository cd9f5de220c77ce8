"""Jacobians, their rates, and the inertia felt at a link."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import ONE_DOF

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_jacobian_is_a_difference_quotient(seed):
    model, q, v, _ = draw(seed, mimic=0.3)
    link = model.link_names[-1]
    point = np.array([0.1, -0.2, 0.3])
    h = 1e-6

    def place(t):
        return rd.link_pose(model, rd.integrate(model, q, v * t), link)

    ahead = place(h)
    behind = place(-h)
    J = rd.jacobian(model, q, link, offset=point)
    twist = J @ v
    spin = (ahead[:3, :3] - behind[:3, :3]) / (2 * h) @ place(0.0)[:3, :3].T
    assert_allclose(twist[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7 * scaled(twist))
    velocity = ((ahead - behind) @ [*point, 1.0])[:3] / (2 * h)
    assert_allclose(twist[3:], velocity, atol=1e-7 * scaled(twist))
    for axes in ("world", "link"):
        now = [
            rd.jacobian(model, rd.integrate(model, q, v * t), link, offset=point, expressed_in=axes)
            for t in (-h, h)
        ]
        rate = rd.jacobian_derivative(model, q, v, link, offset=point, expressed_in=axes)
        assert_allclose((now[1] - now[0]) / (2 * h), rate, atol=1e-6 * scaled(rate))


@few
@given(seeds, st.sampled_from(["rpy", "quaternion"]))
def test_analytical_jacobian_gives_rates_of_orientation(seed, representation):
    from robot_dynamics_ros.dynamics.kinematics import quaternion_of, rpy_of

    model, q, v, _ = draw(seed)
    link = model.link_names[-1]
    h = 1e-6

    def orientation(t):
        R = rd.link_pose(model, rd.integrate(model, q, v * t), link)[:3, :3]
        return rpy_of(R) if representation == "rpy" else quaternion_of(R)

    before = orientation(-h)
    here = orientation(0.0)
    after = orientation(h)
    if representation == "rpy" and abs(np.cos(here[1])) < 0.05:
        return
    # the branch of the coordinates changes here
    if np.abs(after - before).max() > 1.0:
        return
    J = rd.analytical_jacobian(model, q, link, representation=representation)
    rates = (after - before) / (2 * h)
    assert_allclose((J @ v)[:-3], rates, atol=1e-6 * scaled(rates) ** 2)
    J0, J1 = (
        rd.analytical_jacobian(
            model, rd.integrate(model, q, v * t), link, representation=representation
        )
        for t in (-h, h)
    )
    rate = rd.analytical_jacobian_derivative(model, q, v, link, representation=representation)
    assert_allclose((J1 - J0) / (2 * h), rate, atol=1e-5 * scaled(rate))


@few
@given(seeds)
def test_operational_space_inertia_inverts_mobility(seed):
    model, q, _, _ = draw(seed, types=ONE_DOF)
    link = model.link_names[-1]
    inertia = rd.operational_space_inertia(model, q, link, damping=0.1)
    J = rd.jacobian(model, q, link)
    mobility = J @ np.linalg.solve(rd.mass_matrix(model, q), J.T) + 0.01 * np.eye(6)
    assert_allclose(inertia @ mobility, np.eye(6), atol=1e-8)
