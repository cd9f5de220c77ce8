"""Order of convergence, closed forms, and published numbers."""

import numpy as np
import pytest
from support.random_trees import random_model
from support.simple_robots import cuboid_pendulum

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.simulation import (
    INTEGRATORS,
    JointFriction,
    JointPD,
    Plant,
    make_integrator,
)
from robot_dynamics_ros.simulation.integrators.methods import TABLEAUS, Adaptive, ExplicitRungeKutta

FIXED = [name for name in INTEGRATORS if name not in ("dopri5", "dop853", "radau")]
EXUDYN = -3.134018551808591


def arm(floating=False):
    """Two joints with springs and viscous friction, all of it smooth; small inertias keep orders
    visible.
    """
    return random_model(3, 2, limits=False, branching=0.0, fixed=0.0, floating_base=floating)


def final_state(model, integrator, steps, duration, q, v):
    plant = Plant(
        model,
        duration / steps,
        integrator=integrator,
        q0=q,
        v0=v,
        stops=None,
        friction=JointFriction(viscous={model.joint_names[-1]: 0.3}),
        springs=JointPD(p={model.joint_names[-1]: 5.0}),
    )
    for _ in range(steps):
        plant.step(np.zeros(model.nv))
    return np.concatenate((plant.q, plant.v))


@pytest.mark.parametrize("floating", [False, True], ids=["fixed base", "floating base"])
@pytest.mark.parametrize("name", FIXED)
def test_order_of_convergence(name, floating):
    model = arm(floating)
    rng = np.random.default_rng(5)
    q = model.neutral()
    q[-2:] = 0.4, -0.8
    if floating:
        q[3:7] = [0.5, -0.5, 0.1, 0.7]
        q[3:7] /= np.linalg.norm(q[3:7])
    v = rng.uniform(-1.0, 1.0, model.nv)
    duration = 0.5
    exact = final_state(model, Adaptive("DOP853", rtol=3e-14, atol=1e-15), 4, duration, q, v)
    order = make_integrator(name).order
    coarse = {1: 400, 2: 200, 3: 60, 4: 40, 5: 20, 6: 20, 8: 6}[order]
    errors = [
        np.abs(final_state(model, name, n, duration, q, v) - exact).max()
        for n in (coarse, 2 * coarse)
    ]
    observed = np.log2(errors[0] / errors[1])
    assert errors[1] > 1e-13, "rounding hides the order"
    assert observed == pytest.approx(order, abs=0.35 if order < 5 else 0.9)
    assert observed > order - 0.35


@pytest.mark.parametrize("name", TABLEAUS)
def test_tableaus_are_consistent(name):
    tableau = ExplicitRungeKutta(name)
    assert np.triu(tableau.A).max() == 0.0
    # the quadrature conditions Σ b c^(k-1) = 1/k up to the order
    for k in range(1, tableau.order + 1):
        assert tableau.b @ tableau.c ** (k - 1) == pytest.approx(1.0 / k, abs=1e-14)


def test_stability_limits_of_well_known_methods():
    assert make_integrator("euler").stability_limit == pytest.approx(2.0, abs=0.02)
    assert make_integrator("rk4").stability_limit == pytest.approx(2.785, abs=0.02)


@pytest.mark.parametrize(
    ("integrator", "dt", "tolerance"),
    [
        ("rk8", 1e-2, 1e-12),
        ("rk4", 5e-4, 1e-12),
        (Adaptive("DOP853", rtol=1e-13, atol=1e-14), 0.1, 1e-12),
        (Adaptive("RK45", rtol=1e-13, atol=1e-14), 0.1, 1e-12),
        (Adaptive("Radau", rtol=1e-12, atol=1e-13), 0.1, 1e-12),
        ("dop853", 0.1, 1e-9),
        ("dopri5", 0.1, 1e-9),
        ("radau", 0.1, 1e-9),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_pendulum_of_exudyn(integrator, dt, tolerance):
    plant = Plant(cuboid_pendulum(), dt, integrator=integrator)
    for _ in range(round(1.0 / dt)):
        plant.step([0.0])
    assert plant.q[0] == pytest.approx(EXUDYN, abs=tolerance)
    assert plant.t == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("integrator", "dt", "drift"), [("rk4", 1e-3, 1e-10), ("variational", 5e-3, 2e-3)]
)
def test_energy_is_kept_without_friction(integrator, dt, drift):
    model = random_model(11, 3, limits=False, branching=0.0)
    run = rd.simulate(
        model, q0=[0.3, -0.5, 0.9], v0=[1.0, 0.5, -1.0], duration=2.0, dt=dt, integrator=integrator
    )
    assert np.abs(run.energy - run.energy[0]).max() < drift * run.kinetic_energy.max()


def test_adaptive_integrator_meets_its_tolerance():
    model = cuboid_pendulum()
    errors = []
    for rtol in (1e-5, 1e-9):
        plant = Plant(model, 0.25, integrator=Adaptive("DOP853", rtol=rtol, atol=rtol))
        for _ in range(4):
            plant.step([0.0])
        errors.append(abs(plant.q[0] - EXUDYN))
    assert errors[1] < 1e-7
    assert errors[1] < 1e-2 * errors[0]


@pytest.mark.parametrize("name", ["rosenbrock", "radau"])
def test_implicit_integrators_take_stiff_springs_in_their_stride(name):
    """A spring of 1e5 rad/s, damped far beyond critical, at 1 ms: explicit methods would need 1e-5
    s.
    """
    model = cuboid_pendulum()
    plant = Plant(
        model, 1e-3, integrator=name, springs=JointPD(p=1e8, d=1e6, position=0.1), q0=[0.1]
    )
    for _ in range(200):
        plant.step([0.0])
    # the spring carries the weight: deflection = m g l/2 cos(q) / p
    assert plant.q[0] == pytest.approx(0.1 - 10 * 9.81 * 0.5 * np.cos(0.1) / 1e8, abs=2e-9)


def test_unknown_names_and_options_are_refused():
    with pytest.raises(UnknownNameError, match="rk4"):
        make_integrator("rk44")
    with pytest.raises(ArgumentError, match="rtol"):
        make_integrator("rk4", rtol=1e-3)
    with pytest.raises(ArgumentError, match="step"):
        make_integrator(4)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="RK45"):
        Adaptive("RK46")


@pytest.mark.parametrize(
    ("integrator", "text"),
    [
        (object(), "object has no method 'step'"),
        (type("Bare", (), {"step": len})(), "Bare has no attribute 'name'"),
        (
            type("Half", (), {"step": len, "name": "", "order": 1})(),
            "no attribute 'stability_limit'",
        ),
        (
            type("Wrong", (), {"step": len, "name": "", "order": 1, "stability_limit": 0.0})(),
            "stability_limit is no positive number",
        ),
        (type("Class", (), {"step": len}), "is a class.*Class"),
    ],
)
def test_an_integrator_that_lacks_something_is_refused_at_once(integrator, text):
    with pytest.raises(rd.RobotDynamicsError, match=text):
        make_integrator(integrator)
