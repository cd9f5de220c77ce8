"""The algorithms recorded as loops over the tree, for robots too large to unroll.

A :class:`LoopTree` speaks the vocabulary of
:class:`~robot_dynamics_ros.dynamics.algorithms.tree.Tree`, but its loops run once for each *class*
of bodies instead of once a body, on symbols for the body's constants and for what is in memory;
what an algorithm stores is recorded as a
:class:`~robot_dynamics_ros.dynamics.engine.codegen.loop_program.LoopProgram`.  Bodies are alike
when the same of their constants are zeros, ones and values that all of them share: for those, the
recorded step is as sparse as an unrolled one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, cast

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.function import flat
from robot_dynamics_ros.dynamics.algorithms.link_tree import tied
from robot_dynamics_ros.dynamics.algorithms.root_frame import CoriolisOperator
from robot_dynamics_ros.dynamics.algorithms.tree import ElementaryKind, T
from robot_dynamics_ros.dynamics.engine.codegen import loop_program as ir
from robot_dynamics_ros.dynamics.engine.codegen.graph import (
    Expr,
    Graph,
    Operand,
    form_of,
    reachable,
)
from robot_dynamics_ros.dynamics.engine.elementary_tree import (
    SUBSPACE,
    NumericBody,
    NumericTree,
    layout_of,
)
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options
from robot_dynamics_ros.dynamics.engine.trace import Signature, signature
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import (
    ArticulatedInertia,
    Force,
    Mat3,
    Motion,
    RigidInertia,
    Scalar,
    Transform,
    Vec3,
)

APART_CLASS = -2
"""Number of the class of all bodies in loops in which none needs another; a free joint's is
smaller.
"""
MOST_CLASSES = 8
"""With more kinds of bodies than this, constants stay symbols: code grows with every class."""


class _Class(NamedTuple):
    kind: ElementaryKind
    # known values by slot; None where bodies differ
    constants: tuple[float | None, ...]
    has_row: bool


def body_constants(tree: NumericTree, k: int) -> list[float]:
    """R0 (9), p (3), m, h (3), I (6), multiplier, offset, N (9) of an elementary body."""
    b = tree.layout.bodies[k]
    return [
        *b.rotation.ravel().tolist(),
        *b.position.tolist(),
        b.mass,
        *b.first_moment.tolist(),
        *b.inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist(),
        b.multiplier,
        b.offset,
        *b.normal.ravel().tolist(),
    ]


def classify(
    constants: np.ndarray,
    kinds: list[ElementaryKind],
    rows: list[bool],
    alike: bool = False,
) -> tuple[list[_Class], list[int]]:
    """Sort bodies into classes: by which constants are 0 or ±1, then folding in all values that a
    class shares; ``alike``: into as few classes as there can be, whatever the constants.
    """

    def pattern(row: np.ndarray, fine: bool) -> tuple[float | None, ...]:
        return tuple(float(x) if fine and x in (0.0, 1.0, -1.0) else None for x in row)

    for fine in (False,) if alike else (True, False):
        keys = [(kinds[k], pattern(constants[k], fine), rows[k]) for k in range(len(kinds))]
        if len(set(keys)) <= MOST_CLASSES:
            break
    order = list(dict.fromkeys(keys))
    number = [order.index(key) for key in keys]
    classes = []
    for c, (kind, _, has_row) in enumerate(order):
        own = constants[[k for k, n in enumerate(number) if n == c]]
        shared = [
            float(own[0, s]) if np.all(own[:, s] == own[0, s]) else None
            for s in range(own.shape[1])
        ]
        classes.append(_Class(kind, tuple(shared), has_row))
    return classes, number


def _united(classes: Sequence[_Class]) -> _Class:
    """One class for bodies of several."""
    slots = zip(*(cls.constants for cls in classes), strict=True)
    shared = tuple(values[0] if len(set(values)) == 1 else None for values in slots)
    return _Class(classes[0].kind, shared, any(cls.has_row for cls in classes))


# -- memory of an algorithm while it is recorded: values by body, vectors and matrices by degree ---

_SIZES = {
    Transform: 12,
    Motion: 6,
    Force: 6,
    RigidInertia: 10,
    CoriolisOperator: 12,
    ArticulatedInertia: 21,
    list: 6,
}


class Degree(NamedTuple):
    """Degree of freedom ``c`` of the body ``who`` stands for, or the degree of a loop over
    degrees.
    """

    who: str
    c: int


class LoopRecord:
    """The loops of an algorithm that were recorded, and loads and stores of the block that is being
    recorded.

    Columns of ``free`` joints hold six motions; to the fields ``gathered`` children add (``None``:
    not known yet).
    """

    def __init__(self, free: bool, gathered: set[int] | None) -> None:
        self.free = free
        self.graph = Graph()
        self.gathered, self.gathered_now = gathered, set[int]()
        self.block = ir.Block()
        self.sections: list[ir.Section] = [self.block]
        self.inner: ir.AncestorLoop | None = None
        self.block_number = 0
        self.values: dict[ir.Location, Expr] = {}
        self.lengths: dict[tuple[int, int], list[Expr]] = {}
        self.entries = 0
        self.current = -1

    def allocate(self, size: int) -> int:
        """Number of the first of some new entries of every body."""
        first = self.entries
        self.entries = self.entries + size
        return first

    def open_block(self, section: ir.Section | None, block: ir.Block) -> None:
        """Record into another block from here on; nothing is known of the memory any more."""
        if section is not None:
            self.sections.append(section)
        self.block = block
        self.block_number += 1
        self.values = {}

    def parameter(self, slot: int, value: float | None) -> Operand:
        """A constant of the body: its value, or a load where bodies of the class differ."""
        if value is not None:
            return value
        return self.load(("param", slot))

    def load(self, location: ir.Location) -> Expr:
        """The value that was stored there, or the symbol of it."""
        value = self.values.get(location)
        if value is None:
            loaded_in = (
                (self.block_number, id(self.inner)) if location[-1] == "j" else self.block_number
            )
            value = self.values[location] = self.graph.leaf((location, loaded_in))
        return value

    def store(self, location: ir.Location, value: Expr) -> None:
        """Record a store; within a block the last one to a location counts."""
        if self.inner is not None:
            self.inner.stores.append(ir.LoopStore(location, value))
            return
        self.values[location] = value
        for store in self.block.stores:
            if store.location == location:
                store.value = value
                return
        self.block.stores.append(ir.LoopStore(location, value))


class LoopField(Generic[T]):
    """Working memory for one value a body: loads and stores at ``i``, its parent and the root, by
    their ``who``.
    """

    def __init__(self, tree: LoopRecord, number: int, kind: Any) -> None:
        self.tree = tree
        self.number = number
        self.kind = kind
        self.by_column = isinstance(kind, list)
        if self.by_column:
            size = 36 if tree.free else 6
        else:
            size = _SIZES[kind]
        self.offset = tree.allocate(size)
        self.known: dict[int, list[Expr]] = {}

    def _location(self, k: int, who: str) -> ir.Location:
        return ("record", self.offset + k, who)

    def __getitem__(self, body: Any) -> T:
        tree = self.tree
        who = body.who
        if self.by_column:
            size = 6 * body.degrees
        elif self.kind is list:
            if who == "i":
                size = len(tree.lengths[self.number, tree.current])
            else:
                size = 6
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
        if self.by_column:
            value: Any = [self.kind[0].of(parts[6 * k : 6 * k + 6]) for k in range(len(parts) // 6)]
        else:
            if self.kind is list:
                value = parts
            else:
                value = self.kind.of(parts)
        return cast("T", value)

    def _rematerialized(self, loaded: list[Expr], k: int) -> Expr | None:
        """A stored entry that need not be loaded: a constant, a parameter, or another entry of the
        same value.
        """
        x = loaded[k]
        tree = self.tree
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
        tree = self.tree
        who = body.who
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
        self.tree = tree
        self.number = number

    def _location(self, dof: Degree) -> ir.Location:
        return ("arg", self.number, "v", dof.c, dof.who)

    def __getitem__(self, dof: Degree) -> Expr:
        return self.tree.load(self._location(dof))

    def __setitem__(self, dof: Degree, value: Scalar) -> None:
        self.tree.store(self._location(dof), self.tree.graph.lift(value))


class LoopSquare:
    """A matrix."""

    def __init__(self, tree: LoopRecord, number: int) -> None:
        self.tree = tree
        self.number = number

    def add(self, i: Degree, j: Degree, value: Scalar) -> None:
        # each pair of joints is met once: nothing to add to
        self.tree.store(("matrix", self.number, i, j), self.tree.graph.lift(value))


class LoopMatrix(LoopSquare):
    """A symmetric matrix; only its lower half is written here."""

    def add(self, i: Degree, j: Degree, value: Scalar) -> None:
        super().add(i, j, self.tree.load(("matrix", self.number, i, j)) + value)

    def add_pair(self, i: Degree, j: Degree, value: Scalar) -> None:
        super().add(i, j, value)


# -- the tree --------------------------------------------------------------------------------------


class LoopBody(NumericBody):
    """A body standing for all of one class, or for any ancestor."""

    __slots__ = ("degrees", "who")

    def __init__(self, tree: LoopTree, cls: _Class) -> None:
        self.tree: Any = tree
        self.kind = cls.kind
        self.who = "i"
        self.degrees = len(SUBSPACE[cls.kind])
        self.number = -1
        self.parent: Any = _Key("p")
        values = [tree.parameter(s, x) for s, x in enumerate(cls.constants)]
        self.joint = (Mat3.of([values[0:3], values[3:6], values[6:9]]), Vec3.of(values[9:12]))
        self.inertia = RigidInertia.of(values[12:22])
        self.normal = Mat3.of([values[24:27], values[27:30], values[30:33]])
        self.euler = None
        columns: Any = [
            (Degree("i", c), Motion.of(list(column))) for c, column in enumerate(SUBSPACE[cls.kind])
        ]
        self.columns = columns

    def coordinates(self, q: LoopVector) -> list[Scalar]:  # type: ignore[override]
        return [
            self.tree.load(("arg", q.number, "q", c, "i"))
            for c in range(7 if self.kind is ElementaryKind.FREE else 1)
        ]


class _Key(NamedTuple):
    """Stands for the root or for a body's parent in working memory."""

    who: str
    degrees: int = 0


class _Ancestor:
    """An ancestor ``j`` in a loop over ancestors."""

    who = "j"

    def __init__(self, degrees: int) -> None:
        self.degrees = degrees
        self.columns = [(Degree("j", c), None) for c in range(degrees)]


class _RowForces:
    """Forces on bodies, from an argument that has a row for each joint with coordinates."""

    def __init__(self, tree: LoopTree, number: int) -> None:
        self.tree = tree
        self.number = number

    def __getitem__(self, body: LoopBody) -> Force:
        if not self.tree.classes[self.tree.current].has_row:
            return Force.zero()
        return body.from_link(Force.of([self.tree.load(("row", self.number, c)) for c in range(6)]))


class _Factors:
    """The factors of a symmetric matrix, in its place."""

    def __init__(self, tree: LoopTree, M: LoopMatrix) -> None:
        self.tree, self.numbers = tree, (M.number, tree.vector().number)
        tree.symmetric.remove(M.number)
        tree.sections.append(ir.Linear("factorize", self.numbers))

    def solve(self, right: LoopVector, minus: LoopVector) -> LoopVector:
        self.tree.sections.append(
            ir.Linear("solve", (*self.numbers, minus.number), (right.number,))
        )
        return minus

    def divide(self, matrices: Sequence[LoopSquare]) -> list[LoopSquare]:
        right = [*matrices, self.tree.square()]
        results = [self.tree.square(clear=False) for _ in right]
        numbers = (*self.numbers, *(x.number for x in results))
        self.tree.sections.append(ir.Linear("divide", numbers, tuple(x.number for x in right)))
        return results


class LoopTree(LoopRecord):
    """Records an algorithm; see the module.

    ``outputs``: array, counted as the algorithm makes them → number of the argument that it is, of
    ``arguments``; further arrays are working memory.
    """

    def __init__(
        self,
        model: RobotModel,
        outputs: Mapping[int, int],
        arguments: int,
        gathered: set[int] | None = None,
        alike: bool = False,
    ) -> None:
        self.model, self.numeric = model, NumericTree(model)
        self.layout = lay = layout_of(model)
        kinds = [b.kind for b in lay.bodies]
        super().__init__(ElementaryKind.FREE in kinds, gathered)
        self.base_velocity = self.numeric.base_velocity
        self.gravity_motion = self.numeric.gravity_motion
        self.root = _Key("root")
        self.constants = np.array([body_constants(self.numeric, k) for k in range(lay.n)])
        self.rows = [-1] * lay.n
        for k, name in enumerate(model.joint_names):
            self.rows[lay.body[model.body_index(name)]] = k
        self.classes, self.class_of = classify(
            self.constants, kinds, [r >= 0 for r in self.rows], alike
        )
        self.field_count = 0
        self.outputs = outputs
        self.arguments = arguments
        self.made = 0
        self.cleared: list[tuple[int, int]] = []
        self.scratch: dict[int, int] = {}
        self.symmetric: list[int] = []

    # -- the vocabulary ----------------------------------------------------------------------------

    def _close(self) -> None:
        self.current = -1
        self.open_block(block := ir.Block(), block)

    def _bodies(self, inward: bool) -> Iterator[LoopBody]:
        loop = ir.BodyLoop(inward)
        self.sections.append(loop)
        for c, cls in enumerate(self.classes):
            loop.blocks[c] = block = ir.Block()
            self.open_block(None, block)
            self.current = c
            yield LoopBody(self, cls)
        self._close()

    def outward(self) -> Iterator[LoopBody]:
        return self._bodies(False)

    def inward(self) -> Iterator[LoopBody]:
        return self._bodies(True)

    def ancestors(self, body: LoopBody) -> Iterator[_Ancestor]:
        for degrees in (1, 6) if self.free else (1,):
            self.inner = ir.AncestorLoop(degrees)
            self.block.loops.append(self.inner)
            kept = self.values
            self.values = dict(self.values)
            yield _Ancestor(degrees)
            self.values = kept
            self.inner = None

    def each(
        self,
        kind: type[T] | list[type[T]],
        value: Callable[[LoopBody], T],
    ) -> LoopField[T]:
        field = self.field(kind)
        loop = ir.BodyLoop(False, apart=True)
        self.sections.append(loop)
        single = [c for c, cls in enumerate(self.classes) if cls.kind is not ElementaryKind.FREE]
        for group in filter(
            None, [single, [c for c in range(len(self.classes)) if c not in single]]
        ):
            block = ir.Block()
            loop.blocks |= dict.fromkeys(group, block)
            self.open_block(None, block)
            self.current = APART_CLASS - self.classes[group[0]].kind
            body = LoopBody(self, _united([self.classes[c] for c in group]))
            field[body] = value(body)
            field.known |= dict.fromkeys(group, field.known[self.current])
            read = reachable([s.value for s in block.stores])
            if any(
                n.op == "leaf" and not (n.a[0][0] == "param" or n.a[0][::2] == ("record", "i"))
                for n in read
            ):
                raise NotImplementedError(
                    "a value for each body from another body, or from coordinates"
                )
        self._close()
        return field

    def degrees(self) -> Iterator[Degree]:
        if not self.layout.armature.any():
            return
        loop = ir.DegreeLoop()
        self.open_block(loop, loop.block)
        yield Degree("dof", 0)
        self._close()

    def field(self, kind: type[T] | list[type[T]]) -> LoopField[T]:
        field: LoopField[T] = LoopField(self, self.field_count, kind)
        self.field_count += 1
        return field

    def _array(self, rows: int, clear: bool = True) -> int:
        """Number of a new array with ``rows`` rows of nv: an output, or working memory if it is
        none.
        """
        self.made += 1
        number = self.outputs.get(self.made, self.arguments + self.made)
        length = self.layout.nv
        if number > self.arguments:
            length = ir.round_up(length)
            self.scratch[number] = rows * length
        if clear:
            self.cleared.append((number, rows * length))
        return number

    def vector(self) -> LoopVector:
        return LoopVector(self, self._array(1))

    def zeros(self) -> dict[Degree, float]:
        return defaultdict(float)

    def cheapest(self, forms: Sequence[Callable[[], T]], loops: int = -1) -> T:
        """The form that suits large trees."""
        return forms[loops]()

    def square(self, clear: bool = True) -> LoopSquare:
        return LoopSquare(self, self._array(self.layout.nv, clear))

    def matrix(self) -> LoopMatrix:
        number = self._array(self.layout.nv)
        self.symmetric.append(number)
        return LoopMatrix(self, number)

    def factors(self, M: LoopMatrix) -> _Factors:
        return _Factors(self, M)

    def armature(self, dof: Degree) -> Operand:
        if self.layout.armature.any():
            return self.load(("armature", dof.c, dof.who))
        return 0.0

    def external_forces(self, rows: LoopVector) -> _RowForces:
        """External forces by body, loaded where they are used from the argument with a row for each
        body.
        """
        return _RowForces(self, rows.number)

    def per_joint(self, f: LoopField[Force]) -> LoopVector:
        """Write the forces of all joints that have coordinates to an output."""
        self.made += 1
        number = self.outputs.get(self.made, self.arguments + self.made)
        for i in self.outward():
            if self.classes[self.current].has_row:
                for c, x in enumerate(i.to_link(f[i]).parts()):
                    self.store(("row", number, c), self.graph.lift(x))
        return LoopVector(self, number)


def supported(model: RobotModel, name: str, options: Options) -> bool:
    """Whether a function can run as loops: of a robot that is not tied, and without a moving
    base.
    """
    return (
        bool(TABLE[name].loops)
        and not tied(model)
        and model.nb > 0
        and "moving_base" not in dict(options)
    )


def record_loops(
    model: RobotModel,
    name: str,
    options: Options = (),
    alike: bool = False,
) -> tuple[Signature, ir.LoopProgram]:
    """Record a function of the table as loops; ``alike`` for machines that run all classes of
    bodies on every body.

    Recorded twice: the first time tells which arrays are results, and which fields gather from
    children and so cannot keep the patterns with which they were first stored.
    """
    shapes = signature(model, name, options)
    arguments_count = len(shapes.inputs) + len(shapes.outputs)
    gathered: set[int] | None = None
    outputs: dict[int, int] = {}
    for _ in range(2):
        tree = LoopTree(model, outputs, arguments_count, gathered, alike)
        arguments: Any = {
            word: LoopVector(tree, number) for number, (word, _) in enumerate(shapes.inputs)
        }
        # of bodies that are classes, and of coordinates that are degrees
        vocabulary: Any = tree
        result = TABLE[name].call(vocabulary, dict(options), arguments)
        if len(shapes.outputs) == 1:
            results = [result]
        else:
            results = result
        outputs = {
            x.number - arguments_count: len(shapes.inputs) + k for k, x in enumerate(results)
        }
        gathered = tree.gathered_now
    return shapes, _program(tree)


def _program(tree: LoopTree) -> ir.LoopProgram:
    lay = tree.layout
    sections = [s for s in tree.sections if not (isinstance(s, ir.Block) and not s.stores)]
    _drop_unread(sections)
    root = ir.round_up(lay.n)
    ints = np.zeros((lay.n, len(ir.INT_FIELDS)), dtype=np.int64)
    for k, b in enumerate(lay.bodies):
        parent = b.parent
        joined = (
            parent >= 0
            and parent == k - 1
            and ElementaryKind.FREE not in (b.kind, lay.bodies[parent].kind)
        )
        joined = joined and b.v_index == lay.bodies[parent].v_index + 1
        run = ints[parent, 4] if joined else k
        ints[k] = (
            parent if parent >= 0 else root,
            b.q_index,
            b.v_index,
            tree.class_of[k],
            run,
            tree.rows[k],
            k + 1,
        )
    for k in reversed(range(lay.n)):
        if ints[k, 0] < root:
            ints[ints[k, 0], 6] = max(ints[ints[k, 0], 6], ints[k, 6])
    free = {c for c, cls in enumerate(tree.classes) if cls.kind is ElementaryKind.FREE}
    sections = _along_rows(sections, free, ints)
    _unite_blocks(sections)
    params = np.zeros((tree.constants.shape[1], root))
    params[:, : lay.n] = tree.constants.T
    program = ir.LoopProgram(
        lay.n,
        lay.nv,
        sections,
        tree.cleared,
        {},
        tree.symmetric,
        0,
        ints,
        params,
        lay.armature,
        tuple(free),
    )
    program.workspace = tree.entries * program.stride
    for number, doubles in tree.scratch.items():
        program.scratch[number] = program.workspace
        program.workspace += ir.round_up(doubles)
    return program


def _along_rows(
    sections: list[ir.Section],
    free: set[int],
    ints: np.ndarray,
) -> list[ir.Section]:
    """Stores of ancestors' loops down a column of a matrix, where they need nothing but entries of
    the two bodies, become loops along its rows; not where coordinates of the bodies beyond a joint
    are no run of numbers.
    """
    singles = [k for k in range(len(ints)) if ints[k, 3] not in free]
    inner_free = any(ints[k, 3] in free and ints[k, 0] < len(ints) for k in range(len(ints)))
    if inner_free or any(ints[k, 2] != ints[singles[0], 2] + k - singles[0] for k in singles):
        return sections
    result: list[ir.Section] = []
    for section in sections:
        result.append(section)
        if not isinstance(section, ir.BodyLoop):
            continue
        of_single = [block for c, block in section.blocks.items() if c not in free]
        loops = [loop for block in of_single for loop in block.loops if loop.degrees == 1]
        if len(loops) < len(of_single) or any(
            s.location[0] == "record" for block in of_single for s in block.stores
        ):
            continue
        taken = [[s for s in loop.stores if _down_a_column(s)] for loop in loops]
        forms = {
            (tuple(s.location for s in stores), form_of([s.value for s in stores]))
            for stores in taken
        }
        if taken[0] and len(forms) == 1:
            result.append(ir.PairLoop(taken[0]))
            for loop, stores in zip(loops, taken, strict=True):
                loop.stores = [s for s in loop.stores if s not in stores]
    return result


def _down_a_column(store: ir.LoopStore) -> bool:
    """Whether a store goes down a column of a matrix, and its value needs but entries of the two
    bodies.
    """
    leaves = [node.a[0] for node in reachable([store.value]) if node.op == "leaf"]
    down = store.location[0] == "matrix" and store.location[2][0] == "j"
    return down and all(x[0] == "record" and x[2] in ("i", "j") for x in leaves)


def _unite_blocks(sections: list[ir.Section]) -> None:
    """One block for all classes whose blocks do the same."""
    for section in sections:
        if isinstance(section, ir.BodyLoop):
            known: dict[tuple[Any, ...], ir.Block] = {}
            for c, block in section.blocks.items():
                groups = [(0, block.stores), *((loop.degrees, loop.stores) for loop in block.loops)]
                form = tuple(
                    (degrees, tuple(s.location for s in stores), form_of([s.value for s in stores]))
                    for degrees, stores in groups
                )
                section.blocks[c] = known.setdefault(form, block)


def _drop_unread(sections: list[ir.Section]) -> None:
    """Remove stores to records that nothing loads."""
    while True:
        read: set[tuple[str, int]] = set()
        for block in _blocks(sections):
            values = [s.value for s in block.stores] + [
                s.value for loop in block.loops for s in loop.stores
            ]
            for node in reachable(values):
                if node.op == "leaf" and node.a[0][0] == "record":
                    read.add(node.a[0][:2])
        dropped = False
        for block in _blocks(sections):
            keep = [s for s in block.stores if s.location[0] != "record" or s.location[:2] in read]
            dropped |= len(keep) < len(block.stores)
            block.stores = keep
        if not dropped:
            return


def _blocks(sections: list[ir.Section]) -> Iterator[ir.Block]:
    for s in sections:
        if isinstance(s, ir.BodyLoop):
            yield from s.blocks.values()
        elif isinstance(s, ir.PairLoop):
            yield ir.Block(s.stores)
        elif not isinstance(s, ir.Linear):
            yield s.block if isinstance(s, ir.DegreeLoop) else s
