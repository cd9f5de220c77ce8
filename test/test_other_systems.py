"""The library and the command line without what Windows lacks: the C library by no name,
semaphores, POSIX signals.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIBRARY = """
import sys
import numpy as np
import robot_dynamics_ros as rd

model = rd.load_robot("six_axis")
q = np.random.default_rng(0).uniform(-1.0, 1.0, (5000, 6))
tau = rd.inverse_dynamics(model, q, q, q)
plain = model.with_backend("interpreted")
assert np.allclose(tau[7], rd.inverse_dynamics(plain, q[7], q[7], q[7]), atol=1e-11)
plant = rd.Plant(model, 1e-3)
plant.run(np.zeros(6), 100)
assert np.isfinite(plant.q).all() and plant.compiled == bool(int(sys.argv[1]))
assert rd.rollout(model, q[:64], q[:64], dt=1e-3, steps=10)[0].shape == (64, 6)
"""


def run(*words):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": str(HERE.parent)}
    done = subprocess.run(
        [sys.executable, str(HERE / "support" / "without_posix.py"), *words],
        capture_output=True,
        text=True,
        timeout=600,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_functions_plants_and_batches_on_threads(tmp_path, monkeypatch):
    pytest.importorskip("llvmlite")
    # nothing that was compiled elsewhere
    monkeypatch.setenv("ROBOT_DYNAMICS_CACHE", str(tmp_path))
    run("-c", LIBRARY, "1")


@pytest.mark.parametrize(
    "words",
    [["info", "six_axis"], ["simulate", "two_link", "--duration", "0.1"], ["wrenches", "--help"]],
)
def test_commands_run_without_posix(words):
    assert run("-m", "robot_dynamics_ros", *words)


def test_the_tests_of_the_library():
    """Some of them, in such a process."""
    files = ("dynamics/test_public.py", "test_errors.py")
    run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "timeout_method=thread",
        *(str(HERE / name) for name in files),
    )
