"""One statement, several ways to run it: all must give the same."""

from __future__ import annotations

import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.random_trees import ALL_TYPES, random_model, random_state
from support.registry_calls import agree, inputs_for, options_for, results

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine import backends
from robot_dynamics_ros.dynamics.engine.loops import LoopTree
from robot_dynamics_ros.dynamics.engine.registry import TABLE
from robot_dynamics_ros.spatial import Motion

COMPILED = [b for b in ("native", "loops") if b in rd.available_backends()]
needs_compiler = pytest.mark.skipif(not COMPILED, reason="llvmlite is not installed")


ELSEWHERE = {
    "joint_wrenches",
    "wrench_balance",
    "point_motion",
    "link_inertia",
    "subtree_state",
    "linearization",
    "semi_implicit_step",
    "moreau_step",
}
"""Functions that are tested on all backends beside what they are for."""
CORE = sorted(TABLE.keys() - ELSEWHERE)
LOOPS = sorted(name for name in TABLE if TABLE[name].loops)


@pytest.mark.parametrize("name", CORE)
def test_numpy_runs_what_is_written(name):
    for seed in (1, 2, 3):
        model = random_model(seed, 5, types=ALL_TYPES, armature=True, friction=True, mimic=0.3)
        options = options_for(model, name)
        inputs = inputs_for(model, name, options)
        reference = results(model.with_backend("interpreted"), name, options, inputs)
        agree(results(model.with_backend("numpy"), name, options, inputs), reference)


@needs_compiler
@pytest.mark.parametrize("name", CORE)
def test_machine_code_gives_the_same(name):
    for seed in (4, 5):
        model = random_model(
            seed, 4, types=ALL_TYPES, armature=True, friction=True, mimic=0.3 * (seed == 5)
        )
        options = options_for(model, name)
        single = inputs_for(model, name, options)
        reference = results(model.with_backend("interpreted"), name, options, single)
        native = model.with_backend("native")
        agree(results(native, name, options, single), reference)
        # whole vectors and a rest
        batch = inputs_for(model, name, options, (37,), seed=9)
        agree(
            results(native, name, options, batch),
            results(model.with_backend("numpy"), name, options, batch),
        )


@needs_compiler
@pytest.mark.parametrize("name", CORE)
def test_a_long_line_in_parts_gives_the_same(name, monkeypatch, tmp_path):
    """As functions of large robots are compiled; an output may be the array of an input."""
    from robot_dynamics_ros.dynamics.engine.codegen import llvm_kernel
    from robot_dynamics_ros.dynamics.engine.codegen.cache import CACHE_ENVIRONMENT

    made = []
    in_parts = llvm_kernel._state_in_parts
    monkeypatch.setenv(CACHE_ENVIRONMENT, str(tmp_path))
    monkeypatch.setattr(llvm_kernel, "OPERATIONS_OF_WHOLE", 0)
    monkeypatch.setattr(llvm_kernel, "OPERATIONS_OF_PART", 7)
    monkeypatch.setattr(llvm_kernel, "_state_in_parts", lambda *a: made.append(a) or in_parts(*a))
    model = random_model(6, 4, types=ALL_TYPES, armature=True, friction=True, mimic=0.3)
    options = options_for(model, name)
    single = inputs_for(model, name, options)
    reference = results(model.with_backend("interpreted"), name, options, single)
    agree(results(model.with_backend("native"), name, options, single), reference)
    assert made
    if name == "inverse_dynamics":
        q, v, a = (np.array(x) for x in single)
        rd.kernel(model.with_backend("native"), name)(q, v, a, v)
        assert_allclose(v, reference[0], rtol=1e-9)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("seed", [1, 3, 4])
def test_loops_give_the_same(name, seed):
    types = ALL_TYPES if seed % 2 else (rd.JointType.REVOLUTE, rd.JointType.PRISMATIC)
    model = random_model(seed, 3 + seed, types=types, armature=seed % 3 == 0, axis_aligned=0.5)
    options = {"external": True} if "external" in [w for w, _ in TABLE[name].inputs] else {}
    loops = model.with_backend("loops")
    assert backends.evaluator(loops, name, tuple(options.items())).backend == "loops"
    for batch in ((), (5,)):
        inputs = inputs_for(model, name, options, batch, seed)
        agree(
            results(loops, name, options, inputs),
            results(model.with_backend("interpreted"), name, options, inputs),
            1e-10,
        )


@needs_compiler
@pytest.mark.parametrize(
    "name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives", "coriolis_matrix"]
)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 17])
def test_bodies_side_by_side_write_no_more_than_there_are(name, n):
    model = rd.chain(n)
    state = np.random.default_rng(n)
    count = len(TABLE[name].inputs) - (1 if "external" in [w for w, _ in TABLE[name].inputs] else 0)
    inputs = state.uniform(-1.0, 1.0, (count, n))
    wanted = results(model.with_backend("interpreted"), name, {}, list(inputs))
    memory = np.full((len(wanted), n * n + 16), 7.5)
    outputs = [row[8:-8].reshape(n, n) for row in memory]
    rd.kernel(model.with_backend("loops"), name)(*inputs, *outputs)
    agree(outputs, wanted, 1e-10)
    assert (memory[:, :8] == 7.5).all() and (memory[:, -8:] == 7.5).all()


def test_a_value_apart_needs_no_other_body():
    tree = LoopTree(rd.chain(3), {}, 0)
    velocity = tree.field(Motion)
    with pytest.raises(NotImplementedError, match="from another body"):
        tree.each(Motion, lambda i: velocity[i.parent] + velocity[i])


@pytest.mark.parametrize("backend", rd.available_backends())
def test_batches_broadcast(backend):
    model = random_model(7, 5, types=ALL_TYPES).with_backend(backend)
    q, v, a = random_state(model, 1, (3, 4))
    tau = rd.inverse_dynamics(model, q, v, a)
    assert tau.shape == (3, 4, model.nv)
    for i in range(3):
        for j in range(4):
            assert_allclose(
                tau[i, j],
                rd.inverse_dynamics(model, q[i, j], v[i, j], a[i, j]),
                rtol=1e-10,
                atol=1e-9,
            )
    mixed = rd.inverse_dynamics(model, q[0, 0], v[:, :1], a)
    assert mixed.shape == (3, 4, model.nv)
    assert_allclose(
        mixed[1, 2], rd.inverse_dynamics(model, q[0, 0], v[1, 0], a[1, 2]), rtol=1e-10, atol=1e-9
    )
    assert rd.kinetic_energy(model, q, v).shape == (3, 4)
    assert isinstance(rd.kinetic_energy(model, q[0, 0], v[0, 0]), float)
    assert rd.mass_matrix(model, q[:0, 0]).shape == (0, model.nv, model.nv)
    wrench = {model.link_names[-1]: np.ones((4, 6))}
    assert rd.inverse_dynamics(model, q, v, a, external=wrench).shape == (3, 4, model.nv)
    with pytest.raises(rd.ArgumentError, match="batch dimensions do not fit"):
        rd.inverse_dynamics(model, q, v[:2], a)


@needs_compiler
def test_result_does_not_depend_on_company_or_threads():
    from robot_dynamics_ros.dynamics.engine.parallel import set_threads, threads

    model = rd.load_robot("six_axis").with_backend("native")
    rng = np.random.default_rng(0)
    # enough for threads to be used
    q, v, a = rng.uniform(-3, 3, (3, 20_001, 6))
    try:
        set_threads(1)
        alone = rd.forward_dynamics(model, q, v, a)
        set_threads(3)
        assert threads() == 3
        assert_array_equal(rd.forward_dynamics(model, q, v, a), alone)
    finally:
        set_threads(None)
    with pytest.raises(rd.ArgumentError):
        set_threads(0)


@pytest.mark.parametrize("backend", [b for b in rd.available_backends() if b != "interpreted"])
def test_a_million_states_fit_in_bounded_memory(backend):
    model = rd.load_robot("pendulum").with_backend(backend)
    n = 1_000_000
    q, v, a = (np.linspace(-3, 3, n)[:, None] for _ in range(3))
    out = np.empty((n, 1))
    rd.inverse_dynamics(model, q[:1], v[:1], a[:1])
    tracemalloc.start()
    rd.inverse_dynamics(model, q, v, a, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * out.nbytes
    assert_allclose(
        out[::99_999], rd.inverse_dynamics(model, q[::99_999], v[::99_999], a[::99_999]), rtol=1e-12
    )


@needs_compiler
@pytest.mark.parametrize("backend", COMPILED)
def test_nothing_is_allocated_in_a_cycle(backend):
    model = rd.load_robot("six_axis").with_backend(backend)
    q, v, a, tau = (np.zeros(6) for _ in range(4))
    M = np.empty((6, 6))
    wrenches = np.empty((6, 6))
    inverse, forward, mass = (
        rd.kernel(model, n) for n in ("inverse_dynamics", "forward_dynamics", "mass_matrix")
    )
    both = rd.kernel(model, "inverse_dynamics_wrenches")

    def cycle():
        inverse(q, v, a, tau)
        forward(q, v, tau, a)
        mass(q, M)
        both(q, v, a, tau, wrenches)

    def grown():
        before = tracemalloc.take_snapshot()
        for _ in range(200):
            cycle()
        after = tracemalloc.take_snapshot().compare_to(before, "lineno")
        return sum(
            s.count_diff for s in after if s.size_diff > 0 and "tracemalloc" not in str(s.traceback)
        )

    cycle()
    tracemalloc.start()
    try:
        # threads that tests before have left may allocate in one of them
        least = min(grown() for _ in range(3))
    finally:
        tracemalloc.stop()
    assert least < 10


@needs_compiler
def test_reference_counts_stay_as_they_are():
    model = rd.load_robot("pendulum").with_backend("native")
    run = rd.kernel(model, "inverse_dynamics")
    q = np.zeros(1)
    out = np.empty(1)
    before = sys.getrefcount(out), sys.getrefcount(q)
    for _ in range(1000):
        run(q, q, q, out)
    assert (sys.getrefcount(out), sys.getrefcount(q)) == before


@pytest.mark.parametrize("backend", [b for b in rd.available_backends() if b != "interpreted"])
def test_threads_share_a_model(backend):
    model = rd.chain(12).with_backend(backend)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(8, 3, 12))
    expected = [rd.inverse_dynamics(model, *s) for s in states]
    failures = []

    def work(k):
        run = rd.kernel(model, "inverse_dynamics")
        out = np.empty(12)
        for _ in range(100):
            run(*states[k], out)
            if not np.array_equal(out, expected[k]):
                failures.append(k)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert not failures and not any(w.is_alive() for w in workers)


@needs_compiler
@pytest.mark.parametrize("backend", COMPILED)
def test_large_angles_go_to_the_library(backend):
    model = rd.load_robot("two_link").with_backend(backend)
    plain = model.with_backend("interpreted")
    for scale in (1e3, 1e6, 1e7, 1e15):
        q = np.array([[1.234, -0.77]] * 99) * scale
        q[3] = [0.1, 0.2]
        assert_allclose(rd.mass_matrix(model, q), rd.mass_matrix(plain, q), rtol=1e-12)
    gravity = rd.kernel(model, "gravity_forces")
    assert (
        np.isnan(gravity([np.nan, 0.0])).any()
        and np.isnan(gravity(np.array([np.nan, 0.0]), np.empty(2))).any()
    )
    assert np.isnan(gravity(np.full((99, 2), np.inf))).all()


@needs_compiler
def test_sine_and_cosine_are_good_to_the_last_places():
    from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
    from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import (
        ArrayArgument,
        kernel_module,
        wide_module,
    )
    from robot_dynamics_ros.dynamics.engine.codegen.native import (
        NativeLibrary,
        compile_module,
        vector_width,
    )

    g = Graph()
    x = g.leaf((0, 0))
    arguments = [ArrayArgument((1,)), ArrayArgument((2,), output=True)]
    outputs = [[x.sin(), x.cos()]]
    one_by_one = NativeLibrary(compile_module(kernel_module(arguments, outputs, vector_width())))
    wide = NativeLibrary(compile_module(wide_module(arguments, outputs, vector_width()))).wide(2, 1)
    rng = np.random.default_rng(0)
    angles = np.concatenate(
        [
            rng.uniform(-10, 10, 50_000),
            rng.uniform(-1e6, 1e6, 50_000),
            np.arange(-2000, 2000) * np.pi / 2,
            np.arange(-2000, 2000) * np.pi / 4,
            [0.0, -0.0, 5e-324, 1e-300] * 2,
        ]
    )
    angles = np.ascontiguousarray(angles[:, None])
    single, several = np.empty((2, len(angles), 2))
    one_by_one.batch(2)(0, len(angles), angles.ctypes.data, single.ctypes.data)
    assert len(angles) % vector_width() == 0
    wide(0, len(angles), angles.ctypes.data, several.ctypes.data, 8, 8, False)
    for out in (single, several):
        for column, function in enumerate((np.sin, np.cos)):
            exact = function(angles[:, 0].astype(np.longdouble))
            # longdouble keeps 64 bits: enough to judge the 53rd, but near zeros of large angles
            error = np.abs(out[:, column] - exact) / np.spacing(
                np.maximum(np.abs(exact.astype(float)), 1e-10)
            )
            assert error.max() < 3.0


@needs_compiler
@pytest.mark.parametrize("count", [1, 2, 4, 5, 7])
def test_angles_of_one_state_are_good_side_by_side_and_where_one_is_large(count):
    from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
    from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import ArrayArgument, kernel_module
    from robot_dynamics_ros.dynamics.engine.codegen.native import (
        NativeLibrary,
        compile_module,
        vector_width,
    )

    g = Graph()
    leaves = [g.leaf((0, k)) for k in range(count)]
    arguments = [ArrayArgument((count,)), ArrayArgument((2, count), output=True)]
    outputs = [[x.sin() for x in leaves] + [x.cos() for x in leaves]]
    library = NativeLibrary(compile_module(kernel_module(arguments, outputs, vector_width())))
    angles = np.random.default_rng(0).uniform(-10, 10, count)
    out = np.empty((2, count))
    for large in range(-1, count):
        x = np.where(np.arange(count) == large, 1e9 * angles, angles)
        library.batch(2)(0, 1, x.ctypes.data, out.ctypes.data)
        assert_allclose(out, [np.sin(x), np.cos(x)], rtol=0.0, atol=4e-16)


@pytest.mark.parametrize("backend", rd.available_backends())
def test_an_output_may_be_the_array_of_an_input(backend):
    model = rd.chain(5).with_backend(backend)
    q, v, a = np.random.default_rng(0).normal(size=(3, 5))
    expected = rd.inverse_dynamics(model, q, v, a)
    for which in range(3):
        inputs = [q.copy(), v.copy(), a.copy()]
        rd.kernel(model, "inverse_dynamics")(*inputs, inputs[which])
        assert_allclose(inputs[which], expected, rtol=1e-13)


@needs_compiler
def test_side_by_side_is_the_same_and_compiled_when_a_large_batch_comes():
    model = rd.load_robot("six_axis").with_backend("native")
    evaluate = backends.evaluator(model, "forward_dynamics")
    states = np.random.default_rng(0).normal(size=(3, 150, 6))
    few = evaluate(*states[:, :63])
    assert evaluate.engine._wide is None
    many = evaluate(*states)
    assert evaluate.engine._wide is not None
    assert_allclose(many[:63], few, rtol=1e-9, atol=1e-9)
    single = [evaluate(*s) for s in states.swapaxes(0, 1)]
    assert_allclose(many, single, rtol=1e-9, atol=1e-9)


def test_backend_can_be_seen_and_forced(monkeypatch):
    model = rd.load_robot("pendulum")
    assert rd.backend_of(model) == rd.available_backends()[0]
    for name in rd.available_backends():
        assert rd.backend_of(model.with_backend(name)) == name
    monkeypatch.setenv("ROBOT_DYNAMICS_BACKEND", "numpy")
    assert rd.backend_of(rd.load_robot("pendulum")) == "numpy"
    monkeypatch.setenv("ROBOT_DYNAMICS_BACKEND", "nunpy")
    with pytest.raises(rd.UnknownNameError, match=r"unknown backend 'nunpy'.*Did you mean 'numpy'"):
        rd.backend_of(rd.load_robot("pendulum"))
    with pytest.raises(
        rd.UnknownNameError, match=r"unknown backend 'nativ'.*Did you mean 'native'"
    ):
        model.with_backend("nativ")
    with pytest.raises(rd.UnknownNameError, match="unknown function"):
        rd.kernel(model, "inverse_dynamic")


def test_works_without_a_compiler():
    code = (
        "import sys; sys.modules['llvmlite'] = None\n"
        "import numpy as np, robot_dynamics_ros as rd\n"
        "m = rd.load_robot('six_axis')\n"
        "print(rd.backend_of(m), rd.forward_dynamics(m, np.zeros(6), np.zeros(6), "
        "np.zeros(6)).shape)\n"
        "try: rd.backend_of(m.with_backend('native'))\n"
        "except rd.BackendError as e: print(e)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    ).stdout
    assert "numpy (6,)" in said and "llvmlite is not installed" in said


@needs_compiler
def test_a_broken_compiler_is_no_disaster(monkeypatch, caplog):
    from robot_dynamics_ros.dynamics.engine import native_engine
    from robot_dynamics_ros.dynamics.engine.codegen import cache

    monkeypatch.setattr(cache, "load", lambda key: None)

    def broken(source, **options):
        raise RuntimeError("no target for this machine")

    monkeypatch.setattr(native_engine, "compile_module", broken)
    # or every later status in this process would tell of it
    monkeypatch.setattr(backends, "_failures", [])
    backends._warn_once.cache_clear()
    model = rd.limb(3)
    assert rd.gravity_forces(model, np.zeros(3)).shape == (3,)
    assert "using the slower numpy backend" in caplog.text
    with pytest.raises(rd.BackendError, match="no target for this machine"):
        rd.gravity_forces(model.with_backend("native"), np.zeros(3))


@needs_compiler
def test_what_others_compile_in_this_process_is_scheduled_as_ever():
    from robot_dynamics_ros.dynamics.engine import native_engine, trace
    from robot_dynamics_ros.dynamics.engine.codegen import native
    from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import callee_module

    llvm = native._llvm()
    what = (rd.chain(6), "inverse_dynamics", ())
    arguments = native_engine.array_arguments(what[0], trace.signature(*what))
    source = callee_module(arguments, trace.trace(*what).outputs, native.vector_width())
    if llvm.llvm_version_info[0] < native.OPAQUE_POINTERS:
        from robot_dynamics_ros.dynamics.engine.codegen.typed_pointers import with_typed_pointers

        source = with_typed_pointers(source)

    def of_others():
        return native._machine(1).emit_object(
            llvm.parse_assembly(source, context=llvm.create_context())
        )

    before = of_others()
    native.compile_module(source)
    assert of_others() == before


def test_prepare_in_the_background():
    model = rd.limb(4)
    thread = rd.prepare(model, "inverse_dynamics", "mass_matrix", background=True)
    thread.join(60)
    assert not thread.is_alive()
    assert rd.prepared(model) >= {("inverse_dynamics", ()), ("mass_matrix", ())}
    assert rd.prepare(model, "gravity_forces") is None
    with pytest.raises(rd.UnknownNameError):
        rd.prepare(model, "gravity", background=True)


def test_robot_without_moving_joints():
    from robot_dynamics_ros.model.description import Inertia, Link, RobotDescription

    body = Link("block", Inertia(2.0, [0.0, 0.0, 0.5], np.eye(3)))
    model = rd.RobotModel.from_description(RobotDescription("block", (body,), ()))
    empty = np.zeros(0)
    for backend in rd.available_backends():
        still = model.with_backend(backend)
        assert rd.inverse_dynamics(still, empty, empty, empty).shape == (0,)
        assert rd.mass_matrix(still, empty).shape == (0, 0)
        assert rd.forward_dynamics(still, empty, empty, empty).shape == (0,)
        assert rd.potential_energy(still, empty) == pytest.approx(2.0 * 9.81 * 0.5)
        assert rd.link_pose(still, empty, "block").tolist() == np.eye(4).tolist()


@needs_compiler
def test_what_a_control_cycle_calls_is_machine_code_at_two_hundred_joints():
    model = rd.chain(200).with_backend("native")
    cycle = (
        "inverse_dynamics",
        "inverse_dynamics_wrenches",
        "bias_forces",
        "gravity_forces",
        "forward_dynamics",
        "mass_matrix",
        "generalized_momentum",
    )
    for name in cycle:
        assert backends._suited(model, name, (), "native") == "loops", name
    for name in ("external_efforts", "inverse_dynamics_wrenches"):
        assert backends._suited(model, name, (("external", True),), "native") == "loops", name
    tool = model.link_index(model.link_names[-1])
    assert backends._suited(model, "link_pose", (("link", tool),), "native") == "native"
    assert (
        backends._suited(model, "jacobian", (("frame", "world"), ("link", tool)), "native")
        == "native"
    )
