"""The functions of a robot in JAX: ``jit``, ``vmap``, ``grad``, ``jacfwd``; on processors and
accelerators.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from robot_dynamics_ros.dynamics.algorithms.tree import ElementaryKind
from robot_dynamics_ros.dynamics.engine.elementary_tree import layout_of
from robot_dynamics_ros.dynamics.engine.function_options import SWITCHES
from robot_dynamics_ros.dynamics.engine.loops import supported
from robot_dynamics_ros.dynamics.engine.registry import TABLE, estimated_operations
from robot_dynamics_ros.dynamics.engine.trace import signature
from robot_dynamics_ros.frameworks.jax_levels import join, levels_function, run_on_arrays
from robot_dynamics_ros.frameworks.traced import Request, traced
from robot_dynamics_ros.model.robot_model import RobotModel

STRAIGHT = 4_000
"""Estimated operations up to which a function is written out: XLA takes about a second for them."""
LARGEST_JAX_OPERATIONS = 8_000
"""Operations beyond which a function that has no other form is refused: XLA would take minutes."""

Flat = Callable[..., Sequence[Any]]


def form_of(model: RobotModel, request: Request) -> str:
    """How a function is handed to XLA: ``"straight"``, written out; ``"levels"``, scans over the
    levels of the tree; or ``"derived"``, from another function, by differentiation or a
    factorization.
    """
    size = estimated_operations(model, request.name)
    # some derived forms are for coordinates whose rates are the velocities
    can_derive = model.nq == model.nv or request.name not in ("coriolis_matrix", "linearization")
    if request.name in _DERIVED and can_derive and size > DERIVED_FROM.get(request.name, STRAIGHT):
        return "derived"
    # of joints and their ancestors
    pairs = TABLE[request.name].per_pair > 0
    if size > STRAIGHT and not pairs and supported(model, request.name, request.options):
        return "levels"
    return "straight"


def make_function(
    model: RobotModel,
    request: Request,
    form: str = "",
) -> Callable[..., Array]:
    """A function of arrays, which may have batch dimensions in front; several outputs make a tuple.

    ``form``: if not that of :func:`form_of`. Raises :class:`ArgumentError` where it would be too
    large for XLA.
    """
    form = form or form_of(model, request)
    flat: Flat
    if form == "levels":
        flat = levels_function(model, request.name, request.options)
    elif form == "derived":
        flat = _DERIVED[request.name](model, request)
    else:
        flat = _straight(model, request)
    if request.name == "forward_dynamics":
        flat = _with_implicit_derivative(model, request, flat)
    shapes = [shape for _, shape in request.inputs]

    def compiled(*arrays: Array) -> Array:
        leads = [x.shape[: x.ndim - len(s)] for x, s in zip(arrays, shapes, strict=True)]
        batch = jnp.broadcast_shapes(*leads)
        rows = [
            jnp.broadcast_to(x.reshape(*lead, math.prod(s)), (*batch, math.prod(s)))
            for x, lead, s in zip(arrays, leads, shapes, strict=True)
        ]
        results = [
            y.reshape(*batch, *shape)
            for y, (_, shape) in zip(flat(*rows), request.outputs, strict=True)
        ]
        if len(results) == 1:
            return results[0]
        return tuple(results)

    compiled.__name__ = request.name
    run = jax.jit(compiled)

    def function(*arguments: Array) -> Array:
        dtype = _float_type([x for x in arguments if hasattr(x, "dtype")])
        return run(*(jnp.asarray(x, dtype) for x in arguments))

    return function


def _float_type(arguments: Sequence[Array]) -> np.dtype[np.floating]:
    """The widest floating type among arrays; JAX's own where there are only numbers and
    integers.
    """
    if arguments:
        dtype = jnp.result_type(*arguments)
    else:
        dtype = jnp.result_type(int)
    if jnp.issubdtype(dtype, jnp.floating):
        return dtype
    return jnp.result_type(float)


def _straight(model: RobotModel, request: Request) -> Flat:
    trace = traced(model, request, where="jax", largest=LARGEST_JAX_OPERATIONS)

    def flat(*inputs: Array) -> list[Array]:
        dtype = inputs[0].dtype
        batch = inputs[0].shape[:-1]
        values = run_on_arrays(trace.all_outputs(), lambda key: inputs[key[0]][..., key[1]], dtype)
        return [
            join(part, batch, dtype)
            for part in trace.by_output(jnp.broadcast_to(x, batch) for x in values)
        ]

    return flat


def _with_implicit_derivative(model: RobotModel, request: Request, flat: Flat) -> Flat:
    """Forward dynamics that is differentiated as M q̈' = τ' − (∂τ/∂x x' of inverse dynamics at q̈).

    Differentiating the articulated-body algorithm itself takes XLA ten times as long to compile.
    """
    names = [word for word, _ in request.inputs]
    q, v, tau = (names.index(word) for word in ("q", "v", "tau"))
    rest = [k for k in range(len(names)) if k not in (q, v, tau)]
    run = jax.custom_jvp(lambda *rows: flat(*rows)[0])

    def derivative(rows: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        """q̈ and its tangent M⁻¹ (dτ − d(inverse dynamics at fixed q̈))."""
        inverse = _plain(model, request, "inverse_dynamics")
        solve = _plain(model, request, "mass_matrix_solve")
        # fixed in what follows: its own tangent is what is looked for
        a = run(*rows)

        def efforts(q_: Array, v_: Array, *more: Array) -> Array:
            shaped = [
                x.reshape(*x.shape[:-1], *request.inputs[k][1])
                for x, k in zip(more, rest, strict=True)
            ]
            return inverse(q_, v_, a, *shaped)

        _, moved = jax.jvp(efforts, *(tuple(x[k] for k in (q, v, *rest)) for x in (rows, tangents)))
        return a, solve(rows[q], tangents[tau] - moved)

    run.defjvp(derivative)
    return lambda *rows: (run(*rows),)


# -- functions made of others ----------------------------------------------------------------------


def _plain(
    model: RobotModel,
    request: Request,
    name: str,
    *,
    short: bool = False,
) -> Callable[..., Array]:
    """Another function of the robot, with external wrenches and a moving base where this one has
    them.

    ``short``: as scans where possible, of which whole Jacobians compile several times as fast.
    """
    switches = {SWITCHES[word] for word, _ in TABLE[name].inputs if word in SWITCHES}
    options = tuple((word, value) for word, value in request.options if word in switches)
    shapes = signature(model, name, options)
    plain = Request(name, options, shapes.inputs, shapes.outputs)
    return make_function(
        model, plain, "levels" if short and supported(model, name, options) else ""
    )


def _per_state(function: Callable[..., Array]) -> Flat:
    """A function of one state on flat batches."""

    def flat(*inputs: Array) -> Sequence[Array]:
        batch = inputs[0].shape[:-1]
        run = function
        for _ in batch:
            run = jax.vmap(run)
        return [y.reshape(*batch, -1) for y in run(*inputs)]

    return flat


def _tangent(model: RobotModel) -> Callable[[Array, Array], Array]:
    """q ⊕ δ to first order in δ, for one configuration: what derivatives by q are taken along."""
    bodies = layout_of(model).bodies
    free = [(b.q_index, b.v_index) for b in bodies if b.kind is ElementaryKind.FREE]
    single = {b.v_index: b.q_index for b in bodies if b.kind is not ElementaryKind.FREE}
    v_of, q_of = (np.array(list(x), dtype=int) for x in (single.keys(), single.values()))

    def moved(q: Array, delta: Array) -> Array:
        new = q.at[q_of].add(delta[v_of])
        for first, v in free:
            p = q[first : first + 3]
            u = q[first + 3 : first + 6]
            w = q[first + 6]
            turn = delta[v : v + 3]
            shift = delta[v + 3 : v + 6]
            new = new.at[first : first + 3].set(
                p + shift + 2.0 * jnp.cross(u, jnp.cross(u, shift) + w * shift)
            )
            new = new.at[first + 3 : first + 6].set(u + 0.5 * (w * turn + jnp.cross(u, turn)))
            new = new.at[first + 6].set(w - 0.5 * jnp.dot(u, turn))
        return new

    return moved


def _mass_matrix(model: RobotModel, request: Request) -> Flat:
    """M = ∂τ/∂a of inverse dynamics."""
    inverse = _plain(model, request, "inverse_dynamics")

    def one(q: Array) -> tuple[Array, ...]:
        still = jnp.zeros(model.nv, q.dtype)
        M = jax.jacfwd(lambda a: inverse(q, still, a))(still)
        return ((0.5 * (M + M.T)).reshape(-1),)

    return _per_state(one)


def _inverse_dynamics_derivatives(model: RobotModel, request: Request) -> Flat:
    inverse = _plain(model, request, "inverse_dynamics", short=True)
    moved = _tangent(model)

    def one(q: Array, v: Array, a: Array, *external: Array) -> tuple[Array, ...]:
        wrenches = [x.reshape(-1, 6) for x in external]
        zero = jnp.zeros(model.nv, q.dtype)
        by_q, by_v = jax.jacfwd(lambda d, x: inverse(moved(q, d), x, a, *wrenches), (0, 1))(zero, v)
        return by_q.reshape(-1), by_v.reshape(-1)

    return _per_state(one)


def _factors(M: Array) -> tuple[Array, Array]:
    """M = Lᵀ D L with L unit lower triangular, from the Cholesky factor of the matrix in reverse
    order.
    """
    # M = upper upperᵀ
    upper = jnp.linalg.cholesky(M[::-1, ::-1])[::-1, ::-1]
    root = jnp.diagonal(upper)
    return (upper / root).T, root * root


def _with_mass_matrix(
    work: Callable[..., tuple[Array, ...]],
) -> Callable[[RobotModel, Request], Flat]:
    def make(model: RobotModel, request: Request) -> Flat:
        mass_matrix = _plain(model, request, "mass_matrix")
        return _per_state(
            lambda q, *more: tuple(y.reshape(-1) for y in work(mass_matrix(q), *more))
        )

    return make


def _solve(M: Array, b: Array) -> Array:
    return jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(M), True), b)


def _coriolis_forces(model: RobotModel, request: Request) -> Flat:
    """Bias forces less those at rest."""
    bias = _plain(model, request, "bias_forces")
    gravity = _plain(model, request, "gravity_forces")
    return lambda q, v: (bias(q, v) - gravity(q),)


def _coriolis_matrix(model: RobotModel, request: Request) -> Flat:
    """C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) v_k."""
    mass_matrix = _plain(model, request, "mass_matrix")

    def one(q: Array, v: Array) -> tuple[Array, ...]:
        rate = jax.jvp(mass_matrix, (q,), (v,))[1]
        by_q = jax.jacfwd(lambda x: mass_matrix(x) @ v)(q)
        return ((0.5 * (rate + by_q - by_q.T)).reshape(-1),)

    return _per_state(one)


def _linearization(model: RobotModel, request: Request) -> Flat:
    """A = [0 1; −M⁻¹ ∂τ/∂q  −M⁻¹ ∂τ/∂v] and B = [0; M⁻¹], for coordinates whose rates are the
    velocities.
    """
    forward = _plain(model, request, "forward_dynamics")
    inverse_dynamics = _plain(model, request, "inverse_dynamics", short=True)
    mass_matrix = _plain(model, request, "mass_matrix")
    damping = np.asarray(model.damping) * float(bool(dict(request.options)["viscous"]))

    def one(q: Array, v: Array, tau: Array, *external: Array) -> tuple[Array, ...]:
        wrenches = [x.reshape(-1, 6) for x in external]
        loss = jnp.asarray(damping, q.dtype)
        a = forward(q, v, tau - loss * v, *wrenches)
        by_q, by_v = jax.jacfwd(
            lambda x, y: inverse_dynamics(x, y, a, *wrenches) + loss * y, (0, 1)
        )(q, v)
        nothing = jnp.zeros_like(by_q)
        unit = jnp.eye(model.nv, dtype=q.dtype)
        lower = _solve(mass_matrix(q), jnp.concatenate([-by_q, -by_v, unit], axis=1))
        A = jnp.block([[nothing, unit], [lower[:, : 2 * model.nv]]])
        return A.reshape(-1), jnp.concatenate([nothing, lower[:, 2 * model.nv :]]).reshape(-1)

    return _per_state(one)


_DERIVED: dict[str, Callable[[RobotModel, Request], Flat]] = {
    "mass_matrix": _mass_matrix,
    "mass_matrix_factors": _with_mass_matrix(_factors),
    "mass_matrix_inverse": _with_mass_matrix(
        lambda M: (_solve(M, jnp.eye(M.shape[-1], dtype=M.dtype)),)
    ),
    "mass_matrix_solve": _with_mass_matrix(lambda M, b: (_solve(M, b),)),
    "inverse_dynamics_derivatives": _inverse_dynamics_derivatives,
    "coriolis_forces": _coriolis_forces,
    "coriolis_matrix": _coriolis_matrix,
    "linearization": _linearization,
}
DERIVED_FROM = dict.fromkeys(
    ("coriolis_matrix", "inverse_dynamics_derivatives", "linearization"), 1_500
)
"""Estimated operations from which the derived form compiles faster, where that is earlier than for
other functions.
"""
