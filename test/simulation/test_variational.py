"""The variational integrator: long-run energy, and momentum to the last digit."""

import numpy as np
import pytest
from support.random_trees import random_model
from support.simple_robots import cuboid_pendulum, free_body

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.simulation import Plant


def energies(model, integrator, dt, steps, q0, v0):
    plant = Plant(model, dt, integrator=integrator, q0=q0, v0=v0, stops=None)
    out = []
    for _ in range(steps):
        plant.step(np.zeros(model.nv))
        out.append(sum(plant.energy()))
    return np.array(out)


@pytest.mark.slow
def test_energy_error_stays_bounded_where_rk4_drifts():
    """Pendulum at a coarse 20 ms: the one oscillates for 200 s, the other runs away in 100 s."""
    model = cuboid_pendulum()
    start = sum(Plant(model, 1.0, q0=[-0.5]).energy())
    symplectic = energies(model, "variational", 0.02, 10_000, [-0.5], None) - start
    runge_kutta = energies(model, "rk4", 0.02, 5000, [-0.5], None) - start
    first = np.abs(symplectic[:1000])
    last = np.abs(symplectic[-1000:])
    assert last.max() < 1.01 * first.max()
    drift, drift_rk4 = (
        abs(np.polyfit(np.arange(len(e)), e, 1)[0]) * len(e) for e in (symplectic, runge_kutta)
    )
    assert drift < 1e-3 * first.max()
    assert drift < 0.1 * drift_rk4
    assert abs(runge_kutta[-1]) > 5.0 * abs(runge_kutta[len(runge_kutta) // 10])


def spatial_momentum(model, q, v):
    """[angular; linear] momentum about the world origin, from the mass matrix's first block of
    rows.
    """
    R = rd.link_pose(model, q, "root" if "root" in model.link_names else "body")
    p = (rd.mass_matrix(model, q) @ v)[:6]
    force = R[:3, :3] @ p[3:]
    return np.concatenate((R[:3, :3] @ p[:3] + np.cross(R[:3, 3], force), force))


def test_satellite_with_arm_keeps_momentum():
    model = random_model(8, 3, limits=False, branching=0.0, floating_base=True, gravity=(0, 0, 0))
    rng = np.random.default_rng(1)
    v0 = rng.uniform(-1.0, 1.0, model.nv)
    plant = Plant(model, 5e-3, integrator="variational", v0=v0, stops=None)
    before = spatial_momentum(model, plant.q, plant.v)
    for _ in range(200):
        # inner efforts move the arm, not the momentum
        plant.step(np.concatenate((np.zeros(6), [0.3, -0.2, 0.1])))
    after = spatial_momentum(model, plant.q, plant.v)
    np.testing.assert_allclose(after, before, atol=1e-10 * np.abs(before).max())


@pytest.mark.slow
def test_free_body_spins_right():
    model = free_body()
    plant = Plant(
        model, 1e-2, integrator="variational", v0=[0.1, 3.0, 0.2, 0.0, 0.0, 0.0], stops=None
    )
    before = spatial_momentum(model, plant.q, plant.v)
    energy = []
    for _ in range(1000):
        plant.step(np.zeros(6))
        energy.append(plant.energy()[0])
    np.testing.assert_allclose(spatial_momentum(model, plant.q, plant.v), before, atol=1e-11)
    energy = np.array(energy)
    assert np.ptp(energy[:500]) > 0.9 * np.ptp(energy)
    assert np.ptp(energy) < 1e-3 * energy[0]


def test_a_step_without_solution_is_reported():
    model = cuboid_pendulum()
    plant = Plant(model, 5.0, integrator="variational", v0=[4.0])
    with pytest.raises(SimulationError, match="do not converge"):
        for _ in range(20):
            plant.step([0.0])
