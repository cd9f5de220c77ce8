"""A whole LLVM module for one traced function: one state, many states, and a call wrapper that
checks its arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import (
    DECLARATIONS,
    Emitter,
    Writer,
    angles_of,
)
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument, python_wrapper

ANGLES = 4
"""Sines and cosines of one state that are computed side by side, at most."""
OPERATIONS_OF_WHOLE = 14_000
"""A straight line of more operations is cut into parts: LLVM's time to distribute its registers
grows faster than the line, 2.7 s for 39,000 operations as one line and 0.8 s in parts, which run up
to 8 % longer.  No function of an arm with up to seven joints and a gripper is as long.
"""
OPERATIONS_OF_PART = 500
"""Operations of a part: half as many take as long to compile, ten times as many twice as long."""


def pointers(arguments: Sequence[ArrayArgument]) -> str:
    """The parameter list of a kernel's pointers."""
    return ", ".join(f"ptr %p{k}" for k in range(len(arguments)))


def kernel_module(
    arguments: Sequence[ArrayArgument],
    outputs: Sequence[Sequence[Expr]],
    width: int,
) -> str:
    """LLVM assembly with ``@single``, ``@batch`` (one state after the other) and the call wrapper.

    Leaves are keyed (input number, flat index).  A vector register holds ``width`` doubles.
    """
    return "\n".join([callee_module(arguments, outputs, width), python_wrapper(arguments)])


def callee_module(
    arguments: Sequence[ArrayArgument],
    outputs: Sequence[Sequence[Expr]],
    width: int,
) -> str:
    """The same without the call wrapper: for compiled code to call."""
    single = _states("single", Emitter(1), arguments, outputs, min(ANGLES, width))
    return "\n".join(
        [DECLARATIONS, Emitter(min(ANGLES, width)).declarations, single, batch_function(arguments)]
    )


def wide_module(
    arguments: Sequence[ArrayArgument],
    outputs: Sequence[Sequence[Expr]],
    width: int,
) -> str:
    """LLVM assembly with ``@wide``, which takes whole groups of ``width`` states side by side, see
    :func:`_wide`.

    Apart from :func:`kernel_module` because it takes the compiler as long again, and only batches
    need it.
    """
    e = Emitter(width, "w")
    several = _states("several", e, arguments, outputs)
    return "\n".join(
        [DECLARATIONS, e.declarations, several, _scatter(width), _wide(arguments, width)]
    )


def _places_of_results(
    e: Emitter,
    arguments: Sequence[ArrayArgument],
    outputs: Sequence[Sequence[Expr]],
) -> tuple[dict[int, list[str]], list[str], list[str]]:
    """Node → where its value goes; the tables that this takes, and what empties them.

    Several states' results go to a table first and from there to their places in a loop: writing
    them one lane at a time in a straight line would take the compiler seconds for a matrix.
    """
    one = e.width == 1
    tables = []
    scattered = []
    places: dict[int, list[str]] = {}
    for k, output in zip((k for k, a in enumerate(arguments) if a.output), outputs, strict=True):
        base = f"%p{k}"
        if not one:
            base = f"%table{k}"
            tables.append(f"  {base} = alloca [{len(output)} x {e.type}], align 64")
            scattered.append(f"  call void @scatter(ptr {base}, ptr %p{k}, i64 {len(output)})")
        for index, node in enumerate(output):
            places.setdefault(node.id, []).append(f"ptr {base}, i64 {index}")
    return places, tables, scattered


def _states(
    name: str,
    e: Emitter,
    arguments: Sequence[ArrayArgument],
    outputs: Sequence[Sequence[Expr]],
    angles_at_once: int = 1,
) -> str:
    """``void @name(pointers)``: one state; or, if the emitter is wide, ``i1 @name(pointers,
    strides, i1 finite)``: as many states as it is wide, whose rows and numbers are so many bytes
    apart; false, and nothing is written, if they shall be finite and are not.
    """
    flat = list(itertools.chain.from_iterable(outputs))
    nodes = reachable(flat)
    angles = angles_of(flat)
    one = e.width == 1

    # of the states' rows of an input
    bases: dict[int, list[str]] = {}

    def load(node: Expr) -> str:
        return entry(*node.a)

    def entry(number: int, index: int) -> str:
        if number not in bases:
            bases[number] = [f"%p{number}"]
            while len(bases[number]) < e.width:
                bases[number].append(
                    e.put(f"getelementptr i8, ptr {bases[number][-1]}, i64 %s{number}")
                )
        if one:
            places = [e.put(f"getelementptr inbounds double, ptr %p{number}, i64 {index}")]
        else:
            offset = e.put(f"mul i64 %c{number}, {index}")
            places = [
                e.put(f"getelementptr i8, ptr {base}, i64 {offset}") for base in bases[number]
            ]
        return e.packed([e.put(f"load double, ptr {place}, align 8") for place in places])

    if one:
        # an output may be an input's array
        e.emit([x for x in nodes if x.op == "leaf"], load)
    else:
        leaves = {x.a: x.id for x in nodes if x.op == "leaf"}
        # of all inputs times zero, which is zero unless one is not finite
        total = e.splat(0.0)
        for number, a in enumerate(arguments):
            for index in range(0 if a.output else a.size):
                x = entry(number, index)
                total = e.binary("add", e.binary("mul", x, e.splat(0.0)), total)
                if (number, index) in leaves:
                    e.names[leaves[number, index]] = x
        fine = e.all_true(e.put(f"fcmp oeq {e.type} {total}, {e.splat(0.0)}"))
        fine = e.put(f"select i1 %finite, i1 {fine}, i1 true")
        e.lines.append(
            f"  br i1 {fine}, label %fine, label %refused\nrefused:\n  ret i1 false\nfine:"
        )
    e.emit(reachable(angles), load)
    e.trigonometry(angles, nodes, ("near", "far", "ready"), angles_at_once)
    places, tables, scattered = _places_of_results(e, arguments, outputs)
    if one and len(nodes) > OPERATIONS_OF_WHOLE:
        return _state_in_parts(name, e, arguments, nodes, places)
    # a result is stored as soon as it is there: to the end it would be kept on the stack
    for node in nodes:
        e.emit([node], load)
        _store_results(e, node, places)
    kind, further, answer = (
        ("void", "", "ret void") if one else ("i1", _further(arguments), "ret i1 true")
    )
    head = f"define internal {kind} @{name}({pointers(arguments)}{further}) nounwind {{"
    return "\n".join([head, "entry:", *tables, *e.lines, *scattered, f"  {answer}", "}"])


def _store_results(e: Emitter, node: Expr, places: Mapping[int, Sequence[str]]) -> None:
    """Store a node's value wherever it is a result."""
    for place in places.get(node.id, ()):
        address = e.put(f"getelementptr inbounds {e.type}, {place}")
        e.lines.append(f"  store {e.type} {e.text(node)}, ptr {address}, align {8 * e.width}")


def _state_in_parts(
    name: str,
    first: Emitter,
    arguments: Sequence[ArrayArgument],
    nodes: Sequence[Expr],
    places: Mapping[int, Sequence[str]],
) -> str:
    """``void @name(pointers)``, which calls ``@name_0``, ``@name_1`` …, each a part of the
    straight line.

    What a later part needs of an earlier one goes through memory of the caller's, as most of it
    would in one long line, which has far more values than a processor has registers.

    Args:
        first: has loaded the leaves, which results may overwrite, and computed the angles.
        nodes: of all results, in topological order.
        places: node → where its value is stored.
    """
    # constants stand in the instructions
    rest = [x for x in nodes if x.id not in first.names and x.op != "const"]
    parts = [rest[k : k + OPERATIONS_OF_PART] for k in range(0, len(rest), OPERATIONS_OF_PART)]
    part_of = {x.id: k for k, part in enumerate(parts, 1) for x in part}
    handed_on: dict[int, int] = {}
    for node in rest:
        for x in node.operands:
            if x.op != "const" and part_of.get(x.id, 0) != part_of[node.id]:
                handed_on.setdefault(x.id, len(handed_on))

    def hand_on(e: Emitter, node: Expr) -> None:
        if node.id in handed_on:
            address = e.put(f"getelementptr inbounds double, ptr %work, i64 {handed_on[node.id]}")
            e.lines.append(f"  store double {e.text(node)}, ptr {address}, align 8")

    def taken(e: Emitter, node: Expr) -> str:
        address = e.put(f"getelementptr inbounds double, ptr %work, i64 {handed_on[node.id]}")
        return e.put(f"load double, ptr {address}, align 8")

    for node in nodes:
        if node.id not in part_of:
            hand_on(first, node)
    # a result may be an input, a constant, or the sine of an angle
    for node in nodes:
        if node.id not in part_of:
            _store_results(first, node, places)
    bodies = [first.lines]
    for part in parts:
        e = Emitter(1)
        for node in part:
            for x in node.operands:
                if x.op != "const" and x.id not in e.names:
                    e.names[x.id] = taken(e, x)
            e.emit([node], partial(taken, e))
            hand_on(e, node)
            _store_results(e, node, places)
        bodies.append(e.lines)
    given = pointers(arguments)
    lines = []
    for k, body in enumerate(bodies):
        head = f"define internal void @{name}_{k}({given}, ptr %work) nounwind noinline {{"
        lines += [head, "entry:", *body, "  ret void", "}"]
    return "\n".join(
        [
            *lines,
            f"define internal void @{name}({given}) nounwind {{",
            "entry:",
            f"  %work = alloca [{max(len(handed_on), 1)} x double], align 64",
            *(f"  call void @{name}_{k}({given}, ptr %work)" for k in range(len(bodies))),
            "  ret void",
            "}",
        ]
    )


def _scatter(width: int) -> str:
    """``void @scatter(table, out, n)``: n vectors of ``width`` lanes to ``width`` rows of n."""
    w = Writer()
    rows = [w.put(f"mul i64 %n, {lane}") for lane in range(width)]

    def one(k: str) -> None:
        table = w.put(f"getelementptr inbounds <{width} x double>, ptr %table, i64 {k}")
        for lane, row in enumerate(rows):
            value = w.put(f"load double, ptr {w.at(table, str(lane))}, align 8")
            w.line(
                f"store double {value}, ptr {w.at('%out', w.put(f'add i64 {row}, {k}'))}, align 8"
            )

    w.loop("0", "%n", 1, one)
    w.line("ret void")
    return w.function(
        "internal void @scatter(ptr noalias %table, ptr noalias %out, i64 %n) nounwind noinline"
    )


def _further(arguments: Sequence[ArrayArgument]) -> str:
    """Parameters of ``@wide`` and its callee after the pointers."""
    return (
        "".join(f", i64 %s{k}, i64 %c{k}" for k, a in enumerate(arguments) if not a.output)
        + ", i1 zeroext %finite"
    )


def batch_function(arguments: Sequence[ArrayArgument], extra: int = 0) -> str:
    """``void @batch(i64 begin, i64 end, pointers)``: states begin to end of (N, size) arrays, one
    after the other; ``extra`` further pointers are handed on as they are.
    """
    w = Writer()
    further = "".join(f", ptr %extra{k}" for k in range(extra))

    def one(state: str) -> None:
        rows = ", ".join(
            f"ptr {w.bytes_at(f'%p{k}', state, 8 * a.size)}" for k, a in enumerate(arguments)
        )
        w.line(f"call void @single({rows}{further})")

    w.loop("%begin", "%end", 1, one)
    w.line("ret void")
    return w.function(f"void @batch(i64 %begin, i64 %end, {pointers(arguments)}{further}) nounwind")


def _wide(arguments: Sequence[ArrayArgument], width: int) -> str:
    """``i1 @wide(i64 begin, i64 end, pointers, strides, i1 finite)``: whether all groups were
    computed, else it has stopped at one.
    """
    w = Writer()

    def group(i: str) -> None:
        steps = [8 * a.size if a.output else f"%s{k}" for k, a in enumerate(arguments)]
        rows = ", ".join(f"ptr {w.bytes_at(f'%p{k}', i, step)}" for k, step in enumerate(steps))
        computed = w.put(f"call i1 @several({rows}{_further(arguments)})")
        refused = w.fresh("refused")
        following = w.fresh("next")
        w.line(f"br i1 {computed}, label %{following}, label %{refused}")
        w.start(refused)
        w.line("ret i1 false")
        w.start(following)

    w.loop("%begin", "%end", width, group)
    w.line("ret i1 true")
    return w.function(
        f"zeroext i1 @wide(i64 %begin, i64 %end, {pointers(arguments)}{_further(arguments)}) "
        "nounwind"
    )
