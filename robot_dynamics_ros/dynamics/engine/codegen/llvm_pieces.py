"""Pieces of a batch, in LLVM assembly: inputs of any strides are brought together, checked, and computed with.

A *piece function* is ``i64 piece(i64 begin, i64 end, i64 thread, ptr context)``: it computes states begin to end, and
returns −1, or the first state of a group that it refused.  Threads run it without Python's lock
(:mod:`robot_dynamics_ros.dynamics.engine.parallel`).
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.llvm_checks import unit_quaternions, zero_times_sum
from robot_dynamics_ros.dynamics.engine.codegen.llvm_flow import Writer
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument

CONTEXT_HEAD = 3
"""First words of a piece's context: what it refuses, a further address for the callee, bytes of working memory for each
thread.  For each array follow its address, the bytes from state to state, and those from number to number; then further
pointers of the callee, the last of which is the working memory."""
REFUSE_NOT_FINITE, REFUSE_NOT_UNIT = 1, 2
_CHUNK_NUMBERS, _LARGEST_CHUNK = 2048, 256


def chunk(arguments: Sequence[ArrayArgument]) -> int:
    """States that are checked and computed at a time: their inputs stay in the nearest cache."""
    numbers = sum(a.size for a in arguments if not a.output)
    return max(8, min(_LARGEST_CHUNK, _CHUNK_NUMBERS // max(numbers, 1) // 8 * 8))


def piece_function(arguments: Sequence[ArrayArgument], callee: str, *, further: bool = False, extra: int = 0) -> str:
    """``@piece``: inputs of any strides are brought together and checked, a few states at a time, then computed with.

    Args:
        callee: ``void callee(i64 begin, i64 end, pointers, …)``.
        further: the callee takes the context's further address last.
        extra: number of further pointers that the callee takes.
    """
    size = chunk(arguments)
    lines = ["define i64 @piece(i64 %begin, i64 %end, i64 %thread, ptr %context) nounwind {", "entry:"]
    lines += [f"  %b{k} = alloca [{max(size * a.size, 1)} x double], align 64" for k, a in enumerate(arguments)
              if not a.output]  # fmt: skip
    words, passed = _context_words(len(arguments), extra, further)
    lines += [
        *words,
        f"  %finite_bit = and i64 %refuse, {REFUSE_NOT_FINITE}",
        "  %finite = icmp ne i64 %finite_bit, 0",
        f"  %unit_bit = and i64 %refuse, {REFUSE_NOT_UNIT}",
        "  %unit = icmp ne i64 %unit_bit, 0",
        "  br label %test",
        "test:",
        "  %i = phi i64 [ %begin, %entry ], [ %until, %fine ]",
        "  %more = icmp slt i64 %i, %end",
        "  br i1 %more, label %chunk, label %done",
        "chunk:",
        f"  %i_next = add i64 %i, {size}",
        "  %whole = icmp slt i64 %i_next, %end",
        "  %until = select i1 %whole, i64 %i_next, i64 %end",
        "  %n = sub i64 %until, %i",
    ]
    pointers = []
    for k, a in enumerate(arguments):
        lines.append(f"  %o{k} = mul i64 %i, %row{k}")
        lines.append(f"  %s{k} = getelementptr i8, ptr %data{k}, i64 %o{k}")
        if not a.output:
            lines.append(
                f"  %p{k} = call ptr @gather(ptr %s{k}, i64 %row{k}, i64 %column{k}, i64 %n, i64 {a.size}, ptr %b{k})"
            )
        pointers.append(f"ptr %{'s' if a.output else 'p'}{k}")
    lines += [
        *_finite_check(arguments),
        *_unit_check(arguments),
        "  br label %fine",
        "fine:",
        f"  call void @{callee}(i64 0, i64 %n, {', '.join([*pointers, *passed])})",
        "  br label %test",
        "refused:",
        "  ret i64 %i",
        "done:",
        "  ret i64 -1",
        "}",
        _gather(),
        zero_times_sum("zero_times_batch"),
    ]
    return "\n".join([*lines, unit_quaternions()] if any(a.quaternions for a in arguments) else lines)


def _context_words(count: int, extra: int, further: bool) -> tuple[list[str], list[str]]:
    """Lines that load the context, and the callee's arguments beside the arrays of this chunk."""
    lines = []

    def word(name: str, number: int, kind: str = "i64") -> None:
        lines.append(f"  %{name}_at = getelementptr i64, ptr %context, i64 {number}")
        lines.append(f"  %{name} = load {kind}, ptr %{name}_at")

    word("refuse", 0)
    word("further", 1, "ptr")
    word("room", 2)
    for k in range(count):
        word(f"data{k}", CONTEXT_HEAD + 3 * k, "ptr")
        word(f"row{k}", CONTEXT_HEAD + 3 * k + 1)
        word(f"column{k}", CONTEXT_HEAD + 3 * k + 2)
    for k in range(extra):
        word(f"shared{k}", CONTEXT_HEAD + 3 * count + k, "ptr")
    passed = [f"ptr %shared{k}" for k in range(extra)]
    if extra:
        lines += [
            "  %skip = mul i64 %thread, %room",
            f"  %workspace = getelementptr i8, ptr %shared{extra - 1}, i64 %skip",
        ]
        passed[-1] = "ptr %workspace"
    return lines, [*passed, "ptr %further"] if further else passed


def _finite_check(arguments: Sequence[ArrayArgument]) -> list[str]:
    lines = ["  br i1 %finite, label %look, label %looked", "look:"]
    total = "0.0"
    for k, a in enumerate(arguments):
        if not a.output:
            lines.append(f"  %count{k} = mul i64 %n, {a.size}")
            lines.append(f"  %f{k} = call double @zero_times_batch(ptr %p{k}, i64 %count{k})")
            lines.append(f"  %g{k} = fadd double %f{k}, {total}")
            total = f"%g{k}"
    lines.append(f"  %numbers = fcmp oeq double {total}, 0.0")
    return [*lines, "  br i1 %numbers, label %looked, label %refused", "looked:"]


def _unit_check(arguments: Sequence[ArrayArgument]) -> list[str]:
    lines = []
    starts = [(k, a.size, start) for k, a in enumerate(arguments) for start in a.quaternions]
    for number, (k, width, start) in enumerate(starts):
        lines += [
            f"  br i1 %unit, label %unit{number}, label %next{number}",
            f"unit{number}:",
            f"  %q{number} = getelementptr double, ptr %p{k}, i64 {start}",
            f"  %u{number} = call i1 @unit_quaternions(ptr %q{number}, i64 %n, i64 {width})",
            f"  br i1 %u{number}, label %next{number}, label %refused",
            f"next{number}:",
        ]
    return lines


def _gather() -> str:
    """``ptr @gather(ptr from, row, column, n, size, ptr to)``: n rows of ``size`` numbers, ``row`` and ``column`` bytes apart, side by
    side in ``to``; ``from`` itself where they are so already."""
    w = Writer()
    width = w.put("shl i64 %size, 3")
    dense = [w.put(f"icmp eq i64 %row, {width}"), w.put("icmp eq i64 %column, 8")]
    w.line(f"br i1 {w.put(f'and i1 {dense[0]}, {dense[1]}')}, label %same, label %copy")
    w.start("same")
    w.line("ret ptr %from")
    w.start("copy")
    by_rows = w.put("icmp slt i64 %column, %row")

    def chosen(first: str, second: str) -> str:
        return w.put(f"select i1 {by_rows}, i64 {first}, i64 {second}")

    outer, inner = chosen("%n", "%size"), chosen("%size", "%n")
    steps = [(chosen("%row", "%column"), chosen("%column", "%row")), (chosen(width, "8"), chosen("8", width))]

    def group(i: str) -> None:
        source, target = (w.bytes_at(base, i, step) for base, (step, _) in zip(("%from", "%to"), steps, strict=True))

        def one(j: str) -> None:
            x = w.put(f"load double, ptr {w.bytes_at(source, j, steps[0][1])}, align 8")
            w.line(f"store double {x}, ptr {w.bytes_at(target, j, steps[1][1])}, align 8")

        w.loop("0", inner, 1, one)

    w.loop("0", outer, 1, group)
    w.line("ret ptr %to")
    return w.function(
        "internal ptr @gather(ptr %from, i64 %row, i64 %column, i64 %n, i64 %size, ptr %to) nounwind noinline"
    )
