"""Every error of this package says where it is and what to do: read from the source, all of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import robot_dynamics_ros
from robot_dynamics_ros import errors

ROOT = Path(robot_dynamics_ros.__file__).parent
OURS = {
    name
    for name in errors.__all__
    if issubclass(getattr(errors, name), errors.RobotDynamicsError)
    # has its own remedy
    and name != "UnknownNameError"
}
#: A sentence that says what would have been right needs no second one.
SAYS_WHAT_IS_RIGHT = re.compile(r"\b(expected|must|needs?|has to be|give either)\b")


def errors_made(path: Path) -> list[tuple[int, str, set[str]]]:
    """Line, problem and keywords of each error that is made with its parts written out."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in OURS
            and node.args
        ):
            words = {keyword.arg or "**" for keyword in node.keywords}
            if "**" not in words:
                found.append((node.lineno, ast.unparse(node.args[0]), words))
    return found


@pytest.mark.parametrize(
    "folder",
    sorted(
        path.name
        for path in ROOT.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    ),
)
def test_every_error_has_a_place_and_a_remedy(folder):
    files = [ROOT / folder] if folder.endswith(".py") else sorted((ROOT / folder).rglob("*.py"))
    wrong = []
    for path in files:
        for line, problem, words in errors_made(path):
            if "where" not in words:
                wrong.append(f"{path.relative_to(ROOT)}:{line} has no where: {problem[:80]}")
            if "remedy" not in words and not SAYS_WHAT_IS_RIGHT.search(problem):
                wrong.append(f"{path.relative_to(ROOT)}:{line} has no remedy: {problem[:80]}")
    assert not wrong, "\n".join(wrong)


def test_the_search_finds_them():
    assert sum(len(errors_made(path)) for path in ROOT.rglob("*.py")) > 400
