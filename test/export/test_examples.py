"""The worked examples do what their text says."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from support.c_code import needs_compiler

EXAMPLES = Path(__file__).parents[2] / "examples"


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@needs_compiler
def test_the_simulation_in_c_overlays_ours(tmp_path, capsys):
    pytest.importorskip("sympy")
    assert loaded(EXAMPLES / "three_link_in_c" / "run.py").main(tmp_path) < 1e-9
    assert (tmp_path / "three_link.html").is_file() and (tmp_path / "three_link.tex").is_file()


def test_what_an_arm_feels_on_a_table_is_the_contact_force(tmp_path, monkeypatch, capsys):
    pytest.importorskip("mujoco")
    monkeypatch.setattr("sys.argv", ["press_on_table.py", str(tmp_path / "forces.png")])
    # of 29 N
    assert loaded(EXAMPLES / "press_on_table.py").main() < 1.0
    assert (tmp_path / "forces.png").stat().st_size > 10_000


@pytest.mark.slow
def test_the_inverted_arm_is_balanced(capsys):
    assert loaded(EXAMPLES / "balance_acrobot.py").main() < 1e-6
