"""What is said where there is no compiler, and the assembly for old ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine import backends
from robot_dynamics_ros.dynamics.engine.codegen.cache import ENVIRONMENT

# make test puts an llvmlite there that does not know the type ptr, as Ubuntu 24.04's
OLDER = Path(sys.prefix) / "older"
RUN_WITH_OLDER = """
import llvmlite
import numpy as np
import robot_dynamics_ros as rd

assert llvmlite.__file__.startswith({older!r}), llvmlite.__file__
runs = []
for compiled in (True, False):
    model = rd.load_robot("six_axis")
    model = model if compiled else model.with_backend("numpy")
    friction = rd.JointFriction(coulomb=0.5, viscous=0.2)
    plant = rd.Plant(model, 2e-3, compiled=compiled, friction=friction)
    law = rd.ComputedTorque(ki=5.0, i_clamp=0.1)
    controller = rd.JointController(model, law, observer=rd.MomentumObserver(model))
    assert (plant.compiled, controller.compiled) == (compiled, compiled)
    for k in range(20):
        t = 10**9 + 2_000_000 * k
        if not k:
            controller.activate(t, plant.q, plant.v)
        controller.update(t, plant.q, plant.v, None)
        plant.step(controller.command)
    q, v = np.linspace(0.1, 0.4, 12).reshape(2, 6), np.linspace(-1.0, 1.0, 12).reshape(2, 6)
    paths = rd.rollout(model, q, v, dt=1e-3, steps=5)
    gradients = rd.forward_dynamics_derivatives(model, q, v, 0.1 * q)
    runs.append([plant.q, plant.v, controller.command, *paths, *gradients])
for own, written in zip(*runs, strict=True):
    np.testing.assert_allclose(own, written, rtol=1e-9, atol=1e-9)
"""


@pytest.mark.parametrize("in_environment", [True, False])
def test_the_remedy_is_pip_in_an_environment_and_apt_or_pip_outside(monkeypatch, in_environment):
    monkeypatch.setattr(sys, "prefix", "/environment" if in_environment else sys.base_prefix)
    by_pip = f"{sys.executable} -m pip install 'llvmlite>=0.39'"
    apt = (
        "apt install python3-llvmlite (Ubuntu 24.04, Debian 12 and later), or in a virtual "
        "environment "
    )
    assert backends.remedy() == (by_pip if in_environment else apt + by_pip)


def test_status_of_a_backend(monkeypatch):
    model = rd.limb(2)
    assert (
        str(rd.backend_status(model.with_backend("numpy")))
        == "slow backend 'numpy', because it was asked for"
    )
    monkeypatch.setattr(backends, "compiler_missing", lambda: "llvmlite is not installed")
    missing = rd.backend_status(rd.limb(2))
    assert not missing.compiled and missing.backend == "numpy" and "llvmlite" in missing.remedy
    assert str(missing).startswith("slow backend 'numpy', because llvmlite is not installed; ")
    monkeypatch.setattr(backends, "compiler_missing", lambda: None)
    monkeypatch.setattr(backends, "_failures", ["RuntimeError: no target"])
    failed = rd.backend_status(rd.limb(2))
    assert not failed.compiled and "no target" in failed.reason
    monkeypatch.setattr(backends, "_failures", [])
    assert str(rd.backend_status(rd.limb(2))) == "machine code (native)"


def test_status_without_llvmlite():
    code = (
        "import sys; sys.modules['llvmlite'] = None\n"
        "import robot_dynamics_ros as rd; s = rd.backend_status(rd.limb(2)); print(s.compiled, s)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert said.startswith("False slow backend 'numpy', because llvmlite is not installed; ")


def test_old_assembly_has_typed_pointers():
    pytest.importorskip("llvmlite")
    from robot_dynamics_ros.dynamics.engine.codegen import llvm_wrapper, native, typed_pointers
    from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
    from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import kernel_module, wide_module

    g = Graph()
    x = g.leaf((0, 0))
    arguments = [
        llvm_wrapper.ArrayArgument((4,), quaternions=(0,)),
        llvm_wrapper.ArrayArgument((2,), output=True),
    ]
    outputs = [[x.sin(), x]]
    for source in (
        kernel_module(arguments, outputs, 4),
        wide_module(arguments, outputs, 4),
        llvm_wrapper.router_module(),
    ):
        old = typed_pointers.with_typed_pointers(source)
        assert " ptr " not in old and "(ptr" not in old and "ptr," not in old
        if native._llvm().llvm_version_info[0] < native.OPAQUE_POINTERS:
            native._llvm().parse_assembly(old).verify()


def test_old_assembly_tells_tables_apart_whose_names_begin_alike():
    from robot_dynamics_ros.dynamics.engine.codegen.typed_pointers import with_typed_pointers

    tables = "".join(
        f"@{name} = private constant [2 x i64] [i64 0, i64 1]\n" for name in ("last", "last_of_two")
    )
    old = with_typed_pointers(
        f"{tables}  %t0 = getelementptr inbounds i64, ptr @last_of_two, i64 1"
    )
    assert "bitcast ([2 x i64]* @last_of_two to i8*)" in old and ")_of_two" not in old


@pytest.mark.skipif(
    not OLDER.is_dir(), reason="needs an older llvmlite beside the newest: make test"
)
def test_an_older_compiler_runs_robot_controller_and_rollouts(tmp_path):
    where = {
        "PYTHONPATH": os.pathsep.join([str(OLDER), os.environ.get("PYTHONPATH", "")]),
        ENVIRONMENT: str(tmp_path),
    }
    code = RUN_WITH_OLDER.format(older=str(OLDER))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **where},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
