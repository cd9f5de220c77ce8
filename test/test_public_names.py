"""Everything public is reachable as ``rd.name``, and the edges of it are clear errors."""

from __future__ import annotations

import importlib
import inspect
import re
import signal
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import random_model

import robot_dynamics_ros as rd
from robot_dynamics_ros.errors import ArgumentError, RobotDynamicsError
from robot_dynamics_ros.model.published import ARGUMENTS


@pytest.mark.parametrize("home", rd.PARTS)
def test_every_name_of_a_part_is_a_name_of_the_package(home):
    module = importlib.import_module(f"robot_dynamics_ros.{home}")
    assert module.__doc__
    for name in module.__all__:
        assert getattr(rd, name) is getattr(module, name), name
        assert name in dir(rd)


def test_only_public_names_are_shown_in_groups():
    names = {
        name
        for part in rd.PARTS
        for name in importlib.import_module(f"robot_dynamics_ros.{part}").__all__
    }
    assert set(dir(rd)) == set(rd.__all__) == names | {"commissioning", "view"}
    shown: dict[str, object] = {}
    exec("from robot_dynamics_ros import *", shown)
    assert shown.keys() - {"__builtins__"} == names | {"commissioning", "view"}
    groups = dict(
        group.split(":\n") for group in rd.__doc__.rstrip().split("\n\n")[-len(rd.PARTS) :]
    )
    assert list(groups) == list(rd.PARTS.values())
    assert {
        name for group in groups.values() for name in group.replace("\n", " ").split(", ")
    } == names


def test_recordings_are_one_documented_module():
    import robot_dynamics_ros.recordings as recordings

    for name in recordings.__all__:
        assert callable(getattr(recordings, name))


MODEL = rd.load_robot("two_link")
Q = np.zeros(2)
BAD = {
    "computed torque without a velocity": lambda: rd.computed_torque(MODEL, Q, None, Q),
    "computed torque with NaN": lambda: rd.computed_torque(MODEL, Q, Q, [np.nan, 0]),
    "computed torque with words": lambda: rd.computed_torque(MODEL, "ab", Q, Q),
    "a name for a model": lambda: rd.inverse_dynamics("two_link", Q, Q, Q),
    "complex numbers": lambda: rd.mass_matrix(MODEL, [1j, 0]),
    "dates": lambda: rd.mass_matrix(MODEL, np.array(["2020-01-01"] * 2, dtype="datetime64[D]")),
    "lqr of words": lambda: rd.lqr("a", np.eye(2), [1, 1], [1, 1]),
    "lqr with weights that are none": lambda: rd.lqr(np.eye(2), np.eye(2), "Q", [1, 1]),
    "a sample time that is none": lambda: rd.discretize(np.eye(2), np.eye(2), "x"),
    "a contact of words": lambda: rd.contact_wrench(MODEL, Q, "tip", "a"),
    "a contact of too many efforts": lambda: rd.contact_wrench(MODEL, Q, "tip", [1, 2, 3]),
    "a path that no memory holds": lambda: rd.rollout(
        MODEL, Q, Q, dt=1e-3, steps=10**15, path=True
    ),
    "steps that are none": lambda: rd.rollout(MODEL, Q, Q, dt=1e-3, steps="many"),
    "equations of words": lambda: rd.symbolic(MODEL).function("D")("ab"),
    "a plane that is none": lambda: rd.limb(2, plane="diagonal"),
}


@pytest.mark.parametrize("what", BAD)
def test_errors_are_ours(what):
    with pytest.raises(RobotDynamicsError) as error:
        BAD[what]()
    assert len(str(error.value)) > 15


def test_a_long_rollout_can_be_interrupted():
    """Control-C reaches the interpreter between two pieces of the run."""
    import _thread

    limb = rd.limb(1)
    rd.rollout(limb, [0.0], [0.0], dt=1e-3, steps=1)
    # jobs in the background ignore it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            rd.rollout(limb, [0.0], [0.0], dt=1e-3, steps=10**18)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


def test_a_rollout_in_pieces_is_the_same(monkeypatch):
    from robot_dynamics_ros.dynamics import rollout as module

    model = random_model(1, 4)
    q = rd.random_configuration(model, np.random.default_rng(1))
    v = np.ones(model.nv)
    whole = rd.rollout(model, q, v, dt=1e-4, steps=500)
    monkeypatch.setattr(
        __import__("sys").modules["robot_dynamics_ros.dynamics.rollout"], "SLICE", 7
    )
    pieces = rd.rollout(model, q, v, dt=1e-4, steps=500)
    assert callable(module)
    for one, other in zip(whole, pieces, strict=True):
        assert (one == other).all()


def test_a_vertical_limb_feels_its_weight():
    flat = rd.limb(2)
    upright = rd.limb(2, plane="vertical")
    assert_allclose(rd.gravity_forces(flat, [0.3, 0.4]), 0.0, atol=1e-12)
    same = rd.limb(2, gravity=(0.0, -9.81, 0.0))
    assert_allclose(
        rd.gravity_forces(upright, [0.3, 0.4]), rd.gravity_forces(same, [0.3, 0.4]), rtol=1e-12
    )
    assert_allclose(rd.link_pose(upright, [0, 0], "tip")[:3, 3], [0, 0, 0.6], atol=1e-12)


def test_equations_as_functions_take_batches():
    model = rd.load_robot("two_link")
    equations = rd.symbolic(model)
    q, v = np.random.default_rng(0).normal(size=(2, 5, 3, 2))
    assert_allclose(equations.function("D")(q, v), rd.coriolis_forces(model, q, v), atol=1e-12)
    assert_allclose(equations.function("G")(q), rd.gravity_forces(model, q), atol=1e-12)
    assert_allclose(equations.function("M")(q), rd.mass_matrix(model, q), atol=1e-12)
    assert_allclose(equations.function("K")(q, v), rd.kinetic_energy(model, q, v), atol=1e-12)
    with pytest.raises(ArgumentError):
        equations.function("M")([1.0, 2.0, 3.0])


def test_help_describes_every_argument_that_functions_share():
    """Shape, unit and frame of q, v, a, efforts, wrenches, the base and out, in whatever function;
    once, and not twice.
    """
    counted = 0
    for name in rd.__all__:
        function = getattr(rd, name)
        if not inspect.isfunction(function):
            continue
        text = inspect.getdoc(function).partition("\nExamples:\n")[0]
        for parameter in inspect.signature(function).parameters.keys() & ARGUMENTS.keys():
            lines = re.findall(rf"^ +(?:.*, )?{parameter}(?:, .*)?: .+", text, re.M)
            assert len(lines) == 1, f"{name}({parameter}): {lines}"
            counted += 1
    assert counted > 200
    for name in (
        "inverse_dynamics",
        "forward_dynamics",
        "mass_matrix",
        "jacobian",
        "link_pose",
        "joint_wrenches",
    ):
        assert ">>>" in inspect.getdoc(getattr(rd, name))
