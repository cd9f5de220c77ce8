"""Regressor and base parameters, held to inverse dynamics."""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification.effort_parameters import EffortParameters
from robot_dynamics_ros.identification.least_squares import identifiable_parameters

ALL = rd.FrictionTerms(armature=True)
NAMES = ("six_axis", "seven_axis", "three_link", "two_arm_torso")


def states(model, count, seed=0):
    rng = np.random.default_rng(seed)
    return rd.random_configuration(model, rng, size=count), *rng.normal(size=(2, count, model.nv))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "terms", [ALL, rd.FrictionTerms(), rd.FrictionTerms(viscous=False, coulomb=False, offset=False)]
)
def test_regressor_times_parameters_is_inverse_dynamics_with_friction(name, terms):
    model = rd.load_robot(name)
    columns = EffortParameters(model, terms)
    q, v, a = states(model, 50)
    theta = columns.values()
    offset = np.linspace(-1.0, 1.0, model.nv)
    theta[columns.of("offset")] = offset[: len(theta[columns.of("offset")])]
    expected = (
        rd.inverse_dynamics(model, q, v, a)
        + model.damping * v
        + model.friction * np.tanh(v / columns.smoothing)
    )
    if terms.offset:
        expected = expected + offset
    found = rd.effort_regressor(model, q, v, a, terms) @ theta + columns.fixed_effort(v, a)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_base_parameters_predict_the_same_efforts_as_all(seed):
    model = rd.random_model_error(
        rd.load_robot(NAMES[seed % 4]), seed, mass=0.5, com=0.5, inertia=0.3
    )
    known = identifiable_parameters(EffortParameters(model, ALL))
    theta = known.parameters.values()
    q, v, a = states(model, 40, seed)
    Y = known.parameters.regressor(q, v, a)
    np.testing.assert_allclose(
        known.base.regressor(Y) @ known.base.values(theta),
        Y @ theta,
        atol=1e-8 * np.abs(Y @ theta).max(),
    )
    W = known.base.regressor(Y).reshape(-1, len(known)) / known.sensitivity
    assert np.linalg.matrix_rank(W, tol=1e-9 * np.linalg.norm(W, 2)) == len(known)


@pytest.mark.parametrize("name", NAMES)
def test_there_are_as_many_as_the_regressor_has_directions(name):
    model = rd.load_robot(name)
    none = rd.FrictionTerms(viscous=False, coulomb=False, offset=False)
    assert len(identifiable_parameters(EffortParameters(model, none))) == len(
        rd.base_parameters(model).independent
    )
    assert (
        len(identifiable_parameters(EffortParameters(model)))
        == len(rd.base_parameters(model).independent) + 3 * model.nv
    )


def test_names_say_what_the_parameters_stand_for():
    model = rd.load_robot("two_link")
    known = identifiable_parameters(EffortParameters(model))
    k = known.names.index("elbow.viscous")
    assert known.meaning(k) == "elbow.viscous"
    assert any("more" in name for name in known.names)
    row = known.base.combination[0]
    assert known.meaning(0).count(" ") >= 3 * (np.count_nonzero(np.abs(row) > 1e-9) - 1)


def test_robots_with_joints_of_several_degrees_of_freedom_are_refused():
    model = rd.load_urdf(rd.robot_path("three_link"), floating_base=True)
    with pytest.raises(rd.ArgumentError, match="one degree of freedom"):
        EffortParameters(model)
    with pytest.raises(rd.ArgumentError, match="smoothing"):
        EffortParameters(rd.load_robot("two_link"), rd.FrictionTerms(smoothing=[0.1, 0.0]))
