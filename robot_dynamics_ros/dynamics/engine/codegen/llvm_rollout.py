"""Many integration steps in machine code, around a kernel that computes rates.

The kernel's ``@single`` and ``@several`` give (q̇, v̇) at (q, v, τ, friction, stops) for one state or a block of states; what is
added here steps blocks of states without going back to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import ArrayArgument, kernel_module
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import double


def rollout_module(
    arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], quaternions: Sequence[int]
) -> str:
    """LLVM assembly of the rate kernel and of

    ``void @rollout_rk4(i64 begin, i64 end, ptr q, ptr v, ptr tau, i64 tau_step, ptr constants, ptr path_q, ptr path_v, double dt,
    i64 steps)`` and ``@rollout_semi_implicit`` of the same form.

    States begin to end of (N, nq) and (N, nv) arrays advance in place; ``tau`` is (N, K, nv) with K steps' efforts, or one
    if ``tau_step`` is 0 (it is nv otherwise); ``constants`` are those that follow the efforts in the kernel, shared by all
    states; paths, unless null, are (N, steps + 1, n) arrays.
    """
    nq, nv = arguments[0].size, arguments[1].size
    shared = sum(a.size for a in arguments[3:-2])
    parts = [kernel_module(arguments, outputs), "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    parts += [_axpy(), *(_advance(method, nq, nv, arguments, quaternions) for method in ("rk4", "semi_implicit"))]
    assert shared == sum(a.size for a in arguments if not a.output) - nq - 2 * nv
    parts += [_piece(method) for method in ("rk4", "semi_implicit")]
    return "\n".join(parts)


def _piece(method: str) -> str:
    """``i64 @piece_<method>(i64 begin, i64 end, i64 thread, ptr context)``: the arguments after ``end`` are the context's words."""
    kinds = ["ptr", "ptr", "ptr", "i64", "ptr", "ptr", "ptr", "double", "i64"]
    lines = [f"define i64 @piece_{method}(i64 %begin, i64 %end, i64 %thread, ptr %context) nounwind {{", "entry:"]
    for k, kind in enumerate(kinds):
        lines.append(f"  %a{k} = getelementptr i64, ptr %context, i64 {k}")
        lines.append(f"  %x{k} = load {kind}, ptr %a{k}")
    words = ", ".join(f"{kind} %x{k}" for k, kind in enumerate(kinds))
    lines.append(f"  call void @rollout_{method}(i64 %begin, i64 %end, {words})")
    return "\n".join([*lines, "  ret i64 -1", "}"])


def _axpy() -> str:
    """``out = x + h y`` over n entries."""
    return """\
define internal void @axpy(ptr %out, ptr %x, ptr %y, double %h, i64 %n) nounwind {
entry:
  br label %test
test:
  %k = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %body, label %done
body:
  %xa = getelementptr inbounds double, ptr %x, i64 %k
  %ya = getelementptr inbounds double, ptr %y, i64 %k
  %oa = getelementptr inbounds double, ptr %out, i64 %k
  %xv = load double, ptr %xa, align 8
  %yv = load double, ptr %ya, align 8
  %p = fmul contract double %yv, %h
  %s = fadd contract double %xv, %p
  store double %s, ptr %oa, align 8
  %next = add nsw i64 %k, 1
  br label %test
done:
  ret void
}"""


def _advance(method: str, nq: int, nv: int, arguments: Sequence[ArrayArgument], quaternions: Sequence[int]) -> str:
    sizes = [a.size for a in arguments[3:-2]]
    lines = [
        f"define void @rollout_{method}(i64 %begin, i64 %end, ptr %q, ptr %v, ptr %tau, i64 %tau_step, ptr %constants, "
        "ptr %path_q, ptr %path_v, double %dt, i64 %steps) nounwind {",
        "entry:",
        *[f"  %{n} = alloca [{max(size, 1)} x double], align 64" for n, size in
          (("kq", nq), ("kv", nv), ("sq", nq), ("sv", nv), ("tq", nq), ("tv", nv))],
    ]  # fmt: skip
    first, constants = 0, []
    for k, size in enumerate(sizes):
        lines.append(f"  %c{k} = getelementptr inbounds double, ptr %constants, i64 {first}")
        constants.append(f"ptr %c{k}")
        first += size
    lines += [
        f"  %half = fmul double %dt, {double(0.5)}",
        f"  %sixth = fmul double %dt, {double(1.0 / 6.0)}",
        "  %keep = icmp ne ptr %path_q, null",
        "  %rows = add nsw i64 %steps, 1",
        "  %varying = icmp ne i64 %tau_step, 0",
        "  %tau_count = select i1 %varying, i64 %steps, i64 1",
        "  br label %state",
        "state:",
        "  %s = phi i64 [ %begin, %entry ], [ %s_next, %state_done ]",
        "  %s_more = icmp slt i64 %s, %end",
        "  br i1 %s_more, label %begin_state, label %out",
        "begin_state:",
        f"  %q_off = mul nsw i64 %s, {nq}",
        f"  %v_off = mul nsw i64 %s, {nv}",
        "  %x = getelementptr inbounds double, ptr %q, i64 %q_off",
        "  %u = getelementptr inbounds double, ptr %v, i64 %v_off",
        "  %t_row = mul nsw i64 %s, %tau_count",
        f"  %t_off = mul nsw i64 %t_row, {nv}",
        "  %t0 = getelementptr inbounds double, ptr %tau, i64 %t_off",
        "  %p_row = mul nsw i64 %s, %rows",
        "  br label %step",
        "step:",
        "  %k = phi i64 [ 0, %begin_state ], [ %k_next, %stepped ]",
        "  br i1 %keep, label %store, label %stored",
        "store:",
        "  %row = add nsw i64 %p_row, %k",
        f"  %row_q = mul nsw i64 %row, {nq}",
        f"  %row_v = mul nsw i64 %row, {nv}",
        "  %to_q = getelementptr inbounds double, ptr %path_q, i64 %row_q",
        "  %to_v = getelementptr inbounds double, ptr %path_v, i64 %row_v",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %to_q, ptr %x, i64 {8 * nq}, i1 false)",
        f"  call void @llvm.memcpy.p0.p0.i64(ptr %to_v, ptr %u, i64 {8 * nv}, i1 false)",
        "  br label %stored",
        "stored:",
        "  %k_more = icmp slt i64 %k, %steps",
        "  br i1 %k_more, label %stepping, label %state_done",
        "stepping:",
        "  %t_at = mul nsw i64 %k, %tau_step",
        "  %t = getelementptr inbounds double, ptr %t0, i64 %t_at",
    ]

    lines += _method_step(method, nq, nv, constants, of_new_velocity=bool(quaternions) or nq != nv)
    for n, start in enumerate(quaternions):
        lines += _normalized(n, start)
    lines += [
        "  br label %stepped",
        "stepped:",
        "  %k_next = add nsw i64 %k, 1",
        "  br label %step",
        "state_done:",
        "  %s_next = add nsw i64 %s, 1",
        "  br label %state",
        "out:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


def _method_step(method: str, nq: int, nv: int, constants: list[str], of_new_velocity: bool) -> list[str]:
    """One step of the state (``%x``, ``%u``).

    Args:
        of_new_velocity: q̇ is computed again of the new velocity, as it is not v itself.
    """
    lines = []

    def rate(x: str, u: str) -> None:
        pointers = [f"ptr %{x}", f"ptr %{u}", "ptr %t", *constants, "ptr %kq", "ptr %kv"]
        lines.append(f"  call void @single({', '.join(pointers)})")

    def axpy(out: str, x: str, y: str, h: str) -> None:
        for word, n in (("q", nq), ("v", nv)):
            o, a, b = (name.replace("*", word) for name in (out, x, y))
            a = {"state_q": "x", "state_v": "u"}.get(a, a)
            o = {"state_q": "x", "state_v": "u"}.get(o, o)
            lines.append(f"  call void @axpy(ptr %{o}, ptr %{a}, ptr %{b}, double {h}, i64 {n})")

    if method == "rk4":
        rate("x", "u")
        axpy("t*", "state_*", "k*", "%half")
        lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %sq, ptr %kq, i64 {8 * nq}, i1 false)")
        lines.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr %sv, ptr %kv, i64 {8 * nv}, i1 false)")
        for h in ("%half", "%dt"):
            rate("tq", "tv")
            axpy("s*", "s*", "k*", double(2.0))
            axpy("t*", "state_*", "k*", h)
        rate("tq", "tv")
        axpy("s*", "s*", "k*", double(1.0))
        axpy("state_*", "state_*", "s*", "%sixth")
    else:
        rate("x", "u")
        lines.append(f"  call void @axpy(ptr %u, ptr %u, ptr %kv, double %dt, i64 {nv})")
        if of_new_velocity:
            rate("x", "u")  # q̇ again, of the new velocity
            lines.append(f"  call void @axpy(ptr %x, ptr %x, ptr %kq, double %dt, i64 {nq})")
        else:
            lines.append(f"  call void @axpy(ptr %x, ptr %x, ptr %u, double %dt, i64 {nq})")
    return lines


def _normalized(n: int, start: int) -> list[str]:
    """Bring a quaternion in ``%x`` back to unit length."""
    lines = []
    for k in range(4):
        lines.append(f"  %na{n}_{k} = getelementptr inbounds double, ptr %x, i64 {start + k}")
        lines.append(f"  %nv{n}_{k} = load double, ptr %na{n}_{k}, align 8")
        lines.append(f"  %ns{n}_{k} = fmul double %nv{n}_{k}, %nv{n}_{k}")
    lines.append(f"  %nt{n}_1 = fadd double %ns{n}_0, %ns{n}_1")
    lines.append(f"  %nt{n}_2 = fadd double %nt{n}_1, %ns{n}_2")
    lines.append(f"  %nt{n}_3 = fadd double %nt{n}_2, %ns{n}_3")
    lines.append(f"  %nr{n} = call double @llvm.sqrt.f64(double %nt{n}_3)")
    for k in range(4):
        lines.append(f"  %nq{n}_{k} = fdiv double %nv{n}_{k}, %nr{n}")
        lines.append(f"  store double %nq{n}_{k}, ptr %na{n}_{k}, align 8")
    return lines
