"""Tutorials as Jupyter notebooks to download, made from their pages when the site is built.

The page is the source.  Its Python becomes cells, its commands lines with ``!``, its files cells
with ``%%writefile``.  A picture that the cell above draws becomes that cell's output, every other
picture is inside the notebook.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from docs.generate.tutorials import TUTORIALS, Block, blocks

NAMES = (
    "contact_and_collisions",
    "identify_my_arm",
    "pendulum_to_three_link",
    "simulation_to_hardware",
    "what_loads_my_joints",
)
"""Tutorials that are worth running cell by cell."""

IMAGE = re.compile(r"^!\[([^\]]*)\]\(([^)]+)\)\s*$", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)")
NEEDS = (
    "*Needs* `pip install 'robot_dynamics_ros[native,viz,symbolic]'`. *Made from the page of the "
    "same name in the documentation.*"
)
DOWNLOAD = "[Download this page as a notebook]({name}.ipynb){{ .notebook download }}"


def code_of(block: Block) -> str:
    """Source of the cell that a block becomes; empty if it is shown only."""
    body = block.body.rstrip("\n")
    if block.title:
        return f"%%writefile {block.title}\n{body}"
    if block.language == "python":
        return body
    if block.language == "sh":
        return "\n".join(f"!{line}" for line in body.splitlines())
    return ""


def picture(path: Path) -> dict[str, str]:
    """MIME type → the picture, as notebooks hold it."""
    kind = mimetypes.guess_type(path.name)[0] or "image/png"
    return {kind: base64.b64encode(path.read_bytes()).decode("ascii")}


def prose(text: str, folder: Path) -> Any:
    """A cell of text with its pictures inside; links to other pages become plain text."""
    held: dict[str, dict[str, str]] = {}

    def hold(match: re.Match[str]) -> str:
        path = folder / match[2]
        held[path.name] = picture(path)
        return f"![{match[1]}](attachment:{path.name})"

    cell = new_markdown_cell(LINK.sub(r"\1", IMAGE.sub(hold, text)))
    if held:
        cell["attachments"] = held
    return cell


def notebook(name: str) -> str:
    """The text of a notebook."""
    page = TUTORIALS / f"{name}.md"
    cells: list[Any] = []
    for block in blocks(page.read_text(encoding="utf-8")):
        source = code_of(block)
        if source:
            cells.append(new_code_cell(source))
            continue
        text = block.body if not block.language else f"```{block.language}\n{block.body}```"
        drawn = IMAGE.match(text)
        if (
            drawn
            and cells
            and cells[-1].cell_type == "code"
            and f'savefig("{Path(drawn[2]).name}"' in cells[-1].source
        ):
            cells[-1].outputs = [new_output("display_data", data=picture(page.parent / drawn[2]))]
            text = text[drawn.end() :].strip("\n")
        if text:
            cells.append(prose(text, page.parent))
    cells[0].source += f"\n\n{NEEDS}"
    for k, cell in enumerate(cells):
        # the same in every build
        cell["id"] = f"{name.replace('_', '-')}-{k}"
    found = new_notebook(
        cells=cells, metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    nbformat.validate(found)
    return str(nbformat.writes(found))


def pages() -> dict[str, str]:
    """Path in the site → text."""
    return {f"tutorials/{name}.ipynb": notebook(name) for name in NAMES}


def with_download(path: str, text: str) -> str:
    """A page with a link to its notebook below the title, if it has one."""
    name = Path(path).stem
    if path != f"tutorials/{name}.md" or name not in NAMES:
        return text
    title, _, rest = text.partition("\n")
    return f"{title}\n\n{DOWNLOAD.format(name=name)}\n{rest}"
