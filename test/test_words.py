"""Texts use standard words: no page, docstring or message has one of the words that made readers
stop.

The style is in CONTRIBUTING.md; its table names what to write instead.
"""

from __future__ import annotations

import ast
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="not a source checkout")

REFUSED = (
    r"\bwelded\b",
    r"\bbehind\b(?! the clock)",
    r"\bloud(er|est|ly)?\b",
    r"\btold\b",
    r"\bthinned\b",
    r"\btime (that )?(goes|does not go) on\b",
    r"\bof ours\b",
    r"\bas drawn\b",
    r"\bamounts to\b",
    r"\bwhich way\b",
    r"\bvery functions\b",
    r"\bin units of (their |its )?(noise|spread)\b",
    r"\bfunctions of before\b",
    r"\blively\b",
    r"\bheed(s|ed)?\b",
    r"\bturns? round\b",
    r"\bwhat (it|there) is worth\b",
)
"""Each once confused a reader; see the table in CONTRIBUTING.md."""

TWO_NUMBERS = re.compile(r"^\|.*\|\s*[\d.]+[^|\d]{0,6}[/;,(] ?[\d.]+[^|\d]{0,6}\|", re.MULTILINE)
"""A row of a table with two numbers in one cell."""

PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.rst"]
SOURCES = [
    path
    for folder in ("robot_dynamics_ros", "launch")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """All nodes of a source file."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


@cache
def prose_of(path: Path) -> list[tuple[int, str]]:
    """(line, text) of a page without its code, or of the docstrings and messages of a source
    file.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        text = re.sub(
            r"```.*?```", lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL
        )
        text = re.sub(r"`[^`\n]*`", "", text)
        return list(enumerate(text.splitlines(), 1))
    strings = [
        node
        for node in nodes_of(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [(node.lineno, node.value) for node in strings if " " in node.value.strip()]


def test_no_text_has_a_word_that_made_readers_stop():
    refused = re.compile("|".join(REFUSED), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in (*PAGES, *SOURCES)
        for line, text in prose_of(path)
        for match in refused.finditer(text)
    ]
    assert not found, "\n".join(["see the table in CONTRIBUTING.md", *found])


# these state the cycle's memory, whose names are being replaced in one go
CYCLE = ROOT / "robot_dynamics_ros" / "control" / "cycle"


@cache
def words_of(path: Path) -> list[tuple[int, str]]:
    """(line, text) of the comments of a source file, and of its identifiers, word by word."""
    words = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                words.append((token.start[0], token.string))
            elif token.type == tokenize.NAME:
                words.append((token.start[0], token.string.replace("_", " ")))
    return words


def test_no_comment_or_identifier_has_a_word_that_made_readers_stop():
    refused = re.compile("|".join(REFUSED), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in SOURCES
        if CYCLE not in path.parents
        for line, text in words_of(path)
        for match in refused.finditer(text)
    ]
    assert not found, "\n".join(["see the table in CONTRIBUTING.md", *found])


def test_no_comment_of_a_test_has_a_word_that_made_readers_stop():
    refused = re.compile("|".join(REFUSED), re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in sorted((ROOT / "test").rglob("*.py"))
        for line, text in words_of(path)
        if text.startswith("#")
        for match in refused.finditer(text)
    ]
    assert not found, "\n".join(["see the table in CONTRIBUTING.md", *found])


def test_no_docstring_starts_with_what():
    """It starts with what it describes, not with a riddle."""
    found = []
    for path in SOURCES:
        for node in nodes_of(path):
            documented = isinstance(
                node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            )
            if documented and (ast.get_docstring(node) or "").startswith("What "):
                found.append(f"{path.relative_to(ROOT)}: {getattr(node, 'name', 'the module')}")
    assert not found, "\n".join(found)


def test_a_cell_holds_one_number():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in PAGES
        for match in TWO_NUMBERS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n".join(found)
