"""Sticking, sliding, breaking away."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_trees import random_model
from support.simple_robots import slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.simulation import JointFriction, JointPD, Plant
from robot_dynamics_ros.simulation.effects.friction import dry_friction

INTEGRATORS = ["semi_implicit_euler", "moreau", "rk4", "rosenbrock", "variational", "dop853"]
LOCATING = [name for name in INTEGRATORS if name not in ("semi_implicit_euler", "moreau")]


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_no_creep_below_breakaway(integrator):
    """A tenth of a per mille below breakaway for 5 s, after a shove: the position does not move by
    one bit.
    """
    plant = Plant(slider(friction=3.0), 1e-2, integrator=integrator, v0=[0.2])
    while plant.v[0] != 0.0:
        plant.step([2.0])
        assert plant.t < 5.0, "never came to rest"
    resting = plant.q[0]
    for _ in range(500):
        plant.step([2.9997])
        assert plant.q[0] == resting
        assert plant.v[0] == 0.0
    assert plant.joint_effort()[0] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("direction", [-1.0, 1.0])
def test_breaks_away_at_the_right_effort(integrator, direction):
    plant = Plant(slider(mass=2.0, friction=3.0), 1e-2, integrator=integrator)
    for _ in range(100):
        plant.step([direction * 2.999])
    assert plant.v[0] == 0.0
    for _ in range(100):
        plant.step([direction * 3.5])
    assert plant.v[0] == pytest.approx(direction * (3.5 - 3.0) / 2.0, rel=1e-9)


@pytest.mark.parametrize("integrator", LOCATING)
def test_coasting_block_stops_where_it_should(integrator):
    """v0²/(2 μ) with deceleration F/m = 1.5 m/s², although it stops between two steps."""
    plant = Plant(slider(mass=2.0, friction=3.0), 1e-2, integrator=integrator, v0=[1.0])
    for _ in range(100):
        plant.step([0.0])
    assert plant.q[0] == pytest.approx(1.0 / 3.0, abs=1e-12)
    assert plant.v[0] == 0.0
    assert plant.events == 1


def test_time_stepping_stops_within_first_order():
    errors = []
    for dt in (1e-2, 1e-3):
        plant = Plant(
            slider(mass=2.0, friction=3.0), dt, integrator="semi_implicit_euler", v0=[1.0]
        )
        for _ in range(round(1.0 / dt)):
            plant.step([0.0])
        assert plant.v[0] == 0.0
        errors.append(abs(plant.q[0] - 1.0 / 3.0))
    assert errors[0] < 0.6e-2
    assert errors[1] == pytest.approx(errors[0] / 10.0, rel=0.2)


def test_spring_and_dry_friction_in_closed_form():
    """Half swings of a mass on a spring with Coulomb friction lose 2 F/k each, and it stays where
    the spring is too weak.
    """
    k = 50.0
    F = 3.0
    m = 2.0
    plant = Plant(
        slider(mass=m, friction=F), 1e-2, integrator="rk8", q0=[1.0], springs=JointPD(p=k)
    )
    turning = [1.0]
    half = np.pi * np.sqrt(m / k)
    while abs(turning[-1]) > F / k:
        reach = abs(turning[-1]) - 2 * F / k
        turning.append(-np.sign(turning[-1]) * reach)
    plant_end = round((len(turning) + 1) * half / plant.dt)
    for _ in range(plant_end):
        plant.step([0.0])
    assert plant.v[0] == 0.0
    assert plant.q[0] == pytest.approx(turning[-1], abs=1e-11)
    assert plant.events == len(turning) - 1


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4"])
def test_no_chatter_on_an_arm_at_rest(integrator):
    """A spatial arm held by friction alone against gravity: every joint at rest stays exactly at
    rest.
    """
    model = random_model(21, 5, limits=False, branching=0.0, masses=(0.3, 1.0))
    q = np.array([0.3, -0.7, 0.5, 0.2, -0.4])
    needed = np.abs(rd.gravity_forces(model, q))
    plant = Plant(
        model, 1e-3, integrator=integrator, q0=q, friction=JointFriction(coulomb=1.01 * needed)
    )
    for _ in range(300):
        plant.step(np.zeros(5))
    np.testing.assert_array_equal(plant.q, q)
    # one percent too little in one joint, and it gives way
    too_little = 1.01 * needed
    weakest = int(np.argmax(needed))
    too_little[weakest] = 0.99 * needed[weakest]
    plant = Plant(
        model, 1e-3, integrator=integrator, q0=q, friction=JointFriction(coulomb=too_little)
    )
    for _ in range(100):
        plant.step(np.zeros(5))
    assert plant.v[weakest] * rd.gravity_forces(model, q)[weakest] < 0.0


@given(st.integers(0, 2), st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_friction_only_takes_energy(robot, seed):
    # few robots: each is compiled
    model = random_model(robot, 4, limits=False, friction=True)
    rng = np.random.default_rng(seed)
    run = rd.simulate(
        model, q0=rng.uniform(-1, 1, 4), v0=rng.uniform(-2, 2, 4), duration=0.3, dt=5e-3
    )
    scale = 1e-6 * max(1.0, float(run.kinetic_energy.max()))
    assert (np.diff(run.energy) < scale).all()


@given(st.integers(0, 2), st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_both_schemes_converge_to_the_same_motion(robot, seed):
    """Time stepping and event location share nothing but the law of friction; at small steps they
    agree.
    """
    model = random_model(robot, 3, limits=False, branching=0.0, friction=True)
    rng = np.random.default_rng(seed)
    start = {"q0": rng.uniform(-1, 1, 3), "v0": rng.uniform(-1, 1, 3)}
    exact = Plant(model, 2e-3, integrator="rk4", **start)
    gaps = []
    for dt in (2e-3, 2.5e-4):
        plant = Plant(model, dt, integrator="semi_implicit_euler", **start)
        for _ in range(round(0.2 / dt)):
            plant.step(np.zeros(3))
        gaps.append(plant.q)
    for _ in range(100):
        exact.step(np.zeros(3))
    coarse, fine = (np.abs(q - exact.q).max() for q in gaps)
    assert fine < 5e-3
    assert fine < 0.25 * coarse + 1e-6


def test_stribeck_curve_and_stick_slip():
    """Dragged through a soft spring at constant speed: sticks until the spring reaches F_s, then
    slips.
    """
    k = 20.0
    F_s = 5.0
    F_c = 2.0
    drag = 0.1
    plant = Plant(
        slider(mass=1.0),
        1e-3,
        integrator="rk4",
        friction=JointFriction(coulomb=F_c, static=F_s, stribeck_velocity=0.05),
        user_effort=lambda t, q, v: np.array([k * (drag * t - q[0])]),
    )
    while plant.v[0] == 0.0:
        plant.step([0.0])
        assert plant.t < 5.0
    assert plant.t == pytest.approx(F_s / (k * drag), abs=2e-3)
    top = 0.0
    stops = 0
    moving = True
    for _ in range(3000):
        plant.step([0.0])
        top = max(top, plant.v[0])
        if moving and plant.v[0] == 0.0:
            stops += 1
        moving = plant.v[0] != 0.0
    assert top > 3.0 * drag
    assert stops >= 1
    law = plant.system.memory.python
    assert dry_friction(law, 0, 0.0) == 5.0
    assert dry_friction(law, 0, -0.05) == pytest.approx(2.0 + 3.0 / np.e)
    assert dry_friction(law, 0, 10.0) == 2.0


def test_friction_of_the_model_is_the_default():
    model = slider(damping=0.5, friction=3.0)
    assert Plant(model).system.friction.coulomb[0] == 3.0
    assert Plant(model).system.friction.viscous[0] == 0.5
    assert not Plant(model, friction=False).system.friction.dry.any()


def test_viscous_decay_in_closed_form():
    plant = Plant(slider(mass=2.0, damping=0.8), 1e-2, integrator="rk8", v0=[1.0])
    for _ in range(100):
        plant.step([0.0])
    assert plant.v[0] == pytest.approx(np.exp(-0.4), abs=1e-14)


def test_wrong_friction_is_refused():
    model = slider()
    with pytest.raises(ArgumentError, match="below Coulomb"):
        JointFriction(coulomb=2.0, static=1.0).table(model)
    with pytest.raises(ArgumentError, match="viscous"):
        JointFriction(viscous=-1.0).table(model)
    with pytest.raises(UnknownNameError, match="rail"):
        JointFriction(coulomb={"rial": 1.0}).table(model)
    for values in ("much", "1.0", {"rail": "much"}, {"rail": [1.0, 2.0]}):
        with pytest.raises(
            ArgumentError,
            match=r"Coulomb friction.*: expected one non-negative number.*mapping of joint names",
        ):
            JointFriction(coulomb=values).table(model)
    with pytest.raises(ArgumentError, match="friction"):
        Plant(model, friction=3.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4"])
@pytest.mark.parametrize("effort", [5.0, np.inf])
def test_brakes_stop_and_hold(integrator, effort):
    plant = Plant(slider(mass=2.0), 1e-3, integrator=integrator, brake_effort=effort, v0=[1.0])
    plant.brakes = True
    for _ in range(1000):
        plant.step([0.0])
    assert plant.v[0] == 0.0
    at = plant.q[0]
    if np.isinf(effort):
        # Moreau's rule moves half a step before its impulses act
        assert at == pytest.approx(0.5e-3 if integrator == "moreau" else 0.0, abs=1e-12)
    for _ in range(100):
        plant.step([4.9])
    assert plant.q[0] == at
    plant.brakes = False
    plant.step([4.9])
    assert plant.v[0] > 0.0


def test_a_robot_that_diverges_on_the_way_to_an_event_is_said_to_diverge():
    robot = rd.load_robot("two_link")
    plant = rd.Plant(
        robot, 2e-3, integrator="rk4", friction=rd.JointFriction(coulomb=0.5, static=0.8)
    )
    with np.errstate(all="ignore"), pytest.raises(rd.SimulationError, match="diverges"):
        plant.step(np.zeros(2), {robot.link_names[-1]: np.full(6, 1e150)})
