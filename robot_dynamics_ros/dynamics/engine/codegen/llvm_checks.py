"""Checks of inputs, in LLVM assembly: numbers are finite, quaternions have unit length."""

from __future__ import annotations

from collections.abc import Callable

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
    parts = [f"  %l{k} = extractelement <8 x double> %s, i32 {k}" for k in range(8)]
    parts += ["  %m0 = fadd double %l0, 0.0", *(f"  %m{k} = fadd double %m{k - 1}, %l{k}" for k in range(1, 8))]
    total = "\n".join(parts)
    return f"""\
define internal double @{name}(ptr %p, i64 %n) nounwind noinline {{
entry:
  br label %wide
wide:
  %k = phi i64 [ 0, %entry ], [ %k_next, %more ]
  %s0 = phi <8 x double> [ zeroinitializer, %entry ], [ %t0, %more ]
  %s1 = phi <8 x double> [ zeroinitializer, %entry ], [ %t1, %more ]
  %k_next = add i64 %k, 16
  %room = icmp sle i64 %k_next, %n
  br i1 %room, label %more, label %sum
more:
  %a0 = getelementptr double, ptr %p, i64 %k
  %x0 = load <8 x double>, ptr %a0, align 8
  %k1 = add i64 %k, 8
  %a1 = getelementptr double, ptr %p, i64 %k1
  %x1 = load <8 x double>, ptr %a1, align 8
  %y0 = fmul contract <8 x double> %x0, zeroinitializer
  %t0 = fadd contract <8 x double> %s0, %y0
  %y1 = fmul contract <8 x double> %x1, zeroinitializer
  %t1 = fadd contract <8 x double> %s1, %y1
  br label %wide
sum:
  %s = fadd <8 x double> %s0, %s1
{total}
  br label %rest
rest:
  %r = phi i64 [ %k, %sum ], [ %r_next, %one ]
  %z = phi double [ %m7, %sum ], [ %z_next, %one ]
  %on = icmp slt i64 %r, %n
  br i1 %on, label %one, label %done
one:
  %at = getelementptr double, ptr %p, i64 %r
  %x = load double, ptr %at, align 8
  %y = fmul double %x, 0.0
  %z_next = fadd double %z, %y
  %r_next = add i64 %r, 1
  br label %rest
done:
  ret double %z
}}"""
