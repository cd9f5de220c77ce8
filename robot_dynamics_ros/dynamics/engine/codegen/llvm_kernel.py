"""A whole LLVM module for one traced function: one state, many states, and a Python entry that checks its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import DECLARATIONS, Emitter, angles_of, double, trig_nodes

__all__ = ["PYTHON_ENTRY", "ArrayArgument", "batch_function", "kernel_module", "python_entry"]

Shape = tuple[int, ...]
PYTHON_ENTRY = "python_entry"


@dataclass(frozen=True)
class ArrayArgument:
    """One array that a kernel takes.

    Attributes:
        shape: exact shape.
        output: whether the kernel writes to it.
        quaternions: flat indices where unit quaternions (x, y, z, w) begin.
    """

    shape: Shape
    output: bool = False
    quaternions: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)


def pointers(arguments: Sequence[ArrayArgument]) -> str:
    """The parameter list of a kernel's pointers."""
    return ", ".join(f"ptr %p{k}" for k in range(len(arguments)))


def kernel_module(arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]], width: int) -> str:
    """LLVM assembly with ``@single``, ``@batch`` and the Python entry.

    Leaves are keyed (input number, flat index).  Output arrays are the arguments marked so, in order.
    """
    scalar, vector = Emitter(1), Emitter(width, "w")
    parts = [DECLARATIONS, vector.declarations]
    parts.append(_single(scalar, arguments, outputs))
    if width > 1:
        parts.append(_several(vector, arguments, outputs))
    parts.append(batch_function(arguments, width))
    parts.append(python_entry(arguments))
    return "\n".join(parts)


def _single(e: Emitter, arguments: Sequence[ArrayArgument], outputs: Sequence[Sequence[Expr]]) -> str:
    flat = [x for output in outputs for x in output]
    nodes = reachable(flat)
    angles = angles_of(flat)

    def load(node: Expr) -> str:
        number, index = node.a
        at = e.put(f"getelementptr inbounds double, ptr %p{number}, i64 {index}")
        return e.put(f"load double, ptr {at}, align 8")

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
            at = e.put(f"getelementptr inbounds double, ptr %p{k}, i64 {index}")
            e.lines.append(f"  store double {e.text(node)}, ptr {at}, align 8")
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
            at = e.put(f"getelementptr inbounds double, ptr %p{number}, i64 {lane * arguments[number].size + index}")
            part = e.put(f"load double, ptr {at}, align 8")
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
            at = e.put(f"getelementptr inbounds {e.type}, ptr %table{k}, i64 {index}")
            e.lines.append(f"  store {e.type} {e.text(node)}, ptr {at}, align {8 * e.width}")
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


def batch_function(arguments: Sequence[ArrayArgument], width: int, extra: int = 0) -> str:
    """``void @batch(i64 begin, i64 end, pointers)``: states begin to end of (N, size) arrays.

    Args:
        extra: number of further pointers, handed on as they are.
    """
    further = "".join(f", ptr %extra{k}" for k in range(extra))

    def advance(prefix: str, counter: str) -> list[str]:
        lines = []
        for k, a in enumerate(arguments):
            lines.append(f"  %{prefix}o{k} = mul i64 {counter}, {8 * a.size}")
            lines.append(f"  %{prefix}{k} = getelementptr inbounds i8, ptr %p{k}, i64 %{prefix}o{k}")
        return lines

    def passed(prefix: str) -> str:
        return ", ".join(f"ptr %{prefix}{k}" for k in range(len(arguments))) + further

    lines = [f"define void @batch(i64 %begin, i64 %end, {pointers(arguments)}{further}) nounwind {{", "entry:"]
    if width > 1:
        lines += [
            "  br label %wide_test",
            "wide_test:",
            "  %i = phi i64 [ %begin, %entry ], [ %i_next, %wide_next ]",
            f"  %i_next = add i64 %i, {width}",
            "  %room = icmp sle i64 %i_next, %end",
            "  br i1 %room, label %wide, label %one_test_pre",
            "wide:",
            *advance("a", "%i"),
            f"  %done = call i1 @several({passed('a')})",
            "  br i1 %done, label %wide_next, label %careful",
            "careful:",
            "  %c = phi i64 [ %i, %wide ], [ %c_next, %careful ]",
            *advance("b", "%c"),
            f"  call void @single({passed('b')})",
            "  %c_next = add i64 %c, 1",
            "  %c_more = icmp slt i64 %c_next, %i_next",
            "  br i1 %c_more, label %careful, label %wide_next",
            "wide_next:",
            "  br label %wide_test",
            "one_test_pre:",
            "  br label %one_test",
            "one_test:",
            "  %j = phi i64 [ %i, %one_test_pre ], [ %j_next, %one ]",
        ]
    else:
        lines += ["  br label %one_test", "one_test:", "  %j = phi i64 [ %begin, %entry ], [ %j_next, %one ]"]
    lines += [
        "  %more = icmp slt i64 %j, %end",
        "  br i1 %more, label %one, label %done_all",
        "one:",
        *advance("d", "%j"),
        f"  call void @single({passed('d')})",
        "  %j_next = add i64 %j, 1",
        "  br label %one_test",
        "done_all:",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)


# Where CPython's object and NumPy's array structures keep what the entry reads (64-bit, GIL builds).  The loader
# verifies them on a real array before any entry is used.
OB_TYPE, ARRAY_DATA, ARRAY_ND, ARRAY_DIMENSIONS, ARRAY_DESCR, ARRAY_FLAGS = 8, 16, 24, 32, 56, 64
C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400


def python_entry(arguments: Sequence[ArrayArgument], disjoint: bool = False, extra: int = 0) -> str:
    """A function (self, args, nargs) of CPython's fast calling convention around ``@single``.

    ``self`` is a NumPy array of addresses: the ndarray type, the float64 descriptor, a Python callable, and None.  If every
    argument is an array of exactly that type, descriptor, shape, contiguous and aligned (outputs writable, quaternions
    of unit length), the kernel runs on their memory; in every other case the callable gets the very same arguments
    and says what is wrong, converts, or handles the batch.

    Args:
        disjoint: also require that no output overlaps an input.
        extra: number of further pointers for the kernel, kept in the table.
    """
    lines = [
        f"define ptr @{PYTHON_ENTRY}(ptr %self, ptr %args, i64 %nargs) nounwind {{",
        "entry:",
        f"  %self_data = getelementptr i8, ptr %self, i64 {ARRAY_DATA}",
        "  %table = load ptr, ptr %self_data",
        "  %array_type = load ptr, ptr %table",
        "  %descr_at = getelementptr ptr, ptr %table, i64 1",
        "  %descr = load ptr, ptr %descr_at",
    ]
    count = 0

    def put(text: str) -> str:
        nonlocal count
        name = f"%x{count}"
        count += 1
        lines.append(f"  {name} = {text}")
        return name

    def field(base: str, offset: int, kind: str) -> str:
        return put(f"load {kind}, ptr {put(f'getelementptr i8, ptr {base}, i64 {offset}')}")

    def require(conditions: list[str], then: str) -> None:
        total = conditions[0]
        for c in conditions[1:]:
            total = put(f"and i1 {total}, {c}")
        lines.append(f"  br i1 {total}, label %{then}, label %slow\n{then}:")

    require([put(f"icmp eq i64 %nargs, {len(arguments)}")], "counted")
    objects = [put(f"load ptr, ptr {put(f'getelementptr ptr, ptr %args, i64 {k}')}") for k in range(len(arguments))]
    require([put(f"icmp eq ptr {field(o, OB_TYPE, 'ptr')}, %array_type") for o in objects], "arrays")
    checks = []
    for o, a in zip(objects, arguments, strict=True):
        checks.append(put(f"icmp eq ptr {field(o, ARRAY_DESCR, 'ptr')}, %descr"))
        checks.append(put(f"icmp eq i32 {field(o, ARRAY_ND, 'i32')}, {len(a.shape)}"))
        mask = C_CONTIGUOUS | ALIGNED | (WRITEABLE if a.output else 0)
        flags = field(o, ARRAY_FLAGS, "i32")
        checks.append(put(f"icmp eq i32 {put(f'and i32 {flags}, {mask}')}, {mask}"))
    require(checks, "doubles")
    checks = []
    for o, a in zip(objects, arguments, strict=True):
        if a.shape:
            dims = field(o, ARRAY_DIMENSIONS, "ptr")
            checks += [put(f"icmp eq i64 {field(dims, 8 * d, 'i64')}, {size}") for d, size in enumerate(a.shape)]
    if checks:
        require(checks, "shaped")
    data = [field(o, ARRAY_DATA, "ptr") for o in objects]
    checks = []
    for p, a in zip(data, arguments, strict=True):
        for start in a.quaternions:
            square = ""
            for k in range(start, start + 4):
                x = field(p, 8 * k, "double")
                term = put(f"fmul double {x}, {x}")
                square = term if not square else put(f"fadd double {square}, {term}")
            checks.append(put(f"fcmp oge double {square}, {double(1.0 - 1e-6)}"))
            checks.append(put(f"fcmp ole double {square}, {double(1.0 + 1e-6)}"))
    if checks:
        require(checks, "unit")
    if disjoint:
        checks = []
        for k, a in enumerate(arguments):
            for m, b in enumerate(arguments):
                if a.output and m != k and (m < k or not b.output):
                    end_a = put(f"getelementptr i8, ptr {data[k]}, i64 {8 * a.size}")
                    end_b = put(f"getelementptr i8, ptr {data[m]}, i64 {8 * b.size}")
                    before = put(f"icmp ule ptr {end_a}, {data[m]}")
                    checks.append(put(f"or i1 {before}, {put(f'icmp ule ptr {end_b}, {data[k]}')}"))
        if checks:
            require(checks, "disjoint")
    data += [put(f"load ptr, ptr {put(f'getelementptr ptr, ptr %table, i64 {4 + k}')}") for k in range(extra)]
    lines.append(f"  call void @single({', '.join(f'ptr {p}' for p in data)})")
    written = [o for o, a in zip(objects, arguments, strict=True) if a.output]
    if len(written) == 1:
        lines.append(f"  call void @Py_IncRef(ptr {written[0]})\n  ret ptr {written[0]}")
    else:
        none = put(f"load ptr, ptr {put('getelementptr ptr, ptr %table, i64 3')}")
        lines.append(f"  call void @Py_IncRef(ptr {none})\n  ret ptr {none}")
    lines += [
        "slow:",
        "  %callable_at = getelementptr ptr, ptr %table, i64 2",
        "  %callable = load ptr, ptr %callable_at",
        "  %answer = call ptr @PyObject_VectorcallDict(ptr %callable, ptr %args, i64 %nargs, ptr null)",
        "  ret ptr %answer",
        "}",
        "declare void @Py_IncRef(ptr)",
        "declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)",
    ]
    return "\n".join(lines)
