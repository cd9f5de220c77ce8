"""Batches of several threads: the same numbers as of one, whatever the strides; what is refused,
and named.
"""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from support.random_trees import random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.parallel import MOST, set_threads
from robot_dynamics_ros.model.description import JointType

COMPILED = [b for b in ("native", "loops") if b in rd.available_backends()]
pytestmark = pytest.mark.skipif(not COMPILED, reason="llvmlite is not installed")
N = 5_003
"""States: enough for threads to be used, and no multiple of anything."""


@pytest.fixture(params=[1, 2, 5])
def several(request):
    set_threads(request.param)
    yield request.param
    set_threads(None)


@pytest.fixture(scope="module")
def states():
    rng = np.random.default_rng(0)
    return tuple(rng.uniform(-2, 2, (N, 6)) for _ in range(3))


@pytest.fixture(scope="module")
def arm():
    return rd.load_robot("six_axis").with_backend("native")


@pytest.fixture(scope="module")
def efforts(arm, states):
    return np.array([rd.inverse_dynamics(arm, *state) for state in zip(*states, strict=True)])


LAYOUTS = {
    "contiguous": lambda q, v, a: (q, v, a),
    "one array of states": lambda *x: np.split(np.hstack(x), 3, axis=1),
    "column by column": lambda *x: [np.asfortranarray(part) for part in x],
    "every third": lambda *x: [np.repeat(part, 3, axis=0)[::3] for part in x],
    "backwards": lambda *x: [part[::-1].copy()[::-1] for part in x],
    "not aligned": lambda *x: [
        np.frombuffer(b"1" + part.tobytes(), np.uint8)[1:].view(np.float64).reshape(part.shape)
        for part in x
    ],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_and_threads_change_nothing(arm, states, efforts, several, layout):
    given = LAYOUTS[layout](*states)
    found = rd.inverse_dynamics(arm, *given)
    assert_allclose(found, efforts, rtol=1e-12, atol=1e-12)
    out = np.full((N, 6), np.nan)
    assert rd.inverse_dynamics(arm, *given, out=out) is out
    assert_array_equal(out, found)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 5, 63, 64])
def test_strides_of_a_few_states(arm, states, efforts, layout, count):
    given = LAYOUTS[layout](*(x[:count] for x in states))
    assert_allclose(rd.inverse_dynamics(arm, *given), efforts[:count], rtol=1e-12, atol=1e-12)


def test_one_configuration_for_all_states(arm, states, several):
    q, v, a = states
    found = rd.inverse_dynamics(arm, q[7], v, a)
    assert_array_equal(found, rd.inverse_dynamics(arm, np.tile(q[7], (N, 1)), v, a))
    grid = rd.inverse_dynamics(arm, q[:40, None], v[None, :70], a[0])
    assert_allclose(
        grid[39, 69], rd.inverse_dynamics(arm, q[39], v[69], a[0]), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("row", [0, 1, 2_600, N - 1])
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named(arm, states, efforts, several, row, number):
    q, v, a = states
    bad = v.copy()
    bad[row, 4] = number
    out = np.full((N, 6), 7.0)
    with pytest.raises(
        rd.ArgumentError, match=rf"v: expected finite numbers, got {number} at index \[{row}, 4\]"
    ):
        rd.inverse_dynamics(arm, q, bad, a, out=out)
    # the others were computed before
    kept = (out == 7.0).all(axis=1)
    assert kept[row]
    assert_allclose(out[~kept], efforts[~kept], rtol=1e-12, atol=1e-12)
    passed = rd.kernel(arm, "inverse_dynamics")(q, bad, a)
    assert np.isnan(passed[row]).any()
    assert_allclose(np.delete(passed, row, 0), np.delete(efforts, row, 0), rtol=1e-12, atol=1e-12)


def test_an_input_that_has_no_influence_is_checked_too(several):
    # its mass matrix is constant
    model = rd.load_robot("pendulum").with_backend("native")
    q = np.zeros((100_000, model.nq))
    q[77_777] = np.nan
    with pytest.raises(rd.ArgumentError, match=r"q: .* nan at index \[77777, 0\]"):
        rd.mass_matrix(model, q)


@pytest.mark.parametrize("backend", COMPILED)
def test_a_quaternion_of_another_length_is_refused(backend, several):
    model = random_model(3, 4, types=(JointType.FLOATING, JointType.REVOLUTE)).with_backend(backend)
    q, v, a = random_state(model, 2, (2_000,))
    found = rd.inverse_dynamics(model, q, v, a)
    assert_allclose(
        found[1_999], rd.inverse_dynamics(model, q[1_999], v[1_999], a[1_999]), rtol=1e-9, atol=1e-9
    )
    q[1_500, 3:7] *= 1.001
    for function in (rd.inverse_dynamics, lambda m, *x: rd.kernel(m, "inverse_dynamics")(*x)):
        with pytest.raises(rd.ArgumentError, match=r"norm 1\.001"):
            function(model, q, v, a)


def test_callers_at_the_same_time(arm, states, efforts):
    set_threads(2)
    wrong = []

    def call():
        for _ in range(20):
            if not np.allclose(rd.inverse_dynamics(arm, *states), efforts, rtol=1e-12, atol=1e-12):
                wrong.append(True)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    set_threads(None)
    assert not wrong


FORKED = """
import os, numpy as np, robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.parallel import set_threads
set_threads(2)
arm = rd.load_robot("six_axis")
state = [np.full((5000, 6), x) for x in (0.1, 0.2, 0.3)]
before = rd.inverse_dynamics(arm, *state)
child = os.fork()
same = np.array_equal(rd.inverse_dynamics(arm, *state), before)
if child == 0:
    os._exit(0 if same else 1)
assert same and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_has_threads_of_its_own():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=120)


def test_number_of_threads():
    for count in (0, MOST + 1, 1.5):
        with pytest.raises(rd.ArgumentError, match="whole number"):
            set_threads(count)
