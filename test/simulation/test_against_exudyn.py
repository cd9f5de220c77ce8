"""Trajectories of a chain with joint controllers beside Exudyn's kinematic tree."""

import numpy as np
import pytest

from robot_dynamics_ros.simulation import JointPD, Plant

pytest.importorskip("exudyn")
from support.exudyn_chain import ExudynChain, about_z

N = 4


@pytest.mark.parametrize("seed", [1, 2])
def test_kinematic_tree_with_joint_control(seed):
    model = about_z(seed, N).replace(gravity=(0.5, -1.0, -9.81))
    rng = np.random.default_rng(seed)
    q0, v0, u, w, constant = (rng.uniform(-1.0, 1.0, N) for _ in range(5))
    p = rng.uniform(1.0, 20.0, N)
    d = rng.uniform(0.1, 1.0, N)
    duration = 0.5
    steps = 500
    chain = ExudynChain(
        model,
        q0,
        v0,
        jointForceVector=list(constant),
        jointPControlVector=list(p),
        jointDControlVector=list(d),
        jointPositionOffsetVector=list(u),
        jointVelocityOffsetVector=list(w),
    )
    chain.run(duration, steps)
    (theirs,) = chain.coordinates("Coordinates")
    plant = Plant(
        model,
        duration / steps,
        integrator="rk4",
        q0=q0,
        v0=v0,
        stops=None,
        springs=JointPD(p=p, d=d, position=u, velocity=w, effort=constant),
    )
    for _ in range(steps):
        plant.step(np.zeros(N))
    assert np.abs(plant.q - q0).max() > 0.1
    np.testing.assert_allclose(plant.q, theirs, atol=1e-10)
