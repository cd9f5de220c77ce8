"""An LLVM module for a recorded loop program."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_flow import Flow
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import batch_function
from robot_dynamics_ros.dynamics.engine.codegen.llvm_linear import linear_step, tables
from robot_dynamics_ros.dynamics.engine.codegen.llvm_pieces import piece_function
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import DECLARATIONS, Emitter, angles_of, masked_declarations
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument, python_wrapper
from robot_dynamics_ros.dynamics.engine.codegen.loop_program import (
    INT_FIELDS,
    AncestorLoop,
    Block,
    BodyLoop,
    DegreeLoop,
    Linear,
    Location,
    LoopProgram,
    Store,
)

EXTRA = "ptr %ints, ptr %params, ptr %armature, ptr %work"
TILE = 8
SIDE_BY_SIDE = 4
"""Ancestors that are computed at once, at most: with longer vectors a robot's few ancestors do not pay for the setup."""


def loop_module(arguments: Sequence[ArrayArgument], program: LoopProgram, width: int) -> str:
    """LLVM assembly with ``@single``, ``@batch``, ``@piece`` and the Python entry, which find the program's tables and working
    memory, by four further pointers: integers, constants, rotor inertias, workspace.

    Args:
        width: doubles that a vector register holds.
    """
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
        piece_function(arguments, "batch", extra=4),
        python_wrapper(arguments, disjoint=True, extra=4),
        "!0 = !{}",
    ]
    return "\n".join(parts)


class LoopWriter(Flow):
    """Writes a program, statement by statement."""

    def __init__(self, program: LoopProgram, width: int) -> None:
        super().__init__(program, width)
        self.wide = Emitter(min(SIDE_BY_SIDE, width), "w") if width > 1 else self.e
        self.wide.lines = self.e.lines

    def program(self) -> list[str]:
        for number, start in self.p.scratch.items():
            self.line(f"%p{number} = getelementptr inbounds double, ptr %work, i64 {start}")
        for number, size in self.p.cleared:
            self.line(f"call void @llvm.memset.p0.i64(ptr align 8 %p{number}, i8 0, i64 {8 * size}, i1 false)")
        for section in self.p.sections:
            if isinstance(section, BodyLoop):
                self.body_loop(section)
            elif isinstance(section, DegreeLoop):
                self.degree_loop(section)
            elif isinstance(section, Linear):
                linear_step(self, section)
            else:
                self.block(section, {})
        for number in self.p.symmetric:
            self.mirror(f"%p{number}", self.p.nv)
        return self.e.lines

    def degree_loop(self, section: DegreeLoop) -> None:
        self.loop("0", str(self.p.nv), 1, lambda x: self.block(section.block, {"dof": x}))

    def body_loop(self, section: BodyLoop) -> None:
        blocks = {c: b for c, b in section.blocks.items() if b.stores or b.loops}
        if not blocks:
            return

        def each(i: str) -> None:
            context = {"i": i, "p": self.integer(i, "parent")}
            if len(section.blocks) == 1:
                self.block(next(iter(blocks.values())), context)
                return
            kind, join = self.integer(i, "class"), self.fresh("join")
            targets = {c: self.fresh("class") for c in blocks}
            cases = " ".join(f"i64 {c}, label %{target}" for c, target in targets.items())
            self.line(f"switch i64 {kind}, label %{join} [ {cases} ]")
            for c, block in blocks.items():
                self.start(targets[c])
                self.block(block, context)
                self.jump(join)
            self.start(join)

        if section.inward:
            self.loop(str(self.p.n - 1), "-1", -1, each)
        else:
            self.loop("0", str(self.p.n), 1, each)

    # -- memory ----------------------------------------------------------------------------------------------------

    def integer(self, index: str, name: str) -> str:
        address = self.put(f"mul nsw i64 {index}, {len(INT_FIELDS)}")
        address = self.put(f"add nsw i64 {address}, {INT_FIELDS.index(name)}")
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

    def address(self, location: Location, context: dict[str, str]) -> str:
        what = location[0]
        if what == "record":
            _, k, who = location
            if who == "root" or isinstance(who, int):
                return self.at("%work", str(self.p.n if who == "root" else who), self.p.record, k)
            key = f"record_{who}"
            if key not in context:
                context[key] = self.at("%work", context[who], self.p.record)
            return self.put(f"getelementptr inbounds double, ptr {context[key]}, i64 {k}")
        if what == "column":
            _, k, who = location
            return self.at("%work", context[who], 1, (self.p.n + 1) * self.p.record + k * self.p.n)
        if what == "param":
            return self.at("%params", context["i"], self.p.params.shape[1], location[1])
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

    # -- blocks ----------------------------------------------------------------------------------------------------

    def block(self, block: Block, context: dict[str, str]) -> None:
        e = self.e
        e.names = {}
        context = dict(context)
        inner = [s.value for loop in block.loops for s in loop.stores]
        nodes = reachable([s.value for s in block.stores] + inner)
        of_ancestor = _depending_on_ancestor(nodes)
        outer = [node for node in nodes if node.id not in of_ancestor]

        def load(node: Expr) -> str:
            return self.put(f"load double, ptr {self.address(node.a[0], context)}, align 8")

        angles = [x for x in angles_of([n for n in outer if n.op in ("sin", "cos")]) if x.id not in of_ancestor]
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

    def store(self, store: Store, context: dict[str, str]) -> None:
        self.line(f"store double {self.e.text(store.value)}, ptr {self.address(store.location, context)}, align 8")

    def ancestor_loop(self, loop: AncestorLoop, context: dict[str, str], of_ancestor: set[int]) -> None:
        """Ancestors come in runs of consecutive numbers: within one, memory is contiguous and several go side by side.

        Columns are read up to a vector's length beyond their end: what is there is not stored."""
        if not loop.stores:
            return
        e = self.e
        nodes = [n for n in reachable([s.value for s in loop.stores]) if n.id in of_ancestor]
        if "v_i" not in context:
            self.degree(("i", 0), context)
        outside = dict(context)
        wide = self.wide
        shared = {x.id: x for n in nodes for x in n.operands} | {s.value.id: s.value for s in loop.stores}
        needed = (
            [x for x in shared.values() if x.id not in of_ancestor and x.op != "const"] if loop.degrees == 1 else []
        )
        splats = {x.id: wide.repeated(e.text(x)) for x in needed} if wide is not e else dict(e.names)
        head, run, done = (self.fresh(w) for w in ("run", "within", "up"))
        before = self.label
        self.jump(head)
        self.start(head)
        top = f"%{self.fresh('top')}"
        phi = len(e.lines)
        self.line("")  # the phi, once its other edge is known
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
                is_free = same if is_free == "false" else self.put(f"or i1 {is_free}, {same}")
            mine = self.fresh("mine")
            yes, no = (mine, skip) if loop.degrees == 6 else (skip, mine)
            self.line(f"br i1 {is_free}, label %{yes}, label %{no}")
            self.start(mine)
        inside = {**outside, "v_j": self.integer(low, "v_index")}
        if loop.degrees == 6:
            self.stores_of_ancestor(e, loop, nodes, {**inside, "j": low})
        else:
            wide.names = dict(splats)

            def block(j: str) -> None:
                step = self.put(f"sub nsw i64 {j}, {low}")
                place = {**inside, "j": j, "v_j": self.put(f"add nsw i64 {inside['v_j']}, {step}")}
                if wide is not e:
                    place["count"] = self.put(f"sub nsw i64 {end}, {j}")
                self.stores_of_ancestor(wide, loop, nodes, place)

            end = self.put(f"add nsw i64 {top}, 1")
            self.loop(low, end, self.wide.width, block)
        self.jump(skip)
        self.start(skip)
        up = self.integer(low, "parent")
        e.lines[phi] = f"  {top} = phi i64 [ {context['p']}, %{before} ], [ {up}, %{self.label} ]"
        self.jump(head)
        self.start(done)

    def stores_of_ancestor(
        self, e: Emitter, loop: AncestorLoop, nodes: Sequence[Expr], context: dict[str, str]
    ) -> None:
        """The stores for one ancestor, or for as many as fit side by side, of which ``count`` are there."""
        kept = dict(e.names)
        e.emit(nodes, lambda n: e.put(f"load {e.type}, ptr {self.address(n.a[0], context)}, align 8"))
        lanes = e.mask(context["count"]) if e.width > 1 else ""
        for store in loop.stores:
            if e.width == 1:
                self.store(store, context)
                continue
            address, value = self.address(store.location, context), e.text(store.value)
            if store.location[2][0] == "j":  # down a column of the matrix
                address = e.put(
                    f"getelementptr inbounds double, ptr {address}, <{e.width} x i64> {e.iota(self.row_length(store.location[1]))}"
                )
            e.masked_store(value, address, lanes, scattered=store.location[2][0] == "j")
        e.names = kept

    def mirror(self, matrix: str, n: int) -> None:
        """Copy the lower half to the upper, in tiles that stay in cache."""

        def tile_row(a: str) -> None:
            a_end = self.smaller(self.put(f"add nsw i64 {a}, {TILE}"), n)

            def tile_column(b: str) -> None:
                b_end = self.smaller(self.put(f"add nsw i64 {b}, {TILE}"), n)

                def column(j: str) -> None:
                    to = self.put(f"mul nsw i64 {j}, {n}")

                    def row(i: str) -> None:
                        below = self.put(f"mul nsw i64 {i}, {n}")
                        source = self.at(matrix, self.put(f"add nsw i64 {below}, {j}"))
                        target = self.at(matrix, self.put(f"add nsw i64 {to}, {i}"))
                        value = self.put(f"load double, ptr {source}, align 8")
                        self.line(f"store double {value}, ptr {target}, align 8")

                    later = self.put(f"icmp sgt i64 {j}, {a}")
                    self.loop(self.put(f"select i1 {later}, i64 {j}, i64 {a}"), a_end, 1, row)

                self.loop(b, b_end, 1, column)

            self.loop("0", self.put(f"add nsw i64 {a}, 1"), TILE, tile_column)

        self.loop("0", str(n), TILE, tile_row)

    def smaller(self, a: str, bound: int) -> str:
        less = self.put(f"icmp slt i64 {a}, {bound}")
        return self.put(f"select i1 {less}, i64 {a}, i64 {bound}")


def _depending_on_ancestor(nodes: Sequence[Expr]) -> set[int]:
    dependent: set[int] = set()
    for node in nodes:
        if node.op == "leaf":
            location = node.a[0]
            last = location[-1]
            if last == "j" or (isinstance(last, tuple) and last[0] == "j"):
                dependent.add(node.id)
        elif any(x.id in dependent for x in node.operands):
            dependent.add(node.id)
    return dependent
