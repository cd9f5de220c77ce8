"""Stops, rebounds, and the command limiter."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from support.random_trees import random_model
from support.simple_robots import slider

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import (
    Inertia,
    Joint,
    JointLimits,
    JointType,
    Link,
    Mimic,
    RobotDescription,
)
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation import CompliantStops, JointFriction, Plant, RigidStops
from robot_dynamics_ros.simulation.coordinates import position_bounds
from robot_dynamics_ros.simulation.effects.limits import limited_effort

ONE_METRE = JointLimits(-1.0, 1.0)


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "variational", "rosenbrock"])
def test_rebounds_in_closed_form(integrator):
    e = 0.8
    v0 = 1.05
    plant = Plant(
        slider(limits=ONE_METRE), 1e-2, integrator=integrator, v0=[v0], stops=RigidStops(e)
    )
    for _ in range(400):
        plant.step([0.0])
    left = 4.0
    speed = v0
    at = 0.0
    way = 1.0
    while left > (span := abs(way - at) / speed):
        left -= span
        at = way
        speed = e * speed
        way = -way
    assert plant.q[0] == pytest.approx(at + way * speed * left, abs=1e-11)
    assert plant.v[0] == pytest.approx(way * speed, abs=1e-12)


def test_bouncing_ends():
    """Pressed against its stop with restitution: infinitely many rebounds in finite time, and then
    rest.
    """
    plant = Plant(
        slider(limits=ONE_METRE), 1e-2, integrator="rk4", stops=RigidStops(0.9), limiter=False
    )
    for _ in range(3000):
        plant.step([4.0])
    assert plant.q[0] == 1.0
    assert plant.v[0] == 0.0


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4"])
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_no_joint_passes_a_rigid_stop(integrator, restitution):
    """A tumbling arm with narrow limits and friction, for a second."""
    model = random_model(4, 4, types=(JointType.REVOLUTE,), branching=0.0, friction=True)
    lower, upper = position_bounds(model)
    plant = Plant(
        model, 2e-3, integrator=integrator, stops=RigidStops(restitution), v0=[2.0, -3.0, 1.0, 4.0]
    )
    touched = np.zeros(4, dtype=bool)
    for _ in range(500):
        plant.step(np.zeros(4))
        assert (plant.q >= lower - 1e-11).all() and (plant.q <= upper + 1e-11).all()
        touched |= (plant.q <= lower + 0.02) | (plant.q >= upper - 0.02)
    assert touched.any(), "the test proves nothing if no stop is reached"
    assert np.abs(plant.v).max() < 50.0


def test_impact_keeps_what_it_must():
    """An impact's impulse acts on the stopped joint alone: momentum about the others is kept,
    energy is not gained.
    """
    model = random_model(6, 3, types=(JointType.REVOLUTE,), branching=0.0)
    lower, upper = position_bounds(model)
    q = 0.5 * (lower + upper)
    q[1] = upper[1]
    v = np.array([0.3, 1.5, -0.4])
    for e in (0.0, 0.6, 1.0):
        plant = Plant(model, 1e-9, integrator="rk4", q0=q, v0=v, stops=RigidStops(e))
        plant.step(np.zeros(3))
        change = rd.mass_matrix(model, q) @ (plant.v - v)
        assert np.abs(change[[0, 2]]).max() < 1e-6
        assert plant.v[1] == pytest.approx(-e * v[1], abs=1e-6)
        before = rd.kinetic_energy(model, q, v)
        after = rd.kinetic_energy(model, q, plant.v)
        assert after <= before + 1e-6
        if e == 1.0:
            assert after == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(
    ("integrator", "dt"),
    [("semi_implicit_euler", 1e-2), ("moreau", 1e-2), ("rk4", 2e-3), ("rosenbrock", 1e-2)],
)
def test_compliant_stop_yields_as_its_spring(integrator, dt):
    plant = Plant(
        slider(limits=ONE_METRE),
        dt,
        integrator=integrator,
        stops=CompliantStops(1e4, 200.0),
        limiter=False,
    )
    for _ in range(round(10.0 / dt)):
        plant.step([4.0])
    assert plant.q[0] == pytest.approx(1.0 + 4.0 / 1e4, abs=1e-9)
    assert plant.v[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau", "rk4"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_compliant_stops_never_pull(integrator, side):
    """Soft to stiff for the step, with and without damping: a joint is only pushed back, and leaves
    as fast as it came at most, but for the moment of contact that a step does not resolve.
    """
    model = slider(mass=2.0, limits=JointLimits(-1.0, 1.0))
    for stiffness, damping in itertools.product([1e3, 1e4, 1e5, 1e7], [0.0, 30.0, 300.0]):
        if integrator == "rk4" and stiffness > 1e4:
            continue
        stops = CompliantStops(stiffness, damping)
        plant = Plant(model, 1e-2, integrator=integrator, stops=stops, limiter=False, q0=[0.0])
        plant.reset([side * 0.95], [side * 1.5])
        for _ in range(60):
            before = plant.v[0]
            plant.step([0.0])
            assert side * (plant.v[0] - before) < 1e-9
        assert 0.0 <= -side * plant.v[0] <= 1.05 * 1.5


def test_leaves_the_stop_freely():
    plant = Plant(slider(mass=2.0, limits=ONE_METRE), 1e-2, integrator="rk4", q0=[1.0])
    plant.step([10.0])
    assert plant.v[0] == 0.0
    plant.step([-10.0])
    assert plant.v[0] == pytest.approx(-0.05)


def test_friction_and_stop_together():
    """Pushed into the stop and released: the friction left over holds a small pull, a larger one
    moves it.
    """
    for integrator in ("semi_implicit_euler", "moreau", "rk4"):
        plant = Plant(
            slider(mass=2.0, limits=ONE_METRE),
            1e-2,
            integrator=integrator,
            q0=[1.0],
            friction=JointFriction(coulomb=3.0),
        )
        for tau in (50.0, 2.0, 0.0, -2.9):
            plant.step([tau])
            assert plant.q[0] == 1.0
            assert plant.v[0] == 0.0
        plant.step([-5.0])
        assert plant.v[0] == pytest.approx(-0.01)


def test_mimic_joint_lends_its_limits_to_its_master():
    bar = Inertia(1.0, [0.1, 0.0, 0.0], 0.01 * np.eye(3))
    description = RobotDescription(
        "gripper",
        (Link("base"), Link("left", bar), Link("right", bar)),
        (
            Joint("left_joint", JointType.REVOLUTE, "base", "left", limits=JointLimits(-2.0, 2.0)),
            Joint(
                "right_joint",
                JointType.REVOLUTE,
                "base",
                "right",
                limits=JointLimits(-0.5, 0.1),
                mimic=Mimic("left_joint", -0.5, 0.0),
            ),
        ),
    )
    lower, upper = position_bounds(RobotModel.from_description(description))
    assert lower.tolist() == [-0.2]
    assert upper.tolist() == [1.0]


@pytest.mark.parametrize(
    ("position", "v", "command", "allowed"),
    [
        (0.0, 0.0, 50.0, 10.0),
        (0.0, 0.0, -50.0, -10.0),
        # saturation
        (0.0, 0.0, 3.0, 3.0),
        (1.0, 0.0, 5.0, 0.0),
        (1.0, 0.0, -5.0, -5.0),
        # at the upper limit
        (1.2, 0.5, 5.0, 0.0),
        # beyond it but on the way back
        (1.2, -0.5, 5.0, 5.0),
        (-1.0, 0.0, -5.0, 0.0),
        (-1.0, -0.1, 5.0, 5.0),
        (-1.1, 0.1, -5.0, -5.0),
        (0.0, 2.1, 5.0, 0.0),
        (0.0, 2.1, -5.0, -5.0),
        # too fast
        (0.0, -2.1, -5.0, 0.0),
        # at the velocity limit, not above it
        (0.0, 2.0, 5.0, 5.0),
        (-1.0, -2.5, -5.0, 0.0),
        (1.0, -2.5, -5.0, 0.0),
    ],
)
def test_limiter_follows_ros2_control(position, v, command, allowed):
    limits = SimpleNamespace(
        limit_lower=[-1.0], limit_upper=[1.0], velocity_limit=[2.0], effort_limit=[10.0]
    )
    assert limited_effort(limits, 0, command, position, v) == allowed


def test_limiter_in_the_plant():
    limits = JointLimits(-1.0, 1.0, velocity=0.5, effort=10.0)
    plant = Plant(slider(mass=2.0, limits=limits), 1e-2, integrator="rk4")
    plant.step([100.0])
    assert plant.tau[0] == 10.0
    assert plant.command[0] == 100.0
    for _ in range(100):
        plant.step([100.0])
    assert plant.v[0] == pytest.approx(0.5, abs=0.06)
    free = Plant(slider(mass=2.0, limits=limits), 1e-2, integrator="rk4", limiter=False)
    free.step([100.0])
    assert free.tau[0] == 100.0


def test_wrong_stops_are_refused():
    with pytest.raises(ArgumentError, match="rebound"):
        Plant(slider(limits=ONE_METRE), stops=RigidStops(1.5))
    with pytest.raises(ArgumentError, match="stops"):
        Plant(slider(limits=ONE_METRE), stops="soft")
    with pytest.raises(ArgumentError, match="rail"):
        Plant(slider(limits=ONE_METRE), q0=[1.5])
    assert Plant(slider(limits=ONE_METRE), q0=[1.5], stops=None).q[0] == 1.5


def test_default_start_is_brought_within_the_limits():
    assert Plant(slider(limits=JointLimits(0.2, 1.0))).q[0] == 0.2
