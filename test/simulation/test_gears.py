"""Springs and play between motors and links, in both engines, against closed forms."""

import dataclasses

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, SimulationError, UnknownNameError

ENGINES = [rd.Plant, rd.MujocoPlant]
ROTOR = 0.05
STIFFNESS = 400.0
PERIOD = 1e-3


def pendulum(gravity=9.81):
    """One joint, no friction, no stops."""
    model = rd.load_robot("pendulum", armature={"hinge": ROTOR}, gravity=(0.0, 0.0, -gravity))
    bare = model.description.with_joints({}, {"hinge": 0.0}, {"hinge": 0.0})
    return model.replace(description=bare)


def made(engine, model, gears, **options):
    if engine is rd.MujocoPlant:
        options["geometry"] = "none"
    return engine(model, PERIOD, gears=gears, limiter=False, stops=None, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("backlash", [0.0, 0.02])
def test_at_rest_the_spring_winds_up_by_effort_over_stiffness(engine, backlash):
    model = pendulum()
    gears = rd.GearSprings(STIFFNESS, backlash=backlash)
    plant = made(engine, model, gears, q0=[0.7])
    weight = rd.gravity_forces(plant.model, [0.7])
    for _ in range(200):
        plant.step(weight)
    angle, speed = plant.motors()
    np.testing.assert_allclose(plant.q, [0.7], atol=1e-9)
    np.testing.assert_allclose(speed, 0.0, atol=1e-9)
    wound = abs(weight[0]) / STIFFNESS + 0.5 * backlash
    np.testing.assert_allclose(np.abs(angle - plant.q), [wound], rtol=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_two_masses_swing_as_the_closed_form_says(engine):
    """Constant effort on the motor, no gravity: the twist is τ/(J ω²) (1 − cos ω t)."""
    model = pendulum(gravity=0.0)
    plant = made(engine, model, rd.GearSprings(STIFFNESS), substeps=40)
    link = rd.mass_matrix(plant.model, [0.0])[0, 0]
    rate = np.sqrt(STIFFNESS * (1.0 / ROTOR + 1.0 / link))
    effort = 2.0
    for k in range(1, 201):
        plant.step([effort])
        t = k * PERIOD
        twist = effort / (ROTOR * rate**2) * (1.0 - np.cos(rate * t))
        middle = 0.5 * effort * t**2 / (ROTOR + link)
        angle, _ = plant.motors()
        assert angle[0] - plant.q[0] == pytest.approx(twist, abs=2e-3 * effort / (ROTOR * rate**2))
        # the centre of both masses
        centre = (ROTOR * angle[0] + link * plant.q[0]) / (ROTOR + link)
        assert centre == pytest.approx(middle, rel=2e-3, abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_motor_crosses_the_play_alone(engine):
    """From the middle of the play the motor runs freely: half the play takes √(b J / τ)."""
    model = pendulum(gravity=0.0)
    play = 0.04
    plant = made(engine, model, rd.GearSprings(STIFFNESS, backlash=play), substeps=20)
    effort = 1.0
    crossing = np.sqrt(play * ROTOR / effort)
    while plant.t < crossing - PERIOD:
        plant.step([effort])
        assert plant.q[0] == 0.0
    for _ in range(5):
        plant.step([effort])
    assert plant.q[0] > 0.0


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_adds_energy(engine):
    """An arm swings on springs without damping; rotors and springs are part of the energy."""
    model = rd.load_robot("three_link")
    free = model.description.with_joints({}, *(dict.fromkeys(model.joint_names, 0.0),) * 2)
    model = model.replace(description=free)
    gears = rd.GearSprings(3000.0, backlash=1e-3, rotors=0.05)
    options = {"integrator": "rk4"} if engine is rd.MujocoPlant else {}
    plant = made(engine, model, gears, q0=[0.3, -0.4, 0.5], substeps=40, **options)
    before = sum(plant.energy())
    moved = 0.0
    for _ in range(500):
        plant.step(np.zeros(3))
        moved = max(moved, plant.energy()[0])
    assert moved > 1.0
    assert sum(plant.energy()) == pytest.approx(before, abs=2e-3 * moved)


def test_both_engines_move_the_same_arm():
    model = rd.load_robot("six_axis")
    gears = rd.GearSprings(
        100.0 * np.minimum(model.effort_limit, 100.0), damping=1.0, backlash=2e-3, rotors=0.05
    )
    start = np.array([0.1, -0.8, 1.0, 0.2, 0.5, 0.0])
    ways = []
    for engine in ENGINES:
        plant = made(engine, model, gears, q0=start, substeps=40, friction=False)
        weight = rd.gravity_forces(plant.model, start)
        rows = []
        for k in range(300):
            plant.step(weight + 0.05 * model.effort_limit * np.sin(0.02 * k))
            rows.append(np.concatenate((plant.q, plant.motors()[0])))
        ways.append(np.array(rows))
    moved = np.ptp(ways[0], axis=0)
    assert moved.min() > 0.01
    assert (np.abs(ways[1] - ways[0]).max(0) < 0.01 * moved).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_friction_and_brakes_are_at_the_motor(engine):
    model = pendulum()
    plant = made(
        engine, model, rd.GearSprings(STIFFNESS), q0=[0.7], friction=rd.JointFriction(0.0, 50.0)
    )
    angle = plant.motors()[0]
    for _ in range(300):
        plant.step([0.0])
    # the motor sticks, as far as friction in MuJoCo does; the link hangs in its spring
    np.testing.assert_allclose(plant.motors()[0], angle, atol=1e-4)
    np.testing.assert_allclose(plant.q, [0.7], atol=1e-4)
    braked = made(engine, model, rd.GearSprings(STIFFNESS), q0=[0.7], friction=False)
    braked.brakes = True
    for _ in range(300):
        braked.step([0.0])
    np.testing.assert_allclose(braked.motors()[0], angle, atol=1e-4)
    np.testing.assert_allclose(braked.q, [0.7], atol=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_encoders_read_the_motor_or_the_link(engine):
    model = pendulum()
    for side in ("link", "motor"):
        plant = made(engine, model, rd.GearSprings(STIFFNESS, encoder=side), q0=[0.7])
        for _ in range(20):
            plant.step([0.0])
        true = plant.motors() if side == "motor" else (plant.q, plant.v)
        np.testing.assert_array_equal(plant.encoders(), true)
        assert abs(plant.motors()[0][0] - plant.q[0]) > 1e-4


@pytest.mark.parametrize("engine", ENGINES)
def test_a_state_is_restored_with_its_motors(engine):
    plant = made(engine, pendulum(), rd.GearSprings(STIFFNESS), q0=[0.7])
    for _ in range(10):
        plant.step([0.5])
    state = plant.state()
    ends = []
    for _ in range(2):
        for _ in range(10):
            plant.step([1.0])
        ends.append(np.concatenate((plant.q, *plant.motors())))
        plant.restore(state)
    np.testing.assert_array_equal(*ends)


def test_what_does_not_fit_is_refused():
    model = pendulum()
    with pytest.raises(UnknownNameError, match="shaft"):
        rd.GearSprings(STIFFNESS, encoder="shaft")
    with pytest.raises(ArgumentError, match="stiffness"):
        made(rd.Plant, model, rd.GearSprings(-1.0))
    bare = dataclasses.replace(model.description.joints[0], armature=0.0)
    light = model.replace(
        description=dataclasses.replace(
            model.description, joints=(bare, *model.description.joints[1:]), source=""
        )
    )
    with pytest.raises(ArgumentError, match="rotor inertia above zero"):
        made(rd.Plant, light, rd.GearSprings(STIFFNESS))
    with pytest.raises(SimulationError, match="at least"):
        made(rd.Plant, model, rd.GearSprings(1e8), substeps=1)
    assert made(rd.Plant, model, rd.GearSprings({})).gears is None


def test_springs_by_what_they_wind_up_at_the_limit():
    model = rd.load_robot("six_axis")
    gears = rd.GearSprings.of_windup(model, 0.01, rotor=0.1, backlash=1e-3)
    table = made(rd.Plant, model, gears).gears
    np.testing.assert_allclose(table.stiffness * 0.01, model.effort_limit)
    np.testing.assert_allclose(table.damping, 0.06 * np.sqrt(0.1 * table.stiffness))
    np.testing.assert_array_equal(table.rotors, 0.1)
    with pytest.raises(ArgumentError, match="windup"):
        rd.GearSprings.of_windup(model, 0.0)
