"""A whole LLVM module for one traced function: one state, many states, and a call wrapper that checks its arguments."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_pieces import piece_function
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import DECLARATIONS, Emitter, angles_of, trig_nodes
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument, python_wrapper


def pointers(arguments: Sequence[ArrayArgument]) -> str:
    """The parameter list of a kernel's pointers."""
    return ", ".join(f"ptr %p{k}" for k in range(len(arguments)))


def kernel_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]]) -> str:
    """LLVM assembly with ``@single``, ``@batch`` (one state after the other) and the call wrapper.

    Leaves are keyed (input number, flat index).  Output arrays are the arguments marked so, in order.
    """
    parts = [
        DECLARATIONS,
        _single(Emitter(1), arguments, outputs),
        batch_function(arguments),
        python_wrapper(arguments),
    ]
    return "\n".join(parts)


def callee_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]]) -> str:
    """The same without the call wrapper: for compiled code to call."""
    return "\n".join([DECLARATIONS, _single(Emitter(1), arguments, outputs), batch_function(arguments)])


def wide_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    """LLVM assembly with ``@wide``: many states, ``width`` of them side by side, see :func:`_wide`; and a ``@piece`` of them.

    Apart from :func:`kernel_module` because it takes the compiler as long again, and only batches need it.
    """
    vector = Emitter(width, "w")
    parts = [DECLARATIONS, vector.declarations, _several(vector, arguments, outputs), _wide(arguments, width)]
    parts.append(piece_function(arguments, "wide", further=True))
    return "\n".join(parts)


def _single(e: Emitter, arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]]) -> str:
    flat = [x for output in outputs for x in output]
    nodes = reachable(flat)
    angles = angles_of(flat)

    def load(node: Expr) -> str:
        number, index = node.a
        address = e.put(f"getelementptr inbounds double, ptr %p{number}, i64 {index}")
        return e.put(f"load double, ptr {address}, align 8")

    e.emit(reachable(angles), load)
    if angles:
        names = [e.text(x) for x in angles]
        fine = e.within_limit(names)
        e.lines.append(f"  br i1 {fine}, label %near, label %far\nnear:")
        near = [e.sine_cosine(x) for x in names]
        e.lines.append("  br label %ready\nfar:")
        far = [(e.put(f"call double @sin(double {x})"), e.put(f"call double @cos(double {x})")) for x in names]
        e.lines.append("  br label %ready\nready:")
        trig = trig_nodes(nodes, angles)
        for x, (s, c), (fs, fc) in zip(angles, near, far, strict=True):
            for op, a, b in (("sin", s, fs), ("cos", c, fc)):
                if op in trig[x.id]:
                    e.names[trig[x.id][op].id] = e.put(f"phi double [ {a}, %near ], [ {b}, %far ]")
    e.emit(nodes, load)
    for k, output in zip((k for k, a in enumerate(arguments) if a.output), outputs, strict=True):
        for index, node in enumerate(output):
            address = e.put(f"getelementptr inbounds double, ptr %p{k}, i64 {index}")
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
    lines = [
        "define internal void @scatter(ptr noalias %table, ptr noalias %out, i64 %n) nounwind noinline {",
        "entry:",
        *[f"  %row{lane} = mul i64 %n, {lane}" for lane in range(width)],
        "  br label %test",
        "test:",
        "  %k = phi i64 [ 0, %entry ], [ %next, %body ]",
        "  %more = icmp slt i64 %k, %n",
        "  br i1 %more, label %body, label %done",
        "body:",
        f"  %from = getelementptr inbounds <{width} x double>, ptr %table, i64 %k",
    ]
    for lane in range(width):
        lines += [
            f"  %at{lane} = getelementptr inbounds double, ptr %from, i64 {lane}",
            f"  %v{lane} = load double, ptr %at{lane}, align 8",
            f"  %i{lane} = add i64 %row{lane}, %k",
            f"  %to{lane} = getelementptr inbounds double, ptr %out, i64 %i{lane}",
            f"  store double %v{lane}, ptr %to{lane}, align 8",
        ]
    return "\n".join([*lines, "  %next = add i64 %k, 1", "  br label %test", "done:", "  ret void", "}"])


def _advance(arguments: Sequence[ArrayArgument], prefix: str, counter: str) -> list[str]:
    """Pointers to the arrays' rows for one state."""
    lines = []
    for k, a in enumerate(arguments):
        lines.append(f"  %{prefix}o{k} = mul i64 {counter}, {8 * a.size}")
        lines.append(f"  %{prefix}{k} = getelementptr inbounds i8, ptr %p{k}, i64 %{prefix}o{k}")
    return lines


def _passed(arguments: Sequence[ArrayArgument], prefix: str) -> str:
    return ", ".join(f"ptr %{prefix}{k}" for k in range(len(arguments)))


def batch_function(arguments: Sequence[ArrayArgument], extra: int = 0) -> str:
    """``void @batch(i64 begin, i64 end, pointers)``: states begin to end of (N, size) arrays, one after the other.

    Args:
        extra: number of further pointers, handed on as they are.
    """
    further = "".join(f", ptr %extra{k}" for k in range(extra))
    lines = [
        f"define void @batch(i64 %begin, i64 %end, {pointers(arguments)}{further}) nounwind {{",
        "entry:",
        "  br label %test",
        "test:",
        "  %j = phi i64 [ %begin, %entry ], [ %j_next, %one ]",
        "  %more = icmp slt i64 %j, %end",
        "  br i1 %more, label %one, label %done",
        "one:",
        *_advance(arguments, "d", "%j"),
        f"  call void @single({_passed(arguments, 'd')}{further})",
        "  %j_next = add i64 %j, 1",
        "  br label %test",
        "done:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _wide(arguments: Sequence[ArrayArgument], width: int) -> str:
    """``void @wide(i64 begin, i64 end, pointers, ptr batch)``: as ``@batch``, whose address comes last and which does the
    states whose angles are too large, and those left over at the end."""
    every = _passed(arguments, "p")
    lines = [
        f"define void @wide(i64 %begin, i64 %end, {pointers(arguments)}, ptr %one_by_one) nounwind {{",
        "entry:",
        "  br label %test",
        "test:",
        "  %i = phi i64 [ %begin, %entry ], [ %i_next, %next ]",
        f"  %i_next = add i64 %i, {width}",
        "  %room = icmp sle i64 %i_next, %end",
        "  br i1 %room, label %side_by_side, label %rest",
        "side_by_side:",
        *_advance(arguments, "a", "%i"),
        f"  %done = call i1 @several({_passed(arguments, 'a')})",
        "  br i1 %done, label %next, label %careful",
        "careful:",
        f"  call void %one_by_one(i64 %i, i64 %i_next, {every})",
        "  br label %next",
        "next:",
        "  br label %test",
        "rest:",
        f"  call void %one_by_one(i64 %i, i64 %end, {every})",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
