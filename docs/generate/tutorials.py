"""Tutorials as blocks: what a test runs, what a picture script runs, and what becomes a notebook
are read here, once.

In a page, blocks in ``python`` and ``sh`` are run one after the other in one folder; a block with a
title is a file.  Blocks in ``bash`` need ROS or a robot and are shown only.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TUTORIALS = Path(__file__).parents[1] / "tutorials"
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$\n?", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r'title="([^"]+)"')


class NoCompiler(Exception):
    """A page calls a C compiler, and there is none."""


@dataclass(frozen=True)
class Block:
    """A part of a page.

    Attributes:
        language: of a code block; empty for prose.
        title: name of the file that the block is; empty for others.
        body: the text.
        line: number of its first line in the page.
    """

    language: str
    title: str
    body: str
    line: int


def blocks(text: str) -> Iterator[Block]:
    """The parts of a page in order, prose between code blocks included."""
    at = 0

    def line(position: int) -> int:
        return text[:position].count("\n") + 1

    for match in BLOCK.finditer(text):
        if text[at : match.start()].strip():
            yield Block("", "", text[at : match.start()].strip("\n"), line(at))
        language, options, body = match.groups()
        title = TITLE.search(options)
        yield Block(language, title[1] if title else "", body, line(match.start()) + 1)
        at = match.end()
    if text[at:].strip():
        yield Block("", "", text[at:].strip("\n"), line(at))


def run(page: Path, folder: Path) -> int:
    """Write the files of a page into a folder and run its blocks in the working directory; how many
    steps ran.

    Raises:
        NoCompiler: the page needs a C compiler.
    """
    # where dataclasses on the page look for their module
    module = types.ModuleType("page")
    sys.modules["page"] = module
    ran = 0
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.title:
            path = folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            exec(compile("\n" * (block.line - 1) + block.body, page.name, "exec"), module.__dict__)
            ran += 1
        elif block.language == "sh":
            for command in block.body.strip().splitlines():
                run_line(command)
                ran += 1
    return ran


def run_line(line: str) -> None:
    """A line of a shell block: this package's command in this process, anything else as it
    stands.
    """
    words = shlex.split(line)
    if words[0] == "robot_dynamics":
        from robot_dynamics_ros.cli.main import main

        assert main(words[1:]) == 0, line
    elif words[0] == "cc" and shutil.which("cc") is None:
        raise NoCompiler("there is no C compiler for the rest of the page")
    else:
        subprocess.run(words, check=True, timeout=120, stdout=subprocess.DEVNULL)
