"""The tutorials do what they say: their files, Python and commands, one after the other, in an
empty folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from support import tutorial_run
from support.domains import private_domain

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.fixture
def tutorials(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.generate import tutorials

    return tutorials


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_step_of_a_tutorial_works_with_no_more_than_its_install_line(page, tmp_path):
    """Blocks in ``sh`` and ``python`` are run, blocks with a title are files; ``bash`` needs ROS
    and a robot.
    """
    environment = {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")]),
    }
    command = [sys.executable, "-m", "support.tutorial_run", str(page), str(tmp_path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    if done.returncode == tutorial_run.NO_COMPILER:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.endswith(" 0 steps\n") or page.stem == "ci_in_lockstep"


def test_a_package_that_is_not_installed_is_not_found():
    """A page that uses SymPy without its extra ends in the error that its reader would see."""
    allowed = tutorial_run.brought_by(["robot_dynamics_ros[viz]"])
    assert {"numpy", "scipy", "matplotlib", "pyparsing"} <= allowed
    assert not {"sympy", "llvmlite", "pytest"} & allowed
    guard = tutorial_run.OnlyThese(allowed, {"sympy": ["sympy"], "mpl_toolkits": ["matplotlib"]})
    with pytest.raises(ModuleNotFoundError):
        guard.find_spec("sympy.core")
    assert guard.find_spec("mpl_toolkits") is None


def test_the_notebooks_hold_every_step_of_their_pages(tutorials):
    """The same steps in the same order as those that the test above runs; valid notebooks, with
    their pictures.
    """
    nbformat = pytest.importorskip("nbformat")
    from docs.generate import notebooks

    for name in notebooks.NAMES:
        text = notebooks.notebook(name)
        assert text == notebooks.notebook(name), "two builds differ"
        cells = nbformat.reads(text, as_version=4).cells
        steps = [
            code
            for block in tutorials.blocks(page_text(name))
            if (code := notebooks.code_of(block))
        ]
        assert [cell.source for cell in cells if cell.cell_type == "code"] == steps
        assert "../images" not in "".join(cell.source for cell in cells), name
        drawn = [cell for cell in cells if cell.cell_type == "code" and "savefig(" in cell.source]
        assert all(cell.outputs for cell in drawn), f"{name}: a picture has no place in the page"


def page_text(name: str) -> str:
    return (ROOT / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")


def files_of(page: str, folder: Path, tutorials) -> None:
    """Write the Python files of the page into the folder."""
    for block in tutorials.blocks(page_text(page)):
        if block.title.endswith(".py"):
            (folder / block.title).write_text(block.body, encoding="utf-8")


def test_the_offline_tests_of_the_tutorial_on_lockstep_pass(tmp_path, tutorials):
    files_of("ci_in_lockstep", tmp_path, tutorials)
    space: dict = {}
    exec((tmp_path / "test_reach.py").read_text(encoding="utf-8"), space)
    space["test_the_arm_reaches_its_goal"]()
    space["test_two_runs_are_equal"]()


@pytest.mark.slow
@pytest.mark.middleware
@pytest.mark.skipif(find_spec("rclpy") is None, reason="ROS 2 is not installed")
def test_the_node_of_the_tutorial_on_lockstep_plays_the_same_run_twice(tmp_path, tutorials):
    files_of("ci_in_lockstep", tmp_path, tutorials)
    with private_domain() as domain:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "lockstep.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=240,
        )
    assert done.returncode == 0 and "equal bit by bit" in done.stdout, done.stdout + done.stderr
