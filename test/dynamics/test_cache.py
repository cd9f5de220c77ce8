"""The kernel cache: trusted only if it is the user's own and undamaged, and never in the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.codegen import cache, native

pytest.importorskip("llvmlite")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    # what a process compiles once, whatever the robot
    native._router_library()
    place = tmp_path / "kernels"
    monkeypatch.setenv(cache.CACHE_ENVIRONMENT, str(place))
    return place


def compute():
    model = rd.limb(3).with_backend("native")
    return rd.gravity_forces(model, np.array([0.3, -0.2, 0.1]))


@pytest.fixture
def compiled(monkeypatch):
    """Counts compilations."""
    from robot_dynamics_ros.dynamics.engine import native_engine

    calls = []
    real = native_engine.compile_module

    def counting(source, **options):
        calls.append(source)
        return real(source, **options)

    monkeypatch.setattr(native_engine, "compile_module", counting)
    return calls


def test_second_time_nothing_is_compiled(directory, compiled):
    first = compute()
    assert len(compiled) == 1
    (file,) = directory.glob("*.o")
    assert (
        stat.S_IMODE(file.stat().st_mode) == 0o600
        and stat.S_IMODE(directory.stat().st_mode) == 0o700
    )
    assert np.array_equal(compute(), first)
    assert len(compiled) == 1
    assert rd.gravity_forces(rd.limb(3, masses=2.0).with_backend("native"), np.zeros(3)).shape == (
        3,
    )
    # another robot
    assert len(compiled) == 2
    assert cache.clear() == 2


@pytest.mark.optimized
def test_routines_of_the_package_are_read_again_only_after_a_change(directory, monkeypatch):
    from robot_dynamics_ros.dynamics.engine import routines as engine
    from robot_dynamics_ros.dynamics.inverse_kinematics import SearchMemory, guess

    read = []
    real = engine.read_routines

    def counting(*arguments):
        read.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(engine, "read_routines", counting)
    memory = engine.Memory(SearchMemory, {"nq": 3, "nv": 3}, compiled=True)

    def value():
        made = engine.Routines(memory.layout, [guess])
        memory["lower"][:] = -1.0
        memory["upper"][:] = 1.0
        return made["guess"](memory, 0.0, 1, 0.75)

    assert value() == 0.5 and len(read) == 1
    assert value() == 0.5 and len(read) == 1
    # as after an upgrade
    monkeypatch.setattr(engine, "_sources_digest", lambda: "another")
    assert value() == 0.5 and len(read) == 2
    # where sources are in no folder they are read each time
    monkeypatch.setattr(engine, "_sources_digest", lambda: "")
    assert value() == value() == 0.5 and len(read) >= 4


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign", "swap"])
def test_damaged_files_are_made_anew(directory, compiled, damage, caplog):
    first = compute()
    (file,) = directory.glob("*.o")
    data = bytearray(file.read_bytes())
    if damage == "flip":
        data[-1] ^= 1
    elif damage == "cut":
        data = data[: len(data) // 2]
    elif damage == "empty":
        data = bytearray()
    elif damage == "foreign":
        data = bytearray(b"\x7fELF not ours" * 100)
    else:
        # a sound file under another kernel's name
        other = rd.limb(2).with_backend("native")
        rd.gravity_forces(other, np.zeros(2))
        (sound,) = [f for f in directory.glob("*.o") if f != file]
        data = bytearray(sound.read_bytes())
        compiled.pop()
    file.write_bytes(bytes(data))
    assert np.array_equal(compute(), first)
    assert len(compiled) == 2
    assert "damaged" in caplog.text
    assert np.array_equal(compute(), first)
    assert len(compiled) == 2


def test_writable_by_others_is_not_trusted(directory, compiled, caplog):
    compute()
    (file,) = directory.glob("*.o")
    file.chmod(0o666)
    compute()
    assert len(compiled) == 2 and "not the user's own" in caplog.text
    directory.chmod(0o777)
    compute()
    assert len(compiled) == 3 and "somebody else" in caplog.text


def test_links_are_not_followed(directory, compiled, tmp_path):
    compute()
    (file,) = directory.glob("*.o")
    file.rename(tmp_path / "elsewhere.o")
    file.symlink_to(tmp_path / "elsewhere.o")
    compute()
    assert len(compiled) == 2


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can give files away"
)
def test_of_another_user_is_not_trusted(directory, compiled):
    compute()
    (file,) = directory.glob("*.o")
    os.chown(file, 12345, 12345)
    compute()
    assert len(compiled) == 2


@pytest.mark.parametrize("place", ["off", "/proc/nowhere/kernels", "/dev/null/kernels"])
def test_no_cache_is_no_error(monkeypatch, place):
    monkeypatch.setenv(cache.CACHE_ENVIRONMENT, place)
    assert compute().shape == (3,)
    assert cache.load("00") is None


def test_without_a_home_directory(tmp_path):
    code = (
        "import numpy as np, robot_dynamics_ros as rd\n"
        "print(rd.gravity_forces(rd.limb(2).with_backend('native'), np.zeros(2)))"
    )
    environment = {
        k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", cache.CACHE_ENVIRONMENT)
    }
    environment["PYTHONPATH"] = str(Path(rd.__file__).parents[1])
    for home in ("/nonexistent", ""):
        environment["HOME"] = home
        subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True, timeout=120
        )


def test_two_processes_may_write_at_once(directory):
    code = (
        "import numpy as np, robot_dynamics_ros as rd\n"
        "m = rd.limb(4).with_backend('native')\n"
        "print(repr(rd.gravity_forces(m, np.full(4, 0.3)).tolist()))"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=dict(os.environ)
        )
        for _ in range(4)
    ]
    said = {process.communicate(timeout=120)[0] for process in running}
    assert len(said) == 1 and all(process.returncode == 0 for process in running)
    # the function, and what leads calls to it
    assert len(list(directory.glob("*.o"))) == 2 and not list(directory.glob(".new-*"))


def test_whatever_differs_makes_another_kernel():
    import dataclasses

    from robot_dynamics_ros.dynamics.engine.native_engine import cache_key

    model = rd.load_robot("two_arm_torso")

    def key(m):
        return cache_key(m, "motion_rate", (), "native")

    def with_joint(**changes):
        old = model.description
        first = next(j for j in old.joints if j.name == model.joint_names[0])
        joints = [dataclasses.replace(j, **changes) if j is first else j for j in old.joints]
        return model.replace(description=dataclasses.replace(old, joints=tuple(joints)))

    others = [
        model,
        model.replace(gravity=(0, 0, -1.62)),
        with_joint(damping=0.123),
        with_joint(friction=0.456),
        with_joint(limits=rd.JointLimits(-1.0, 1.0, 2.0, 3.0)),
        with_joint(armature=0.01),
        with_joint(axis=np.array([0.0, 0.6, 0.8])),
        model.replace(base=rd.Pose(position=[0.0, 0.0, 1.0])),
    ]
    assert len({key(m) for m in others}) == len(others)
    assert key(rd.load_robot("two_arm_torso")) == key(model)
