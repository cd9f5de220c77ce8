"""The table of docs/explanation/source_documents.md is true."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import robot_dynamics_ros as rd

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "source_documents.md"
pytestmark = pytest.mark.skipif(not PAGE.is_file(), reason="not a source checkout")


def rows():
    if not PAGE.is_file():
        return []
    table = [
        line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")
    ]
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
