"""The boxed complementarity problem: its conditions, and the minimum it stands for."""

from functools import lru_cache, partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import lsq_linear

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.complementarity import (
    ComplementarityMemory,
    solve_apart,
    solve_complementarity,
)
from robot_dynamics_ros.dynamics.engine.routines import Memory, make_routines
from robot_dynamics_ros.errors import SimulationError

COMPILED = "native" in rd.available_backends()


@lru_cache
def solver(n, compiled):
    memory = Memory(
        ComplementarityMemory,
        {"nv": n, "rows": 0, "couples": 0, "by_impulse": False},
        compiled=compiled,
    )
    routines = make_routines(memory, (solve_complementarity,), compiled=compiled)
    return partial(solve_apart, memory, routines["solve_complementarity"])


def boxed(A, b, lo, hi, guess=None, compiled=COMPILED):
    """x, w = A x + b and sides, by way of M = A⁻¹."""
    M = np.linalg.inv(A)
    guess = -np.sign(b) if guess is None else guess
    u, x, side = solver(len(b), compiled)(
        M=0.5 * (M + M.T), f=0.0, v=b, target=0.0, lo=lo, hi=hi, side=guess
    )
    return x, np.where(side == 0, 0.0, b + u), side


def problem(seed, n):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, n + 2))
    A = L @ L.T + 1e-3 * np.eye(n)
    b = 3.0 * rng.standard_normal(n)
    lo = -rng.uniform(0.0, 2.0, n)
    hi = rng.uniform(0.0, 2.0, n)
    lo[rng.random(n) < 0.2] = -np.inf
    hi[rng.random(n) < 0.2] = np.inf
    lo[rng.random(n) < 0.1] = 0.0
    return A, b, lo, hi


@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_solution_satisfies_the_complementarity_conditions(seed, n, compiled):
    A, b, lo, hi = problem(seed, n)
    x, w, side = boxed(A, b, lo, hi, compiled=compiled and COMPILED)
    scale = 1e-9 * (1.0 + np.abs(b).max())
    np.testing.assert_allclose(w, A @ x + b, atol=scale)
    assert (x >= lo - scale).all() and (x <= hi + scale).all()
    assert (w[side == 0] == 0.0).all()
    assert (x[side < 0] == lo[side < 0]).all() and (w[side < 0] >= -scale).all()
    assert (x[side > 0] == hi[side > 0]).all() and (w[side > 0] <= scale).all()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_minimum_of_the_quadratic(seed):
    """min ½ xᵀAx + bᵀx over the box, by an independent bounded least-squares solver."""
    A, b, lo, hi = problem(seed, 6)
    # the other solver wants room
    keep = lo < hi
    A = A[np.ix_(keep, keep)]
    b = b[keep]
    lo = lo[keep]
    hi = hi[keep]
    L = np.linalg.cholesky(A)
    expected = lsq_linear(L.T, -np.linalg.solve(L, b), bounds=(lo, hi), tol=1e-14, method="bvls").x
    np.testing.assert_allclose(boxed(A, b, lo, hi)[0], expected, atol=1e-8)


def test_an_indefinite_matrix_is_not_endless():
    with pytest.raises(SimulationError, match="positive definite"):
        boxed(np.array([[-1.0]]), np.array([-1.0]), np.array([0.0]), np.array([np.inf]))


@given(st.integers(0, 10_000), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_the_guess_does_not_matter(seed, n):
    A, b, lo, hi = problem(seed, n)
    expected, _, _ = boxed(A, b, lo, hi)
    guess = np.random.default_rng(seed).integers(-1, 2, n)
    np.testing.assert_allclose(
        boxed(A, b, lo, hi, guess)[0], expected, atol=1e-8 * (1.0 + np.abs(expected).max())
    )
