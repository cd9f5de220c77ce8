"""A robot's functions in CasADi: values, derivatives, generated code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, random_model, random_state
from support.registry_calls import inputs_for, options_for, results

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.registry import TABLE

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")

MODEL = random_model(2, 4, types=ALL_TYPES, armature=True, friction=True, mimic=0.3)
ON_LINKS_AND_OBSERVERS = {
    "joint_wrenches",
    "wrench_balance",
    "point_motion",
    "link_inertia",
    "subtree_state",
}
FUNCTIONS = sorted(TABLE.keys() - ON_LINKS_AND_OBSERVERS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_gives_the_same_numbers_in_casadi(name):
    options = options_for(MODEL, name)
    inputs = inputs_for(MODEL, name, options)
    made = rd.casadi_function(MODEL, name, **options)
    assert made.is_a("SXFunction")
    assert [made.name_in(k) for k in range(made.n_in())] == [
        w for w, s in TABLE[name].inputs if w not in ("external", "base")
    ]
    ours = made.call([casadi.DM(x) for x in inputs])
    for x, y in zip(ours, results(MODEL, name, options, inputs), strict=True):
        x = np.asarray(x)
        assert_allclose(
            x,
            np.asarray(y).reshape(x.shape),
            rtol=0,
            atol=1e-11 * (1e-3 + np.abs(y).max(initial=0.0)),
        )


def test_wrenches_come_a_row_a_body():
    made = rd.casadi_function(MODEL, "inverse_dynamics", external=True, base=True)
    q, v, a = random_state(MODEL, 1)
    rng = np.random.default_rng(0)
    wrenches = rng.standard_normal((MODEL.nb, 6))
    base = rng.standard_normal((2, 6))
    expected = rd.kernel(MODEL, "inverse_dynamics", external=True, moving_base=True)(
        q, v, a, wrenches, base
    )
    assert_allclose(
        np.asarray(made(q, v, a, wrenches, base)).ravel(), expected, rtol=1e-10, atol=1e-10
    )


def test_derivatives_are_the_analytic_ones():
    model = random_model(1, 4, armature=True)
    q, v, tau = random_state(model, 1)
    jacobian = rd.casadi_function(model, "forward_dynamics").jacobian()
    found = jacobian(q=q, v=v, tau=tau)
    exact = rd.forward_dynamics_derivatives(model, q, v, tau)
    for word, expected in zip(("q", "v", "tau"), exact, strict=True):
        assert_allclose(
            np.asarray(found[f"jac_a_{word}"]), expected, rtol=0, atol=1e-9 * np.abs(expected).max()
        )


def test_links_by_name_and_clear_errors():
    model = rd.load_robot("two_link")
    q = np.array([0.3, -0.4])
    pose = rd.casadi_function(model, "link_pose", link=model.link_names[-1])
    assert_allclose(np.asarray(pose(q)), rd.link_pose(model, q, model.link_names[-1]), atol=1e-14)
    with pytest.raises(rd.UnknownNameError):
        rd.casadi_function(model, "forward")
    with pytest.raises(rd.ArgumentError, match="needs the option 'link'"):
        rd.casadi_function(model, "jacobian")


def test_the_swing_with_the_least_effort_is_found_and_followed(capsys):
    path = Path(__file__).parents[2] / "examples" / "minimum_effort_swing.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    planned, left, efforts = example.main()
    model = rd.load_robot("two_link")
    assert (np.abs(planned.tau) <= example.LIMITS + 1e-6).all()
    # too weak to lift it
    assert efforts[0] < 0.8 * rd.gravity_forces(model, np.zeros(2))[0]
    assert np.abs(left).max() < 2e-3
