"""What is made for a robot lives as long as somebody uses it, and no longer."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine import backends
from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared, Vector, numbers


class _Numbers(Declared):
    nv: int
    x: Vector = numbers("nv")


def _doubled(p: _Numbers, x: float) -> float:
    return 2.0 * x


FUNCTIONS = ("inverse_dynamics", "gravity_forces", "mass_matrix")


def compiled(model):
    return [rd.kernel(model, name) for name in FUNCTIONS]


@pytest.mark.parametrize("backend", rd.available_backends())
def test_a_model_is_freed_with_all_that_was_made_for_it(backend):
    model = rd.limb(3).with_backend(backend)
    rd.inverse_dynamics(model, *np.zeros((3, 3)))
    rd.joint_wrenches(model, *np.zeros((3, 3)), joints="all")
    twin = backends._of(model).twin
    engine = backends.evaluator(model, "inverse_dynamics").engine
    left = [weakref.ref(model), weakref.ref(twin), weakref.ref(engine)]
    del model, twin, engine
    gc.collect()
    assert [x() for x in left] == [None, None, None]


@pytest.mark.parametrize("backend", rd.available_backends())
def test_a_kernel_outlives_its_model(backend):
    model = rd.limb(3).with_backend(backend)
    q, v, a = np.random.default_rng(0).normal(size=(3, 3))
    run = rd.kernel(model, "inverse_dynamics")
    evaluate = backends.evaluator(model, "inverse_dynamics")
    expected = rd.inverse_dynamics(model, q, v, a)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    # other kernels would take the memory, had it been freed
    for _ in range(20):
        compiled(rd.limb(2).with_backend(backend))
    np.testing.assert_array_equal(run(q, v, a, np.empty(3)), expected)
    # by way of the slow path
    np.testing.assert_array_equal(run(q.tolist(), v, a), expected)
    np.testing.assert_array_equal(evaluate(q, v, a), expected)


@pytest.mark.skipif("native" not in rd.available_backends(), reason="no compiler")
def test_memory_is_constant_over_a_hundred_payloads():
    from robot_dynamics_ros.dynamics.engine.codegen import native

    arm = rd.load_robot("two_link").with_backend("native")
    living = weakref.WeakSet()
    real = native.NativeLibrary.__init__

    def counted(self, code):
        real(self, code)
        living.add(self)

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROBOT_DYNAMICS_CACHE", "off")
        patch.setattr(native.NativeLibrary, "__init__", counted)
        before = 0
        for k in range(120):
            loaded = arm.attach(arm.link_names[-1], 0.1 + 0.01 * k)
            run = rd.kernel(loaded, "gravity_forces")
            run(np.zeros(2), np.empty(2))
            if k == 20:
                before = resident()
        # 100 kernels kept would be 5 MB and more
        assert resident() - before < 2e6
        assert len(living) <= 2
        del loaded, run
        gc.collect()
        assert len(living) == 0


def test_code_in_a_cycle_of_references_is_freed():
    pytest.importorskip("llvmlite")
    from robot_dynamics_ros.dynamics.engine.codegen.native import NativeLibrary, compile_module

    code = compile_module("define i64 @f() {\n  ret i64 3\n}")
    for _ in range(50):
        cycle = [NativeLibrary(code)]
        cycle.append(cycle)
        left = weakref.ref(cycle[0])
        del cycle
        gc.collect()
        assert left() is None


def test_a_routine_outlives_the_others_of_its_memory():
    pytest.importorskip("llvmlite")
    from robot_dynamics_ros.dynamics.engine.codegen.native import library_of
    from robot_dynamics_ros.dynamics.engine.routines import Memory, Routines

    memory = Memory(_Numbers, {"nv": 1}, compiled=True)
    routines = Routines(memory.layout, [_doubled])
    library = weakref.ref(routines._library)
    held = routines.held("_doubled")
    del routines
    library_of.cache_clear()
    gc.collect()
    assert library() is not None and held(memory.block.ctypes.data, 2.0) == 4.0
    del held
    gc.collect()
    assert library() is None


def test_copies_and_pickles_keep_the_backend_and_compute_the_same():
    model = rd.load_robot("six_axis").with_backend("numpy")
    q = np.linspace(-1, 1, 6)
    expected = rd.gravity_forces(model, q)
    for other in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.backend == "numpy"
        np.testing.assert_array_equal(rd.gravity_forces(other, q), expected)


def test_many_threads_make_one_wrapper():
    model = rd.limb(4)
    found = []
    start = threading.Barrier(8)

    def work():
        start.wait(30)
        found.append(backends.evaluator(model, "mass_matrix"))

    workers = [threading.Thread(target=work) for _ in range(8)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(60)
    assert len(found) == 8 and len(set(map(id, found))) == 1
