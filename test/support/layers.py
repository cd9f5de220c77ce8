"""Who imports whom in the package, and the layers in which it is built."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(find_spec("robot_dynamics_ros").origin).parent
ROOT = PACKAGE.name
FILES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(PACKAGE.rglob("*.py"))
}
"""Module name → file."""

LAYERS = (
    (
        "arrays",
        "errors",
        "friction.law",
        "resources",
        "spatial",
        "topic_names",
        "version",
        "whole_files",
        "workers",
        "yaml_text",
    ),
    ("model",),
    ("wrench", "figures", "per_joint"),
    ("dynamics.algorithms",),
    ("dynamics.engine.codegen",),
    ("dynamics.engine",),
    ("dynamics",),
    ("friction",),
    ("control",),
    ("simulation",),
    ("recordings",),
    ("identification",),
    ("equations",),
    ("export", "frameworks", "commissioning"),
    ("view",),
    ("ros",),
    ("cli", "__main__"),
)
"""From the bottom: a folder (or file) imports only from its own layer and from those before it."""


def layer_of(module: str) -> int | None:
    """Number of the layer a module belongs to: the one whose name fits longest; ``None`` for the
    package itself.
    """
    inner = module.partition(".")[2]
    fits = [
        (len(part), number)
        for number, layer in enumerate(LAYERS)
        for part in layer
        if inner == part or inner.startswith(f"{part}.")
    ]
    return max(fits)[1] if fits else None


@cache
def names_imported(path: Path) -> frozenset[str]:
    """Everything a file imports, at any depth of nesting."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{name.name}" for name in node.names}
    return frozenset(found)


def imported(module: str) -> set[str]:
    """Modules of the package that a module imports: when it is imported, in functions, or for type
    checkers.
    """
    modules = set()
    for name in names_imported(FILES[module]):
        while name and name not in FILES:
            name = name.rpartition(".")[0]
        if name:
            modules.add(name)
    return modules - {module}


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others (Tarjan's strong
    components).
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in sorted(graph.get(v, ())):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            first = stack.index(v)
            group = stack[first:]
            stack[first:] = []
            if len(group) > 1:
                groups.append(sorted(group))

    for v in graph:
        if v not in index:
            visit(v)
    return groups
