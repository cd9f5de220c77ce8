"""Many steps at once."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from support.random_trees import ALL_TYPES, random_model, random_state
from support.simple_robots import cuboid_pendulum, free_body, slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointLimits, JointType

BACKENDS = [b for b in rd.available_backends() if b in ("native", "numpy")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_exudyn_pendulum(backend):
    model = cuboid_pendulum().with_backend(backend)
    q, _ = rd.rollout(model, [0.0], [0.0], dt=1e-3, steps=1000, method="rk4")
    assert q[0] == pytest.approx(-3.134018551808591, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "order", "steps"), [("rk4", 4, 512), ("semi_implicit", 1, 1024)]
)
@pytest.mark.parametrize("backend", BACKENDS)
def test_order_of_convergence(method, order, steps, backend):
    """Against so many ``steps`` that their own error is far below the others'."""
    model = random_model(
        11, 3, types=[JointType.REVOLUTE], friction=True, limits=False
    ).with_backend(backend)
    q, v, tau = random_state(model, 0)
    options = {"smoothing_speed": 1.0, "method": method}
    fine, _ = rd.rollout(model, q, v, tau, dt=0.1 / steps, steps=steps, **options)
    errors = []
    for n in (32, 64, 128):
        x, _ = rd.rollout(model, q, v, tau, dt=0.1 / n, steps=n, **options)
        errors.append(np.abs(x - fine).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(slopes - order) < 0.35), slopes


@pytest.mark.parametrize("method", ["rk4", "semi_implicit"])
def test_backends_agree_for_all_joints(method):
    model = random_model(5, 6, types=ALL_TYPES, friction=True, mimic=0.2)
    q, v, tau = random_state(model, 1, (3,))
    runs = [
        rd.rollout(
            model.with_backend(b),
            q,
            v,
            tau,
            dt=1e-4,
            steps=40,
            method=method,
            stop_stiffness=50.0,
            path=True,
        )
        for b in BACKENDS
    ]
    for x in runs[1:]:
        assert_allclose(x[0], runs[0][0], atol=1e-10)
        assert_allclose(x[1], runs[0][1], atol=1e-9)
    assert runs[0][0].shape == (3, 41, model.nq)
    assert_allclose(runs[0][0][:, 0], q, atol=0)


def test_free_body_keeps_its_momentum():
    model = free_body(2.0, (0.2, 0.35, 0.5))
    q0 = rd.neutral(model)
    v0 = np.array([0.1, 4.0, 0.2, 1.0, 0.0, -0.5])
    q, v = rd.rollout(model, q0, v0, dt=1e-3, steps=3000, method="rk4", path=True)
    h = rd.centroidal_momentum(model, q, v)
    assert_allclose(h, np.broadcast_to(h[0], h.shape), atol=1e-9)
    assert_allclose(np.linalg.norm(q[:, 3:7], axis=1), 1.0, atol=1e-14)
    energy = rd.kinetic_energy(model, q, v)
    assert np.ptp(energy) < 1e-9 * energy[0]


def test_viscous_friction_decays_as_it_should():
    model = slider(2.0, damping=1.5)
    _, v = rd.rollout(model, [0.0], [1.0], dt=1e-3, steps=1000, method="rk4")
    assert v[0] == pytest.approx(np.exp(-1.5 / 2.0), rel=1e-10)


def test_implicit_step_is_stable_however_stiff():
    """A wrist of 2.5e-4 kg m² with 1 N m s/rad: time constant 0.25 ms, steps of 1 ms."""
    model = rd.load_robot("six_axis")
    q0 = model.initial_configuration()
    q, v = rd.rollout(model, q0, np.zeros(6), dt=1e-3, steps=2000, smoothing_speed=1e-3)
    assert np.isfinite(q).all() and np.abs(v).max() < 10
    with pytest.raises(rd.SimulationError, match=r"state 0: 1 of 1 states .*shorter one"):
        rd.rollout(model, q0, np.zeros(6), dt=1e-3, steps=2000, method="rk4")


def test_efforts_saturate_and_stops_hold():
    model = slider(2.0, limits=JointLimits(-1.0, 1.0, 10.0, 3.0))
    _, v = rd.rollout(model, [0.0], [0.0], [100.0], dt=1e-3, steps=100)
    assert v[0] == pytest.approx(0.1 * 3.0 / 2.0, rel=1e-9)
    q, _ = rd.rollout(
        model, [0.0], [0.0], [3.0], dt=1e-3, steps=20_000, stop_stiffness=1e4, stop_dissipation=2.0
    )
    assert q[0] == pytest.approx(1.0 + 3.0 / 1e4, abs=1e-4)


def test_efforts_for_every_step():
    model = slider(2.0)
    tau = np.sin(np.arange(200) * 0.05)[:, None]
    q, v = rd.rollout(model, [0.0], [0.0], tau, dt=0.01, steps=200, method="semi_implicit")
    assert v[0] == pytest.approx(tau.sum() * 0.01 / 2.0)
    several, _ = rd.rollout(
        model,
        np.zeros((3, 1)),
        np.zeros((3, 1)),
        np.stack([tau, 2 * tau, 0 * tau]),
        dt=0.01,
        steps=200,
    )
    assert_allclose(several[:, 0], [q[0], 2 * q[0], 0.0], atol=1e-12)


def test_against_scipy():
    model = rd.chain(3)
    q0 = np.array([0.3, 0.8, -0.4])
    v0 = np.array([0.5, -0.2, 1.0])

    def rates(_t, x):
        return np.concatenate([x[3:], rd.forward_dynamics(model, x[:3], x[3:], np.zeros(3))])

    exact = solve_ivp(rates, (0, 1), [*q0, *v0], method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]
    q, v = rd.rollout(model, q0, v0, dt=1e-4, steps=10_000, method="rk4")
    assert_allclose([*q, *v], exact, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": 0.0}, "dt: expected a positive step"),
        ({"dt": float("nan")}, "dt: expected"),
        ({"steps": -1}, "steps: expected a whole number"),
        ({"steps": 1.5}, "steps: expected"),
        ({"method": "euler"}, "unknown integration method 'euler'"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(rd.RobotDynamicsError, match=message):
        rd.rollout(slider(), [0.0], [0.0], **{"dt": 1e-3, "steps": 2, **options})


def test_no_steps_is_where_it_starts():
    q, v = rd.rollout(slider(), [0.5], [0.1], dt=1e-3, steps=0)
    assert (q[0], v[0]) == (0.5, 0.1)


@pytest.mark.parametrize("backend", rd.available_backends())
def test_threads_share_a_model(backend):
    # every thread with a step, efforts and friction of its own: whatever one of them left in a
    # shared tree would show
    model = rd.limb(2, damping=0.3, friction=0.1).with_backend(backend)
    rng = np.random.default_rng(0)
    tasks = [(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), 1e-3 * (k + 1)) for k in range(8)]

    def result(k):
        q, v, dt = tasks[k]
        return [
            *rd.rollout(model, q, v, dt=dt, steps=6),
            rd.inverse_dynamics(model, q, v, v, base=(np.full(6, 0.1 * k), np.full(6, k))),
        ]

    expected = [result(k) for k in range(8)]
    wrong = []

    def work(k):
        for _ in range(12):
            if not all(np.array_equal(x, y) for x, y in zip(result(k), expected[k], strict=True)):
                wrong.append(k)

    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for w in workers:
            w.start()
        for w in workers:
            w.join(60)
    finally:
        sys.setswitchinterval(old)
    assert not wrong and not any(w.is_alive() for w in workers)
