"""LLVM assembly of routines, see
:mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from robot_dynamics_ros.dynamics.engine.codegen import routine_source as source
from robot_dynamics_ros.dynamics.engine.codegen.declared import Constant, Declared
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import Writer, double

_LLVM = {"f": "double", "i": "i64", "b": "i1", "none": "void"}
_INTRINSIC = {name: f"llvm.{name}.f64" for name in ("sqrt", "copysign", "floor", "ceil")} | {
    "abs": "llvm.fabs.f64"
}
_TWO = ("pow", "atan2", "fmod", "remainder", "copysign")
_LLVM_ARITHMETIC = {"+": "fadd contract", "-": "fsub contract", "*": "fmul contract", "/": "fdiv"}
_INTEGERS = {
    "+": "add nsw",
    "-": "sub nsw",
    "*": "mul nsw",
    # of those that are not negative
    "//": "sdiv",
    "%": "srem",
    "&": "and",
    "|": "or",
    "^": "xor",
}
_LLVM_COMPARISONS = {
    "<": ("olt", "slt"),
    "<=": ("ole", "sle"),
    ">": ("ogt", "sgt"),
    ">=": ("oge", "sge"),
    "==": ("oeq", "eq"),
    "!=": ("une", "ne"),
}
_LLVM_ARITHMETIC |= {sign: f"fcmp {word}" for sign, (word, _) in _LLVM_COMPARISONS.items()}
_INTEGERS |= {sign: f"icmp {word}" for sign, (_, word) in _LLVM_COMPARISONS.items()}
_LINES_INLINED = 60
"""Of LLVM assembly: functions that are no longer than this become part of their callers.  With
twice as many lines, the compiler takes a fifth longer, and a control cycle is no faster.
"""
_LLVM_PACKED = {"number": "double", "word": "i32", "put_number": "double", "put_word": "i32"}


@dataclass(frozen=True)
class Slot:
    """One array of the memory, ``offset`` numbers from its beginning; of doubles, or of integers of
    64 bits.
    """

    offset: int
    shape: tuple[int, ...]
    integer: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class CallSlot:
    """Compiled functions of one name that routines may call: where the first one's address is, in
    numbers, and how many ``further`` pointers, handed to it after its arguments, follow.
    """

    offset: int
    further: int


@dataclass(frozen=True)
class MemoryLayout:
    """Where a memory has what: all that machine code depends on."""

    declared: type[Declared]
    constants: tuple[tuple[str, Constant], ...]
    slots: tuple[tuple[str, Slot], ...]
    kernels: tuple[tuple[str, CallSlot], ...]
    size: int


def routine_module(program: source.Program, layout: MemoryLayout) -> str:
    """LLVM assembly of a program.

    An exported function ``name`` takes a pointer to the memory, then its own parameters: i64,
    double, i1, or pointers.
    """
    functions = (*source.MATHEMATICS, "floor", "ceil", "abs")
    known = [
        f"declare double @{_INTRINSIC.get(name, name)}(double{', double' if name in _TWO else ''})"
        for name in functions
    ]
    return "\n".join(
        [*known, *(_RoutineWriter(routine, layout).text() for routine in program.routines)]
    )


def _llvm(kind: str) -> str:
    return _LLVM.get(kind, "ptr")


def _result(kind: str) -> str:
    return "zeroext i1" if kind == "b" else _llvm(kind)


class _RoutineWriter(Writer):
    """Writes one function."""

    def __init__(self, routine: source.Routine, layout: MemoryLayout) -> None:
        super().__init__()
        self.routine = routine
        self._slots = dict(layout.slots)
        self._kernels = dict(layout.kernels)
        self.head: list[str] = []
        self.loops: list[tuple[str, str]] = []
        self._ended = False
        for name, kind in routine.variables.items():
            self.head.append(f"  %v_{name} = alloca {_llvm(kind)}")
        for name, kind in routine.parameters.items():
            if kind in _LLVM:
                self.head.append(f"  %v_{name} = alloca {_llvm(kind)}")
                self.line(f"store {_llvm(kind)} %arg_{name}, ptr %v_{name}")
        self.block(routine.body)

    def text(self) -> str:
        routine = self.routine
        parameters = [
            "ptr %p" if kind == "memory" else f"{_llvm(kind)} %arg_{name}"
            for name, kind in routine.parameters.items()
        ]
        linkage = "" if routine.exported else "internal "
        inlining = ""
        if routine.exported:
            # it exists anyway: copies only take the compiler's time
            inlining = "noinline "
        elif len(self.e.lines) <= _LINES_INLINED:
            inlining = "alwaysinline "
        if not self._ended:
            self.end("ret void" if routine.returns == "none" else "unreachable")
        self.e.lines[:0] = self.head
        return self.function(
            f"{linkage}{_result(routine.returns)} @{routine.name}({', '.join(parameters)}) "
            f"nounwind {inlining}"
        )

    # -- writing -----------------------------------------------------------------------------------

    def begin(self, label: str) -> None:
        if not self._ended:
            self.jump(label)
        self.start(label)
        self._ended = False

    def end(self, text: str) -> None:
        self.line(text)
        self._ended = True

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.end(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def temporary(self, kind: str) -> str:
        name = f"%{self.fresh('s')}"
        self.head.append(f"  {name} = alloca {_llvm(kind)}")
        return name

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Sequence[source.Statement]) -> None:
        for statement in body:
            if self._ended:
                return
            getattr(self, f"on_{type(statement).__name__}")(statement)

    def on_Assign(self, s: source.Assign) -> None:
        self.line(f"store {_llvm(s.value.kind)} {self.value(s.value)}, ptr %v_{s.name}")

    def on_Store(self, s: source.Store) -> None:
        value = self.value(s.value)
        self.line(f"store {_llvm(s.target.kind)} {value}, ptr {self.address(s.target)}, align 8")

    def on_Do(self, s: source.Do) -> None:
        self.value(s.value)

    def on_If(self, s: source.If) -> None:
        then = self.fresh("then")
        otherwise = self.fresh("else")
        after = self.fresh("after")
        self.branch(self.value(s.test), then, otherwise)
        for label, body in ((then, s.body), (otherwise, s.otherwise)):
            self.begin(label)
            self.block(body)
            if not self._ended:
                self.end(f"br label %{after}")
        self.begin(after)

    def on_While(self, s: source.While) -> None:
        test = self.fresh("test")
        body = self.fresh("body")
        after = self.fresh("after")
        self.begin(test)
        self.branch(self.value(s.test), body, after)
        self.looped(s.body, body, test, after)
        if not self._ended:
            self.end(f"br label %{test}")
        self.begin(after)

    def looped(
        self,
        statements: Sequence[source.Statement],
        body: str,
        again: str,
        after: str,
    ) -> None:
        self.begin(body)
        self.loops.append((again, after))
        self.block(statements)
        self.loops.pop()

    def on_For(self, s: source.For) -> None:
        start = self.value(s.start)
        stop = self.value(s.stop)
        counter = self.temporary("i")
        test, body, following, after = (self.fresh(w) for w in ("test", "body", "next", "after"))
        self.line(f"store i64 {start}, ptr {counter}")
        self.begin(test)
        now = self.put(f"load i64, ptr {counter}")
        self.branch(
            self.put(f"icmp {'sgt' if s.step < 0 else 'slt'} i64 {now}, {stop}"), body, after
        )
        self.begin(body)
        self.line(f"store i64 {now}, ptr %v_{s.name}")
        self.looped(s.body, self.fresh("inside"), following, after)
        self.begin(following)
        self.line(f"store i64 {self.put(f'add nsw i64 {now}, {s.step}')}, ptr {counter}")
        self.end(f"br label %{test}")
        self.begin(after)

    def on_Jump(self, s: source.Jump) -> None:
        again, after = self.loops[-1]
        self.end(f"br label %{after if s.word == 'break' else again}")

    def on_Return(self, s: source.Return) -> None:
        self.end(
            "ret void" if s.value is None else f"ret {_llvm(s.value.kind)} {self.value(s.value)}"
        )

    # -- expressions -------------------------------------------------------------------------------

    def value(self, x: source.Expression) -> str:
        text: str = getattr(self, f"of_{type(x).__name__}")(x)
        return text

    def of_Number(self, x: source.Number) -> str:
        if x.kind == "b":
            return "true" if x.value else "false"
        if x.kind == "f":
            return double(float(x.value))
        return str(x.value)

    def of_Variable(self, x: source.Variable) -> str:
        if x.kind in _LLVM:
            return self.put(f"load {_llvm(x.kind)}, ptr %v_{x.name}")
        return "%p"

    def of_Array(self, x: source.Array) -> str:
        if not x.own:
            return f"%arg_{x.name}"
        return self.put(f"getelementptr inbounds double, ptr %p, i64 {self._slots[x.name].offset}")

    def of_Row(self, x: source.Row) -> str:
        base = self.value(x.array)
        start = self.put(f"mul nsw i64 {self.value(x.place)}, {x.array.width}")
        return self.put(f"getelementptr inbounds double, ptr {base}, i64 {start}")

    def address(self, x: source.Element) -> str:
        base = self.value(x.array)
        index = self.value(x.place[0])
        if len(x.place) == 2:
            column = self.value(x.place[1])
            index = self.put(
                f"add nsw i64 {self.put(f'mul nsw i64 {index}, {x.array.width}')}, {column}"
            )
        return self.put(f"getelementptr inbounds {_llvm(x.kind)}, ptr {base}, i64 {index}")

    def of_Element(self, x: source.Element) -> str:
        return self.put(f"load {_llvm(x.kind)}, ptr {self.address(x)}, align 8")

    def of_Operation(self, x: source.Operation) -> str:
        if x.name in ("and", "or"):
            return self.joined(x)
        if x.name == "choose":
            return self.chosen(x)
        kind = x.operands[0].kind
        values = [self.value(y) for y in x.operands]
        if len(values) == 1:
            return self.of_one(x.name, kind, values[0])
        if x.name in ("min", "max"):
            a, b = values
            better = self.of_two("<" if x.name == "min" else ">", kind, b, a)
            return self.put(f"select i1 {better}, {_llvm(kind)} {b}, {_llvm(kind)} {a}")
        if x.name in _TWO:
            return self.put(
                f"call double @{_INTRINSIC.get(x.name, x.name)}(double {values[0]}, double "
                f"{values[1]})"
            )
        return self.of_two(x.name, kind, *values)

    def of_two(self, name: str, kind: str, a: str, b: str) -> str:
        return self.put(
            f"{(_LLVM_ARITHMETIC if kind == 'f' else _INTEGERS)[name]} {_llvm(kind)} {a}, {b}"
        )

    def of_one(self, name: str, kind: str, a: str) -> str:
        if name == "not":
            return self.put(f"xor i1 {a}, true")
        if name == "-":
            return self.put(f"fneg double {a}" if kind == "f" else f"sub nsw i64 0, {a}")
        if name == "to_f":
            return self.put(f"sitofp i64 {a} to double")
        if name == "to_i":
            return self.put(f"zext i1 {a} to i64" if kind == "b" else f"fptosi double {a} to i64")
        if name == "isnan":
            return self.put(f"fcmp uno double {a}, {a}")
        if name == "isfinite":
            return self.put(f"fcmp oeq double {self.put(f'fsub double {a}, {a}')}, {double(0.0)}")
        if name == "abs" and kind == "i":
            minus = self.put(f"sub nsw i64 0, {a}")
            return self.put(f"select i1 {self.put(f'icmp slt i64 {a}, 0')}, i64 {minus}, i64 {a}")
        return self.put(f"call double @{_INTRINSIC.get(name, name)}(double {a})")

    def joined(self, x: source.Operation) -> str:
        result = self.temporary("b")
        following = self.fresh("more")
        after = self.fresh("after")
        first = self.value(x.operands[0])
        self.line(f"store i1 {first}, ptr {result}")
        then, otherwise = (following, after) if x.name == "and" else (after, following)
        self.branch(first, then, otherwise)
        self.begin(following)
        self.line(f"store i1 {self.value(x.operands[1])}, ptr {result}")
        self.begin(after)
        return self.put(f"load i1, ptr {result}")

    def chosen(self, x: source.Operation) -> str:
        condition, *choices = x.operands
        result = self.temporary(x.kind)
        after = self.fresh("after")
        labels = self.fresh("then"), self.fresh("else")
        self.branch(self.value(condition), *labels)
        for label, choice in zip(labels, choices, strict=True):
            self.begin(label)
            self.line(f"store {_llvm(x.kind)} {self.value(choice)}, ptr {result}")
            self.end(f"br label %{after}")
        self.begin(after)
        return self.put(f"load {_llvm(x.kind)}, ptr {result}")

    def of_Call(self, x: source.Call) -> str:
        if isinstance(x.routine, str):
            return self.packed_call(x.routine, [self.value(a) for a in x.arguments])
        handed = ", ".join([f"{_llvm(a.kind)} {self.value(a)}" for a in x.arguments])
        call = f"call {_result(x.kind)} @{x.routine.name}({handed})"
        if x.kind != "none":
            return self.put(call)
        self.line(call)
        return ""

    def packed_call(self, name: str, values: list[str]) -> str:
        """Read or write in a packed message, whose numbers stand at multiples of four bytes."""
        address = self.put(f"getelementptr inbounds i32, ptr {values[0]}, i64 {values[1]}")
        llvm = _LLVM_PACKED[name]
        if len(values) == 2:
            loaded = self.put(f"load {llvm}, ptr {address}, align 4")
            if llvm == "i32":
                return self.put(f"zext i32 {loaded} to i64")
            return loaded
        if llvm == "i32":
            value = self.put(f"trunc i64 {values[2]} to i32")
        else:
            value = values[2]
        self.line(f"store {llvm} {value}, ptr {address}, align 4")
        return ""

    def of_KernelCall(self, x: source.KernelCall) -> str:
        """A call of a kernel that the memory names: its slot holds the address of the code, then
        those of further memory that the code is called with; ``x.number`` chooses among several.
        """
        slot = self._kernels[x.name]
        arrays = [self.value(a) for a in x.arguments]
        table = self.put(f"getelementptr inbounds ptr, ptr %p, i64 {slot.offset}")
        if x.number is not None:
            row = self.put(f"mul nsw i64 {self.value(x.number)}, {slot.further + 1}")
            table = self.put(f"getelementptr inbounds ptr, ptr {table}, i64 {row}")
        words = []
        for k in range(slot.further + 1):
            address = self.put(f"getelementptr inbounds ptr, ptr {table}, i64 {k}")
            words.append(self.put(f"load ptr, ptr {address}, align 8"))
        handed = ", ".join(f"ptr {a}" for a in (*arrays, *words[1:]))
        self.line(f"call void {words[0]}(i64 0, i64 1, {handed})")
        return ""
