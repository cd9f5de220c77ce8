"""Straight-line Python from a traced graph: runs on floats and, with NumPy, on whole batches.  Needs no compiler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable

__all__ = ["python_source"]

_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def python_source(name: str, arguments: Sequence[str], outputs: Sequence[Expr], leaf: Callable[[Any], str]) -> str:
    """Source of ``def name(arguments)`` returning the outputs as a tuple.

    Local names are reused as soon as a value is dead, so that on batches no more arrays live than the widest place
    of the computation needs.

    Args:
        leaf: turns a leaf's key into an expression, e.g. ``"q[3]"``.
    """
    order = reachable(outputs)
    last: dict[int, int] = {}
    for position, node in enumerate(order):
        for operand in (node.a, node.b):
            if isinstance(operand, Expr):
                last[operand.id] = position
    for node in outputs:
        last[node.id] = len(order)

    names: dict[int, str] = {}
    free: list[str] = []
    used = 0
    lines = [f"def {name}({', '.join(arguments)}):"]

    def text(x: Expr) -> str:
        return repr(x.a) if x.op == "const" else names[x.id]

    for position, node in enumerate(order):
        if node.op == "const":
            continue
        if node.op == "leaf":
            right = leaf(node.a)
        elif node.op in _BINARY:
            right = f"{text(node.a)} {_BINARY[node.op]} {text(node.b)}"
        elif node.op in ("min", "max"):
            right = f"{node.op}imum({text(node.a)}, {text(node.b)})"
        elif node.op == "neg":
            right = f"-{text(node.a)}"
        else:
            right = f"{node.op}({text(node.a)})"
        for operand in {o.id for o in (node.a, node.b) if isinstance(o, Expr) and o.op != "const"}:
            if last[operand] == position:
                free.append(names[operand])
        if free:
            names[node.id] = free.pop()
        else:
            names[node.id] = f"t{used}"
            used += 1
        lines.append(f"    {names[node.id]} = {right}")
    lines.append(f"    return ({', '.join(text(x) for x in outputs)}{',' if len(outputs) == 1 else ''})")
    return "\n".join(lines) + "\n"
