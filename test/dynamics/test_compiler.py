"""What is said where there is no compiler, and the assembly for old ones."""

from __future__ import annotations

import subprocess
import sys

import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine import backends, compiler

DEBIAN_12 = {"ID": "debian", "VERSION_ID": "12"}
DEBIAN_13 = {"ID": "debian", "VERSION_ID": "13"}
UBUNTU_22 = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_ID": "22.04"}
UBUNTU_24 = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_ID": "24.04"}
UBUNTU_26 = {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_ID": "26.04"}
FEDORA = {"ID": "fedora", "VERSION_ID": "41"}
WANT = f"'{compiler.REQUIREMENT}'"


@pytest.mark.parametrize(
    ("release", "where", "expected"),
    [
        (DEBIAN_12, "root", "apt install python3-llvmlite"),
        (DEBIAN_13, "root", "apt install python3-llvmlite"),
        (UBUNTU_24, "root", "apt install python3-llvmlite (component universe)"),
        (
            UBUNTU_26,
            "user",
            "sudo apt install python3-llvmlite (component universe); without root: "
            f"python3 -m pip install --user --break-system-packages {WANT}",
        ),
        (
            DEBIAN_13,
            "user without pip",
            "sudo apt install python3-llvmlite; without root: python3 -m venv --system-site-packages ~/robot && "
            f"~/robot/bin/python -m pip install {WANT}",
        ),
        (UBUNTU_22, "user", f"python3 -m pip install --user --break-system-packages {WANT}"),
        (DEBIAN_12, "environment", f"python3 -m pip install {WANT}"),
        (FEDORA, "user", f"python3 -m pip install --user --break-system-packages {WANT}"),
        ({}, "own build", f"python3 -m pip install {WANT}"),
    ],
    ids=lambda x: x if isinstance(x, str) and len(x) < 20 else "_".join(x.values()) if isinstance(x, dict) else "",
)
def test_the_remedy_fits_the_machine(release, where, expected):
    found = compiler._remedy(
        "python3",
        in_environment=where == "environment",
        of_system=where not in ("environment", "own build"),
        externally_managed=where != "own build",
        root=where == "root",
        release=release,
        pip="without" not in where,
    )
    assert found == expected


def test_status_of_a_backend(monkeypatch):
    model = rd.limb(2)
    assert str(rd.backend_status(model.with_backend("numpy"))) == "slow backend 'numpy', because it was asked for"
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
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.startswith("False slow backend 'numpy', because llvmlite is not installed; ")


def test_old_assembly_has_typed_pointers():
    pytest.importorskip("llvmlite")
    from robot_dynamics_ros.dynamics.engine.codegen import llvm_wrapper, native, typed_pointers
    from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
    from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import kernel_module, wide_module

    g = Graph()
    x = g.leaf((0, 0))
    arguments = [llvm_wrapper.ArrayArgument((4,), quaternions=(0,)), llvm_wrapper.ArrayArgument((2,), output=True)]
    outputs = [[x.sin(), x]]
    for source in (
        kernel_module(arguments, outputs),
        wide_module(arguments, outputs, 4),
        llvm_wrapper.router_module(),
    ):
        old = typed_pointers.with_typed_pointers(source)
        assert " ptr " not in old and "(ptr" not in old and "ptr," not in old
        if native._llvm().llvm_version_info[0] < native.OPAQUE_POINTERS:
            native._llvm().parse_assembly(old).verify()
