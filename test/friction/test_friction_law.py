"""One statement of friction on floats, arrays and symbols, against the formula by hand; and what an
effect more needs.
"""

import numpy as np
import pytest

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.dynamics.engine.codegen.python_source import python_source
from robot_dynamics_ros.friction.file import FrictionFile
from robot_dynamics_ros.friction.law import (
    EFFECTS,
    Effect,
    dry_friction,
    joint_friction,
    secant_slope,
)

# d, F_c, F_s − F_c, v_s, w, offset
F = (0.4, 1.5, 0.7, 0.2, 0.03, -0.1)
SPEEDS = np.array([-3.0, -0.2, -1e-3, 0.0, 0.05, 0.2, 1.0])
BY_HAND = 0.4 * SPEEDS + (1.5 + 0.7 * np.exp(-((SPEEDS / 0.2) ** 2))) * np.tanh(SPEEDS / 0.03) - 0.1


def test_numbers_arrays_and_symbols_give_the_formula():
    np.testing.assert_allclose(joint_friction(SPEEDS, F), BY_HAND, rtol=1e-15)
    np.testing.assert_allclose([joint_friction(v, F) for v in SPEEDS.tolist()], BY_HAND, rtol=1e-15)
    graph = Graph()
    source = python_source("f", ["v"], [graph.lift(joint_friction(graph.leaf("v"), F))], str)
    scope = {"exp": np.exp, "tanh": np.tanh}
    exec(source, scope)
    np.testing.assert_allclose(scope["f"](SPEEDS)[0], BY_HAND, rtol=1e-15)


def test_other_exponents_and_the_secant():
    assert dry_friction(0.3, 2.0, 3.0, 0.1, 0.5) == pytest.approx(
        2.0 + 3.0 * np.exp(-np.sqrt(3.0)), rel=1e-15
    )
    v = 0.3
    assert secant_slope(v, 0.4, 1.5, 0.03) * v == pytest.approx(
        0.4 * v + 1.5 * v / np.hypot(v, 0.03), rel=1e-15
    )
    assert secant_slope(0.0, 0.4, 1.5, 0.03) == pytest.approx(0.4 + 1.5 / 0.03)


def test_an_effect_more_is_one_entry(monkeypatch, tmp_path):
    monkeypatch.setitem(EFFECTS, "drag", Effect({"drag": lambda x, _: x.d * x.v**2}))
    model = rd.load_robot("two_link")
    (tmp_path / "f.json").write_text(
        '{"joints": {"elbow": {"coulomb": 0.0, "viscous": 0.0, "effects": {"drag": 0.5}}}}'
    )
    file = FrictionFile.read(tmp_path / "f.json", model)
    v = np.array([[0.0, 2.0], [0.0, -3.0]])
    np.testing.assert_allclose(
        file.efforts(model, 0.0 * v, v, 0.0 * v)[:, 1], [2.0, -4.5], rtol=1e-12
    )
    assert "drag" in rd.IdentificationSettings(friction="auto").forms


def test_a_second_step_at_rest_does_not_change_friction_while_sliding(tmp_path):
    model = rd.load_robot("two_link")
    (tmp_path / "f.json").write_text(
        '{"joints": {"elbow": {"coulomb": 2.0, "viscous": 0.0, "smoothing": 0.1, "step_width": '
        '0.01, "effects": {"step": 0.5}}}}'
    )
    file = FrictionFile.read(tmp_path / "f.json", model)
    v = np.array([[0.0, 3.0], [0.0, 0.01], [0.0, -3.0]])
    near_rest = 1.5 * np.tanh(0.1) + 0.5 * np.tanh(1.0)
    np.testing.assert_allclose(
        file.efforts(model, 0.0 * v, v, 0.0 * v)[:, 1], [2.0, near_rest, -2.0], rtol=1e-12
    )
