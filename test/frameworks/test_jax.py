"""A robot's functions in JAX: the same numbers, derivatives, precision, and what is in the
graph.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import random_model, random_state
from support.registry_calls import agree, inputs_for, options_for, results

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.dynamics.engine.trace import signature
from robot_dynamics_ros.frameworks.traced import Request
from robot_dynamics_ros.model.description import JointType

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy
jax.config.update("jax_enable_x64", True)

ON_LINKS_AND_OBSERVERS = {
    "joint_wrenches",
    "wrench_balance",
    "point_motion",
    "link_inertia",
    "subtree_state",
}
# the last takes XLA long: its other form below
FUNCTIONS = sorted(TABLE.keys() - ON_LINKS_AND_OBSERVERS - {"linearization"})
SMALL = random_model(
    3, 2, types=(JointType.REVOLUTE, JointType.PRISMATIC), armature=True, friction=True
)
ARM = random_model(4, 3, branching=0.0, armature=True)


def called(functions, name, options, inputs):
    out = functions[name](*inputs, **options)
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_gives_what_numpy_gives(name):
    options = options_for(SMALL, name)
    inputs = inputs_for(SMALL, name, options, (2,), seed=1)
    ours = called(rd.jax_functions(SMALL), name, options, inputs)
    agree([np.asarray(x) for x in ours], results(SMALL, name, options, inputs))


def in_form(model, name, form, **options):
    from robot_dynamics_ros.frameworks.jax_forms import make_function

    chosen = tuple(sorted(options.items()))
    shapes = signature(model, name, chosen)
    return make_function(model, Request(name, chosen, shapes.inputs, shapes.outputs), form)


@pytest.mark.parametrize(
    ("name", "seed", "options"),
    [
        ("inverse_dynamics_wrenches", 1, {}),
        ("forward_dynamics", 2, {"external": True}),
        ("generalized_momentum", 3, {}),
    ],
)
def test_scans_over_levels_give_the_same(name, seed, options):
    types = (JointType.REVOLUTE, JointType.PRISMATIC, *[JointType.PLANAR] * (seed == 1))
    model = random_model(
        seed, 5, types=types, branching=0.6, armature=seed == 1, floating_base=seed == 2
    )
    inputs = inputs_for(model, name, options, (2,), seed)
    ours = in_form(model, name, "levels", **options)(*inputs)
    agree(
        [np.asarray(x) for x in (ours if isinstance(ours, tuple) else (ours,))],
        results(model, name, options, inputs),
    )


@pytest.mark.parametrize(
    "name",
    [
        "mass_matrix",
        "mass_matrix_factors",
        "mass_matrix_inverse",
        "mass_matrix_solve",
        "coriolis_forces",
        "coriolis_matrix",
        "linearization",
    ],
)
def test_derived_forms_give_the_same(name):
    options = options_for(SMALL, name)
    inputs = inputs_for(SMALL, name, options, (2,))
    ours = in_form(SMALL, name, "derived", **options)(*inputs)
    agree(
        [np.asarray(x) for x in (ours if isinstance(ours, tuple) else (ours,))],
        results(SMALL, name, options, inputs),
    )


def test_derivatives_of_a_floating_robot_are_along_the_tangent():
    model = random_model(5, 1, floating_base=True)
    inputs = inputs_for(model, "inverse_dynamics_derivatives", {})
    ours = in_form(model, "inverse_dynamics_derivatives", "derived")(*inputs)
    agree([np.asarray(x) for x in ours], results(model, "inverse_dynamics_derivatives", {}, inputs))


def test_gradients_are_the_analytic_derivatives():
    f = rd.jax_functions(ARM)
    q, v, tau = random_state(ARM, 2)
    by_q, by_v, by_tau = rd.forward_dynamics_derivatives(ARM, q, v, tau)
    weights = np.arange(1.0, 4.0)
    gradients = jax.jit(jax.grad(lambda *x: f.forward_dynamics(*x) @ weights, (0, 1, 2)))(q, v, tau)
    forward = jax.jit(jax.jacfwd(f.forward_dynamics, (0, 1, 2)))(q, v, tau)
    for backward, jacobian, exact in zip(gradients, forward, (by_q, by_v, by_tau), strict=True):
        assert_allclose(jacobian, exact, rtol=0, atol=1e-9 * np.abs(exact).max())
        assert_allclose(
            backward, weights @ exact, rtol=0, atol=1e-9 * np.abs(weights @ exact).max()
        )
    momentum = jax.grad(f.kinetic_energy, 1)(q, v)
    assert_allclose(momentum, rd.mass_matrix(ARM, q) @ v, rtol=1e-12)


def test_external_wrenches_and_a_moving_base_are_differentiated_too():
    f = rd.jax_functions(SMALL)
    q, v, tau = random_state(SMALL, 3)
    rng = np.random.default_rng(0)
    wrench = rng.standard_normal((SMALL.nb, 6))
    base = rng.standard_normal((2, 6))

    def power(wrench, base):
        return f.forward_dynamics(q, v, tau, external=wrench, base=base) @ v

    gradients = jax.grad(power, (0, 1))(wrench, base)
    run = rd.kernel(SMALL, "forward_dynamics", external=True, moving_base=True)
    for k, (gradient, at) in enumerate(zip(gradients, (wrench, base), strict=True)):
        direction = rng.standard_normal(at.shape)
        h = 1e-6
        ahead, back = ([wrench, base] for _ in range(2))
        ahead[k] = at + h * direction
        back[k] = at - h * direction
        slope = (run(q, v, tau, *ahead) - run(q, v, tau, *back)) @ v / (2 * h)
        assert_allclose(np.sum(gradient * direction), slope, rtol=1e-6)


def test_vmap_jit_and_batches_agree():
    f = rd.jax_functions(SMALL)
    q, v, tau = random_state(SMALL, 4, (3, 2))
    expected = rd.forward_dynamics(SMALL, q, v, tau)
    mapped = jax.jit(jax.vmap(jax.vmap(f.forward_dynamics)))(q, v, tau)
    assert_allclose(mapped, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(
        f.forward_dynamics(q, v[0, 0], tau),
        rd.forward_dynamics(SMALL, q, v[0, 0], tau),
        rtol=1e-9,
        atol=1e-9,
    )


def test_functions_compute_in_the_type_they_are_given():
    f = rd.jax_functions(SMALL)
    q, v, tau = random_state(SMALL, 5)
    single = f.forward_dynamics(*(jnp.asarray(x, jnp.float32) for x in (q, v, tau)))
    assert single.dtype == jnp.float32
    exact = rd.forward_dynamics(SMALL, q, v, tau)
    assert np.abs(np.asarray(single) - exact).max() < 1e-4 * np.abs(exact).max()
    assert f.forward_dynamics(q, v, tau).dtype == jnp.float64


def equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, (list, tuple)) else (value,):
                inner = getattr(inner, "jaxpr", inner)
                if hasattr(inner, "eqns"):
                    yield from equations(inner)


def graph(function, *arguments):
    return list(equations(jax.make_jaxpr(function)(*arguments).jaxpr))


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "inverse_dynamics_derivatives", "mass_matrix_solve", "link_poses"]
)
def test_nothing_in_the_graph_calls_back(name):
    for model in (SMALL, rd.limb(30)):
        inputs = inputs_for(model, name, {})
        found = {str(e.primitive) for e in graph(rd.jax_functions(model)[name], *inputs)}
        assert not [
            word for word in found if "callback" in word or "infeed" in word or "outfeed" in word
        ], found


@pytest.mark.parametrize(
    "name", ["forward_dynamics", "mass_matrix_solve", "inverse_dynamics_derivatives"]
)
def test_the_graph_does_not_grow_with_the_robot(name):
    sizes = []
    for joints in (20, 50):
        model = random_model(1, joints, branching=0.0)
        sizes.append(len(graph(rd.jax_functions(model)[name], *inputs_for(model, name, {}))))
    assert sizes[0] == sizes[1] < 6000


def test_a_simulation_is_one_scan():
    f = rd.jax_functions(SMALL)
    q, v, tau = random_state(SMALL, 6)

    @jax.jit
    def run(q, v, tau):
        def step(state, _):
            q, v = state
            v = v + 1e-3 * f.forward_dynamics(q, v, tau)
            return (q + 1e-3 * v, v), None

        return jax.lax.scan(step, (q, v), None, length=20)[0]

    found = run(q, v, tau)
    for _ in range(20):
        v = v + 1e-3 * rd.forward_dynamics(SMALL, q, v, tau)
        q = q + 1e-3 * v
    assert_allclose(found[0], q, rtol=1e-9)
    assert_allclose(found[1], v, rtol=1e-9)
