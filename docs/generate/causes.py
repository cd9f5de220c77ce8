"""Causes that the nodes count in ``/diagnostics``, found in the code: the page about them has to
name each.
"""

from __future__ import annotations

import ast
from pathlib import Path

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.cycle.verdicts import COUNTED

PACKAGE = Path(rd.__file__).parent
REFUSALS = ("CommandRejected", "StateRejected", "CommandError", "CommandRefused")


def strings(node: ast.expr) -> list[str]:
    """The strings that an expression may be; what is filled in stands as an asterisk."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=values):
            return ["".join(v.value if isinstance(v, ast.Constant) else "*" for v in values)]
        case ast.IfExp(body=body, orelse=orelse):
            return strings(body) + strings(orelse)
        case _:
            return []


def causes() -> set[str]:
    """Every cause; ``command_*`` stands for a family."""
    found = set(COUNTED.values())
    for part in ("ros", "control"):
        for path in sorted((PACKAGE / part).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Attribute(attr="report" | "count"), args=[first, *_]):
                        found.update(strings(first))
                    case ast.Call(
                        func=ast.Attribute(attr="stop" | "_violation"), args=[_, second, _, *_]
                    ):
                        # the gate's: time, cause, reason
                        found.update(strings(second))
                    case ast.Call(func=ast.Name(id=name), args=[first, *_]) if (
                        name in REFUSALS or name == "report"
                    ):
                        found.update(strings(first))
                    case ast.Subscript(value=ast.Attribute(attr="counts"), slice=key):
                        found.update(strings(key))
    return {cause for cause in found if " " not in cause}
