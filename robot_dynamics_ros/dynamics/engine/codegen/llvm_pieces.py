"""Pieces of a batch, in LLVM assembly: inputs of any strides are brought together, checked, and computed with.

A *piece function* is ``i64 piece(i64 begin, i64 end, i64 thread, ptr context)``: it computes states begin to end, and
returns −1, or the first state of a group that it refused.  Threads run it without Python's lock
(:mod:`robot_dynamics_ros.dynamics.engine.parallel`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

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
    inputs = [(k, a) for k, a in enumerate(arguments) if not a.output]
    w = Writer()

    def word(number: int, kind: str = "i64") -> str:
        return w.put(f"load {kind}, ptr {w.put(f'getelementptr i64, ptr %context, i64 {number}')}")

    rooms = {k: w.put(f"alloca [{max(size * a.size, 1)} x double], align 64") for k, a in inputs}
    refuse, callee_of, room = word(0), word(1, "ptr"), word(2)
    asked = {
        bit: w.put(f"icmp ne i64 {w.put(f'and i64 {refuse}, {bit}')}, 0")
        for bit in (REFUSE_NOT_FINITE, REFUSE_NOT_UNIT)
    }
    places = [CONTEXT_HEAD + 3 * k for k in range(len(arguments))]
    arrays = [(word(n, "ptr"), word(n + 1), word(n + 2)) for n in places]
    shared = [word(CONTEXT_HEAD + 3 * len(arguments) + k, "ptr") for k in range(extra)]
    if extra:
        shared[-1] = w.bytes_at(shared[-1], "%thread", room)
    shared += [callee_of] if further else []

    def states(i: str) -> None:
        following = w.put(f"add i64 {i}, {size}")
        whole = w.put(f"icmp slt i64 {following}, %end")
        n = w.put(f"sub i64 {w.put(f'select i1 {whole}, i64 {following}, i64 %end')}, {i}")
        own = [w.bytes_at(data, i, row) for data, row, _ in arrays]
        for k, a in inputs:
            _, row, column = arrays[k]
            strides = f"i64 {row}, i64 {column}, i64 {n}, i64 {a.size}"
            own[k] = w.put(f"call ptr @gather(ptr {own[k]}, {strides}, ptr {rooms[k]})")
        _checks(w, inputs, own, n, asked)
        passed = ", ".join(f"ptr {x}" for x in (*own, *shared))
        w.line("br label %fine")
        w.start("refused")
        w.line(f"ret i64 {i}")
        w.start("fine")
        w.line(f"call void @{callee}(i64 0, i64 {n}, {passed})")

    w.loop("%begin", "%end", size, states)
    w.line("ret i64 -1")
    piece = w.function("i64 @piece(i64 %begin, i64 %end, i64 %thread, ptr %context) nounwind")
    quaternions = [unit_quaternions()] if any(a.quaternions for a in arguments) else []
    return "\n".join([piece, _gather(), zero_times_sum("zero_times_batch"), *quaternions])


def _checks(
    w: Writer, inputs: Sequence[tuple[int, ArrayArgument]], own: Sequence[str], n: str, asked: Mapping[int, str]
) -> None:
    """Go to ``refused`` where a check that is asked for does not hold for the next ``n`` states."""

    def check(bit: int, holds: Callable[[], str]) -> None:
        look, looked = w.fresh("look"), w.fresh("looked")
        w.line(f"br i1 {asked[bit]}, label %{look}, label %{looked}")
        w.start(look)
        w.line(f"br i1 {holds()}, label %{looked}, label %refused")
        w.start(looked)

    def finite() -> str:
        total = "0.0"
        for k, a in inputs:
            count = w.put(f"mul i64 {n}, {a.size}")
            part = w.put(f"call double @zero_times_batch(ptr {own[k]}, i64 {count})")
            total = w.put(f"fadd double {part}, {total}")
        return w.put(f"fcmp oeq double {total}, 0.0")

    check(REFUSE_NOT_FINITE, finite)
    for k, a in inputs:
        for start in a.quaternions:
            first = w.at(own[k], str(start))
            call = f"call i1 @unit_quaternions(ptr {first}, i64 {n}, i64 {a.size})"
            check(REFUSE_NOT_UNIT, functools.partial(w.put, call))


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
