"""Memory of an algorithm while it is recorded as loops: values by body, vectors and matrices by degree."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar, cast

from robot_dynamics_ros.dynamics.algorithms.function import flat
from robot_dynamics_ros.dynamics.algorithms.root_frame import CoriolisOperator
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, Operand
from robot_dynamics_ros.dynamics.engine.codegen.loop_program import AncestorLoop, Block, Location, Section, Store
from robot_dynamics_ros.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Scalar, Transform

T = TypeVar("T")
_SIZES = {Transform: 12, Motion: 6, Force: 6, RigidInertia: 10, CoriolisOperator: 12, ArticulatedInertia: 21, list: 6}


class Degree(NamedTuple):
    """Degree of freedom ``c`` of the body ``who`` stands for, or the degree of a loop over degrees."""

    who: str
    c: int


class LoopRecord:
    """The loops of an algorithm that were recorded, and loads and stores of the block that is being recorded.

    Columns of ``free`` joints hold six motions; to the fields ``gathered`` children add (``None``: not known yet).
    """

    def __init__(self, free: bool, gathered: set[int] | None) -> None:
        self.free = free
        self.graph = Graph()
        self.gathered, self.gathered_now = gathered, set[int]()
        self.block = Block()
        self.sections: list[Section] = [self.block]
        self.inner: AncestorLoop | None = None
        self.block_number = 0
        self.values: dict[Location, Expr] = {}
        self.lengths: dict[tuple[int, int], list[Expr]] = {}
        self.entries = 0
        self.current = -1

    def allocate(self, size: int) -> int:
        """Number of the first of some new entries of every body."""
        first, self.entries = self.entries, self.entries + size
        return first

    def open_block(self, section: Section | None, block: Block) -> None:
        """Record into another block from here on; nothing is known of the memory any more."""
        if section is not None:
            self.sections.append(section)
        self.block = block
        self.block_number += 1
        self.values = {}

    def parameter(self, slot: int, value: float | None) -> Operand:
        """A constant of the body: its value, or a load where bodies of the class differ."""
        return value if value is not None else self.load(("param", slot))

    def load(self, location: Location) -> Expr:
        """The value that was stored there, or the symbol of it."""
        value = self.values.get(location)
        if value is None:
            loaded_in = (self.block_number, id(self.inner)) if location[-1] == "j" else self.block_number
            value = self.values[location] = self.graph.leaf((location, loaded_in))
        return value

    def store(self, location: Location, value: Expr) -> None:
        """Record a store; within a block the last one to a location counts."""
        if self.inner is not None:
            self.inner.stores.append(Store(location, value))
            return
        self.values[location] = value
        for store in self.block.stores:
            if store.location == location:
                store.value = value
                return
        self.block.stores.append(Store(location, value))


class LoopField(Generic[T]):
    """Working memory for one value a body: loads and stores at ``i``, its parent and the root, by their ``who``."""

    def __init__(self, tree: LoopRecord, number: int, kind: Any) -> None:
        self.tree, self.number, self.kind = tree, number, kind
        self.by_column = isinstance(kind, list)
        size = (36 if tree.free else 6) if self.by_column else _SIZES[kind]
        self.offset = tree.allocate(size)
        self.known: dict[int, list[Expr]] = {}

    def _location(self, k: int, who: str) -> Location:
        return ("record", self.offset + k, who)

    def _build(self, parts: list[Expr]) -> T:
        if self.by_column:
            value: Any = [self.kind[0].of(parts[6 * k : 6 * k + 6]) for k in range(len(parts) // 6)]
        else:
            value = list(parts) if self.kind is list else self.kind.of(parts)
        return cast("T", value)

    def __getitem__(self, body: Any) -> T:
        tree, who = self.tree, body.who
        if self.by_column:
            size = 6 * body.degrees
        elif self.kind is list:
            size = len(tree.lengths[self.number, tree.current]) if who == "i" else 6
        else:
            size = _SIZES[self.kind]
        own = who == "i" and tree.gathered is not None and self.number not in tree.gathered
        known = self.known.get(tree.current) if own else None
        parts = []
        for k in range(size):
            if known is not None and (cheaper := self._rematerialized(known, k)) is not None:
                parts.append(cheaper)
            else:
                parts.append(tree.load(self._location(k, who)))
        return self._build(parts)

    def _rematerialized(self, loaded: list[Expr], k: int) -> Expr | None:
        """A stored entry that need not be loaded: a constant, a parameter, or another entry of the same value."""
        x, tree = loaded[k], self.tree
        if x.op == "const":
            return x
        if x.op == "leaf" and x.a[0][0] == "param":
            return tree.load(x.a[0])
        operand, negated = (x.a, True) if x.op == "neg" else (x, False)
        if operand.op == "leaf" and operand.a[0][0] == "param":
            return -tree.load(operand.a[0])
        for m in range(k):
            other = loaded[m]
            if other is x:
                return tree.load(self._location(m, "i"))
            if negated and other is operand:
                return -tree.load(self._location(m, "i"))
        return None

    def __setitem__(self, body: Any, value: T) -> None:
        tree, who = self.tree, body.who
        lifted = [tree.graph.lift(x) for x in flat(value)]
        if self.kind is list and who == "i":
            tree.lengths[self.number, tree.current] = lifted
        if who == "p":
            tree.gathered_now.add(self.number)
        for k, x in enumerate(lifted):
            tree.store(self._location(k, who), x)
        if who == "i":
            self.known[tree.current] = lifted


class LoopVector:
    """An array indexed by coordinates."""

    def __init__(self, tree: LoopRecord, number: int) -> None:
        self.tree, self.number = tree, number

    def _location(self, dof: Degree) -> Location:
        return ("arg", self.number, "v", dof.c, dof.who)

    def __getitem__(self, dof: Degree) -> Expr:
        return self.tree.load(self._location(dof))

    def __setitem__(self, dof: Degree, value: Scalar) -> None:
        self.tree.store(self._location(dof), self.tree.graph.lift(value))


class LoopSquare:
    """A matrix."""

    def __init__(self, tree: LoopRecord, number: int) -> None:
        self.tree, self.number = tree, number

    def add(self, i: Degree, j: Degree, value: Scalar) -> None:
        # each pair of joints is met once: nothing to add to
        self.tree.store(("matrix", self.number, i, j), self.tree.graph.lift(value))


class LoopMatrix(LoopSquare):
    """A symmetric matrix; only its lower half is written here."""

    def add(self, i: Degree, j: Degree, value: Scalar) -> None:
        super().add(i, j, self.tree.load(("matrix", self.number, i, j)) + value)

    def add_pair(self, i: Degree, j: Degree, value: Scalar) -> None:
        super().add(i, j, value)
