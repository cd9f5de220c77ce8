"""How many operations a function takes: as the algorithm is written, after folding, after sharing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, count_operations
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.export.functions import run_on, trace_request
from robot_dynamics_ros.export.plan import Plan, tree_of


@dataclass(frozen=True)
class OperationCount:
    """Operations of one function."""

    name: str
    written: (
        int  # additions, multiplications, … that the general algorithm performs on this robot, zeros and ones included
    )
    folded: int  # after constants are folded and zeros and ones have vanished
    shared: int  # after equal expressions are computed once: what is emitted
    kinds: dict[str, int]  # ``shared`` by kind of operation


class _Counted:
    """A scalar that counts what is done to it."""

    __slots__ = ("tally",)

    def __init__(self, tally: list[int]) -> None:
        self.tally = tally

    def _did(self, *_: object) -> _Counted:
        self.tally[0] += 1
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _did
    sin = cos = sqrt = _did

    def __neg__(self) -> _Counted:
        return self


class _Unshared(Graph):
    """A graph in which equal expressions stay apart."""

    def _binary(self, op: str, x: Expr, y: Expr) -> Expr:
        return self._new(op, x, y)

    def _unary(self, op: str, x: Expr) -> Expr:
        return self._new(op, x, None)


def count_all(plan: Plan) -> list[OperationCount]:
    """Counts for all functions of a plan."""
    counts = []
    for t in plan.traced:
        tally, graph = [0], _Unshared()
        inputs = {a.name: [_Counted(tally) for _ in range(a.size)] for a in t.request.inputs}
        run_on(t.request, NumericTree(plan.model), inputs)
        apart = trace_request(t.request, partial(run_on, t.request, tree_of(plan.geometry, graph)), graph)
        folded, kinds = count_operations(apart.flat())["total"], count_operations(t.flat())
        counts.append(OperationCount(t.request.name, tally[0], folded, kinds.pop("total"), kinds))
    return counts


def report_text(counts: Iterable[OperationCount]) -> str:
    """A table for people."""
    order = ("add", "sub", "mul", "div", "sin", "cos", "sqrt")
    head = ["function", "as written", "folded", "shared", *order]
    rows = [
        [c.name, str(c.written), str(c.folded), str(c.shared), *(str(c.kinds.get(k, 0)) for k in order)] for c in counts
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))])
        for row in [head, ["-" * w for w in widths], *rows]
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"
