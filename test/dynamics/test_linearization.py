"""Linear models against differences of the nonlinear one, closed forms and the simulator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model import DCMotor, add_rotors
from robot_dynamics_ros.simulation import JointFriction


def differences(f, x, h=1e-6):
    """Central differences of f about zero in the direction of each unit vector."""
    return np.stack([(f(h * e) - f(-h * e)) / (2 * h) for e in np.eye(x)], axis=-1)


@pytest.mark.parametrize("seed", range(2))
def test_accelerations_against_differences(seed):
    model = random_model(seed, 5, types=ALL_TYPES, mimic=0.2, armature=True, friction=True)
    q, v, _ = random_state(model, np.random.default_rng(seed))
    tau = np.random.default_rng(seed + 9).normal(size=model.nv) * 3
    n = model.nv
    for viscous in (False, True):
        A, B = rd.linearize(model, q, v, tau, viscous=viscous)
        d = model.damping * viscous

        def acceleration(x, d=d):
            w = v + x[n : 2 * n]
            return rd.forward_dynamics(
                model, rd.integrate(model, q, x[:n]), w, tau + x[2 * n :] - d * w
            )

        slopes = differences(acceleration, 3 * n)
        for block, expected in zip(
            (A[n:, :n], A[n:, n:], B[n:]), np.split(slopes, 3, axis=1), strict=True
        ):
            assert_allclose(
                block, expected, rtol=2e-6, atol=2e-6 * max(1.0, np.abs(expected).max())
            )
        assert_allclose(A[:n, n:], np.eye(n))
        assert not B[:n].any()


def test_deviations_of_a_tumbling_body_follow_the_linear_model():
    model = random_model(3, 1, floating_base=True)
    rng = np.random.default_rng(0)
    q, v, _ = random_state(model, rng)
    tau = np.zeros(model.nv)
    A, _ = rd.linearize(model, q, v, tau)
    h = 1e-4
    eps = 1e-5
    n = model.nv

    def moved(q0, v0):
        run = rd.simulate(model, None, q0, v0, h, h, friction=False, stops=None, limiter=False)
        return run.q[-1], run.v[-1]

    q1, v1 = moved(q, v)
    step = np.eye(2 * n) + h * A + h * h / 2 * A @ A
    for k in range(2 * n):
        x = eps * np.eye(2 * n)[k]
        qx, vx = moved(rd.integrate(model, q, x[:n]), v + x[n:])
        got = np.concatenate([rd.difference(model, q1, qx), vx - v1])
        assert_allclose((got - x) / eps / h, (step @ x - x) / eps / h, atol=2e-2, rtol=2e-3)


def test_a_pendulum_in_closed_form():
    model = rd.load_robot("pendulum")
    M = rd.mass_matrix(model, [0.0])[0, 0]
    g0 = rd.gravity_forces(model, [0.3])
    slope = differences(lambda x: rd.gravity_forces(model, x + 0.3), 1)[0, 0]
    A, B = rd.linearize(model, [0.3])
    assert_allclose(A, [[0, 1], [-slope / M, 0]], rtol=1e-8)
    assert_allclose(B, [[0], [1 / M]])
    assert rd.forward_dynamics(model, [0.3], [0.0], g0) == pytest.approx(0.0, abs=1e-12)


def test_batches_and_chosen_inputs():
    model = rd.load_robot("three_link")
    q = np.random.default_rng(0).normal(size=(4, 3))
    A, B = rd.linearize(model, q, np.ones(3), np.zeros(3))
    assert A.shape == (4, 6, 6)
    one = rd.linearize(model, q[2], np.ones(3), np.zeros(3), inputs=["joint3", "joint1"])
    assert_allclose(one.A, A[2])
    assert_allclose(one.B, B[2][:, [2, 0]])


def test_motors_against_the_simulator():
    """A small disturbance of the simulated robot with motors moves as the linear model says."""
    model = rd.load_robot("two_link")
    motors = {
        "shoulder": DCMotor(2.0, 0.1, inductance=4e-3, gear_ratio=30, rotor_inertia=1e-5),
        "elbow": DCMotor(3.0, 0.08, gear_ratio=20),
    }
    q = np.array([0.4, -0.7])
    A, B = rd.linearize(model, q, motors=motors, viscous=True)
    assert A.shape == (5, 5)
    driven = add_rotors(model, motors)
    hold = rd.gravity_forces(driven, q)
    current = hold / [0.1 * 30, 0.08 * 20]
    voltage = current * [2.0, 3.0]
    friction = JointFriction(coulomb=0.0)
    push = np.array([1e-3, -2e-3])
    duration = 0.02
    dt = 1e-4

    def run(V, q0, i0):
        plant = rd.Plant(
            driven,
            dt,
            integrator="rk4",
            motors=motors,
            friction=friction,
            stops=None,
            limiter=False,
            q0=q0,
        )
        state = plant.state()
        state["y"][4] = i0
        plant.restore(state)
        for _ in range(round(duration / dt)):
            plant.step(V)
        return np.concatenate([plant.q, plant.v, [plant.currents[0]]])

    base = run(voltage, q, current[0])
    got = run(voltage + push, q, current[0]) - base
    Ad, Bd = rd.discretize(A, B, duration)
    assert_allclose(got, Bd @ push, rtol=2e-3, atol=1e-8)
    x0 = np.array([1e-4, -1e-4, 0, 0, 1e-4])
    got = run(voltage, q + x0[:2], current[0] + x0[4]) - base
    assert_allclose(got, Ad @ x0, rtol=2e-3, atol=1e-7)


def test_bad_input_is_refused():
    model = rd.load_robot("two_link")
    with pytest.raises(UnknownNameError, match="wrist"):
        rd.linearize(model, [0, 0], inputs=["wrist"])
    with pytest.raises(ArgumentError, match="twice"):
        rd.linearize(model, [0, 0], inputs=["elbow", "elbow"])
    with pytest.raises(ArgumentError, match="finite"):
        rd.linearize(model, [0, np.nan])
    with pytest.raises(ArgumentError, match="shape"):
        rd.linearize(model, [0, 0, 0])
