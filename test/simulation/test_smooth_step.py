"""Steps in machine code are the steps that the full solution takes."""

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.simulation import JointFriction, JointPD, Plant
from robot_dynamics_ros.simulation.integrators.smooth_step import SmoothFirst

pytestmark = pytest.mark.skipif("native" not in rd.available_backends(), reason="no compiler")

HINGES = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC)
BOTH = pytest.mark.parametrize("integrator", ["semi_implicit_euler", "moreau"])


class Counting:
    """Counts the steps that were not smooth."""

    def __init__(self, plant):
        self.inner, self.count = plant._stepper.full, 0
        plant._stepper.full = self

    def advance(self, *arguments):
        self.count += 1
        return self.inner.advance(*arguments)


@BOTH
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_motion_as_in_full(integrator, seed):
    """Friction, stops, limits and outside wrenches; from one state to the next, so that differences cannot add up."""
    model = random_model(seed, 5, types=HINGES, branching=0.4, fixed=0.2, limits=True, armature=True, friction=True)
    bounded = np.isfinite(model.lower) & np.isfinite(model.upper)
    start = np.zeros(5)
    start[bounded] = 0.5 * (model.lower[bounded] + model.upper[bounded])
    fast, full = (Plant(model, 1e-3, integrator=integrator, q0=start, compiled=c) for c in (True, False))
    assert isinstance(fast._stepper, SmoothFirst)
    assert not isinstance(full._stepper, SmoothFirst)
    counter = Counting(fast)
    rng = np.random.default_rng(seed)
    tip = model.link_names[-1]
    for k in range(800):
        effort = 8.0 * np.sin(0.01 * k + np.arange(5))
        push = {tip: rng.normal(size=6)} if k % 3 == 0 else None
        full.restore(fast.state())
        fast.step(effort, push, {tip: np.ones(6)} if k % 5 == 0 else None)
        full.step(effort, push, {tip: np.ones(6)} if k % 5 == 0 else None)
        np.testing.assert_allclose(fast.v, full.v, rtol=0, atol=1e-9 * (1 + np.abs(full.v).max()))
        np.testing.assert_allclose(fast.q, full.q, rtol=0, atol=1e-11 * (1 + np.abs(full.q).max()))
    assert 0 < counter.count < 700  # both kinds of steps have occurred


def test_damping_too_strong_for_the_trapezoidal_rule_is_left_to_the_full_step():
    model = rd.load_robot("two_link")
    options = {"integrator": "moreau", "friction": JointFriction(viscous=1e5, coulomb=0.0), "stops": None}
    fast, full = (Plant(model, 1e-3, v0=[1.0, -1.0], compiled=c, **options) for c in (True, False))
    for _ in range(20):
        fast.step([1.0, 2.0])
        full.step([1.0, 2.0])
        np.testing.assert_array_equal(fast.v, full.v)


@BOTH
def test_what_rests_is_left_to_the_full_step(integrator):
    model = rd.load_robot("two_link").replace(gravity=(0, 0, 0))
    plant = Plant(model, 1e-3, integrator=integrator, friction=JointFriction(viscous=0.1, coulomb=1.0))
    counter = Counting(plant)
    for _ in range(10):
        plant.step([0.5, 0.5])
    assert counter.count == 10
    assert not plant.v.any()


@BOTH
def test_brakes_hold_a_moving_robot(integrator):
    model = rd.load_robot("two_link")
    plant = Plant(model, 1e-3, integrator=integrator, v0=[0.5, 0.5])
    plant.brakes = True
    plant.step([0.0, 0.0])
    assert not plant.v.any()


@pytest.mark.parametrize(
    "option",
    [
        {"springs": JointPD(p=1.0)},
        {"user_effort": lambda t, q, v: 0.0 * v},
        {"friction": JointFriction(coulomb=1.0, static=2.0)},
    ],
)
def test_what_is_not_plain_is_done_in_full(option):
    assert not isinstance(Plant(rd.load_robot("two_link"), 1e-3, **option)._stepper, SmoothFirst)


def test_floating_bases_are_done_in_full():
    model = random_model(1, 2, types=(JointType.FLOATING, JointType.REVOLUTE), branching=0.0, fixed=0.0, limits=False)
    if model.nq != model.nv:
        assert not isinstance(Plant(model, 1e-3)._stepper, SmoothFirst)
