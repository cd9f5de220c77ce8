"""The default integrator where nothing dissipates: no drift of the energy, momentum kept.

The long run is ``benchmarks.energy``.
"""

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from benchmarks.energy import chaotic_robots, drift
from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.simulation import JointFriction, Plant

# every second one: arms, limbs, one that floats
ROBOTS = dict(list(chaotic_robots())[1::2])
FREE = {"friction": False, "stops": None, "limiter": False}


@pytest.mark.parametrize("name", ROBOTS)
def test_energy_does_not_drift(name):
    """200 s at 2 ms: a line through the means of 50 windows rises by less than half the oscillation
    within one of them.
    """
    row = drift(ROBOTS[name], 100_000, 2e-3)
    assert row["oscillation"] < 0.05
    assert abs(row["rise"]) < 0.5 * row["oscillation"]


def test_a_coarse_step_keeps_the_energy_of_a_double_pendulum():
    """10 ms and up to 11 rad/s: the error oscillates, and its mean stays near zero for 1000 s."""
    model = rd.load_robot("two_link")
    plant = Plant(model, 1e-2, q0=[1.0, 0.5], **FREE)
    start = sum(plant.energy())
    path = plant.run(np.zeros(2), 100_000)
    error = rd.kinetic_energy(model, path.q, path.v) + rd.potential_energy(model, path.q) - start
    means = error.reshape(20, -1).mean(axis=1)
    assert np.abs(error).max() < 0.12 * start
    assert np.abs(means).max() < 0.01 * start


def test_momentum_about_the_axis_of_the_first_joint_is_kept_to_rounding():
    """Without gravity nothing acts on it, whatever the inner joints do and motors push: 100 s of
    chaotic motion.
    """
    model = rd.limb(3, lengths=[0.5, 0.4, 0.3])
    plant = Plant(model, 2e-3, v0=[1.0, -2.0, 3.0], **FREE)
    before = (rd.mass_matrix(model, plant.q) @ plant.v)[0]
    for k in range(50):
        plant.run([0.0, 0.05 * np.sin(k), -0.02], 1000, record=False)
        assert (rd.mass_matrix(model, plant.q) @ plant.v)[0] == pytest.approx(before, rel=1e-11)


def test_momentum_of_a_floating_robot_oscillates_with_the_square_of_the_step():
    """It is kept between the states, where impulses act; that of the states differs by O(h²),
    without drift.
    """
    model = random_model(8, 3, limits=False, branching=0.0, floating_base=True, gravity=(0, 0, 0))
    v0 = np.random.default_rng(1).uniform(-1.0, 1.0, model.nv)
    v0[3:6] -= rd.centroidal_momentum(model, model.neutral(), v0)[3:] / model.total_mass
    before = rd.centroidal_momentum(model, model.neutral(), v0)

    def deviations(dt):
        plant = Plant(model, dt, v0=v0, **FREE)
        out = []
        for _ in range(round(20.0 / dt)):
            plant.step(np.zeros(model.nv))
            out.append(np.abs(rd.centroidal_momentum(model, plant.q, plant.v) - before).max())
        return np.array(out)

    coarse = deviations(2e-2)
    fine = deviations(1e-2)
    assert coarse.max() < 1e-3 * np.abs(before).max()
    assert coarse.max() / fine.max() == pytest.approx(4.0, rel=0.3)
    assert coarse[-200:].max() < 1.5 * coarse[:200].max()


def test_friction_that_acts_and_joints_that_rest_in_the_same_robot():
    """What friction takes is all that is lost, and a joint below breakaway does not move by one
    bit.
    """
    model = rd.limb(3, lengths=[0.5, 0.4, 0.3])
    friction = JointFriction(viscous=0.0, coulomb=[0.02, 50.0, 0.01])
    plant = Plant(model, 1e-3, friction=friction, stops=None, limiter=False, v0=[3.0, 0.0, -2.0])
    start = sum(plant.energy())
    resting = plant.q[1]
    lost = 0.0
    for _ in range(1000):
        before = plant.q
        plant.step(np.zeros(3))
        lost += 0.02 * abs(plant.q[0] - before[0]) + 0.01 * abs(plant.q[2] - before[2])
        assert plant.q[1] == resting
    assert start - sum(plant.energy()) == pytest.approx(lost, rel=2e-3)


def test_a_step_too_large_for_the_speed_is_divided_or_named():
    model = rd.load_robot("two_link")
    plant = Plant(model, 1e-2, v0=[600.0, -900.0], **FREE)
    start = sum(plant.energy())
    for _ in range(50):
        plant.step([0.0, 0.0])
    assert sum(plant.energy()) == pytest.approx(start, rel=0.05)
    plant = Plant(model, 1e-2, v0=[6e3, -9e3], **FREE)
    with pytest.raises(SimulationError, match=r"joint .* too large for .* the speed of the motion"):
        plant.step([0.0, 0.0])


def test_a_run_that_is_interrupted_and_restored_goes_on_bit_for_bit():
    model = rd.load_robot("two_link")
    plant, other = (Plant(model, 5e-3, q0=[1.0, 0.5], **FREE) for _ in range(2))
    plant.run([0.0, 0.0], 100)
    other.restore(plant.state())
    plant.run([0.0, 0.0], 100)
    other.run([0.0, 0.0], 100)
    np.testing.assert_array_equal(plant.q, other.q)
