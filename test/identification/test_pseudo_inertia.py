"""Whatever the numbers, a body that can exist."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.consistent import (
    BodyShape,
    from_pseudo_inertia,
    is_consistent,
    pseudo_inertia,
)


def cloud(seed, count=6):
    """Inertial parameters of some point masses, by their sums."""
    rng = np.random.default_rng(seed)
    m = rng.uniform(0.1, 2.0, count)
    r = rng.normal(0.0, 0.3, (count, 3))
    inertia = sum(
        mk * (rk @ rk * np.eye(3) - np.outer(rk, rk)) for mk, rk in zip(m, r, strict=True)
    )
    return np.concatenate([[m.sum()], m @ r, inertia[np.triu_indices(3)]]), m, r


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_second_moment_of_the_mass(seed):
    p, m, r = cloud(seed)
    h = np.column_stack([r, np.ones(len(r))])
    np.testing.assert_allclose(pseudo_inertia(p), (h * m[:, None]).T @ h, atol=1e-12)
    np.testing.assert_allclose(from_pseudo_inertia(pseudo_inertia(p)), p, atol=1e-12)
    assert is_consistent(p)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 50), arrays(float, 10, elements=st.floats(-3.0, 3.0)))
def test_every_value_is_a_body(seed, x):
    p = BodyShape(cloud(seed)[0]).parameters(x)
    m = p[0]
    c = p[1:4] / p[0]
    inertia = np.array([[p[4], p[5], p[6]], [p[5], p[7], p[8]], [p[6], p[8], p[9]]])
    inertia -= m * (c @ c * np.eye(3) - np.outer(c, c))
    low, middle, high = np.linalg.eigvalsh(inertia)
    assert m > 0.0
    assert low > -1e-9 * high
    assert low + middle > high * (1.0 - 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_every_body_is_some_value_and_zero_is_the_known_one(seed):
    from scipy.optimize import least_squares

    known = cloud(seed)[0]
    wanted = cloud(seed + 100)[0]
    shape = BodyShape(known)
    np.testing.assert_allclose(shape.parameters(np.zeros(10)), known, rtol=1e-9, atol=1e-12)
    found = least_squares(
        lambda x: shape.parameters(x) - wanted,
        np.zeros(10),
        shape.derivative,
        xtol=1e-15,
        ftol=1e-15,
    )
    np.testing.assert_allclose(shape.parameters(found.x), wanted, atol=1e-7)


def test_derivative_and_distance_are_what_they_say():
    p = cloud(3)[0]
    shape = BodyShape(p)
    rng = np.random.default_rng(0)
    x = rng.normal(0.0, 0.3, 10)
    h = 1e-6
    difference = np.array(
        [(shape.parameters(x + h * e) - shape.parameters(x - h * e)) / (2 * h) for e in np.eye(10)]
    ).T
    np.testing.assert_allclose(
        shape.derivative(x), difference, atol=1e-7 * np.abs(difference).max()
    )
    small = 1e-6 * rng.normal(size=10)
    D = np.linalg.solve(
        pseudo_inertia(p), pseudo_inertia(shape.parameters(small)) - pseudo_inertia(p)
    )
    assert np.sqrt(np.trace(D @ D)) == pytest.approx(
        np.linalg.norm(shape.distance(small)), rel=1e-4
    )


@pytest.mark.parametrize(
    "p",
    [
        np.zeros(10),
        np.r_[1.0, 0.1, 0, 0, 0, 0, 0, 0.01, 0, 0.01],
        np.r_[1.0, np.zeros(3), 1, 0, 0, 0.1, 0, 0.1],
    ],
)
def test_points_rods_and_impossible_bodies_become_near_possible_ones(p):
    shape = BodyShape(p)
    assert is_consistent(shape.start)
    np.testing.assert_allclose(shape.start[:4], np.r_[max(p[0], 1e-6), p[1:4]], atol=1e-9)


def test_inconsistent_bodies_are_recognised():
    p = cloud(1)[0]
    p[4] = 10.0
    assert not is_consistent(p)
    assert is_consistent(rd.inertial_parameters(rd.load_robot("seven_axis")).reshape(-1, 10)).all()
