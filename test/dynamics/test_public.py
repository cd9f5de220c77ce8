"""The way from a public function to a model's call wrapper."""

from __future__ import annotations

import gc
import inspect
import sys
import threading

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.public import Public

BACKENDS = [b for b in rd.available_backends() if b != "interpreted"]
COMPILED = [b for b in BACKENDS if b != "numpy"]
NEEDS_WRAPPER = pytest.mark.skipif(not COMPILED, reason="no compiler")


def wrappers(functions, model):
    return functions._wrappers[id(model)][1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_out_and_no_out_give_the_same(backend):
    model = rd.load_robot("seven_axis").with_backend(backend)
    q, v, a = np.random.default_rng(0).normal(size=(3, model.nv))
    kernels = {
        "inverse_dynamics": (q, v, a),
        "forward_dynamics": (q, v, a),
        "mass_matrix": (q,),
        "bias_forces": (q, v),
    }
    for name, given in kernels.items():
        run = rd.kernel(model, name)
        function = getattr(rd, name)
        expected = run(*given)
        assert (
            isinstance(expected, np.ndarray)
            and expected.flags.owndata
            and expected.flags.c_contiguous
        )
        out = np.empty_like(expected)
        assert function(model, *given, out=out) is out
        for result in (
            out,
            function(model, *given),
            function(model, *[x.tolist() for x in given]),
            run(*given, None),
        ):
            np.testing.assert_array_equal(result, expected)
        assert function(model, *given) is not function(model, *given)
    energy = rd.kinetic_energy(model, q, v)
    assert type(energy) is float and energy == pytest.approx(0.5 * v @ rd.mass_matrix(model, q) @ v)
    tau, wrenches = rd.kernel(model, "inverse_dynamics_wrenches")(q, v, a)
    np.testing.assert_array_equal(rd.joint_wrenches(model, q, v, a), wrenches)
    np.testing.assert_allclose(tau, rd.inverse_dynamics(model, q, v, a), atol=1e-12)
    L, D = rd.mass_matrix_factors(model, q)
    np.testing.assert_allclose(L.T @ np.diag(D) @ L, rd.mass_matrix(model, q), atol=1e-12)


@NEEDS_WRAPPER
def test_results_are_counted_once():
    model = rd.load_robot("two_link").with_backend("native")
    q = np.zeros(2)
    tau = rd.inverse_dynamics(model, q, q, q)
    energy = rd.potential_energy(model, q)
    L, D = rd.mass_matrix_factors(model, q)
    wrenches = rd.joint_wrenches(model, q, q, q)
    fresh = np.empty(2)
    assert len({sys.getrefcount(x) for x in (fresh, tau, energy, L, D, wrenches)}) == 1
    counted = (q, np.dtype(np.float64), np.ndarray, None)
    # what other tests have left over would be collected meanwhile
    gc.collect()
    before = [sys.getrefcount(x) for x in counted]
    for _ in range(1000):
        rd.inverse_dynamics(model, q, q, q)
        rd.inverse_dynamics(model, q, q, q, out=tau)
        rd.mass_matrix_factors(model, q)
        rd.joint_wrenches(model, q, q, q)
        rd.link_pose(model, q, model.root_link)
    assert all(abs(sys.getrefcount(x) - b) < 50 for x, b in zip(counted, before, strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_more_models_than_a_router_holds(backend):
    models = [rd.limb(1, masses=1.0 + k).with_backend(backend) for k in range(4)]
    # the same machine code is found in the cache: 200 models take the compiling of 4
    models += [m.with_backend(backend) for m in models for _ in range(49)]
    expected = [rd.kernel(m, "inverse_dynamics")([0.0], [0.0], [1.0]) for m in models]
    for _ in range(2):
        for m, e in zip(models, expected, strict=True):
            assert rd.inverse_dynamics(m, np.zeros(1), np.zeros(1), np.ones(1)) == e
    del models[::2], m
    gc.collect()
    for m, e in zip(models, expected[1::2], strict=True):
        assert rd.inverse_dynamics(m, np.zeros(1), np.zeros(1), np.ones(1)) == e


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_go_with_their_models(backend):
    gravity = Public("gravity_forces")
    pose = Public("link_pose", of_link=True)
    model = rd.limb(2).with_backend(backend)
    gravity.run(model, np.zeros(2))
    pose.run(model, "tip", np.zeros(2))
    assert len(gravity._wrappers) == len(pose._wrappers) == 1
    del model
    gc.collect()
    assert not gravity._wrappers and not pose._wrappers
    if gravity._router is not None:
        assert not any(gravity._router._words[1::4]) and not any(pose._router._words[1::4])


@NEEDS_WRAPPER
def test_a_link_is_found_by_its_name_whichever_string_holds_it():
    pose = Public("link_pose", of_link=True)
    model = rd.load_robot("six_axis").with_backend("native")
    q = np.random.default_rng(0).normal(size=6)
    poses = dict(zip(model.link_names, rd.link_poses(model, q), strict=True))
    for _ in range(300):
        for name in model.link_names:
            # a new string each time, often where the last one was
            made = "".join(list(name))
            np.testing.assert_allclose(pose.run(model, made, q), poses[name], atol=1e-12)
            np.testing.assert_allclose(pose.run(model, name, q), poses[name], atol=1e-12)
    assert len(wrappers(pose, model)) == len(model.link_names)
    with pytest.raises(rd.UnknownNameError):
        pose.run(model, ["tool0"], q)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_come_and_go_with_models(backend):
    reference = {
        m: rd.kernel(rd.limb(1, masses=m).with_backend(backend), "gravity_forces")([0.5])
        for m in (1.0, 2.0, 3.0)
    }
    failures = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            mass = float(rng.integers(1, 4))
            model = rd.limb(1, masses=mass).with_backend(backend)
            for _ in range(20):
                if not np.array_equal(rd.gravity_forces(model, np.array([0.5])), reference[mass]):
                    failures.append(mass)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert not failures and not any(w.is_alive() for w in workers)


def test_public_functions_stay_functions():
    for name in ("inverse_dynamics", "mass_matrix", "jacobian"):
        function = getattr(rd, name)
        assert inspect.isfunction(function) and function.__doc__
        assert next(iter(inspect.signature(function).parameters)) == "model"
    assert (
        inspect.signature(rd.inverse_dynamics).parameters["out"].kind
        is inspect.Parameter.KEYWORD_ONLY
    )


def test_a_link_is_given_by_name_or_number():
    model = rd.load_robot("six_axis")
    q = np.linspace(-0.5, 0.5, 6)
    by_name = rd.kernel(model, "link_pose", link="tool0")
    by_number = rd.kernel(model, "link_pose", link=model.link_index("tool0"))
    np.testing.assert_array_equal(by_name(q), rd.link_pose(model, q, "tool0"))
    assert by_name is by_number
    with pytest.raises(rd.UnknownNameError, match="tool0"):
        rd.kernel(model, "link_pose", link="tool")
