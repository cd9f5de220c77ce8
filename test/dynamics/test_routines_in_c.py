"""One statement, three executions: the product's routines by Python, as machine code and as C."""

import inspect
import math

import numpy as np
import pytest
from support.c_code import needs_compiler
from support.random_trees import random_model
from support.routines_in_c import RoutinesInC

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.cycle import cycle
from robot_dynamics_ros.control.cycle.memory import (
    CycleMemory,
    cycle_memory,
    law_input_shapes,
    robot_functions,
)
from robot_dynamics_ros.control.observer import ObserverMemory, observe
from robot_dynamics_ros.dynamics.engine.codegen.declared import annotation_name, fields
from robot_dynamics_ros.dynamics.engine.codegen.packed import (
    Packed,
    number,
    put_number,
    put_word,
    word,
)
from robot_dynamics_ros.dynamics.engine.codegen.routine_c import plain_text, routines_in_c
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Memory,
    Vector,
    integers,
    make_routines,
    numbers,
)
from robot_dynamics_ros.model import DCMotor
from robot_dynamics_ros.simulation import (
    CompliantStops,
    GroundContact,
    JointFriction,
    JointPD,
    Plant,
    RigidStops,
)
from robot_dynamics_ros.simulation.integrators import timestepping

pytestmark = [needs_compiler, pytest.mark.optimized, pytest.mark.slow]
COMPILED = "native" in rd.available_backends()


def arrays(memory):
    return {
        name: memory[name]
        for name, x in fields(memory.declared).items()
        if x.kind in ("numbers", "integers")
    }


def arguments(function, memory, rng):
    """Numbers for the parameters after the memory."""
    constants = dict(memory.layout.constants)
    n = constants["nv"]
    words = {name: annotation_name(x) for name, x in inspect.get_annotations(function).items()}
    values = []
    for name, kind in list(words.items())[1:-1]:
        if kind == "int":
            fixed = {"steps": 3, "stride": n, "recorded": 1}
            values.append(fixed[name] if name in fixed else int(rng.integers(0, 4)))
        elif kind == "float":
            values.append(float(rng.uniform(1e-3, 2e-3)))
        else:
            size = 3 * (constants["nq"] + 2 * n) if name == "path" else 3 * n
            values.append(rng.standard_normal(size))
    return values


def three_ways(functions, python, machine, in_c, fill, rng, times):
    """Run each function on the same memory; C gives what Python gives bit for bit, machine code but
    for rounding.
    """
    routines = [
        make_routines(m, functions, compiled=m is machine)
        for m in (python, machine)
        if m is not None
    ]
    moved = 0
    for _ in range(times):
        for function in functions:
            fill(python, rng)
            start = {name: array.copy() for name, array in arrays(python).items()}
            given = arguments(function, python, rng)
            results = []
            for k in range(len(routines) + 1):
                memory = (python, machine)[k] if k < len(routines) else python
                for name, array in arrays(memory).items():
                    array[...] = start[name]
                handed = [x.copy() if isinstance(x, np.ndarray) else x for x in given]
                with np.errstate(all="ignore"):
                    run = routines[k][function.__name__] if k < len(routines) else in_c
                    result = (
                        run(memory, *handed)
                        if k < len(routines)
                        else in_c(function.__name__, memory, *handed)
                    )
                written = [x for x in handed if isinstance(x, np.ndarray)]
                results.append((result, [x.copy() for x in arrays(memory).values()] + written))
            (first, expected), *others = results
            moved += any((x != start[n]).any() for n, x in zip(start, expected, strict=False))
            for k, (result, values) in enumerate(others, 1):
                assert result == first or (
                    isinstance(first, float) and result == pytest.approx(first)
                ), function
                for name, x, y in zip([*start, *"abcdef"], values, expected, strict=False):
                    where = f"{function.__name__}: {name}"
                    if np.array_equal(x, y):
                        continue
                    if k == len(others):
                        np.testing.assert_array_equal(x, y, err_msg=where)
                    # an iteration that diverges magnifies rounding
                    elif np.abs(y[np.isfinite(y)]).max(initial=0.0) < 1e12:
                        scale = 1.0 + np.abs(y[np.isfinite(y)]).max(initial=0.0)
                        np.testing.assert_allclose(
                            x, y, rtol=1e-7, atol=1e-8 * scale, err_msg=where
                        )
    assert moved > 0


def plant_options(seed, model):
    hinges = [name for name in model.joint_names if model.joint(name).type.nq == 1]
    motor = DCMotor(
        2.0,
        0.05,
        gear_ratio=20.0,
        rotor_inertia=1e-5,
        inductance=1e-3 * (seed % 2),
        max_current=8.0,
    )
    return {
        "friction": [True, JointFriction(coulomb=0.4, static=0.7), None][seed % 3],
        "stops": ["rigid", RigidStops(0.4), CompliantStops(500.0, 3.0)][seed % 3],
        "springs": JointPD(p=dict.fromkeys(hinges[:2], 20.0), d=0.05) if seed % 2 else None,
        "motors": dict.fromkeys(hinges[-1:], motor) if seed % 3 != 1 else None,
        "contacts": [
            GroundContact(
                model.link_names[-1], radius=0.05, plane_point=(0.0, 0.0, -0.2), stiffness=2e3
            )
        ]
        if seed % 2 == 0
        else [],
        "integrator": ["moreau", "semi_implicit_euler"][seed % 2],
    }


@pytest.mark.skipif(not COMPILED, reason="no compiler")
@pytest.mark.parametrize("seed", range(6))
def test_routines_of_the_plant(seed, tmp_path):
    model = random_model(
        seed, 4, floating_base=seed == 4, fixed=0.2, limits=True, armature=True, friction=True
    )
    python, machine = (
        Plant(model, 1e-3, compiled=c, **plant_options(seed, model)).system for c in (False, True)
    )
    in_c = RoutinesInC(python.memory, timestepping.STEPPING_ROUTINES, tmp_path, python.kernels)
    q0 = python.memory["q"].copy()

    def fill(memory, rng):
        n = model.nv
        dq = 0.3 * rng.standard_normal(n)
        for name in ("q", "q_forces"):
            memory[name][:] = rd.integrate(model, q0, dq)
        for name, scale in {
            "v": 1.0,
            "middle": 1.0,
            "command": 5.0,
            "held": 5.0,
            "user": 0.5,
            "z": 0.3,
            "z1": 0.3,
        }.items():
            memory[name][:] = scale * rng.standard_normal(memory[name].shape)
        v = memory["v"]
        kind = rng.random(n)
        v[kind < 0.3] = 0.0
        memory["slip"][:] = np.sign(v)
        memory["v1"][:] = v + 0.01 * rng.standard_normal(n)
        memory["q1"][:] = memory["q"]
        memory["z1"][:] = memory["z"]
        # what prepare leaves for the routines after it
        L = rng.standard_normal((n, n + 2))
        memory["M"][...] = L @ L.T + 0.1 * np.eye(n)
        memory["f"][:], memory["target"][:] = rng.standard_normal((2, n))
        memory["lo"][:] = -rng.uniform(0.0, 1.0, n)
        memory["hi"][:] = rng.uniform(0.0, 1.0, n)
        memory["side"][:] = rng.integers(-1, 3, n)
        memory["whole"][0] = 0
        for name in ("U", "pivot", "work", "u", "x", "damping", "stiffness"):
            memory[name][...] = 0.0
        memory["pivot"][:] = 1.0
        memory["external"][...] = rng.standard_normal(memory["external"].shape)

    three_ways(
        timestepping.STEPPING_ROUTINES,
        python.memory,
        machine.memory,
        in_c,
        fill,
        np.random.default_rng(seed),
        6,
    )


def law_half(*arrays):
    *inputs, out = arrays
    q, v, reference, error, z, gains, *_ = inputs
    out[:] = (
        gains[0] * error[0]
        + gains[1] * error[1]
        + gains[2] * z
        + reference[2]
        - 0.1 * v
        + np.sin(q)
    )


def test_control_cycle(tmp_path):
    """From every step on, in states that are near limits, late, or leap; as written and as C."""
    model = rd.load_robot("three_link")
    memory, _ = cycle_memory(model.with_backend("numpy"))
    shapes = {name: [*law_input_shapes(3).values(), (3,)] for name in ("law_before", "law_after")}
    robot = robot_functions(model)
    robot["gravity_that_the_robot_adds"] = robot["gravity_forces"]
    for name in shapes:
        memory.exchange(name, law_half)

    def fill(memory, rng):
        for name, array in arrays(memory).items():
            if fields(CycleMemory)[name].kind == "numbers":
                array[...] = rng.uniform(-1.5, 1.5, array.shape) * rng.choice([0.1, 1.0, 3.0])
            else:
                array[...] = rng.integers(0, 2, array.shape)
        for name in (
            "deceleration",
            "margin",
            "velocity_limit",
            "effort_limit",
            "effort_rate",
            "zone_rate",
            "braking_rate",
        ):
            memory[name][...] = np.abs(memory[name]) + 0.05
        for name in (
            "bandwidth",
            "period",
            "whole_delay",
            "scale",
            "natural",
            "effort_size",
            "rated_speed",
            "largest_rotor",
        ):
            memory[name][...] = np.abs(memory[name]) + 0.5
        for name in (
            "low_pass",
            "actuator_delay",
            "assumed_rotor",
            "rotor",
            "share",
            "free_inertia",
            "bearable_inertia",
            "friction_variance",
            "rotor_seen",
            "squared_speed",
            "integral_bound",
            "dry",
            "viscous",
            "creep",
        ):
            memory[name][...] = np.abs(memory[name])
        memory["time"][0] = rng.choice([10**9, 10**9 + 2 * 10**6])
        for name in ("last", "knot", "blend_start", "goal_end"):
            memory[name][0] = memory["time"][0] - rng.integers(-2, 5) * 10**6
        memory["timeout"][0] = 10**8
        memory["blend_duration"][0] = 10**7
        memory["goal_time"][0] = 10**6
        memory["due"][0], memory["wrench_due"][0] = (
            memory["time"][0] + rng.integers(0, 9) for _ in range(2)
        )
        memory["own_law"][0] = rng.random() < 0.1
        memory["blending"][0] = rng.integers(0, 3)
        memory["largest_jump"][0] = rng.choice([0.1, np.inf])

    in_c = RoutinesInC(memory, (cycle,), tmp_path, robot, shapes)
    three_ways((cycle,), memory, None, in_c, fill, np.random.default_rng(0), 180)


@pytest.mark.parametrize("rubs", [0, 1])
def test_observer(rubs, tmp_path):
    python, machine = (
        Memory(ObserverMemory, {"nv": 5}, compiled=c) if not c or COMPILED else None
        for c in (False, True)
    )

    def fill(memory, rng):
        for name, array in arrays(memory).items():
            if fields(ObserverMemory)[name].kind == "numbers":
                array[...] = rng.uniform(0.1, 2.0, array.shape)
        memory["v"][:] = rng.standard_normal(5)
        memory["rubs"][0] = rubs
        memory["started"][0] = rng.integers(0, 2)

    in_c = RoutinesInC(python, (observe,), tmp_path)
    three_ways((observe,), python, machine, in_c, fill, np.random.default_rng(0), 50)


# -- the language itself ---------------------------------------------------------------------------


class Odd(Declared):
    """Ways to write things that the two back ends must agree on."""

    nv: int
    quick: bool
    x: Vector = numbers("nv", unit="m", meaning="α and q̇, a comment */ that must not end")
    new: Vector = numbers("nv", meaning="a name that C++ does not allow")
    none: Vector = numbers("0 * nv", meaning="an array without entries")
    k: Integers = integers(12, meaning="integers")


LARGE = 2**40


def odd(p: Odd, command: Vector, steps: int, stride: int, limit: float) -> int:
    """Statements that are easily read in another way.

    A second paragraph that is not repeated.
    """
    last = -1
    # its variable is used afterwards
    for i in range(p.nv):
        if command[i] > 1.0:
            break
        last = i
    p.k[0] = i
    p.k[1] = last
    new = p.x[0]
    this = p.x[1]
    new, this = this, new
    p.new[0] = new - this - (this - new)
    stop = 3
    # the end of the range is taken once
    for i in range(stop):
        stop = 5
        p.k[2] += i
    for i in range(p.nv - 1, -1, -2):
        p.k[3] = 10 * p.k[3] + i
    end: float = 3
    while end > 0.5:
        end /= 2
        if end < 0.6:
            continue
        p.x[0] += end
    flag = (steps > 2 and (stride < 2 or not limit > 0.0)) or (steps == 3 and stride == 1)
    p.k[4] = flag
    p.k[5] = LARGE // 3 + LARGE % 7 - (5 - (3 - 1))
    p.k[6] = (steps & 1) | (stride & 2)
    p.k[7] = steps if flag else -stride
    p.x[1] = -limit * -2.0 - 1.5 + (limit - 1.0) / (2.0 * 3.0) / 4.0 * 5.0 + 2.0**3
    p.x[2] = (
        math.inf
        if steps > 100
        else min(-math.inf, limit)
        if limit > 1e9
        else max(limit, 0.5, abs(-limit))
    )
    if p.quick and p.missing[0] > 0.0:  # type: ignore[attr-defined]
        p.k[8] = 1
    elif p.nv > 100:
        return 2
    for m in range(0):
        p.none[m] = 1.0
    for m in range(p.nv - p.nv):
        p.none[m] = 1.0
    for _ in range(2):
        p.k[9] += 1
    for i in range(2):
        for j in range(2):
            p.k[10] += i * j
            if j > i:
                break
    p.k[11] = steps < stride < 5
    return 1 if math.isfinite(limit) else 0


def test_ways_to_write_things(tmp_path):
    constants = {"nv": 4, "quick": False}
    python, machine = (
        Memory(Odd, constants, compiled=c) if not c or COMPILED else None for c in (False, True)
    )

    def fill(memory, rng):
        memory["x"][:] = rng.standard_normal(4)
        memory["new"][:] = 0.0
        memory["k"][:] = 0

    three_ways(
        (odd,),
        python,
        machine,
        RoutinesInC(python, (odd,), tmp_path),
        fill,
        np.random.default_rng(0),
        25,
    )


def test_what_a_header_says():
    text = routines_in_c(read_routines(Odd, {"nv": 4, "quick": False}, (odd,)), "it")
    assert "/* Statements that are easily read in another way. */" in text.declarations
    assert (
        "double x[4]; /* alpha and q', a comment * / that must not end, m */" in text.declarations
    )
    assert "second paragraph" not in text.declarations + text.definitions
    assert (text.declarations + text.definitions).isascii()
    assert (
        plain_text("Σ Jᵀ w, ẏ: see :class:`~a.b.Thing` and ``p.x``, m/s², −1")
        == "Sigma J^T w, y': see Thing and p.x, m/s^2, -1"
    )


def copy_message(p: Odd, message: Packed, answer: Packed) -> int:
    for i in range(p.nv):
        p.x[i] = number(message, 1 + 2 * i)
        put_number(answer, 2 * i, 2.0 * p.x[i])
    put_word(answer, 2 * p.nv, word(message, 0))
    return word(answer, 2 * p.nv)


def test_packed_messages(tmp_path):
    memory = Memory(Odd, {"nv": 4, "quick": False}, compiled=False)
    in_c = RoutinesInC(memory, (copy_message,), tmp_path)
    message = np.zeros(4 * 9, np.uint8)
    message[:4] = [250, 0, 0, 200]
    message[4:] = np.arange(1.0, 5.0).view(np.uint8)
    answers = [np.zeros(4 * 9, np.uint8) for _ in range(2)]
    values = [
        make_routines(memory, (copy_message,), compiled=False)["copy_message"](
            memory, message, answers[0]
        ),
        in_c("copy_message", memory, message, answers[1]),
    ]
    assert values[0] == values[1] == 250 + (200 << 24)
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0][:32].view(np.float64), 2.0 * np.arange(1.0, 5.0))


REFUSED = {
    "p.x[0] = p.y[0]": "no such array",
    "p.k[0] = 0.5": "a number where an integer is expected",
    "p.x[0, 1] = 1.0": "a matrix has two indices",
    "x = [1.0]": "such an expression",
    "with p: pass": "such a statement",
    "unknown(p)": "not known here",
    "p.x(p.x)": "no such kernel",
    "odd(p, p.x)": "5 arguments are expected",
    "x = 1; x = 0.5": "a number where an integer is expected",
}


@pytest.mark.parametrize(("statement", "words"), REFUSED.items())
def test_what_is_not_of_the_subset_is_refused_by_name_and_line(
    statement, words, tmp_path, monkeypatch
):
    (tmp_path / "refused.py").write_text(
        f"def routine(p: Odd) -> int:\n    {statement}\n    return 0\n"
    )
    code = compile((tmp_path / "refused.py").read_text(), str(tmp_path / "refused.py"), "exec")
    names = {"Odd": Odd, "odd": odd}
    exec(code, names)
    with pytest.raises(TypeError, match=rf"routine routine, line 2.*{words}"):
        read_routines(Odd, {"nv": 4, "quick": False}, (names["routine"],))
