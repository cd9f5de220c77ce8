"""Compiling in a second process: the machine code is there afterwards, and nothing depends on that
process.
"""

import pickle
import time

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine import compile_process
from robot_dynamics_ros.dynamics.engine.backends import compiler_missing, in_cache
from robot_dynamics_ros.dynamics.engine.codegen.cache import CACHE_ENVIRONMENT

pytestmark = pytest.mark.skipif(compiler_missing() is not None, reason="needs llvmlite")


def test_another_process_compiles_and_may_die(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_ENVIRONMENT, str(tmp_path / "cache"))
    compile_process.stop()
    arm = rd.limb(2)
    try:
        assert not in_cache(arm, "gravity_forces")
        assert compile_process.compile_elsewhere(arm, [("gravity_forces", ()), ("mass_matrix", ())])
        assert in_cache(arm, "gravity_forces")
        assert in_cache(arm, "mass_matrix")
        other = compile_process._process
        assert other is not None
        other.kill()
        other.wait(10.0)
        # by a new one
        assert compile_process.compile_elsewhere(arm, [("bias_forces", ())])
        assert compile_process._process is not other
        assert not compile_process.compile_elsewhere(
            arm, [("jacobian", (("frame", "world"), ("link", 99)))]
        )
        # it has lived on
        assert compile_process.compile_elsewhere(arm, [("kinetic_energy", ())])
        q = np.array([0.3, -0.2])
        np.testing.assert_allclose(
            rd.gravity_forces(arm, q), rd.gravity_forces(arm.with_backend("numpy"), q)
        )
    finally:
        compile_process.stop()


def test_it_ends_without_a_word_when_the_one_who_asked_ends_first(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv(CACHE_ENVIRONMENT, str(tmp_path / "cache"))
    compile_process.stop()
    compile_process.start()
    other = compile_process._process
    assert other is not None and other.stdin is not None and other.stdout is not None
    try:
        request = pickle.dumps((rd.limb(2), [("gravity_forces", ())]))
        other.stdin.write(request + request[:100])
        other.stdout.close()
        other.stdin.close()
        assert other.wait(60.0) == 0
        assert capfd.readouterr().err == ""
    finally:
        other.kill()
        other.wait()
        compile_process._process = None


def test_without_a_cache_there_is_nothing_to_hand_over(monkeypatch):
    monkeypatch.setenv(CACHE_ENVIRONMENT, "off")
    compile_process.stop()
    compile_process.start()
    assert compile_process._process is None
    assert not compile_process.compile_elsewhere(rd.limb(1), [("gravity_forces", ())])


def test_a_payload_compiled_elsewhere_is_carried(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_ENVIRONMENT, str(tmp_path / "cache"))
    compile_process.stop()
    arm = rd.limb(2)
    controller = rd.JointController(arm)
    controller.activate(0, np.zeros(2), np.zeros(2))
    try:
        controller.set_payload(
            rd.Payload(arm.link_names[-1], 0.25), background=True, elsewhere=True
        )
        with pytest.raises(rd.UnknownNameError):
            controller.set_payload(rd.Payload("no such link", 1.0), background=True, elsewhere=True)
        deadline = time.monotonic() + 60.0
        while controller.changes.pending and time.monotonic() < deadline:
            time.sleep(0.01)
            controller.changes.take_over()
        assert controller.payload is not None
        assert controller.loaded_model.total_mass == pytest.approx(arm.total_mass + 0.25)
    finally:
        compile_process.stop()
