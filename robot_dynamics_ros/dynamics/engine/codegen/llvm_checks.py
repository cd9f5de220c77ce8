"""Checks of inputs, in LLVM assembly: numbers are finite, quaternions have unit length."""

from __future__ import annotations

from collections.abc import Callable

from robot_dynamics_ros.dynamics.engine.codegen.llvm_flow import Writer
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import double
from robot_dynamics_ros.spatial import QUATERNION_TOLERANCE


def unit_length(put: Callable[[str], str], quaternion: str) -> str:
    """An i1: the four numbers from the address ``quaternion`` on have unit length; false for NaN.

    Args:
        put: emits an instruction and returns the name of its value.
    """
    square = ""
    for k in range(4):
        x = put(f"load double, ptr {put(f'getelementptr double, ptr {quaternion}, i64 {k}')}, align 8")
        term = put(f"fmul double {x}, {x}")
        square = term if not square else put(f"fadd double {square}, {term}")
    off = put(f"fsub double {square}, 1.0")
    low = put(f"fcmp oge double {off}, {double(-QUATERNION_TOLERANCE)}")
    high = put(f"fcmp ole double {off}, {double(QUATERNION_TOLERANCE)}")
    return put(f"and i1 {low}, {high}")


def zero_times_sum(name: str) -> str:
    """``double @name(ptr p, i64 n)``: 0 x summed over n numbers; zero if all of them are finite, else NaN."""
    w, kind = Writer(), "<8 x double>"

    def wide(k: str, sums: list[str]) -> list[str]:
        further = []
        for part, total in enumerate(sums):
            x = w.put(f"load {kind}, ptr {w.at('%p', k, offset=8 * part)}, align 8")
            y = w.put(f"fmul contract {kind} {x}, zeroinitializer")
            further.append(w.put(f"fadd contract {kind} {total}, {y}"))
        return further

    def rest(k: str, sums: list[str]) -> list[str]:
        x = w.put(f"load double, ptr {w.at('%p', k)}, align 8")
        return [w.put(f"fadd double {sums[0]}, {w.put(f'fmul double {x}, 0.0')}")]

    whole = w.put("and i64 %n, -16")
    one, other = w.carrying("0", whole, 16, wide, [(kind, "zeroinitializer")] * 2)
    both, total = w.put(f"fadd {kind} {one}, {other}"), "0.0"
    for lane in range(8):
        total = w.put(f"fadd double {total}, {w.put(f'extractelement {kind} {both}, i32 {lane}')}")
    (total,) = w.carrying(whole, "%n", 1, rest, [("double", total)])
    w.line(f"ret double {total}")
    return w.function(f"internal double @{name}(ptr %p, i64 %n) nounwind noinline")


def unit_quaternions() -> str:
    """``i1 @unit_quaternions(ptr q, i64 n, i64 size)``: n quaternions, ``size`` numbers apart, have unit length."""
    w = Writer()

    def one(i: str, fine: list[str]) -> list[str]:
        quaternion = w.at("%q", w.put(f"mul i64 {i}, %size"))
        return [w.put(f"and i1 {fine[0]}, {unit_length(w.put, quaternion)}")]

    (fine,) = w.carrying("0", "%n", 1, one, [("i1", "true")])
    w.line(f"ret i1 {fine}")
    return w.function("internal i1 @unit_quaternions(ptr %q, i64 %n, i64 %size) nounwind noinline")
