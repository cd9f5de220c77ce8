"""The regressor and the parameters that the efforts depend on."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from numpy.testing import assert_allclose
from support.identities import draw, few, scaled, seeds
from support.random_trees import random_model, random_state

import robot_dynamics_ros as rd


@few
@given(seeds)
def test_regressor_times_parameters_is_the_effort(seed):
    model, q, v, a = draw(seed, armature=True, mimic=0.3)
    tau = (
        rd.joint_torque_regressor(model, q, v, a) @ rd.inertial_parameters(model)
        + model.armature * a
    )
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-11 * scaled(expected))
    assert len(rd.parameter_names(model)) == 10 * model.nb


@settings(max_examples=8)
@given(seeds)
def test_base_parameters_give_all_efforts(seed):
    model = random_model(seed, 3 + seed % 3).with_backend("interpreted")
    base = rd.base_parameters(model)
    q, v, a = random_state(model, seed, (20,))
    Y = rd.joint_torque_regressor(model, q, v, a)
    values = base.values(rd.inertial_parameters(model))
    tau = base.regressor(Y) @ values
    expected = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(tau, expected, atol=1e-8 * scaled(expected))
    stacked = base.regressor(Y).reshape(-1, len(values))
    assert np.linalg.matrix_rank(stacked) == min(len(values), stacked.shape[0])


def test_six_axis_arm_has_as_many_base_parameters_as_the_books_say():
    """A general six-revolute arm standing upright has 36 to 40 base parameters; ours is of the UR's
    shape.
    """
    model = rd.load_robot("six_axis").with_backend("interpreted")
    base = rd.base_parameters(model)
    assert 30 <= len(base.independent) <= 40 < 60
