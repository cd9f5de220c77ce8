"""Symbols for tracing: arithmetic recorded as a hash-consed graph, simplified as it grows.

Running an algorithm on :class:`Expr` leaves instead of numbers records the list of operations that it performs
for one particular robot.  Constants are folded, zeros and ones vanish, signs float outward, and equal subexpressions
are one node, so what remains is what the robot needs.  The emitters in this package turn the graph into source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["Expr", "Graph", "count_operations", "reachable"]


class Expr:
    """One node.  ``op`` is "const" (a: value), "leaf" (a: key), a unary or a binary operation on nodes."""

    __slots__ = ("a", "b", "graph", "id", "op")

    def __init__(self, graph: Graph, op: str, a: Any, b: Any, number: int) -> None:
        self.graph, self.op, self.a, self.b, self.id = graph, op, a, b, number

    def __repr__(self) -> str:
        return f"Expr({self.op}, #{self.id})"

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth: an algorithm may not branch on numbers")

    def __add__(self, other: Any) -> Expr:
        return self.graph.add(self, self.graph.lift(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Expr:
        g = self.graph
        return g.add(self, g.neg(g.lift(other)))

    def __rsub__(self, other: Any) -> Expr:
        g = self.graph
        return g.add(g.lift(other), g.neg(self))

    def __mul__(self, other: Any) -> Expr:
        return self.graph.mul(self, self.graph.lift(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expr:
        return self.graph.div(self, self.graph.lift(other))

    def __rtruediv__(self, other: Any) -> Expr:
        return self.graph.div(self.graph.lift(other), self)

    def __pow__(self, power: int) -> Expr:
        if not isinstance(power, int) or power < 1:
            return NotImplemented
        return self if power == 1 else self * self ** (power - 1)

    def __neg__(self) -> Expr:
        return self.graph.neg(self)

    def __pos__(self) -> Expr:
        return self

    def sin(self) -> Expr:
        return self.graph.odd("sin", self)

    def cos(self) -> Expr:
        return self.graph.cos(self)

    def sqrt(self) -> Expr:
        return self.graph.unary("sqrt", self, math.sqrt)

    def exp(self) -> Expr:
        return self.graph.unary("exp", self, math.exp)

    def tanh(self) -> Expr:
        return self.graph.odd("tanh", self)

    def minimum(self, other: Any) -> Expr:
        return self.graph.extremum("min", self, self.graph.lift(other))

    def maximum(self, other: Any) -> Expr:
        return self.graph.extremum("max", self, self.graph.lift(other))


class Graph:
    """The nodes of one trace; node numbers are a topological order."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self._index: dict[tuple[Any, ...], Expr] = {}
        self.zero = self.const(0.0)
        self.one = self.const(1.0)

    def _node(self, op: str, a: Any, b: Any = None) -> Expr:
        key = (op, a.id if isinstance(a, Expr) else a, b.id if isinstance(b, Expr) else b)
        found = self._index.get(key)
        if found is None:
            found = Expr(self, op, a, b, len(self.nodes))
            self.nodes.append(found)
            self._index[key] = found
        return found

    def const(self, value: float) -> Expr:
        value = float(value)
        if value == 0.0:
            value = 0.0  # one zero: −0.0 would be another key
        return self._node("const", value)

    def leaf(self, key: Any) -> Expr:
        """An input; ``key`` tells the emitter where to read it."""
        return self._node("leaf", key)

    def lift(self, x: Any) -> Expr:
        return x if isinstance(x, Expr) else self.const(x)

    def neg(self, x: Expr) -> Expr:
        if x.op == "const":
            return self.const(-x.a)
        if x.op == "neg":
            return x.a
        if x.op == "sub":
            return self._node("sub", x.b, x.a)
        return self._node("neg", x)

    def add(self, x: Expr, y: Expr) -> Expr:
        if x.op == "const" and y.op == "const":
            return self.const(x.a + y.a)
        if x is self.zero:
            return y
        if y is self.zero:
            return x
        nx, ny = x.op == "neg", y.op == "neg"
        if nx and ny:
            return self.neg(self.add(x.a, y.a))
        if ny:
            return self._difference(x, y.a)
        if nx:
            return self._difference(y, x.a)
        if x.id > y.id:
            x, y = y, x
        return self._node("add", x, y)

    def _difference(self, x: Expr, y: Expr) -> Expr:
        if x is y:
            return self.zero
        if ("sub", y.id, x.id) in self._index:
            return self.neg(self._node("sub", y, x))
        return self._node("sub", x, y)

    def mul(self, x: Expr, y: Expr) -> Expr:
        if x.op == "const" and y.op == "const":
            return self.const(x.a * y.a)
        if y.op == "const":
            x, y = y, x
        if x.op == "const":
            if x.a == 0.0:
                return self.zero
            if x.a == 1.0:
                return y
            if x.a == -1.0:
                return self.neg(y)
            if x.a < 0.0:
                return self.neg(self.mul(self.const(-x.a), y))
            if y.op == "mul" and y.a.op == "const":
                return self.mul(self.const(x.a * y.a.a), y.b)
        if x.op == "neg":
            return self.neg(self.mul(x.a, y))
        if y.op == "neg":
            return self.neg(self.mul(x, y.a))
        if x.op != "const" and x.id > y.id:
            x, y = y, x
        for one, other in ((x, y), (y, x)):
            if one.op == "div" and one.a is self.one and one.b is other:
                return self.one
        return self._node("mul", x, y)

    def div(self, x: Expr, y: Expr) -> Expr:
        if x is self.zero:
            return x
        if x is y:
            return self.one
        if y.op == "const":
            if y.a == 0.0:
                raise ZeroDivisionError("a traced algorithm divides by a constant zero")
            return self.mul(self.const(1.0 / y.a), x)
        if x.op == "neg":
            return self.neg(self.div(x.a, y))
        if y.op == "neg":
            return self.neg(self.div(x, y.a))
        return self._node("div", x, y)

    def unary(self, op: str, x: Expr, function: Any) -> Expr:
        if x.op == "const":
            return self.const(function(x.a))
        return self._node(op, x)

    def odd(self, op: str, x: Expr) -> Expr:
        if x.op == "neg":
            return self.neg(self.odd(op, x.a))
        return self.unary(op, x, getattr(math, op))

    def extremum(self, op: str, x: Expr, y: Expr) -> Expr:
        if x.op == "const" and y.op == "const":
            return self.const(min(x.a, y.a) if op == "min" else max(x.a, y.a))
        return self._node(op, x, y)

    def cos(self, x: Expr) -> Expr:
        return self.unary("cos", x.a if x.op == "neg" else x, math.cos)


def reachable(outputs: Iterable[Expr]) -> list[Expr]:
    """The nodes that ``outputs`` need, in topological order."""
    seen: set[int] = set()
    found: list[Expr] = []
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        found.append(node)
        if isinstance(node.a, Expr):
            stack.append(node.a)
        if isinstance(node.b, Expr):
            stack.append(node.b)
    found.sort(key=lambda n: n.id)
    return found


def count_operations(outputs: Sequence[Any]) -> dict[str, int]:
    """How many operations of each kind the outputs take, and their ``"total"`` (negations and leaves are free).

    Plain numbers among the outputs take none.
    """
    counts: dict[str, int] = {}
    for node in reachable(x for x in outputs if isinstance(x, Expr)):
        if node.op not in ("const", "leaf", "neg"):
            counts[node.op] = counts.get(node.op, 0) + 1
    counts["total"] = sum(counts.values())
    return counts
