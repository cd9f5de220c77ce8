"""LLVM assembly: of a trace, for one state at a time or for several side by side (vector
instructions), and of loops.

Every operation becomes one instruction on ``double`` or on ``<W x double>``.  Products and sums may
be contracted to fused multiply-adds, nothing else is reordered.  Sine and cosine are computed
together and inline.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, reachable

DECLARATIONS = """\
declare double @sin(double)
declare double @cos(double)
declare double @exp(double)
declare double @tanh(double)
declare double @llvm.sqrt.f64(double)
declare double @llvm.rint.f64(double)
declare double @llvm.fabs.f64(double)
"""

TRIG_LIMIT = 2.0**20
"""Largest angle, in rad, whose reduction modulo π/2 below is exact; larger ones go to the C
library.
"""

# π/2 in three parts of 33, 33 and 53 bits, and the minimax polynomials of sine and cosine on [−π/4,
# π/4]: the published constants of fdlibm (Sun Microsystems, 1993).  With the reduced angle held in
# one double, results are within three units in the last place (2.3 at most were seen), where the
# library's are within one.
_TWO_OVER_PI = 6.36619772367581382433e-01
_HALF_PI = (1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
_COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)
_LLVM_OPERATORS = {
    "add": "fadd contract",
    "sub": "fsub contract",
    "mul": "fmul contract",
    "div": "fdiv",
}


def double(value: float) -> str:
    """A double constant, bit for bit."""
    return "0x" + struct.pack(">d", value).hex().upper()


def masked_declarations(width: int) -> str:
    """Declarations of the functions that :meth:`Emitter.masked_store` calls."""
    kind = f"<{width} x double>"
    lanes = f"<{width} x i1>"
    return (
        f"declare void @llvm.masked.store.v{width}f64.p0({kind}, ptr, i32, {lanes})\n"
        f"declare void @llvm.masked.scatter.v{width}f64.v{width}p0({kind}, <{width} x ptr>, i32, "
        f"{lanes})"
    )


class Emitter:
    """Writes the body of one function, one instruction a line, on ``width`` doubles side by side.

    Names of values start with ``prefix``, so that several emitters can write into one function.
    """

    def __init__(self, width: int = 1, prefix: str = "t") -> None:
        self.width = width
        self.lines: list[str] = []
        if width == 1:
            self.type = "double"
        else:
            self.type = f"<{width} x double>"
        if width == 1:
            self.integer = "i32"
        else:
            self.integer = f"<{width} x i32>"
        if width == 1:
            self.bits = "i64"
        else:
            self.bits = f"<{width} x i64>"
        self.flag = "i1" if width == 1 else f"<{width} x i1>"
        self.suffix = "f64" if width == 1 else f"v{width}f64"
        self._prefix = prefix
        self._count = 0
        self.names: dict[int, str] = {}

    @property
    def declarations(self) -> str:
        """Intrinsics on this emitter's type, which a module declares besides
        :data:`DECLARATIONS`.
        """
        if self.width == 1:
            return ""
        return "".join(
            f"declare {self.type} @llvm.{name}.{self.suffix}({self.type})\n"
            for name in ("sqrt", "rint", "fabs")
        )

    def put(self, instruction: str) -> str:
        """Append an instruction and return the name of its value."""
        name = f"%{self._prefix}{self._count}"
        self._count += 1
        self.lines.append(f"  {name} = {instruction}")
        return name

    def splat(self, value: float, kind: str = "double") -> str:
        """A constant in all lanes."""
        if kind == "double":
            text = double(value)
        else:
            text = str(value)
        if self.width == 1:
            return text
        return "<" + ", ".join([f"{kind} {text}"] * self.width) + ">"

    def binary(self, op: str, a: str, b: str) -> str:
        return self.put(f"{_LLVM_OPERATORS[op]} {self.type} {a}, {b}")

    def text(self, node: Expr) -> str:
        """The operand a node stands for."""
        if node.op == "const":
            return self.splat(node.a)
        return self.names[node.id]

    def repeated(self, value: str, kind: str = "double") -> str:
        """A double, or another number, in all lanes."""
        vector = f"<{self.width} x {kind}>"
        first = self.put(f"insertelement {vector} undef, {kind} {value}, i32 0")
        return self.put(
            f"shufflevector {vector} {first}, {vector} undef, <{self.width} x i32> zeroinitializer"
        )

    def iota(self, step: int = 1) -> str:
        """The lanes' numbers times ``step``, a constant."""
        return "<" + ", ".join(f"i64 {step * lane}" for lane in range(self.width)) + ">"

    @property
    def all_lanes(self) -> str:
        return "<" + ", ".join(["i1 1"] * self.width) + ">"

    def mask(self, count: str) -> str:
        """Which lanes are among the first ``count``."""
        return self.put(f"icmp slt {self.bits} {self.iota()}, {self.repeated(count, 'i64')}")

    def masked_store(
        self,
        value: str,
        address: str,
        lanes: str,
        *,
        scattered: bool = False,
    ) -> None:
        """Store the lanes of ``lanes``, from one address on, or to an address each."""
        w = self.width
        name, to = ("scatter", f"v{w}p0(") if scattered else ("store", "p0(")
        pointer = f"<{w} x ptr>" if scattered else "ptr"
        self.lines.append(
            f"  call void @llvm.masked.{name}.v{w}f64.{to}{self.type} {value}, {pointer} "
            f"{address}, i32 8, <{w} x i1> {lanes})"
        )

    def emit(self, nodes: Iterable[Expr], leaf: Callable[[Expr], str]) -> None:
        """Instructions for ``nodes`` (topological order) that have none yet; ``leaf`` emits a
        leaf's load.
        """
        for node in nodes:
            if node.op == "const" or node.id in self.names:
                continue
            if node.op == "leaf":
                name = leaf(node)
            elif node.op in _LLVM_OPERATORS:
                name = self.binary(node.op, self.text(node.a), self.text(node.b))
            elif node.op == "neg":
                name = self.put(f"fneg {self.type} {self.text(node.a)}")
            elif node.op in ("min", "max"):
                name = self.extremum(node.op, self.text(node.a), self.text(node.b))
            elif node.op == "sqrt":
                name = self.put(
                    f"call {self.type} @llvm.sqrt.{self.suffix}({self.type} {self.text(node.a)})"
                )
            else:
                # exp, tanh, or sine or cosine of something that was not foreseen as an angle
                name = self._library(node.op, self.text(node.a))
            self.names[node.id] = name

    def extremum(self, op: str, a: str, b: str) -> str:
        """The smaller or larger; a NaN in ``a`` stays."""
        flag = self.put(f"fcmp {'ogt' if op == 'min' else 'olt'} {self.type} {a}, {b}")
        return self.put(f"select {self.flag} {flag}, {self.type} {b}, {self.type} {a}")

    def _library(self, function: str, x: str) -> str:
        if self.width == 1:
            return self.put(f"call double @{function}(double {x})")
        result = "undef"
        for lane in range(self.width):
            part = self.put(f"extractelement {self.type} {x}, i32 {lane}")
            part = self.put(f"call double @{function}(double {part})")
            result = self.put(f"insertelement {self.type} {result}, double {part}, i32 {lane}")
        return result

    def within_limit(self, angles: Sequence[str]) -> str:
        """An i1: all angles (of all lanes) are small enough for :meth:`sine_cosine`; false for
        NaN.
        """
        total = ""
        for x in angles:
            size = self.put(f"call {self.type} @llvm.fabs.{self.suffix}({self.type} {x})")
            good = self.put(f"fcmp ole {self.type} {size}, {self.splat(TRIG_LIMIT)}")
            if not total:
                total = good
            else:
                total = self.put(f"and {self.flag} {total}, {good}")
        return self.all_true(total)

    def all_true(self, flags: str) -> str:
        """An i1: the flags of all lanes are set."""
        if self.width == 1:
            return flags
        mask = self.put(f"bitcast <{self.width} x i1> {flags} to i{self.width}")
        return self.put(f"icmp eq i{self.width} {mask}, -1")

    def sine_cosine(self, x: str) -> tuple[str, str]:
        """Sine and cosine of angles within :data:`TRIG_LIMIT`."""
        turns = self.binary("mul", x, self.splat(_TWO_OVER_PI))
        n = self.put(f"call {self.type} @llvm.rint.{self.suffix}({self.type} {turns})")
        r = x
        for part in _HALF_PI:
            r = self.binary("sub", r, self.binary("mul", n, self.splat(part)))
        z = self.binary("mul", r, r)

        def horner(coefficients: Sequence[float]) -> str:
            value = self.splat(coefficients[-1])
            for c in reversed(coefficients[:-1]):
                value = self.binary("add", self.binary("mul", value, z), self.splat(c))
            return value

        rz = self.binary("mul", r, z)
        s = self.binary("add", self.binary("mul", rz, horner(_SINE)), r)
        near_one = self.binary("sub", self.splat(1.0), self.binary("mul", z, self.splat(0.5)))
        zz = self.binary("mul", z, z)
        c = self.binary("add", self.binary("mul", zz, horner(_COSINE)), near_one)

        k = self.put(f"fptosi {self.type} {n} to {self.integer}")
        odd = self.put(f"trunc {self.integer} {k} to {self.flag}")
        sine = self.put(f"select {self.flag} {odd}, {self.type} {c}, {self.type} {s}")
        cosine = self.put(f"select {self.flag} {odd}, {self.type} {s}, {self.type} {c}")
        return self._signed(sine, k, 0), self._signed(cosine, k, 1)

    def trigonometry(
        self,
        angles: Sequence[Expr],
        nodes: Sequence[Expr],
        labels: Sequence[str],
        width: int = 1,
    ) -> None:
        """Sines and cosines among ``nodes`` of plain angles: inline, or by the C library where one
        is too large.  The block of the last label is left open; of one state ``width`` angles go
        side by side.
        """
        near, far, ready = labels
        if not angles:
            return
        names = [self.text(x) for x in angles]
        groups = [names[k : k + width] for k in range(0, len(names), width)]
        emitters = [
            self if len(x) == 1 else Emitter(width, f"{near}_{k}_") for k, x in enumerate(groups)
        ]
        for e in emitters:
            e.lines = self.lines
        packed = [e.packed(group) for e, group in zip(emitters, groups, strict=True)]
        flags = [e.within_limit([x]) for e, x in zip(emitters, packed, strict=True)]
        while len(flags) > 1:
            flags = [self.put(f"and i1 {flags[0]}, {flags[1]}"), *flags[2:]]
        self.lines.append(f"  br i1 {flags[0]}, label %{near}, label %{far}\n{near}:")
        pairs = [
            (e, e.sine_cosine(x), len(group))
            for e, x, group in zip(emitters, packed, groups, strict=True)
        ]
        small = [
            [
                value if e is self else e.put(f"extractelement {e.type} {value}, i32 {k}")
                for value in pair
            ]
            for e, pair, count in pairs
            for k in range(count)
        ]
        self.lines.append(f"  br label %{ready}\n{far}:")
        large = [[self._library(op, x) for op in ("sin", "cos")] for x in names]
        self.lines.append(f"  br label %{ready}\n{ready}:")
        trig = {(node.op, node.a.id): node.id for node in nodes if node.op in ("sin", "cos")}
        for x, inline, library in zip(angles, small, large, strict=True):
            for op, a, b in zip(("sin", "cos"), inline, library, strict=True):
                if (op, x.id) in trig:
                    self.names[trig[op, x.id]] = self.put(
                        f"phi {self.type} [ {a}, %{near} ], [ {b}, %{far} ]"
                    )

    def packed(self, values: Sequence[str]) -> str:
        """Doubles side by side, the last one again in lanes that are left; a value that fills them
        as it is.
        """
        if len(values) == 1:
            return values[0]
        result = "undef"
        for lane in range(self.width):
            value = values[min(lane, len(values) - 1)]
            result = self.put(f"insertelement {self.type} {result}, double {value}, i32 {lane}")
        return result

    def _signed(self, value: str, k: str, shift: int) -> str:
        """``value`` negated in the quadrants where bit 1 of k + shift is set."""
        if shift:
            k = self.put(f"add {self.integer} {k}, {self.splat(shift, 'i32')}")
        wide = self.put(f"zext {self.integer} {k} to {self.bits}")
        wide = self.put(f"lshr {self.bits} {wide}, {self.splat(1, 'i64')}")
        sign = self.put(f"shl {self.bits} {wide}, {self.splat(63, 'i64')}")
        raw = self.put(f"bitcast {self.type} {value} to {self.bits}")
        raw = self.put(f"xor {self.bits} {raw}, {sign}")
        return self.put(f"bitcast {self.bits} {raw} to {self.type}")


def angles_of(outputs: Sequence[Expr]) -> list[Expr]:
    """Arguments of sines and cosines that contain no sine or cosine themselves."""
    nodes_of: dict[int, Expr] = {}
    for node in reachable(outputs):
        if node.op in ("sin", "cos"):
            nodes_of[node.a.id] = node.a
    plain = [
        x for x in nodes_of.values() if all(n.op not in ("sin", "cos") for n in reachable([x]))
    ]
    return sorted(plain, key=lambda n: n.id)


class Writer:
    """Writes the body of one function; ``label`` is that of the block that is being written."""

    def __init__(self) -> None:
        self.e = Emitter(1)
        self.label = "entry"
        self.labels = 0

    def function(self, head: str) -> str:
        """The whole function; ``head``: what stands between ``define`` and the body."""
        return "\n".join([f"define {head} {{", "entry:", *self.e.lines, "}"])

    def put(self, text: str) -> str:
        return self.e.put(text)

    def line(self, text: str) -> None:
        self.e.lines.append("  " + text)

    def fresh(self, word: str) -> str:
        self.labels += 1
        return f"{word}{self.labels}"

    def start(self, label: str) -> None:
        self.e.lines.append(f"{label}:")
        self.label = label

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")

    def loop(self, first: str, stop: str, step: int, body: Callable[[str], None]) -> None:
        """``for x in range(first, stop, step)``; counts down if ``step`` is negative, ``stop``
        excluded either way.
        """

        def run(x: str, _: list[str]) -> list[str]:
            body(x)
            return []

        self.carrying(first, stop, step, run, ())

    def carrying(
        self,
        first: str,
        stop: str,
        step: int,
        body: Callable[[str, list[str]], list[str]],
        carried: Sequence[tuple[str, str]],
    ) -> list[str]:
        """The same with values, (type, start) each, that each round gets and hands to the next;
        returns the last ones.
        """
        head, inside, latch, done = (self.fresh(w) for w in ("head", "body", "latch", "done"))
        before = self.label
        self.jump(head)
        self.start(head)
        x = f"%{self.fresh('x')}"
        self.line(f"{x} = phi i64 [ {first}, %{before} ], [ {x}n, %{latch} ]")
        names = [f"%{self.fresh('c')}" for _ in carried]
        phis = len(self.e.lines)
        self.e.lines += [""] * len(carried)
        more = self.put(f"icmp {'slt' if step > 0 else 'sgt'} i64 {x}, {stop}")
        self.line(f"br i1 {more}, label %{inside}, label %{done}")
        self.start(inside)
        further = body(x, names)
        self.jump(latch)
        self.start(latch)
        self.line(f"{x}n = add nsw i64 {x}, {step}")
        self.jump(head)
        self.start(done)
        for k, ((kind, value), name, new) in enumerate(zip(carried, names, further, strict=True)):
            self.e.lines[phis + k] = (
                f"  {name} = phi {kind} [ {value}, %{before} ], [ {new}, %{latch} ]"
            )
        return names

    def at(self, base: str, index: str, scale: int = 1, offset: int = 0) -> str:
        if scale != 1:
            index = self.put(f"mul nsw i64 {index}, {scale}")
        if offset:
            index = self.put(f"add nsw i64 {index}, {offset}")
        return self.put(f"getelementptr inbounds double, ptr {base}, i64 {index}")

    def bytes_at(self, base: str, index: str, step: str | int) -> str:
        return self.put(f"getelementptr i8, ptr {base}, i64 {self.put(f'mul i64 {index}, {step}')}")
