"""The index of equations: which function implements which equation, table or chapter of which book
or paper.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import robot_dynamics_ros as rd

PACKAGE = Path(rd.__file__).parent
BOOKS = {
    "Featherstone": "Featherstone, *Rigid Body Dynamics Algorithms*, Springer, 2008",
    "Craig": "Craig, *Introduction to Robotics: Mechanics and Control*, 3rd edition, Pearson, 2005",
    "Siciliano": (
        "Siciliano, Sciavicco, Villani and Oriolo, *Robotics: Modelling, Planning and Control*, "
        "Springer, 2009"
    ),
    "Khalil": "Khalil and Dombre, *Modeling, Identification and Control of Robots*, Penton, 2002",
    "Lynch": "Lynch and Park, *Modern Robotics*, Cambridge University Press, 2017",
    "Hairer": "Hairer, Nørsett and Wanner, *Solving Ordinary Differential Equations*, Springer",
}
OTHERS = "Papers and other sources"
SOURCE = re.compile(r"Sources?: (.+?)(?=\n\s*\n|\Z)", re.DOTALL)

HEAD = """# Equations by source

Made from the docstrings in the code. Each entry is a function or class, and where its
equations are found in the source. Symbols are listed in the [glossary](../explanation/glossary.md).
"""


def documented() -> list[tuple[str, str]]:
    """(qualified name, text after "Source:") of every docstring that has one."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                name = module if isinstance(node, ast.Module) else f"{module}.{node.name}"
                found += [(name, " ".join(match.split())) for match in SOURCE.findall(text)]
    return found


def page() -> str:
    """The whole page."""
    public = set(dir(rd))
    entries: dict[str, list[str]] = {title: [] for title in (*BOOKS.values(), OTHERS)}
    for name, text in documented():
        short = name.rpartition(".")[2]
        shown = f"`rd.{short}`" if short in public else f"`{name}`"
        for part in text.split(";"):
            book = next((title for key, title in BOOKS.items() if key in part), OTHERS)
            entries[book].append(
                f"| {part.strip().rstrip('.').replace('|', chr(92) + '|')} | {shown} |"
            )
    lines = [HEAD]
    for title, rows in entries.items():
        if rows:
            lines += [
                f"\n## {title}\n",
                "| where | implemented by |",
                "|---|---|",
                *sorted(set(rows)),
            ]
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Path in the site → text."""
    return {"reference/sources.md": page()}
