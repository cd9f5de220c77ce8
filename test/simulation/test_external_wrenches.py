"""Wrenches from outside, on any link, without anything to be made ready for a link."""

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.simulation import Plant
from robot_dynamics_ros.simulation.effects.external_wrenches import OutsideWrenches


@pytest.mark.parametrize("seed", range(5))
def test_they_are_jacobians_transposed(seed):
    """All joint types, mimic joints, fixed links, floating bases; several links at once."""
    model = random_model(seed, 6, branching=0.5, fixed=0.4, limits=False)
    rng = np.random.default_rng(seed)
    q, v, a = (
        rd.integrate(model, model.initial_configuration(), rng.normal(size=model.nv)),
        *rng.normal(size=(2, model.nv)),
    )
    outside = OutsideWrenches(model)
    wrenches = {name: rng.normal(size=6) for name in model.link_names}
    expected = np.zeros(model.nv)
    for name, wrench in wrenches.items():
        R = rd.link_pose(model, q, name)[:3, :3]
        expected += rd.jacobian(model, q, name).T @ np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    np.testing.assert_allclose(outside.effort(q, wrenches), expected, atol=1e-9)
    tau, joint_wrenches = outside.inverse_dynamics(q, v, a, wrenches)
    np.testing.assert_allclose(tau, rd.inverse_dynamics(model, q, v, a, external=wrenches), atol=1e-9)
    np.testing.assert_allclose(joint_wrenches, rd.joint_wrenches(model, q, v, a, external=wrenches), atol=1e-9)


def test_nothing_is_made_when_a_link_is_first_pushed():
    model = rd.load_robot("six_axis")
    plant = Plant(model, 1e-3)
    plant.step(np.zeros(6))
    plant.joint_wrenches()
    before = rd.prepared(model)
    for name in model.link_names:
        plant.step(np.zeros(6), {name: np.ones(6)})
        plant.joint_wrenches()
    assert rd.prepared(model) == before
