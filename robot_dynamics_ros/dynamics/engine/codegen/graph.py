"""Symbols for tracing: arithmetic recorded as a hash-consed graph, simplified as it grows.

Running an algorithm on :class:`Expr` leaves instead of numbers records the list of operations that
it performs for one particular robot.  Constants are folded, zeros and ones vanish, signs float
outward, and equal subexpressions are one node, so what remains is what the robot needs.  The
emitters in this package turn the graph into source.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar, cast, final

from robot_dynamics_ros.spatial import Scalar

Key: TypeAlias = tuple[Any, ...]
"""Where the emitter reads an input."""
Operand: TypeAlias = "Expr | float"
V = TypeVar("V")


@final
class Expr:
    """One node.

    ``op`` is "const" (a: value), "leaf" (a: key), a unary or a binary operation on nodes;
    ``operands`` are the nodes that it is computed from: none, one or two.
    """

    __slots__ = ("a", "b", "graph", "id", "op", "operands")
    a: Any
    b: Any
    operands: tuple[Expr, ...]

    def __init__(
        self,
        graph: Graph,
        op: str,
        a: Operand | Key,
        b: Expr | None,
        number: int,
    ) -> None:
        self.graph = graph
        self.op = op
        self.a = a
        self.b = b
        self.id = number
        if b is not None:
            self.operands = (cast("Expr", a), b)
        elif op in ("const", "leaf"):
            self.operands = ()
        else:
            self.operands = (cast("Expr", a),)

    def __repr__(self) -> str:
        return f"Expr({self.op}, #{self.id})"

    def __bool__(self) -> bool:
        raise TypeError("a traced value has no truth: an algorithm may not branch on numbers")

    def __add__(self, other: Operand) -> Expr:
        g = self.graph
        return g.add(self, other if type(other) is Expr else g.const(other))

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Expr:
        g = self.graph
        return g.add(self, g.neg(other if type(other) is Expr else g.const(other)))

    def __rsub__(self, other: Operand) -> Expr:
        g = self.graph
        return g.add(g.lift(other), g.neg(self))

    def __mul__(self, other: Operand) -> Expr:
        g = self.graph
        return g.mul(self, other if type(other) is Expr else g.const(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Expr:
        return self.graph.div(self, self.graph.lift(other))

    def __rtruediv__(self, other: Operand) -> Expr:
        return self.graph.div(self.graph.lift(other), self)

    def __pow__(self, power: float) -> Expr:
        if power < 1 or power != int(power):
            return NotImplemented
        if power == 1:
            return self
        return self * self ** (power - 1)

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

    def minimum(self, other: Operand) -> Expr:
        return self.graph.extremum("min", self, self.graph.lift(other))

    def maximum(self, other: Operand) -> Expr:
        return self.graph.extremum("max", self, self.graph.lift(other))


class Graph:
    """The nodes of one trace; node numbers are a topological order."""

    def __init__(self) -> None:
        self.nodes: list[Expr] = []
        self._index: dict[Hashable, Expr] = {}
        self.zero = self.const(0.0)
        self.one = self.const(1.0)

    def _node(
        self,
        key: Hashable,
        op: str,
        a: Operand | Key,
        b: Expr | None = None,
    ) -> Expr:
        node = self._index.get(key)
        if node is None:
            node = self._index[key] = Expr(self, op, a, b, len(self.nodes))
            self.nodes.append(node)
        return node

    def _binary(self, op: str, x: Expr, y: Expr) -> Expr:
        return self._node((op, x.id, y.id), op, x, y)

    def const(self, value: float) -> Expr:
        value = float(value)
        # of the two zeros, which are equal, the first one
        return self._node(value, "const", value)

    def leaf(self, key: Key) -> Expr:
        """An input; ``key`` tells the emitter where to read it."""
        return self._node(("leaf", key), "leaf", key)

    def lift(self, x: Scalar) -> Expr:
        if isinstance(x, Expr):
            return x
        return self.const(cast("float", x))

    def neg(self, x: Expr) -> Expr:
        op = x.op
        if op == "const":
            return self.const(-x.a)
        if op == "neg":
            return x.a
        if op == "sub":
            return self._binary("sub", x.b, x.a)
        return self._node(("neg", x.id), "neg", x)

    def add(self, x: Expr, y: Expr) -> Expr:
        if x is self.zero:
            return y
        if y is self.zero:
            return x
        ox = x.op
        oy = y.op
        if ox == "const" and oy == "const":
            return self.const(x.a + y.a)
        if oy == "neg":
            if ox == "neg":
                return self.neg(self.add(x.a, y.a))
            return self._difference(x, y.a)
        if ox == "neg":
            return self._difference(y, x.a)
        if x.id <= y.id:
            return self._binary("add", x, y)
        return self._binary("add", y, x)

    def _difference(self, x: Expr, y: Expr) -> Expr:
        if x is y:
            return self.zero
        opposite = self._index.get(("sub", y.id, x.id))
        if opposite is None:
            return self._binary("sub", x, y)
        return self.neg(opposite)

    def mul(self, x: Expr, y: Expr) -> Expr:
        if y.op == "const":
            x, y = y, x
        ox = x.op
        oy = y.op
        if ox == "const":
            factor = x.a
            if oy == "const":
                return self.const(factor * y.a)
            if factor == 0.0:
                return self.zero
            if factor == 1.0:
                return y
            if factor == -1.0:
                return self.neg(y)
            if factor < 0.0:
                return self.neg(self.mul(self.const(-factor), y))
            if oy == "mul" and y.a.op == "const":
                return self.mul(self.const(factor * y.a.a), y.b)
            if oy == "neg":
                return self.neg(self.mul(x, y.a))
        else:
            if ox == "neg":
                return self.neg(self.mul(x.a, y))
            if oy == "neg":
                return self.neg(self.mul(x, y.a))
            if x.id > y.id:
                x, y = y, x
        for one, other in ((x, y), (y, x)) if ox == "div" or oy == "div" else ():
            if one.op == "div" and one.a is self.one and one.b is other:
                return self.one
        return self._binary("mul", x, y)

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
        return self._binary("div", x, y)

    def unary(self, op: str, x: Expr, function: Callable[[float], float]) -> Expr:
        if x.op == "const":
            return self.const(function(x.a))
        return self._node((op, x.id), op, x)

    def odd(self, op: str, x: Expr) -> Expr:
        if x.op == "neg":
            return self.neg(self.odd(op, x.a))
        return self.unary(op, x, getattr(math, op))

    def extremum(self, op: str, x: Expr, y: Expr) -> Expr:
        if x.op == "const" and y.op == "const":
            return self.const(min(x.a, y.a) if op == "min" else max(x.a, y.a))
        return self._binary(op, x, y)

    def cos(self, x: Expr) -> Expr:
        return self.unary("cos", x.a if x.op == "neg" else x, math.cos)


def reachable(outputs: Iterable[Expr]) -> list[Expr]:
    """The nodes that ``outputs`` need, in topological order."""
    seen: set[int] = set()
    nodes: list[Expr] = []
    stack = list(outputs)
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        nodes.append(node)
        stack.extend(node.operands)
    nodes.sort(key=lambda n: n.id)
    return nodes


def evaluate(
    outputs: Sequence[Expr],
    leaf: Callable[[Key], V],
    xp: object,
    const: Callable[[float], V],
    kept: Callable[[Expr, V], V] | None = None,
    mul: Callable[[V, V], V] = operator.mul,
) -> list[V]:
    """Run traced expressions on values of any library.

    Args:
        leaf: the value of a leaf's key.
        xp: the library's sin, cos, sqrt, minimum, maximum; its values add, subtract, divide by
            themselves.
        const: the value of a constant.
        kept: what stands for a node's value from there on; the value itself if not given.
        mul: how values are multiplied.
    """
    arithmetic: dict[str, Callable[..., Any]] = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": mul,
        "div": operator.truediv,
        "neg": operator.neg,
    }
    values: dict[int, V] = {}
    for node in reachable(outputs):
        if node.op in ("const", "leaf"):
            if node.op == "const":
                value = const(node.a)
            else:
                value = leaf(node.a)
        else:
            run = arithmetic.get(node.op) or getattr(
                xp, {"min": "minimum", "max": "maximum"}.get(node.op, node.op)
            )
            value = run(*(values[x.id] for x in node.operands))
        values[node.id] = value if kept is None else kept(node, value)
    return [values[x.id] for x in outputs]


def form_of(outputs: Sequence[Expr]) -> tuple[Any, ...]:
    """The steps of outputs, equal for outputs of other nodes that are computed the same way from
    the same places; keys of leaves are pairs whose first tells the place.
    """
    number: dict[int, int] = {}
    steps: list[tuple[Any, ...]] = []

    def visit(node: Expr) -> int:
        if node.id not in number:
            step = (node.op, *(visit(x) for x in node.operands))
            if not node.operands:
                step += (node.a if node.op == "const" else node.a[0],)
            number[node.id] = len(steps)
            steps.append(step)
        return number[node.id]

    return *map(visit, outputs), *steps


def count_operations(outputs: Sequence[Scalar]) -> dict[str, int]:
    """Operations of each kind and their ``"total"``; negations, leaves and plain numbers among the
    outputs are free.
    """
    counts: dict[str, int] = {}
    for node in reachable(x for x in outputs if isinstance(x, Expr)):
        if node.op not in ("const", "leaf", "neg"):
            counts[node.op] = counts.get(node.op, 0) + 1
    counts["total"] = sum(counts.values())
    return counts
