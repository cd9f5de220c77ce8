"""Routines on declared memory: what mypy checks, and that Python and machine code do the same."""

import math
import subprocess
import sys
from enum import IntEnum
from functools import lru_cache
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.control.observer import ObserverMemory
from robot_dynamics_ros.dynamics.engine.backends import evaluator
from robot_dynamics_ros.dynamics.engine.codegen.declared import fields, shape_of
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.dynamics.engine.native_engine import TracedFunction
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Kernel,
    KernelTable,
    Matrix,
    Memory,
    Vector,
    constant,
    integers,
    kernel,
    kernels,
    make_routines,
    numbers,
    row,
)
from robot_dynamics_ros.dynamics.engine.trace import symbols
from robot_dynamics_ros.simulation.effects import limits
from robot_dynamics_ros.simulation.integrators.timestepping import PlantMemory

pytestmark = pytest.mark.optimized

COMPILED = "native" in rd.available_backends()
WAYS = [False, True] if COMPILED else [False]
TURN = 2.0 * math.pi


class Verdict(IntEnum):
    FINE = 0
    FAR = 3


class Trial(limits.LimitMemory):
    """All that a declaration may have."""

    extra: int = constant(int, "further columns")
    damped: bool
    rate: float
    q: Vector = numbers("nv", unit="rad", meaning="position")
    rows: Matrix = numbers(2, "nv + extra", unit="rad", meaning="two rows")
    out: Vector = numbers(40, meaning="results")
    counts: Integers = integers("2 * nv", meaning="integers")
    tau: Vector = numbers("nv + extra", unit="N m", meaning="result of the kernel")
    M: Matrix = numbers("nv", "nv", unit="kg m²", meaning="mass matrix")
    function: Kernel = kernel("x", "out y")
    several: KernelTable = kernels("q", "out M")


def _clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def _second(p: Trial, x: Vector) -> float:
    return x[1]


def far(p: Trial, x: float) -> bool:
    return not -1.0 <= x <= 1.0


def _early(p: Trial, x: float) -> int:
    for i in range(p.nv):
        if p.q[i] > x:
            return Verdict.FAR
    return Verdict.FINE


def arithmetic(p: Trial, x: float, y: float, k: int, m: int) -> int:
    """Each operation once."""
    p.out[0] = math.remainder(x, TURN) + math.pi
    p.out[1] = math.fmod(x, y) - math.floor(y) + math.ceil(x)
    p.out[2] = math.atan2(x, y) * math.copysign(2.0, x)
    p.out[3] = math.tan(0.1 * x) + math.log(1.0 + abs(x)) + math.cos(y)
    p.out[4] = _clamp(x, -0.5, 0.5)
    p.out[5] = max(x, y, 0.25)
    p.out[6] = limits.limited_effort(p, 0, x, y, 0.1)
    p.out[7] = inf if x > 1.0 else p.rate
    p.out[8] = _second(p, row(p.rows, 1))
    p.counts[0] = k // 3 + k % 3
    p.counts[1] = (k & 6) | (m ^ 5)
    p.counts[2] = abs(k - m) + min(k, m, 4)
    p.counts[3] = int(x) + int(far(p, x))
    p.counts[4] = math.isfinite(x) and not math.isnan(y)
    p.counts[5] = _early(p, x)
    p.counts[6] = Verdict.FAR if 0 < k <= m else Verdict.FINE
    if p.damped:
        p.out[9] = p.rate * y
    p.function(row(p.rows, 1), p.tau)
    p.several(1, p.q, p.M)
    if far(p, x) or k > m:
        return Verdict.FAR
    return int(Verdict.FINE)


@lru_cache
def trial(compiled, damped=True, loops=False):
    """A memory of six joints, its routines, and its function: twice its argument."""
    model = draw_arm()
    constants = {"nv": model.nv, "extra": 1, "damped": damped, "rate": 0.5}
    several = [evaluator(model, "mass_matrix"), evaluator(model, "mass_matrix")]
    memory = Memory(Trial, constants, {"several": several}, compiled=compiled)
    assert memory.exchange("function", twice(model.nv + 1) if compiled else twice_in_python)
    return memory, make_routines(memory, (arithmetic, far), compiled=compiled, loops=loops)


@lru_cache
def draw_arm():
    return rd.load_robot("six_axis")


def twice(n):
    graph = Graph()
    x = symbols(graph, {"x": (n,)})["x"]
    return TracedFunction({"x": (n,)}, [[graph.lift(2.0 * entry) for entry in x]])


def twice_in_python(x, y):
    y[:] = 2.0 * x


def fill(memory, seed):
    rng = np.random.default_rng(seed)
    for name, field in fields(memory.declared).items():
        if field.kind == "numbers":
            memory[name][...] = rng.standard_normal(memory[name].shape)
        elif field.kind == "integers":
            memory[name][...] = rng.integers(0, 3, memory[name].shape)


ordinary = st.floats(-20.0, 20.0).filter(lambda x: abs(x) > 1e-3)
small = st.integers(0, 9)


@pytest.mark.skipif(not COMPILED, reason="no compiler")
@given(st.integers(0, 1000), ordinary, ordinary, small, small, st.booleans(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_machine_code_does_what_python_does(seed, x, y, k, m, damped, loops):
    results = []
    for compiled in (False, True):
        memory, routines = trial(compiled, damped, loops)
        fill(memory, seed)
        verdict = routines["arithmetic"](memory, x, y, k, m)
        assert routines["far"](memory, x) == (abs(x) > 1.0)
        results.append((memory, verdict))
    (python, first), (machine, second) = results
    assert first == second == (3 if abs(x) > 1.0 or k > m else 0)
    for name, field in fields(Trial).items():
        if field.kind in ("numbers", "integers"):
            np.testing.assert_allclose(
                machine[name], python[name], rtol=1e-12, atol=1e-12, err_msg=name
            )
    np.testing.assert_array_equal(machine["tau"], 2.0 * machine["rows"][1])
    np.testing.assert_allclose(machine["M"], rd.mass_matrix(draw_arm(), machine["q"]), rtol=1e-12)


@pytest.mark.parametrize("compiled", WAYS)
@pytest.mark.parametrize("x", [math.nan, inf, -inf])
def test_numbers_that_are_not_finite(compiled, x):
    memory = Memory(Watched, {"nv": 3}, compiled=compiled)
    routines = make_routines(memory, (watch,), compiled=compiled)
    assert routines["watch"](memory, 1.0) == 0
    assert routines["watch"](memory, x) == 1 + 2 * math.isnan(x)


class Watched(Declared):
    nv: int
    x: Vector = numbers("nv", unit="m", meaning="anything")


def watch(p: Watched, x: float) -> int:
    bad = 0
    if not math.isfinite(x):
        bad = 1
    if math.isnan(x):
        bad = bad + 2
    return bad


@pytest.mark.parametrize("compiled", WAYS)
def test_routines_of_one_name_in_two_modules_stay_apart(compiled):
    memory = Memory(Watched, {"nv": 3}, compiled=compiled)
    routines = make_routines(memory, (both,), compiled=compiled)
    assert routines["both"](memory) == 1.0 + 10.0


def _one(p: Watched) -> float:
    return 1.0


class _Elsewhere:
    @staticmethod
    def _one(p: Watched) -> float:
        return 10.0


_other = _Elsewhere._one


def both(p: Watched) -> float:
    return _one(p) + _other(p)


@pytest.mark.parametrize("declared", [CycleMemory, ObserverMemory, PlantMemory])
def test_every_array_says_what_it_is(declared):
    declarations = fields(declared)
    arrays = {
        name: field for name, field in declarations.items() if field.kind in ("numbers", "integers")
    }
    assert arrays
    assert [name for name, field in arrays.items() if not field.meaning] == []


def test_shapes_are_expressions_of_the_constants():
    declarations = fields(Trial)
    assert shape_of(declarations["rows"], {"nv": 6, "extra": 2}) == (2, 8)
    assert shape_of(declarations["counts"], {"nv": 6}) == (12,)


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match="Trial has no value for damped, extra, rate"):
        Memory(Trial, {"nv": 2}, compiled=False)
    with pytest.raises(TypeError, match="Watched does not declare gains, mass"):
        Memory(Watched, {"nv": 2, "mass": 1.0}, {"gains": twice_in_python}, compiled=False)

    class Mixed(Declared):
        nv: int
        x: Matrix = numbers("nv")

    with pytest.raises(TypeError, match=r"Mixed\.x: Matrix does not fit"):
        Memory(Mixed, {"nv": 2}, compiled=False)


WRONG = """
from robot_dynamics_ros.dynamics.engine.routines import Declared, Integers, Kernel, Matrix, Vector
from robot_dynamics_ros.dynamics.engine.routines import integers, kernel, numbers


class Small(Declared):
    nv: int
    x: Vector = numbers("nv", meaning="x")
    A: Matrix = numbers("nv", 3, meaning="A")
    k: Integers = integers(1, meaning="k")
    f: Kernel = kernel("x", "out y")
    B: Matrix = numbers("nv", meaning="one size for a matrix")  # wrong


def routine(p: Small) -> int:
    p.A[0, 1] = p.x[0]
    p.f(p.x, p.A)
    p.y[0] = 1.0  # wrong
    p.A[0] = 1.0  # wrong
    p.x[0, 1] = 1.0  # wrong
    p.k[0] = 0.5  # wrong
    p.f(p.nv)  # wrong
    return p.x[0]  # wrong
"""


@pytest.mark.slow
def test_mypy_checks_the_bodies_of_routines(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--follow-imports=silent",
        "--strict",
        str(tmp_path / "wrong.py"),
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    reported = {
        int(line.split(":")[1]) for line in result.stdout.splitlines() if ": error:" in line
    }
    assert reported == {
        n for n, line in enumerate(WRONG.splitlines(), 1) if line.endswith("# wrong")
    }, result.stdout
