"""Wrenches on any link of the plant, without anything to be made ready for a link."""

import numpy as np
import pytest
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.simulation import Plant


@pytest.mark.parametrize("integrator", ["rk4", "moreau", "semi_implicit_euler"])
@pytest.mark.parametrize("seed", range(3))
def test_they_accelerate_as_jacobians_transposed_say(seed, integrator):
    """All joint types, mimic joints, fixed links, floating bases; several links at once, in link
    axes and in the world's.
    """
    model = random_model(seed, 6, branching=0.5, fixed=0.4, limits=False)
    rng = np.random.default_rng(seed)
    q = rd.integrate(model, model.initial_configuration(), rng.normal(size=model.nv))
    wrenches = {name: rng.normal(size=6) for name in model.link_names}
    turned = {}
    for name, wrench in wrenches.items():
        R = rd.link_pose(model, q, name)[:3, :3]
        turned[name] = np.concatenate([R @ wrench[:3], R @ wrench[3:]])
    plant = Plant(model, 1e-7, integrator=integrator, friction=None, stops=None, q0=q)
    expected = rd.forward_dynamics(
        model, q, np.zeros(model.nv), np.zeros(model.nv), external=wrenches
    )
    for given in ({"external": wrenches}, {"external_world": turned}):
        plant.reset()
        plant.hold(np.zeros(model.nv), **given)
        np.testing.assert_allclose(plant.acceleration(), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            plant.joint_wrenches(),
            rd.joint_wrenches(model, q, np.zeros(model.nv), expected, external=wrenches),
            rtol=1e-8,
            atol=1e-8,
        )
        plant.advance()
        np.testing.assert_allclose(
            plant.v / 1e-7, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max()
        )


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
