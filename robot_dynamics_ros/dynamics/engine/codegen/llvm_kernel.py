"""A whole LLVM module for one traced function: one state, many states, and a call wrapper that checks its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_flow import Writer
from robot_dynamics_ros.dynamics.engine.codegen.llvm_pieces import piece_function
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import DECLARATIONS, Emitter, angles_of, trig_nodes
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument, python_wrapper

ANGLES = 4
"""Sines and cosines of one state that are computed side by side, at most."""


def pointers(arguments: Sequence[ArrayArgument]) -> str:
    """The parameter list of a kernel's pointers."""
    return ", ".join(f"ptr %p{k}" for k in range(len(arguments)))


def kernel_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    """LLVM assembly with ``@single``, ``@batch`` (one state after the other) and the call wrapper.

    Leaves are keyed (input number, flat index).  Output arrays are the arguments marked so, in order.

    Args:
        width: doubles that a vector register holds.
    """
    return "\n".join([callee_module(arguments, outputs, width), python_wrapper(arguments)])


def callee_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    """The same without the call wrapper: for compiled code to call."""
    single = _single(Emitter(1), arguments, outputs, min(ANGLES, width))
    return "\n".join([DECLARATIONS, Emitter(min(ANGLES, width)).declarations, single, batch_function(arguments)])


def wide_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    """LLVM assembly with ``@wide``: many states, ``width`` of them side by side, see :func:`_wide`; and a ``@piece`` of them.

    Apart from :func:`kernel_module` because it takes the compiler as long again, and only batches need it.
    """
    vector = Emitter(width, "w")
    parts = [DECLARATIONS, vector.declarations, _several(vector, arguments, outputs), _wide(arguments, width)]
    parts.append(piece_function(arguments, "wide", further=True))
    return "\n".join(parts)


def _single(e: Emitter, arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    flat = [x for output in outputs for x in output]
    nodes = reachable(flat)
    angles = angles_of(flat)

    def load(node: Expr) -> str:
        number, index = node.a
        address = e.put(f"getelementptr inbounds double, ptr %p{number}, i64 {index}")
        return e.put(f"load double, ptr {address}, align 8")

    e.emit([x for x in nodes if x.op == "leaf"], load)  # an output may be an input's array
    e.emit(reachable(angles), load)
    e.trigonometry(angles, nodes, ("near", "far", "ready"), width)
    places: dict[int, list[str]] = {}
    for k, output in zip((k for k, a in enumerate(arguments) if a.output), outputs, strict=True):
        for index, node in enumerate(output):
            places.setdefault(node.id, []).append(f"ptr %p{k}, i64 {index}")
    for node in nodes:  # a result is stored as soon as it is there: to the end it would be kept on the stack
        e.emit([node], load)
        for place in places.get(node.id, ()):
            address = e.put(f"getelementptr inbounds double, {place}")
            e.lines.append(f"  store double {e.text(node)}, ptr {address}, align 8")
    return "\n".join(
        [f"define internal void @single({pointers(arguments)}) nounwind {{", "entry:", *e.lines, "  ret void", "}"]
    )


def _several(e: Emitter, arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]]) -> str:
    """``i1 @several(pointers)``: ``width`` consecutive states; false, and nothing written, if an angle is too large."""
    flat = [x for output in outputs for x in output]
    nodes = reachable(flat)
    angles = angles_of(flat)

    def load(node: Expr) -> str:
        number, index = node.a
        value = "undef"
        for lane in range(e.width):
            address = e.put(
                f"getelementptr inbounds double, ptr %p{number}, i64 {lane * arguments[number].size + index}"
            )
            part = e.put(f"load double, ptr {address}, align 8")
            value = e.put(f"insertelement {e.type} {value}, double {part}, i32 {lane}")
        return value

    e.emit(reachable(angles), load)
    if angles:
        names = [e.text(x) for x in angles]
        fine = e.within_limit(names)
        e.lines.append(f"  br i1 {fine}, label %near, label %far\nfar:\n  ret i1 false\nnear:")
        trig = trig_nodes(nodes, angles)
        for x, name in zip(angles, names, strict=True):
            for op, value in zip(("sin", "cos"), e.sine_cosine(name), strict=True):
                if op in trig[x.id]:
                    e.names[trig[x.id][op].id] = value
    e.emit(nodes, load)
    # results go to a table first and from there to their places in a loop: writing them one lane at a time in a
    # straight line would take the compiler seconds for a matrix
    head = []
    for k, output in zip((k for k, a in enumerate(arguments) if a.output), outputs, strict=True):
        head.append(f"  %table{k} = alloca [{len(output)} x {e.type}], align 64")
        for index, node in enumerate(output):
            address = e.put(f"getelementptr inbounds {e.type}, ptr %table{k}, i64 {index}")
            e.lines.append(f"  store {e.type} {e.text(node)}, ptr {address}, align {8 * e.width}")
        e.lines.append(f"  call void @scatter(ptr %table{k}, ptr %p{k}, i64 {len(output)})")
    lines = [f"define internal i1 @several({pointers(arguments)}) nounwind {{", "entry:", *head, *e.lines]
    return "\n".join([*lines, "  ret i1 true", "}", _scatter(e.width)])


def _scatter(width: int) -> str:
    """``void @scatter(table, out, n)``: n vectors of ``width`` lanes to ``width`` rows of n."""
    w = Writer()
    rows = [w.put(f"mul i64 %n, {lane}") for lane in range(width)]

    def one(k: str) -> None:
        table = w.put(f"getelementptr inbounds <{width} x double>, ptr %table, i64 {k}")
        for lane, row in enumerate(rows):
            value = w.put(f"load double, ptr {w.at(table, str(lane))}, align 8")
            w.line(f"store double {value}, ptr {w.at('%out', w.put(f'add i64 {row}, {k}'))}, align 8")

    w.loop("0", "%n", 1, one)
    w.line("ret void")
    return w.function("internal void @scatter(ptr noalias %table, ptr noalias %out, i64 %n) nounwind noinline")


def _rows(w: Writer, arguments: Sequence[ArrayArgument], state: str) -> str:
    """The arrays' rows for one state, as arguments of a call."""
    return ", ".join(f"ptr {w.bytes_at(f'%p{k}', state, 8 * a.size)}" for k, a in enumerate(arguments))


def batch_function(arguments: Sequence[ArrayArgument], extra: int = 0) -> str:
    """``void @batch(i64 begin, i64 end, pointers)``: states begin to end of (N, size) arrays, one after the other.

    Args:
        extra: number of further pointers, handed on as they are.
    """
    w, further = Writer(), "".join(f", ptr %extra{k}" for k in range(extra))
    w.loop("%begin", "%end", 1, lambda j: w.line(f"call void @single({_rows(w, arguments, j)}{further})"))
    w.line("ret void")
    return w.function(f"void @batch(i64 %begin, i64 %end, {pointers(arguments)}{further}) nounwind")


def _wide(arguments: Sequence[ArrayArgument], width: int) -> str:
    """``void @wide(i64 begin, i64 end, pointers, ptr batch)``: as ``@batch``, whose address comes last and which does the
    states whose angles are too large, and those left over at the end."""
    w, every = Writer(), pointers(arguments)

    def side_by_side(i: str) -> None:
        done = w.put(f"call i1 @several({_rows(w, arguments, i)})")
        careful, following = w.fresh("careful"), w.fresh("next")
        w.line(f"br i1 {done}, label %{following}, label %{careful}")
        w.start(careful)
        w.line(f"call void %one_by_one(i64 {i}, i64 {w.put(f'add i64 {i}, {width}')}, {every})")
        w.jump(following)
        w.start(following)

    whole = w.put(f"and i64 {w.put('sub i64 %end, %begin')}, {-width}")
    rest = w.put(f"add i64 %begin, {whole}")
    w.loop("%begin", rest, width, side_by_side)
    w.line(f"call void %one_by_one(i64 {rest}, i64 %end, {every})")
    w.line("ret void")
    return w.function(f"void @wide(i64 %begin, i64 %end, {every}, ptr %one_by_one) nounwind")
