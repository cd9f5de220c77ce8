"""The emitted NumPy module: runs without this package, agrees with it, takes batches."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ALL_TYPES, random_model, random_state

import robot_dynamics_ros as rd
from robot_dynamics_ros.export.plan import EXPORTED_FUNCTIONS
from robot_dynamics_ros.model import DCMotor


def module_of(code, tmp_path):
    (path,) = code.write(tmp_path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_functions_on_batches(seed, tmp_path):
    model = random_model(seed, 3, types=ALL_TYPES, mimic=0.2)
    code = rd.export_code(model, [*EXPORTED_FUNCTIONS, "step"], language="python", prefix="bot")
    bot = module_of(code, tmp_path)
    rng = np.random.default_rng(seed)
    states = [random_state(model, rng) for _ in range(6)]
    q, v, a = (np.array(x).reshape(2, 3, -1) for x in zip(*states, strict=True))
    close = {"rtol": 1e-11, "atol": 1e-11}
    assert_allclose(bot.inverse_dynamics(q, v, a), rd.inverse_dynamics(model, q, v, a), **close)
    assert_allclose(bot.mass_matrix(q), rd.mass_matrix(model, q), **close)
    assert_allclose(bot.joint_wrenches(q, v, a), rd.joint_wrenches(model, q, v, a), **close)
    assert_allclose(bot.kinetic_energy(q, v), rd.kinetic_energy(model, q, v), **close)
    A, B = bot.linearization(q[0, 0], v[0, 0], a[0, 0])
    expected = rd.linearize(model, q[0, 0], v[0, 0], a[0, 0])
    scale = np.abs(expected.A).max()
    assert_allclose(A, expected.A, rtol=1e-9, atol=1e-11 * scale)
    assert_allclose(B, expected.B, rtol=1e-9, atol=1e-11 * scale)
    assert isinstance(bot.potential_energy(q[0, 0]), float)
    with pytest.raises(ValueError, match="expected shape"):
        bot.mass_matrix(np.zeros(model.nq + 1))


def test_it_runs_without_this_package(tmp_path):
    motors = {"elbow": DCMotor(1.0, 0.1, inductance=1e-3, gear_ratio=50)}
    code = rd.export_code(
        rd.load_robot("two_link"),
        [*EXPORTED_FUNCTIONS, "step"],
        language="python",
        prefix="arm",
        symbols="auto",
        motors=motors,
        friction="smooth",
        external=["tip"],
    )
    code.write(tmp_path)
    check = (
        "import sys, runpy; sys.modules['robot_dynamics_ros'] = None; runpy.run_path('arm.py', "
        "run_name='__main__')"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", check],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0 and " ok" in done.stdout, done.stdout + done.stderr


def test_parameters_by_name(tmp_path):
    model = rd.load_robot("two_link")
    arm = module_of(
        rd.export_code(
            model,
            ["mass_matrix", "gravity_forces"],
            language="python",
            prefix="arm",
            symbols={"gravity": "g"},
        ),
        tmp_path,
    )
    q = np.array([0.3, -0.5])
    assert_allclose(arm.gravity_forces(q), rd.gravity_forces(model, q), rtol=1e-12)
    halved = arm.gravity_forces(q, {"g": 9.81 / 2})
    assert_allclose(halved, rd.gravity_forces(model, q) / 2, rtol=1e-12)
