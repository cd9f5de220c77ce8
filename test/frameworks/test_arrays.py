"""A robot's functions on PyTorch tensors and on arrays of the array-API standard."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, random_model, random_state
from support.registry_calls import agree, inputs_for, options_for, results

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.registry import TABLE

MODEL = random_model(2, 4, types=ALL_TYPES, armature=True, friction=True, mimic=0.3)
ON_LINKS_AND_OBSERVERS = {
    "joint_wrenches",
    "wrench_balance",
    "point_motion",
    "link_inertia",
    "subtree_state",
}
FUNCTIONS = sorted(TABLE.keys() - ON_LINKS_AND_OBSERVERS)


def both(name, convert, back, batch=(2, 3)):
    options = options_for(MODEL, name)
    inputs = inputs_for(MODEL, name, options, batch)
    ours = rd.array_functions(MODEL)[name](*map(convert, inputs), **options)
    agree(
        [back(x) for x in (ours if isinstance(ours, tuple) else (ours,))],
        results(MODEL, name, options, inputs),
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_on_arrays_of_the_standard(name):
    strict = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    both(name, strict.asarray, np.asarray)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_on_tensors(name):
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: its wheel is too large for the test extra"
    )
    both(name, torch.as_tensor, lambda x: x.numpy())


def test_autograd_gives_the_analytic_derivatives():
    torch = pytest.importorskip(
        "torch", reason="PyTorch is not installed: its wheel is too large for the test extra"
    )
    model = random_model(1, 5, armature=True)
    f = rd.array_functions(model)
    q, v, tau = random_state(model, 1)
    found = torch.autograd.functional.jacobian(
        f.forward_dynamics, tuple(map(torch.as_tensor, (q, v, tau)))
    )
    for ours, exact in zip(found, rd.forward_dynamics_derivatives(model, q, v, tau), strict=True):
        assert_allclose(ours.numpy(), exact, rtol=0, atol=1e-9 * np.abs(exact).max())
    single = f.inverse_dynamics(*(torch.as_tensor(x, dtype=torch.float32) for x in (q, v, tau)))
    assert single.dtype == torch.float32


def test_numpy_arrays_of_single_precision_stay_so():
    if not hasattr(np.zeros(1), "__array_namespace__"):
        pytest.skip("this NumPy is older than the standard (2.0)")
    q, v, a = (x.astype(np.float32) for x in random_state(MODEL, 1, (4,)))
    assert rd.array_functions(MODEL).inverse_dynamics(q, v, a).dtype == np.float32


def test_choices_of_axes_and_points_are_options():
    f = rd.array_functions(MODEL)
    q, v, a = random_state(MODEL, 2)
    options = {
        "joints_of": (MODEL.link_index(MODEL.link_names[-1]),),
        "axes": "child",
        "about": "joint",
    }
    assert_allclose(
        f.joint_wrenches(q, v, a, **options),
        rd.kernel(MODEL, "joint_wrenches", **options)(q, v, a),
        rtol=1e-12,
    )
    body = {"link": MODEL.link_index("link0"), "axes": -1, "about": "com"}
    assert_allclose(
        f.link_inertia(q, **body),
        rd.kernel(MODEL, "link_inertia", **body)(q),
        rtol=1e-12,
        atol=1e-15,
    )


def test_what_cannot_be_done_is_said_by_name():
    f = rd.array_functions(MODEL)
    q = np.zeros(MODEL.nq)
    with pytest.raises(rd.ArgumentError, match="arrays of one library"):
        f.gravity_forces([0.0] * MODEL.nq)
    with pytest.raises(rd.UnknownNameError, match="forward_dynamics"):
        f["forward_dynamic"]
    with pytest.raises(AttributeError, match="no_such"):
        _ = f.no_such
    with pytest.raises(rd.ArgumentError, match="needs the option 'link'"):
        f.link_pose(q)
    with pytest.raises(rd.ArgumentError, match="no option 'color'"):
        f.gravity_forces(q, color=1)
    with pytest.raises(rd.UnknownNameError, match="elbow"):
        f.joint_wrenches(q, q, q, joints=["elbow"])
    with pytest.raises(rd.UnknownNameError, match="elbow"):
        f.link_pose(q, link="elbow")
    with pytest.raises(rd.ArgumentError, match=r"expected shape \(\.\.\., "):
        f.gravity_forces(np.zeros(MODEL.nq + 1))
    with pytest.raises(rd.ArgumentError, match="'v' is missing"):
        f.kinetic_energy(q)
    with pytest.raises(rd.ArgumentError, match="at most"):
        f.gravity_forces(q, q)
    with pytest.raises(rd.ArgumentError, match="given twice"):
        f.gravity_forces(q, q=q)
    with pytest.raises(rd.ArgumentError, match="'axes' is not used"):
        f.link_inertia(q, np.eye(3), link="root", axes=-1, about="com")
    with pytest.raises(rd.ArgumentError, match="do not fit together"):
        f.kinetic_energy(np.zeros((2, MODEL.nq)), np.zeros((3, MODEL.nv)))


@pytest.mark.parametrize(
    ("package", "call"),
    [
        ("jax", lambda: rd.jax_functions(MODEL)),
        ("casadi", lambda: rd.casadi_function(MODEL, "mass_matrix")),
    ],
)
def test_a_missing_package_says_what_to_install(monkeypatch, package, call):
    monkeypatch.setitem(__import__("sys").modules, package, None)
    with pytest.raises(rd.BackendError, match=rf"pip install 'robot_dynamics_ros\[{package}\]'"):
        call()


def test_functions_too_large_to_write_out_are_refused_by_name():
    with pytest.raises(rd.ArgumentError, match="joint_torque_regressor is not available"):
        large = rd.limb(200)
        rd.array_functions(large).joint_torque_regressor(*(np.zeros(200) for _ in range(3)))
