"""Memory of an algorithm while it is recorded as loops: values by body, vectors and matrices by degree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr
from robot_dynamics_ros.spatial import ArticulatedInertia, Force, Motion, RigidInertia, Transform

if TYPE_CHECKING:
    from robot_dynamics_ros.dynamics.engine.loops import LoopTree

__all__ = ["Degree", "LoopField", "LoopMatrix", "LoopVector"]

_SIZES = {Transform: 12, Motion: 6, Force: 6, RigidInertia: 10, ArticulatedInertia: 21, list: 6}


class Degree(NamedTuple):
    """Degree of freedom ``c`` of the body ``who`` stands for, or the degree of a loop over degrees."""

    who: str
    c: int


class LoopField:
    """Working memory for one value a body: loads and stores at ``i``, its parent and the root."""

    def __init__(self, tree: LoopTree, number: int, kind: Any) -> None:
        self.tree, self.number, self.kind = tree, number, kind
        self.by_column = isinstance(kind, list)
        size = (36 if tree.free else 6) if self.by_column else _SIZES[kind]
        self.offset = tree.allocate(size, self.by_column)
        self.known: dict[int, list[Expr]] = {}

    def _location(self, k: int, who: str) -> tuple[Any, ...]:
        return ("column" if self.by_column else "record", self.offset + k, who)

    def _build(self, parts: list[Expr]) -> Any:
        if self.by_column:
            return [self.kind[0].of(parts[6 * k : 6 * k + 6]) for k in range(len(parts) // 6)]
        return list(parts) if self.kind is list else self.kind.of(parts)

    def __getitem__(self, body: Any) -> Any:
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
            if known is not None and (again := tree.rematerialized(known, k, self)) is not None:
                parts.append(again)
            else:
                parts.append(tree.load(self._location(k, who)))
        return self._build(parts)

    def load_entry(self, k: int) -> Expr:
        return self.tree.load(self._location(k, "i"))

    def __setitem__(self, body: Any, value: Any) -> None:
        tree, who = self.tree, body.who
        if self.by_column:
            parts = [x for m in value for x in m.parts()]
        else:
            parts = list(value) if self.kind is list else value.parts()
        lifted = [tree.graph.lift(x) for x in parts]
        if self.kind is list and who == "i":
            tree.lengths[self.number, tree.current] = lifted
        if who == "p":
            tree.gathered_now.add(self.number)
        for k, x in enumerate(lifted):
            tree.store(self._location(k, who), x)
        if who == "i":
            self.known[tree.current] = lifted


class LoopVector:
    """An argument indexed by coordinates."""

    def __init__(self, tree: LoopTree, number: int) -> None:
        self.tree, self.number = tree, number

    def _location(self, dof: Degree) -> tuple[Any, ...]:
        return ("arg", self.number, "v", dof.c, dof.who)

    def __getitem__(self, dof: Degree) -> Expr:
        return self.tree.load(self._location(dof))

    def __setitem__(self, dof: Degree, value: Any) -> None:
        self.tree.store(self._location(dof), self.tree.graph.lift(value))


class LoopMatrix:
    """A symmetric output matrix; only its lower half is written here."""

    def __init__(self, tree: LoopTree, number: int) -> None:
        self.tree, self.number = tree, number

    def add(self, i: Degree, j: Degree, value: Any) -> None:
        at = ("matrix", self.number, i, j)
        self.tree.store(at, self.tree.load(at) + value)

    def add_pair(self, i: Degree, j: Degree, value: Any) -> None:
        # each pair of joints is met once: nothing to add to
        self.tree.store(("matrix", self.number, i, j), self.tree.graph.lift(value))
