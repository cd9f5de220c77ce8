"""The table of docs/explanation/source_documents.md is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.random_trees import ONE_DOF, random_model

import robot_dynamics_ros as rd

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "source_documents.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not a source checkout")


def rows():
    if not PAGE.is_file():
        return []
    table = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    return [row for row in cells if row[0] != "section"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_functions_commands_and_tests_exist(row, capsys):
    _, functions, command, test = row
    for name in re.findall(r"`rd\.(\w+)`", functions):
        assert callable(getattr(rd, name)), name
    if command != "–":
        from robot_dynamics_ros.cli.main import main

        words = command.strip("`").split()
        with pytest.raises(SystemExit) as done:
            main([words[0], "--help"])
        assert done.value.code == 0
        help_text = capsys.readouterr().out
        for option in words[1:]:
            assert option in help_text, option
    path, _, name = test.strip("`").partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_every_document_has_its_rows():
    text = PAGE.read_text(encoding="utf-8")
    assert len(re.findall(r"^## \d", text, re.MULTILINE)) == 5 and len(rows()) > 40


@pytest.mark.parametrize("seed", range(3))
def test_the_mass_matrix_is_the_sum_over_links_of_their_jacobians(seed):
    """M = Σ mᵢ Jvᵀ Jv + Jωᵀ R I Rᵀ Jω, link by link, rotors aside."""
    model = random_model(seed, 6, types=ONE_DOF, mimic=0.2)
    q = np.random.default_rng(seed).normal(size=model.nq)
    total = np.zeros((model.nv, model.nv))
    for link in model.link_names:
        body = model.link(link).inertia
        J = rd.jacobian(model, q, link, offset=body.com)
        R = rd.link_pose(model, q, link)[:3, :3]
        total += body.mass * J[3:].T @ J[3:] + J[:3].T @ R @ body.rotational @ R.T @ J[:3]
    assert_allclose(total + np.diag(model.armature), rd.mass_matrix(model, q), rtol=1e-10, atol=1e-12)
