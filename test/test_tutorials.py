"""The tutorials do what they say: their files, Python and commands, one after the other, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import types
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.domains import private_domain

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')


def run_line(line: str) -> None:
    """A line of a shell block: this package's command in this process, anything else as it stands."""
    words = shlex.split(line)
    if words[0] == "robot_dynamics":
        from robot_dynamics_ros.cli.main import main

        assert main(words[1:]) == 0, line
    elif words[0] == "cc" and shutil.which("cc") is None:
        pytest.skip("there is no C compiler for the rest of the page")
    else:
        subprocess.run(words, check=True, timeout=120, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_every_step_of_a_tutorial_works(page, tmp_path, monkeypatch):
    """Blocks in ``sh`` and ``python`` are run, blocks with a title are files; ``bash`` needs ROS and a robot."""
    monkeypatch.chdir(tmp_path)
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)
    text = page.read_text(encoding="utf-8")
    ran = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for match in BLOCK.finditer(text):
            language, options, body = match.groups()
            title = TITLE.search(options)
            if title:
                path = tmp_path / title[1]
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(body, encoding="utf-8")
            elif language == "python":
                line = text[: match.start()].count("\n") + 1
                exec(compile("\n" * line + body, page.name, "exec"), module.__dict__)
                ran += 1
            elif language == "sh":
                for line in body.strip().splitlines():
                    run_line(line)
                    ran += 1
    assert ran or page.stem == "ci_in_lockstep"


def files_of(page: str, folder: Path) -> None:
    """Write the files with a title in the page into the folder."""
    text = (ROOT / "docs" / "tutorials" / page).read_text(encoding="utf-8")
    for _, options, body in BLOCK.findall(text):
        title = TITLE.search(options)
        if title and title[1].endswith(".py"):
            (folder / title[1]).write_text(body, encoding="utf-8")


def test_the_offline_tests_of_the_tutorial_on_lockstep_pass(tmp_path):
    files_of("ci_in_lockstep.md", tmp_path)
    space: dict = {}
    exec((tmp_path / "test_reach.py").read_text(encoding="utf-8"), space)
    space["test_the_arm_reaches_its_goal"]()
    space["test_two_runs_are_equal"]()


@pytest.mark.middleware
@pytest.mark.skipif(find_spec("rclpy") is None, reason="ROS 2 is not installed")
def test_the_node_of_the_tutorial_on_lockstep_plays_the_same_run_twice(tmp_path):
    files_of("ci_in_lockstep.md", tmp_path)
    with private_domain() as domain:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "lockstep.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
        )
    assert done.returncode == 0 and "equal bit by bit" in done.stdout, done.stdout + done.stderr
