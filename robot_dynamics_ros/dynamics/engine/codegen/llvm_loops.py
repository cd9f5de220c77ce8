"""An LLVM module for a recorded loop program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen import loop_program as ir
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import batch_function
from robot_dynamics_ros.dynamics.engine.codegen.llvm_linear import LinearWriter, tables
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import (
    DECLARATIONS,
    Emitter,
    angles_of,
    masked_declarations,
)
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument, python_wrapper

EXTRA = "ptr %ints, ptr %params, ptr %armature, ptr %work"
SIDE_BY_SIDE = 4
"""Ancestors that are computed at once, at most: with longer vectors a robot's few ancestors do not
pay for the setup.
"""


def loop_module(
    arguments: Sequence[ArrayArgument],
    program: ir.LoopProgram,
    width: int,
) -> str:
    """LLVM assembly with ``@single``, ``@batch`` and the Python entry, which find the program's
    tables and working
    memory by four further pointers: integers, constants, rotor inertias, workspace."""
    writer = LoopWriter(program, width)
    names = ", ".join(f"ptr noalias %p{k}" for k in range(len(arguments)))
    parts = [
        DECLARATIONS,
        *sorted({masked_declarations(e.width) for e in (writer.wide, writer.rows) if e.width > 1}),
        *tables(program),
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
        f"define internal void @single({names}, {EXTRA}) nounwind {{",
        "entry:",
        *writer.program(),
        "  ret void",
        "}",
        batch_function(arguments, extra=4),
        python_wrapper(arguments, disjoint=True, extra=4),
        "!0 = !{}",
    ]
    return "\n".join(parts)


class LoopWriter(LinearWriter):
    """Writes a program, statement by statement."""

    def __init__(self, program: ir.LoopProgram, width: int) -> None:
        super().__init__(program, width)
        if width > 1:
            self.wide = Emitter(min(SIDE_BY_SIDE, width), "w")
        else:
            self.wide = self.e
        self.wide.lines = self.e.lines

    def program(self) -> list[str]:
        for number, start in self.p.scratch.items():
            self.line(f"%p{number} = getelementptr inbounds double, ptr %work, i64 {start}")
        for number, size in self.p.cleared:
            self.line(
                f"call void @llvm.memset.p0.i64(ptr align 8 %p{number}, i8 0, i64 {8 * size}, i1 "
                "false)"
            )
        for section in self.p.sections:
            if isinstance(section, ir.BodyLoop):
                self.body_loop(section)
            elif isinstance(section, ir.PairLoop):
                self.pair_loop(section)
            elif isinstance(section, ir.DegreeLoop):
                self.degree_loop(section)
            elif isinstance(section, ir.Linear):
                getattr(self, section.what)(section)
            else:
                self.block(section, {})
        for number in self.p.symmetric:
            self.mirror(f"%p{number}", self.p.nv)
        return self.e.lines

    def degree_loop(self, section: ir.DegreeLoop) -> None:
        self.loop("0", str(self.p.nv), 1, lambda x: self.block(section.block, {"dof": x}))

    def body_loop(self, section: ir.BodyLoop) -> None:
        blocks = {c: b for c, b in section.blocks.items() if b.stores or b.loops}
        if not blocks:
            return

        if section.apart:
            shared = next((b for c, b in blocks.items() if c not in self.p.free_classes), None)
            if shared is not None:
                self.loop(
                    "0", str(self.p.n), self.wide.width, lambda i: self.side_by_side(shared, i)
                )
            # after it: its last vectors wrote there, too
            blocks = {c: b for c, b in blocks.items() if b is not shared}
            if not blocks:
                return

        def each(i: str) -> None:
            context = {"i": i, "p": self.integer(i, "parent")}
            distinct = list(dict.fromkeys(blocks.values()))
            if len(distinct) == 1 and len(blocks) == len(section.blocks):
                self.block(distinct[0], context)
                return
            kind = self.integer(i, "class")
            join = self.fresh("join")
            targets = {block: self.fresh("class") for block in distinct}
            cases = " ".join(f"i64 {c}, label %{targets[block]}" for c, block in blocks.items())
            self.line(f"switch i64 {kind}, label %{join} [ {cases} ]")
            for block in distinct:
                self.start(targets[block])
                self.block(block, context)
                self.jump(join)
            self.start(join)

        if section.inward:
            self.loop(str(self.p.n - 1), "-1", -1, each)
        else:
            self.loop("0", str(self.p.n), 1, each)

    # -- memory ------------------------------------------------------------------------------------

    def integer(self, index: str, name: str) -> str:
        address = self.put(f"mul nsw i64 {index}, {len(ir.INT_FIELDS)}")
        address = self.put(f"add nsw i64 {address}, {ir.INT_FIELDS.index(name)}")
        address = self.put(f"getelementptr inbounds i64, ptr %ints, i64 {address}")
        return self.put(f"load i64, ptr {address}, align 8, !invariant.load !0")

    def degree(self, which: tuple[str, int], context: dict[str, str]) -> tuple[str, int]:
        """(index, offset) of a degree of freedom."""
        who, c = which
        if who == "dof":
            return context["dof"], 0
        key = f"v_{who}"
        if key not in context:
            context[key] = self.integer(context[who], "v_index")
        return context[key], c

    def address(self, location: ir.Location, context: dict[str, str]) -> str:
        what = location[0]
        if what == "record":
            _, k, who = location
            return self.at(
                "%work", str(self.p.root) if who == "root" else context[who], 1, k * self.p.stride
            )
        if what == "param":
            return self.at("%params", context["i"], 1, location[1] * self.p.params.shape[1])
        if what == "armature":
            index, offset = self.degree((location[2], location[1]), context)
            return self.at("%armature", index, 1, offset)
        if what == "row":
            _, number, c = location
            if "row" not in context:
                context["row"] = self.integer(context["i"], "joint_row")
            return self.at(f"%p{number}", context["row"], 6, c)
        if what == "matrix":
            _, number, row, column = location
            r, dr = self.degree(row, context)
            c, dc = self.degree(column, context)
            if dr:
                r = self.put(f"add nsw i64 {r}, {dr}")
            index = self.put(f"mul nsw i64 {r}, {self.row_length(number)}")
            return self.at(f"%p{number}", self.put(f"add nsw i64 {index}, {c}"), 1, dc)
        _, number, kind, c, who = location
        if kind == "flat":
            return self.put(f"getelementptr inbounds double, ptr %p{number}, i64 {c}")
        if kind == "q":
            if "q_i" not in context:
                context["q_i"] = self.integer(context["i"], "q_index")
            return self.at(f"%p{number}", context["q_i"], 1, c)
        index, offset = self.degree((who, c), context)
        return self.at(f"%p{number}", index, 1, offset)

    # -- blocks ------------------------------------------------------------------------------------

    def block(self, block: ir.Block, context: dict[str, str]) -> None:
        e = self.e
        e.names = {}
        context = dict(context)
        inner = [s.value for loop in block.loops for s in loop.stores]
        nodes = reachable([s.value for s in block.stores] + inner)
        of_ancestor = _depending_on("j", nodes)
        outer = [node for node in nodes if node.id not in of_ancestor]

        def load(node: Expr) -> str:
            return self.put(f"load double, ptr {self.address(node.a[0], context)}, align 8")

        angles = [
            x
            for x in angles_of([n for n in outer if n.op in ("sin", "cos")])
            if x.id not in of_ancestor
        ]
        e.emit(reachable(angles), load)
        if angles:
            labels = [self.fresh(w) for w in ("near", "far", "ready")]
            e.trigonometry(angles, outer, labels)
            self.label = labels[-1]
        e.emit(outer, load)
        for loop in block.loops:
            self.ancestor_loop(loop, context, of_ancestor)
        for store in block.stores:
            self.store(store, context)

    def side_by_side(self, block: ir.Block, i: str) -> None:
        """A block for as many bodies as fit side by side; the last ones may be none."""
        e = self.wide
        context = {"i": i}
        e.names = {}
        values = reachable([s.value for s in block.stores])
        e.emit(values, lambda n: self.loaded(e, n, context))
        for s in block.stores:
            self.line(
                f"store {e.type} {e.text(s.value)}, ptr {self.address(s.location, context)}, "
                "align 8"
            )

    def store(self, store: ir.LoopStore, context: dict[str, str]) -> None:
        self.line(
            f"store double {self.e.text(store.value)}, ptr "
            f"{self.address(store.location, context)}, align 8"
        )

    def ancestor_loop(
        self,
        loop: ir.AncestorLoop,
        context: dict[str, str],
        of_ancestor: set[int],
    ) -> None:
        """Ancestors come in runs of consecutive numbers: within one, memory is contiguous and
        several go side by side.

        Entries are read up to a vector's length beyond their end: what is there is not stored."""
        if not loop.stores:
            return
        e = self.e
        nodes = [n for n in reachable([s.value for s in loop.stores]) if n.id in of_ancestor]
        if "v_i" not in context:
            self.degree(("i", 0), context)
        outside = dict(context)
        if loop.degrees == 1:
            splats = self.splats(nodes, loop.stores, of_ancestor)
        else:
            splats = {}
        head, run, done = (self.fresh(w) for w in ("run", "within", "up"))
        before = self.label
        self.jump(head)
        self.start(head)
        top = f"%{self.fresh('top')}"
        phi = len(e.lines)
        # the phi, once its other edge is known
        self.line("")
        more = self.put(f"icmp slt i64 {top}, {self.p.n}")
        self.line(f"br i1 {more}, label %{run}, label %{done}")
        self.start(run)
        low = self.integer(top, "run_start")
        skip = self.fresh("next")
        if self.p.free_classes:
            kind = self.integer(top, "class")
            is_free = "false"
            for c in self.p.free_classes:
                same = self.put(f"icmp eq i64 {kind}, {c}")
                if is_free == "false":
                    is_free = same
                else:
                    is_free = self.put(f"or i1 {is_free}, {same}")
            mine = self.fresh("mine")
            yes, no = (mine, skip) if loop.degrees == 6 else (skip, mine)
            self.line(f"br i1 {is_free}, label %{yes}, label %{no}")
            self.start(mine)
        inside = {**outside, "v_j": self.integer(low, "v_index")}
        if loop.degrees == 6:
            inside["j"] = low
            kept = dict(e.names)
            e.emit(nodes, lambda n: self.loaded(e, n, inside))
            for store in loop.stores:
                self.store(store, inside)
            e.names = kept
        else:
            self.wide.names = splats
            self.run(loop.stores, nodes, inside, "j", low, self.put(f"add nsw i64 {top}, 1"))
        self.jump(skip)
        self.start(skip)
        up = self.integer(low, "parent")
        e.lines[phi] = f"  {top} = phi i64 [ {context['p']}, %{before} ], [ {up}, %{self.label} ]"
        self.jump(head)
        self.start(done)

    def pair_loop(self, section: ir.PairLoop) -> None:
        nodes = reachable([s.value for s in section.stores])
        of_inner = _depending_on("i", nodes)
        inner = [n for n in nodes if n.id in of_inner]

        def each(j: str) -> None:
            context = {"j": j}
            first = self.put(f"add nsw i64 {j}, 1")
            context["v_i"] = self.put(f"add nsw i64 {self.degree(('j', 0), context)[0]}, 1")
            self.e.names = {}
            self.e.emit(
                [n for n in nodes if n.id not in of_inner],
                lambda n: self.loaded(self.e, n, context),
            )
            self.wide.names = self.splats(inner, section.stores, of_inner)
            self.run(section.stores, inner, context, "i", first, self.integer(j, "end"))

        self.each_single(each)

    def each_single(self, body: Callable[[str], None]) -> None:
        """For all bodies with one degree of freedom."""

        def chosen(j: str) -> None:
            kind = self.integer(j, "class")
            following = self.fresh("next")
            mine = self.fresh("single")
            cases = " ".join(f"i64 {c}, label %{following}" for c in self.p.free_classes)
            self.line(f"switch i64 {kind}, label %{mine} [ {cases} ]")
            self.start(mine)
            body(j)
            self.jump(following)
            self.start(following)

        self.loop("0", str(self.p.n), 1, chosen if self.p.free_classes else body)

    def loaded(self, e: Emitter, leaf: Expr, context: dict[str, str]) -> str:
        return e.put(f"load {e.type}, ptr {self.address(leaf.a[0], context)}, align 8")

    def splats(
        self,
        inner: Sequence[Expr],
        stores: Sequence[ir.LoopStore],
        dependent: set[int],
    ) -> dict[int, str]:
        """The values that an inner loop takes from outside, in all lanes."""
        used = {x.id: x for n in inner for x in n.operands} | {s.value.id: s.value for s in stores}
        outside = [x for x in used.values() if x.id not in dependent and x.op != "const"]
        return {x.id: self.wide.repeated(self.e.text(x)) for x in outside}

    def run(
        self,
        stored: Sequence[ir.LoopStore],
        nodes: Sequence[Expr],
        context: dict[str, str],
        who: str,
        low: str,
        end: str,
    ) -> None:
        """Stores for a run of bodies ``who``, which have one degree of freedom: whole vectors, then
        what is left, as stores of some lanes take some processors long.
        """

        def stores(j: str, lanes: str = "") -> None:
            step = self.put(f"sub nsw i64 {j}, {low}")
            place = {
                **context,
                who: j,
                f"v_{who}": self.put(f"add nsw i64 {context[f'v_{who}']}, {step}"),
            }
            kept = dict(e.names)
            e.emit(nodes, lambda n: self.loaded(e, n, place))
            for store in stored:
                self.store_of_run(store, place, who, lanes)
            e.names = kept

        e = self.wide
        whole = self.put(f"and i64 {self.put(f'sub nsw i64 {end}, {low}')}, {-e.width}")
        rest = self.put(f"add nsw i64 {low}, {whole}")
        self.loop(low, rest, e.width, stores)
        self.loop(
            rest, end, e.width, lambda j: stores(j, e.mask(self.put(f"sub nsw i64 {end}, {j}")))
        )

    def store_of_run(
        self,
        store: ir.LoopStore,
        context: dict[str, str],
        who: str,
        lanes: str,
    ) -> None:
        """Store some lanes of a value in a matrix, or all."""
        e, (_, number, row, _) = self.wide, store.location
        address = self.address(store.location, context)
        value = e.text(store.value)
        # down a column
        if row[0] == who:
            columns = f"<{e.width} x i64> {e.iota(self.row_length(number))}"
            address = e.put(f"getelementptr inbounds double, ptr {address}, {columns}")
            e.masked_store(value, address, lanes or e.all_lanes, scattered=True)
        elif lanes:
            e.masked_store(value, address, lanes)
        else:
            self.line(f"store {e.type} {value}, ptr {address}, align 8")

    def mirror(self, matrix: str, n: int) -> None:
        """Copy the lower half to the upper."""

        def row(i: str) -> None:
            below = self.put(f"mul nsw i64 {i}, {n}")

            def column(j: str) -> None:
                value = self.put(
                    f"load double, ptr {self.at(matrix, self.put(f'add nsw i64 {below}, {j}'))}, "
                    "align 8"
                )
                above = self.put(f"add nsw i64 {self.put(f'mul nsw i64 {j}, {n}')}, {i}")
                self.line(f"store double {value}, ptr {self.at(matrix, above)}, align 8")

            self.loop("0", i, 1, column)

        self.loop("0", str(n), 1, row)


def _depending_on(who: str, nodes: Sequence[Expr]) -> set[int]:
    """Numbers of the nodes that need something of a body."""
    dependent: set[int] = set()
    for node in nodes:
        if node.op == "leaf":
            location = node.a[0]
            last = location[-1]
            if last == who or (isinstance(last, tuple) and last[0] == who):
                dependent.add(node.id)
        elif any(x.id in dependent for x in node.operands):
            dependent.add(node.id)
    return dependent
