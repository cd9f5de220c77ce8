"""Offline closed loops, model errors, batches."""

import numpy as np
import pytest
from support.random_trees import random_model
from support.simple_robots import slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError


def test_result_has_the_promised_shapes():
    model = random_model(1, 3, limits=False, floating_base=True)
    run = rd.simulate(model, duration=0.05, dt=0.01, record_wrenches=True)
    n = 6
    nj = len(model.joint_names)
    assert run.t.shape == (n,)
    assert run.q.shape == (n, model.nq)
    assert run.v.shape == run.a.shape == run.tau.shape == (n, model.nv)
    assert run.wrenches.shape == (n, nj, 6)
    assert run.energy.shape == (n,)
    assert run.model is model
    np.testing.assert_allclose(run.t, 0.01 * np.arange(n), atol=1e-16)


@pytest.mark.parametrize("integrator", ["moreau", "semi_implicit_euler", "rk4"])
def test_a_run_is_the_same_without_its_accelerations(integrator):
    """Sticking joints, stops and efforts that change: bit for bit."""
    arm = rd.load_robot("three_link")

    def control(t, q, v):
        return np.array([9.0, 1.0, 0.1]) * np.sin(20.0 * t)

    how = {"control": control, "duration": 0.3, "dt": 2e-3, "integrator": integrator}
    full = rd.simulate(arm, **how)
    bare = rd.simulate(arm, record_accelerations=False, **how)
    assert np.isfinite(full.a).all() and np.isnan(bare.a).all()
    for name in ("q", "v", "tau", "energy"):
        np.testing.assert_array_equal(getattr(bare, name), getattr(full, name))


def test_closed_loop_follows_a_reference():
    """Computed torque by hand: with the true model the error dies as its own linear equation
    says.
    """
    model = random_model(5, 4, limits=False, branching=0.0)
    kp = 100.0
    kd = 20.0
    start = np.array([0.2, -0.1, 0.3, 0.1])

    def control(t, q, v):
        ref = np.sin(t) * np.ones(4)
        dref = np.cos(t) * np.ones(4)
        ddref = -np.sin(t) * np.ones(4)
        return rd.inverse_dynamics(model, q, v, ddref + kd * (dref - v) + kp * (ref - q))

    run = rd.simulate(model, control, q0=start, v0=np.ones(4), duration=1.0, dt=5e-4)
    error = run.q - np.sin(run.t)[:, None]
    # critically damped
    expected = start * ((1.0 + 10.0 * run.t) * np.exp(-10.0 * run.t))[:, None]
    np.testing.assert_allclose(error, expected, atol=3e-3)
    assert np.abs(error[-1]).max() < 1e-3


def test_recorded_accelerations_and_wrenches_belong_to_the_recorded_states():
    model = random_model(5, 3, limits=False, friction=True)
    link = model.link_names[-1]
    external = {link: np.array([0.1, 0.2, 0.3, 1.0, 2.0, 3.0])}
    run = rd.simulate(
        model,
        lambda t, q, v: np.array([np.sin(t), 1.0, -1.0]),
        v0=[1.0, 1.0, -1.0],
        duration=0.1,
        dt=0.01,
        record_wrenches=True,
        external=lambda t: external if t < 0.055 else {},
    )
    for k in (0, 4, 8):
        outside = external if k < 6 else None
        np.testing.assert_allclose(
            run.wrenches[k],
            rd.joint_wrenches(model, run.q[k], run.v[k], run.a[k], external=outside),
            atol=1e-9,
        )
        net = rd.inverse_dynamics(model, run.q[k], run.v[k], run.a[k], external=outside)
        moving = run.v[k] != 0.0
        friction = model.damping * run.v[k] + model.friction * np.sign(run.v[k])
        np.testing.assert_allclose((run.tau[k] - friction)[moving], net[moving], atol=1e-9)


def test_power_is_the_rate_of_energy():
    model = random_model(6, 3, limits=False)
    run = rd.simulate(
        model,
        lambda t, q, v: 2.0 * np.cos([t, 2 * t, 3 * t]),
        duration=1.0,
        dt=1e-3,
        integrator="rk4",
    )
    # exact: the effort is constant in each step
    work = np.sum(run.tau[:-1] * np.diff(run.q, axis=0), axis=1).cumsum()
    np.testing.assert_allclose(
        run.energy[1:] - run.energy[0], work, atol=1e-8 * run.kinetic_energy.max()
    )


def test_same_law_may_be_continuous():
    model = slider(mass=1.0)
    held = rd.simulate(
        model, lambda t, q, v: -25.0 * q, q0=[1.0], duration=1.0, dt=1e-2, integrator="rk4"
    )
    smooth = rd.simulate(
        model,
        user_effort=lambda t, q, v: -25.0 * q,
        q0=[1.0],
        duration=1.0,
        dt=1e-2,
        integrator="rk4",
    )
    exact = np.cos(5.0)
    assert abs(smooth.q[-1, 0] - exact) < 1e-6 < abs(held.q[-1, 0] - exact)


@pytest.mark.parametrize(
    "control", [lambda t, q, v: None, lambda t, q, v: [0.0], lambda t, q, v: [np.nan, 0.0]]
)
def test_a_law_that_returns_nonsense_is_named(control):
    with pytest.raises(ArgumentError):
        rd.simulate(rd.limb(2), control, duration=0.1)


def test_no_time_no_steps():
    run = rd.simulate(rd.limb(2), duration=0.0)
    assert run.q.shape == (1, 2)
    with pytest.raises(ArgumentError, match="duration"):
        rd.simulate(rd.limb(2), duration=-1.0)


def test_model_errors_scale_what_they_say():
    model = random_model(4, 4, friction=True, armature=True)
    heavy = rd.robot_model_error(model, mass=1.2)
    assert heavy.total_mass == pytest.approx(1.2 * model.total_mass)
    free = model.replace(gravity=(0, 0, 0))
    q = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(
        rd.gravity_forces(heavy, q), 1.2 * rd.gravity_forces(model, q), rtol=1e-10
    )
    M = rd.mass_matrix(model, q) - np.diag(model.armature)
    np.testing.assert_allclose(
        rd.mass_matrix(heavy, q), 1.2 * M + np.diag(model.armature), rtol=1e-10
    )
    rough = rd.robot_model_error(
        model, friction=2.0, damping={model.joint_names[0]: 3.0}, armature=0.5
    )
    np.testing.assert_allclose(rough.friction, 2.0 * model.friction)
    np.testing.assert_allclose(rough.damping, model.damping * np.array([3.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(rough.armature, 0.5 * model.armature)
    assert rd.robot_model_error(free, com=1.1).gravity.tolist() == [0, 0, 0]
    np.testing.assert_allclose(
        rd.robot_model_error(model, com=1.1).body_com[-1], 1.1 * model.body_com[-1], rtol=1e-6
    )
    with pytest.raises(UnknownNameError, match="nobody"):
        rd.robot_model_error(model, mass={"nobody": 2.0})
    with pytest.raises(ArgumentError, match="mass"):
        rd.robot_model_error(model, mass=-1.0)


def test_random_errors_repeat_and_spread():
    model = rd.limb(3)
    first, again, other = (rd.random_model_error(model, seed, mass=0.1) for seed in (1, 1, 2))
    assert first.total_mass == again.total_mass != other.total_mass
    masses = [
        rd.random_model_error(model, seed, mass=0.1).body_mass[0] / model.body_mass[0]
        for seed in range(200)
    ]
    assert np.std(np.log(masses)) == pytest.approx(0.1, rel=0.2)


def pushed(robot, number):
    """How far a push carries a limb in a tenth of a second; run 3 breaks."""
    if number == 3:
        raise SimulationError("broke", where="run 3")
    run = rd.simulate(robot, lambda t, q, v: [1.0, 0.0], duration=0.1, dt=0.01)
    return {"angle": run.q[-1, 0], "speed": abs(run.v[-1, 0])}


def test_monte_carlo():
    seen = []
    batch = rd.monte_carlo(
        rd.limb(2),
        pushed,
        6,
        seed=5,
        spread={"mass": 0.2, "com": 0.1},
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(k, 6) for k in range(1, 7)]
    assert len(batch) == 6
    assert list(batch.failures) == [3]
    assert np.isnan(batch.figures["angle"][3])
    assert len(np.unique(batch.figures["angle"][[0, 1, 2, 4, 5]])) == 5
    table = batch.table()
    assert "speed" in table and "95 %" in table and "run 3" in table
    short = rd.monte_carlo(rd.limb(2), pushed, 3, seed=5, spread={"mass": 0.2, "com": 0.1})
    np.testing.assert_array_equal(short.figures["angle"], batch.figures["angle"][:3])
    with pytest.raises(ArgumentError, match="runs"):
        rd.monte_carlo(rd.limb(2), pushed, 0)
