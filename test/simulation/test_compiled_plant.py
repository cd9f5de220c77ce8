"""Whole steps in machine code: the same as Python running the same statements, bit for bit
repeatable, on all effects.
"""

import concurrent.futures

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, SimulationError
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.simulation import (
    CompliantStops,
    GroundContact,
    JointFriction,
    JointPD,
    Plant,
    RigidStops,
)

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.skipif("native" not in rd.available_backends(), reason="no compiler"),
]

BOTH = pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau"])


def robot(seed, floating=False):
    return random_model(
        seed,
        5,
        floating_base=floating,
        branching=0.4,
        fixed=0.2,
        limits=True,
        armature=True,
        friction=True,
    )


def options(seed, model):
    """Some of everything that can act on a robot."""
    hinges = [name for name in model.joint_names if model.joint(name).type.nq == 1]
    motor = DCMotor(
        2.0,
        0.05,
        gear_ratio=20.0,
        rotor_inertia=1e-5,
        inductance=1e-3 * (seed % 2),
        max_current=8.0,
    )
    return {
        "friction": [True, JointFriction(coulomb=0.4, static=0.7), None][seed % 3],
        "stops": ["rigid", RigidStops(0.4), CompliantStops(500.0, 3.0)][seed % 3],
        "springs": JointPD(p=dict.fromkeys(hinges[:2], 20.0), d=0.05) if seed % 2 else None,
        "motors": dict.fromkeys(hinges[-1:], motor) if seed % 3 != 1 else None,
        "contacts": [
            GroundContact(
                model.link_names[-1], radius=0.05, plane_point=(0.0, 0.0, -0.2), stiffness=2e3
            )
        ]
        if seed % 2 == 0
        else [],
    }


def middle(model):
    """A configuration away from the limits."""
    q = model.initial_configuration()
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    q[bounded] = 0.5 * (model.lower[bounded] + model.upper[bounded])
    return q


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_machine_code_does_what_python_does(integrator, seed):
    """From one state to the next, so that differences cannot add up."""
    model = robot(seed, floating=seed == 4)
    given = {"integrator": integrator, "q0": middle(model), **options(seed, model)}
    fast, slow = (Plant(model, 1e-3, compiled=c, **given) for c in (True, False))
    assert fast.compiled
    assert not slow.compiled
    rng = np.random.default_rng(seed)
    tip = model.link_names[-1]
    moved = 0
    for k in range(150):
        effort = 6.0 * np.sin(0.03 * k + np.arange(model.nv))
        push = {tip: rng.normal(size=6)} if k % 3 == 0 else None
        world = {tip: np.ones(6)} if k % 5 == 0 else None
        slow.restore(fast.state())
        fast.step(effort, push, world)
        slow.step(effort, push, world)
        scale = 1.0 + np.abs(slow.v).max()
        np.testing.assert_allclose(fast.v, slow.v, rtol=0, atol=1e-8 * scale)
        np.testing.assert_allclose(
            fast.q, slow.q, rtol=0, atol=1e-10 * (1.0 + np.abs(slow.q).max())
        )
        np.testing.assert_allclose(fast.currents, slow.currents, atol=1e-8)
        np.testing.assert_allclose(fast.tau, slow.tau, atol=1e-8)
        moved += int((fast.v != 0.0).any())
    assert moved > 100


@BOTH
def test_steps_repeat_bit_for_bit(integrator):
    model = robot(2)
    given = {"integrator": integrator, "q0": middle(model), **options(2, model)}
    plants = [Plant(model, 1e-3, **given) for _ in range(2)]
    commands = 5.0 * np.sin(0.02 * np.arange(400)[:, None] + np.arange(model.nv))
    for command in commands:
        plants[0].step(command)
    path = plants[1].run(commands)
    np.testing.assert_array_equal(plants[0].q, plants[1].q)
    np.testing.assert_array_equal(plants[0].v, plants[1].v)
    np.testing.assert_array_equal(path.v[-1], plants[1].v)
    assert plants[0].t == plants[1].t == pytest.approx(0.4)


def test_many_steps_in_one_call_are_those_steps():
    model = rd.load_robot("six_axis")
    one = Plant(model, 1e-3)
    many = Plant(model, 1e-3)
    python = Plant(model, 1e-3, compiled=False)
    push = {"tool0": np.array([0.0, 0.0, 0.0, 0.0, 0.0, -20.0])}
    commands = rd.gravity_forces(model, one.q) + 3.0 * np.sin(
        0.05 * np.arange(60)[:, None] + np.arange(6)
    )
    states = []
    for command in commands:
        one.step(command, push)
        states.append((one.q, one.v, one.tau.copy()))
    path = many.run(commands, external=push)
    for got, expected in zip((path.q, path.v, path.tau), zip(*states, strict=True), strict=True):
        np.testing.assert_array_equal(got, expected)
    stuck = path.v == 0.0
    assert stuck.any()
    assert not stuck.all()
    slow = python.run(commands, external=push)
    np.testing.assert_allclose(slow.q, path.q, atol=1e-9)
    assert many.run(np.zeros(6), steps=10, record=False) is None
    assert many.t == pytest.approx(0.07)


def test_robots_side_by_side():
    """Different parameters, several threads; each as if it were alone."""
    model = rd.load_robot("six_axis")
    robots = [rd.random_model_error(model, k, mass=0.1, friction=0.3) for k in range(3)]

    def make():
        return [
            Plant(r, 1e-3, friction=JointFriction(coulomb=0.5 * k)) for k, r in enumerate(robots)
        ]

    rng = np.random.default_rng(0)
    commands = rng.normal(scale=20.0, size=(3, 50, 6))
    together = make()
    alone = make()
    path = rd.run_plants(together, commands)
    for k, plant in enumerate(alone):
        expected = plant.run(commands[k])
        np.testing.assert_array_equal(path.q[k], expected.q)
        np.testing.assert_array_equal(together[k].v, plant.v)
    assert not np.array_equal(together[0].q, together[1].q)


def test_plants_of_one_robot_in_many_threads():
    model = rd.load_robot("seven_axis")
    commands = np.random.default_rng(1).normal(scale=30.0, size=(300, 7))

    def experiment(_):
        plant = Plant(model, 1e-3)
        plant.run(commands, record=False)
        return plant.q

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(experiment, range(24)))
    for q in results:
        np.testing.assert_array_equal(q, results[0])


@pytest.mark.parametrize("compiled", [True, False])
def test_bad_commands_leave_the_state_as_it_is(compiled):
    plant = Plant(rd.load_robot("two_link"), 1e-3, compiled=compiled)
    plant.step([1.0, 0.0])
    before = plant.q
    for bad in (
        [1.0],
        np.array([1.0, np.nan]),
        np.array([[1.0, 2.0]]),
        "x",
        np.array([np.inf, 0.0]),
    ):
        with pytest.raises(ArgumentError, match="command"):
            plant.step(bad)
    np.testing.assert_array_equal(plant.q, before)
    # whole numbers are numbers
    plant.step(np.array([1, 2]))
    assert plant.t == pytest.approx(2e-3)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_plant_that_runs_away_says_so_and_stays_where_it_was(compiled):
    plant = Plant(
        rd.load_robot("two_link"),
        1e-3,
        friction=None,
        stops=None,
        limiter=False,
        max_speed=50.0,
        compiled=compiled,
    )
    with pytest.raises(SimulationError, match="diverges"):
        plant.run(np.full(2, 500.0), steps=100_000, record=False)
    assert np.abs(plant.v).max() <= 50.0
    assert np.isfinite(plant.q).all()


@BOTH
def test_brakes_hold_a_moving_robot(integrator):
    plant = Plant(rd.load_robot("two_link"), 1e-3, integrator=integrator, v0=[0.5, 0.5])
    plant.brakes = True
    plant.step([0.0, 0.0])
    assert not plant.v.any()
    plant.brakes = False
    plant.step([5.0, 5.0])
    assert plant.v.any()


@BOTH
def test_what_rests_rests(integrator):
    model = rd.load_robot("two_link").replace(gravity=(0, 0, 0))
    plant = Plant(
        model, 1e-3, integrator=integrator, friction=JointFriction(viscous=0.1, coulomb=1.0)
    )
    start = plant.q
    plant.run([0.9, -0.9], steps=10_000, record=False)
    np.testing.assert_array_equal(plant.q, start)


def test_robots_too_large_to_unroll_use_loops():
    model = rd.limb(60)
    friction = JointFriction(viscous=0.1, coulomb=0.05)
    fast, slow = (Plant(model, 1e-3, friction=friction, compiled=c) for c in (True, False))
    for plant in (fast, slow):
        plant.run(np.zeros(60), steps=5, record=False)
    np.testing.assert_allclose(fast.v, slow.v, atol=1e-9 * (1.0 + np.abs(slow.v).max()))
