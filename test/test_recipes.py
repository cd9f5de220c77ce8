"""The recipes of the page on additions: their blocks are put into a copy of the package, and run
there.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(not (ROOT / "README.md").is_file(), reason="not a source checkout")
PAGE = ROOT / "docs" / "how_to" / "extend.md"
MOST_FILES = 4
PLACE = re.compile(r"# (?:at the end of (\S+)|in (\S+) (after|instead of): (.*))\n")
GIVEN = """
import numpy as np
import robot_dynamics_ros as rd
assert rd.__file__.startswith({copy!r}), rd.__file__
model = rd.load_robot("six_axis")
q, v = np.full(6, 0.3), np.full(6, 0.1)
"""


def recipes() -> dict[str, str]:
    """Title → its part of the page."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def blocks(part: str, language: str = "python") -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", part, re.DOTALL)


def put(copy: Path, block: str) -> None:
    """Put a block where its first line says."""
    place = PLACE.match(block)
    assert place is not None, block
    added = block[place.end() :]
    end, inside, how, line = place.groups()
    file = copy / (end or inside)
    if end:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(before + added, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    assert text.count(f"{line}\n") == 1, f"{file.name} has not one line {line!r}"
    kept = f"{line}\n" if how == "after" else ""
    file.write_text(text.replace(f"{line}\n", kept + added), encoding="utf-8")


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    """A checkout with all recipes in it."""
    copy = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("robot_dynamics_ros", "config", "urdf", "launch"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    shutil.copy(ROOT / "package.xml", copy)
    for part in recipes().values():
        for block in blocks(part):
            if not block.startswith("# check"):
                put(copy, block)
        for block in blocks(part, "yaml"):
            path, source = re.match(r"# (\S+) like (\S+), with\n", block).groups()
            word = block.splitlines()[1].partition(":")[0]
            text = (copy / path).with_name(source).read_text(encoding="utf-8")
            text = re.sub(rf"^{word}:.*$", block.splitlines()[1], text, flags=re.MULTILINE)
            (copy / path).write_text(text, encoding="utf-8")
    return copy


@pytest.mark.parametrize("title", recipes())
def test_a_recipe_does_what_it_says(title, copy):
    (check,) = (b for b in blocks(recipes()[title]) if b.startswith("# check"))
    if check.startswith("# check with ROS") and importlib.util.find_spec("rclpy") is None:
        pytest.skip("needs rclpy")
    code = GIVEN.format(copy=str(copy)) + check
    # no node of another process shall hear of the one that is made here; nothing is compiled
    here = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF", "ROBOT_DYNAMICS_BACKEND": "numpy"}
    environment = os.environ | here
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=copy,
        env=environment,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("title", recipes())
def test_a_recipe_touches_few_files_and_they_are_the_ones_it_names(title):
    part = recipes()[title]
    named = re.findall(r"^\d+\. `([^`]+)`:", part, re.MULTILINE)
    assert len(named) <= MOST_FILES
    touched = [PLACE.match(b) for b in blocks(part) if not b.startswith("# check")]
    paths = {place[1] or place[2] for place in touched}
    missing = {p for p in paths if not any(p.endswith(name) for name in named)}
    assert not missing, f"{title}: {missing} are changed and not named"
