"""Batches side by side: the same results wherever they are made, and a lost worker costs a
retry.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from support.batches import FallAndDieOnce, die, fall, refuse

import robot_dynamics_ros as rd
from robot_dynamics_ros.identification import identify_each
from robot_dynamics_ros.recordings import Recording, compute_each
from robot_dynamics_ros.workers import on_cluster, on_processes, run_tasks


def batch(experiment, workers=None, runs=8, progress=None):
    model = rd.limb(2, gravity=(0.0, -9.81, 0.0))
    found = rd.monte_carlo(
        model, experiment, runs, seed=4, spread={"mass": 0.2}, executor=workers, progress=progress
    )
    assert not found.failures
    return np.column_stack([found.figures["q1"], found.figures["q2"]])


@pytest.fixture(scope="module")
def alone():
    return batch(fall)


@pytest.mark.slow
def test_a_killed_process_costs_a_retry_and_changes_nothing(alone, tmp_path):
    told = []
    found = batch(
        FallAndDieOnce(tmp_path),
        on_processes(2),
        progress=lambda done, total: told.append((done, total)),
    )
    assert (tmp_path / "killed").exists()
    np.testing.assert_array_equal(found, alone)
    # no task is reported twice
    assert told == [(k + 1, 8) for k in range(8)]


def test_any_executor_does(alone):
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(batch(fall, pool), alone)


def test_workers_that_are_lost_again_and_again_end_it():
    with pytest.raises(rd.BackendError, match="lost 2 times while 2 tasks were left"):
        run_tasks(die, [1, 2], on_processes(1), tries=2)
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(rd.BackendError, match="lost 1 times"),
    ):
        # nobody could open another one
        run_tasks(die, [1], pool)


def test_errors_of_the_work_are_errors():
    for workers in (None, ThreadPoolExecutor(1)):
        with pytest.raises(rd.ArgumentError, match="task 7"):
            run_tasks(refuse, [7], workers)


def recording(model, seed, moving=(1.0, 1.0)):
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, 4.0, 4e-3)
    w = rng.uniform(1.5, 4.0, 2) * moving
    q = np.sin(t[:, None] * w)
    v = w * np.cos(t[:, None] * w)
    a = -w * w * np.sin(t[:, None] * w)
    effort = (
        rd.inverse_dynamics(model, q, v, a) + model.damping * v + model.friction * np.tanh(v / 0.01)
    )
    effort = effort + 0.02 * rng.standard_normal(q.shape)
    return Recording(f"run {seed}", model.joint_names, t, q, None, effort, np.arange(len(t)))


@pytest.mark.slow
def test_recordings_and_identifications_come_back_the_same():
    model = rd.load_robot("two_link")
    runs = [recording(rd.robot_model_error(model, mass=1.2), seed) for seed in range(2)]
    # the elbow stands
    runs.append(recording(model, 7, (1.0, 0.0)))
    settings = rd.IdentificationSettings(friction="simple")
    here = identify_each(model, runs, settings)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = identify_each(model, runs, settings, pool)
        wrenches = compute_each(model, runs, None, pool)
        together = rd.identify_recordings(model, runs[:2], settings, pool)
    for a, b in zip(here[:2], there[:2], strict=True):
        np.testing.assert_array_equal(a.full.values, b.full.values)
        assert rd.to_urdf(a.model) == rd.to_urdf(b.model)
    for found in (here[2], there[2]):
        assert isinstance(found, rd.PoorExcitation) and found.parameters
    for a, b in zip(compute_each(model, runs), wrenches, strict=True):
        np.testing.assert_array_equal(a.wrenches, b.wrenches)
    alone = rd.identify_recordings(model, runs[:2], settings)
    np.testing.assert_array_equal(together.full.values, alone.full.values)
    np.testing.assert_array_equal(together.base.half_width, alone.base.half_width)


@pytest.fixture
def cluster(tmp_path):
    """A Dask scheduler and two workers, each a process of its own; yields the address, ends what it
    started.
    """
    pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": path}
    common = ["--host", "127.0.0.1", "--no-dashboard"]
    commands = [["scheduler", "--port", str(port), *common]]
    commands += [
        [
            "worker",
            address,
            *common,
            "--nthreads",
            "1",
            "--no-nanny",
            "--local-directory",
            str(tmp_path),
        ]
    ] * 2
    started = []
    with open(tmp_path / "log", "wb") as log:
        try:
            for words in commands:
                command = [sys.executable, "-c", "from dask.__main__ import main; main()", *words]
                started.append(subprocess.Popen(command, stdout=log, stderr=log, env=environment))
            _wait_for_workers(address, 2)
            yield address
        finally:
            for process in reversed(started):
                process.kill()
                process.wait()


def _wait_for_workers(address, count, deadline=60.0):
    import distributed

    until = time.monotonic() + deadline
    while True:
        try:
            with distributed.Client(address, timeout="5s", set_as_default=False) as client:
                client.wait_for_workers(count, timeout=max(until - time.monotonic(), 1.0))
                return
        except (OSError, TimeoutError):
            if time.monotonic() > until:
                raise


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_gives_the_same(alone, cluster, tmp_path):
    np.testing.assert_array_equal(batch(FallAndDieOnce(tmp_path), on_cluster(cluster)), alone)
    assert (tmp_path / "killed").exists()


def test_a_cluster_that_is_not_there(monkeypatch):
    pytest.importorskip("distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        # nobody listens
        address = f"tcp://127.0.0.1:{probe.getsockname()[1]}"
        with pytest.raises(rd.BackendError, match="no scheduler answers"):
            run_tasks(refuse, [1], on_cluster(address, timeout=1.0))
