"""Python source of a trace, without branches: runs on floats and, with NumPy, on whole batches.

Needs no compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Key, reachable

# values within values
_DEEPEST = 12
_BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}


def _dying(order: Sequence[Expr], outputs: Sequence[Expr]) -> dict[int, list[int]]:
    """The nodes that get a name of their own, and for each those whose value is needed for the last
    time there.
    """
    uses = dict.fromkeys((node.id for node in order), 0)
    for node in outputs:
        uses[node.id] = 2
    for node in order:
        for operand in node.operands:
            uses[operand.id] += 1
    # of what has no name
    depth: dict[int, int] = {}
    for node in order:
        own = 0
        for operand in node.operands:
            below = depth.get(operand.id, -1)
            if below >= own:
                own = below + 1
        if node.op != "const" and uses[node.id] == 1 and own < _DEEPEST:
            depth[node.id] = own
    # the named node in whose statement a node is computed
    owner: dict[int, int] = {}
    last: dict[int, int] = {}
    for node in reversed(order):
        last_use = owner.setdefault(node.id, node.id)
        for operand in node.operands:
            if operand.id in depth:
                owner[operand.id] = last_use
            elif operand.op != "const":
                last[operand.id] = max(last_use, last.get(operand.id, -1))
    named: dict[int, list[int]] = {
        node.id: [] for node in order if node.op != "const" and node.id not in depth
    }
    for node in outputs:
        last.pop(node.id, None)
    for number, last_use in last.items():
        named[last_use].append(number)
    return named


def python_source(
    name: str,
    arguments: Sequence[str],
    outputs: Sequence[Expr],
    leaf: Callable[[Key], str],
) -> str:
    """Source of ``def name(arguments)`` returning the outputs as a tuple.

    A value that is used once stands where it is used; the others have local names, which are used
    again as soon as a value is dead, so that on batches hardly more arrays live than the widest
    place of the computation needs.  ``leaf`` turns a leaf's key into an expression, e.g.
    ``"q[3]"``.
    """
    order = reachable(outputs)
    named = _dying(order, outputs)
    lines = [f"def {name}({', '.join(arguments)}):"]
    texts: dict[int, str] = {}
    free: list[str] = []
    used = 0
    for node in order:
        op = node.op
        if op == "const":
            texts[node.id] = repr(node.a)
            continue
        if op == "leaf":
            right = leaf(node.a)
        elif op in _BINARY:
            right = f"{texts[node.a.id]} {_BINARY[op]} {texts[node.b.id]}"
        elif op in ("min", "max"):
            right = f"{op}imum({texts[node.a.id]}, {texts[node.b.id]})"
        else:
            if op == "neg":
                right = f"-{texts[node.a.id]}"
            else:
                right = f"{op}({texts[node.a.id]})"
        dying = named.get(node.id)
        if dying is None:
            texts[node.id] = f"({right})" if op in _BINARY or op == "neg" else right
            continue
        free.extend(texts[number] for number in dying)
        if free:
            local = free.pop()
        else:
            local = f"t{used}"
            used = used + 1
        texts[node.id] = local
        lines.append(f"    {local} = {right}")
    lines.append(
        f"    return ({', '.join(texts[x.id] for x in outputs)}{',' if len(outputs) == 1 else ''})"
    )
    return "\n".join(lines) + "\n"
