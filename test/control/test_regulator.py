"""Regulators against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.simulation import JointFriction


def test_the_regulator_solves_its_equation():
    model = rd.load_robot("two_link")
    A, B = rd.linearize(model, [np.pi / 2, 0.0], inputs=["elbow"])
    Q = np.diag([10.0, 10.0, 1.0, 1.0])
    R = np.array([[0.1]])
    K = rd.lqr(A, B, Q, R)
    assert np.linalg.eigvals(A - B @ K).real.max() < 0
    # the cost of any start, xᵀPx, by integrating the closed loop, is stationary in K
    from scipy.linalg import solve_continuous_lyapunov

    def cost(gain):
        closed = A - B @ gain
        return np.trace(solve_continuous_lyapunov(closed.T, -(Q + gain.T @ R @ gain)))

    for k in range(4):
        bent = K.copy()
        bent[0, k] += 1e-3 * abs(K[0, k])
        assert cost(bent) > cost(K)
    sampled = rd.discretize(A, B, 1e-3)
    Kd = rd.lqr(*sampled, Q * 1e-3, R * 1e-3, discrete=True)
    assert np.abs(np.linalg.eigvals(sampled.A - sampled.B @ Kd)).max() < 1
    assert_allclose(Kd, K, rtol=0.05)


def test_an_inverted_underactuated_arm_is_balanced_in_simulation():
    model = rd.load_robot("two_link")
    up = np.array([np.pi / 2, 0.0])
    start = up + np.array([0.02, -0.03])
    K = rd.lqr(*rd.linearize(model, up, inputs=["elbow"], viscous=True), [10, 10, 1, 1], [1.0])

    def control(t, q, v):
        return np.array([0.0, float(-(K @ np.concatenate([q - up, v]))[0])])

    run = rd.simulate(model, control, start, None, 6.0, 1e-3, friction=JointFriction(coulomb=0.0))
    assert np.abs(run.q[-1] - up).max() < 1e-3
    assert np.abs(run.v[-1]).max() < 1e-3
    fallen = rd.simulate(
        model, None, start, None, 3.0, 1e-3, friction=JointFriction(coulomb=0.0), stops=None
    )
    assert np.abs(fallen.q[-1] - up).max() > 0.5


def test_bad_input_is_refused():
    model = rd.load_robot("two_link")
    A, B = rd.linearize(model, [0, 0])
    with pytest.raises(ArgumentError, match="semi-definite"):
        rd.lqr(A, B, [-1, 1, 1, 1], [1, 1])
    with pytest.raises(ArgumentError, match="positive definite"):
        rd.lqr(A, B, [1, 1, 1, 1], [1, 0])
    with pytest.raises(ArgumentError, match="stabiliz"):
        rd.lqr(np.eye(2), np.zeros((2, 1)), [1, 1], [1])
    with pytest.raises(ArgumentError, match="positive number"):
        rd.discretize(A, B, 0.0)
