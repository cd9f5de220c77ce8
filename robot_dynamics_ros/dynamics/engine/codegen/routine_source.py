"""LLVM assembly from plain Python functions that loop and branch on numbers.

A traced algorithm (:mod:`~robot_dynamics_ros.dynamics.engine.trace`) is a straight line.  What iterates until a condition
holds, such as a complementarity problem, is written as a function of a small subset of Python instead, and that one text
is either run by Python or translated here.  The subset:

- the first parameter, usually ``p``, is the memory, annotated with the class that declares it
  (:class:`~robot_dynamics_ros.dynamics.engine.codegen.declared.Declared`): ``p.name[i]`` and ``p.name[i, j]`` are numbers in its arrays,
  ``p.name`` alone is one of its constants or an array handed to a function, and ``p.name(arrays)`` calls one of its kernels,
  ``p.name(k, arrays)`` the k-th of several of one name; a function of numbers alone needs no memory;
- further parameters are annotated ``int``, ``float``, ``bool``, ``Vector``, ``Matrix`` (rows as long as ``p.nv``), ``Integers`` or ``Packed``;
  what is returned is a number, a truth value or nothing;
- ``if`` of a constant of the memory, or ``if not``, leaves out what is not taken, before anything in it is looked up;
- ``for … in range``, ``while``, ``if``, ``break``, ``continue``, ``return``, assignments to names and array entries, arithmetic,
  comparisons, ``and``, ``or``, ``not``, conditional expressions; ``//`` and ``%`` of integers that are not negative, ``&``, ``|``, ``^``;
- ``abs``, ``min``, ``max``, ``float``, ``int`` of a number that fits; ``math``'s ``sqrt``, ``exp``, ``expm1``, ``log``, ``tanh``, ``pow``, ``sin``, ``cos``, ``tan``,
  ``atan2``, ``fmod``, ``remainder``, ``copysign``, ``floor``, ``ceil``, ``isfinite``, ``isnan``, by name or as ``math.name``;
- numbers of the module in which the routine stands, or of another (``math.pi``), members of an ``IntEnum``;
- :func:`~robot_dynamics_ros.dynamics.engine.codegen.declared.row`, the functions of :mod:`~robot_dynamics_ros.dynamics.engine.codegen.packed`, and other
  such functions, of any module.

Arrays of the memory do not overlap, and the compiler knows it.  Integers are of 64 bits.  A division by zero gives an
infinity where Python raises, so nothing here may divide by zero.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeGuard

from robot_dynamics_ros.dynamics.engine.codegen import declared, packed
from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import double

__all__ = ["CallSlot", "MemoryLayout", "Slot", "routine_module"]

_KINDS = {"float": "f", "int": "i", "bool": "b", "Vector": "vector", "Matrix": "matrix", "Integers": "integers",
          "Packed": "packed"}  # fmt: skip
_LLVM = {"f": "double", "i": "i64", "b": "i1", "vector": "ptr", "matrix": "ptr", "integers": "ptr", "packed": "ptr",
         "none": "void"}  # fmt: skip
_MATHEMATICS = {
    math.sqrt: "llvm.sqrt.f64",
    math.copysign: "llvm.copysign.f64",
    **{getattr(math, name): name for name in ("exp", "expm1", "log", "tanh", "pow", "sin", "cos", "tan", "atan2", "fmod",
                                              "remainder")},
}  # fmt: skip
_TWO = ("pow", "atan2", "fmod", "remainder", "llvm.copysign.f64")
_WHOLE = {math.floor: "llvm.floor.f64", math.ceil: "llvm.ceil.f64"}
_PACKED = {packed.number: ("double", "f"), packed.word: ("i32", "i")}
_PACKED_STORES = {packed.put_number: "double", packed.put_word: "i32"}
_OF_INTEGERS = {
    ast.FloorDiv: "sdiv",  # of those that are not negative
    ast.Mod: "srem",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "ashr",
}
_BUILT_IN = ("min", "max", "abs", "float", "int")
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_FLOAT_TESTS = {ast.Lt: "olt", ast.LtE: "ole", ast.Gt: "ogt", ast.GtE: "oge", ast.Eq: "oeq", ast.NotEq: "une"}
_INTEGER_TESTS = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}

Value = tuple[str, str]
"""An operand and its kind: "f", "i", "b" or an array."""


@dataclass(frozen=True)
class Slot:
    """One array of the memory.

    Attributes:
        offset: of its first number, in numbers.
        shape: one or two dimensions.
        integer: whether it holds integers of 64 bits.
    """

    offset: int
    shape: tuple[int, ...]
    integer: bool = False

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class CallSlot:
    """Compiled functions of one name that routines may call.

    Attributes:
        offset: where the first one's address is, in numbers; the pointers handed to it after its arguments follow.
        further: how many those are.
        count: how many functions; −1: one, which is called without a number.
    """

    offset: int
    further: int
    count: int = -1


@dataclass(frozen=True)
class MemoryLayout:
    """Where a memory has what: all that translating depends on."""

    constants: tuple[tuple[str, int | float | bool], ...]
    slots: tuple[tuple[str, Slot], ...]
    kernels: tuple[tuple[str, CallSlot], ...]
    size: int


def routine_module(layout: MemoryLayout, exported: Sequence[Callable[..., Any]]) -> str:
    """LLVM assembly of some functions and of those that they call.

    An exported function ``name`` takes a pointer to the memory, then its own parameters: i64, double, or pointers.
    """
    module = _Module(layout, exported)
    for function in exported:
        module.add(function)
    return module.text()


class _Module:
    def __init__(self, layout: MemoryLayout, exported: Sequence[Callable[..., Any]]) -> None:
        self.constants = dict(layout.constants)
        self.slots, self.kernels = dict(layout.slots), dict(layout.kernels)
        self.scopes = {name: k for k, name in enumerate(self.slots)}
        self._exported = {function: function.__name__ for function in exported}
        self._texts: list[str] = []
        self._heads: dict[Callable[..., Any], _Head] = {}

    def add(self, function: Callable[..., Any]) -> _Head:
        """Translate a function once."""
        head = self._heads.get(function)
        if head is None:
            node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
            assert isinstance(node, ast.FunctionDef)
            named = self._exported.get(function, f"{function.__name__}.{len(self._heads)}")
            kinds = [_kind_of(a.annotation) for a in node.args.args]
            head = _Head(named, kinds, _kind_of(node.returns))
            self._heads[function] = head
            translated = _Function(self, node, head, function.__globals__)
            self._texts.append(translated.text("" if function in self._exported else "internal "))
        return head

    def aliasing(self, name: str) -> str:
        return f", !alias.scope !{10 + 2 * self.scopes[name]}, !noalias !{11 + 2 * self.scopes[name]}"

    def text(self) -> str:
        count = len(self.scopes)
        first = 10 + 2 * count
        metadata = ["!0 = distinct !{!0}"]
        for k in range(count):
            metadata.append(f"!{first + k} = distinct !{{!{first + k}, !0}}")
            others = ", ".join(f"!{first + m}" for m in range(count) if m != k)
            metadata.append(f"!{10 + 2 * k} = !{{!{first + k}}}")
            metadata.append(f"!{11 + 2 * k} = !{{{others}}}")
        known = [
            f"declare double @{name}(double{', double' if name in _TWO else ''})"
            for name in (*_MATHEMATICS.values(), *_WHOLE.values(), "llvm.fabs.f64")
        ]
        return "\n".join([*known, *self._texts, *metadata])


@dataclass(frozen=True)
class _Head:
    """Name, kinds of the parameters and of what is returned."""

    name: str
    kinds: list[str]
    returns: str


def _kind_of(annotation: Any) -> str:
    if annotation is None or (isinstance(annotation, ast.Constant) and annotation.value is None):
        return "none"
    assert isinstance(annotation, (ast.Name, ast.Attribute)), ast.dump(annotation)
    return _KINDS.get(annotation.id if isinstance(annotation, ast.Name) else annotation.attr, "memory")


class _Function:
    """Translates one function."""

    def __init__(self, module: _Module, node: ast.FunctionDef, head: _Head, scope: Mapping[str, Any]) -> None:
        self.module, self.node, self.name, self.scope = module, node, head.name, scope
        self.kinds, self.returns = head.kinds, head.returns
        self.memory = ""
        self.head: list[str] = []
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}  # name → kind
        self.arrays: dict[str, str] = {}
        self.loops: list[tuple[str, str]] = []
        self._count = 0
        self._ended = False
        for argument, kind in zip(node.args.args, self.kinds, strict=True):
            if kind == "memory":
                self.memory = argument.arg
            elif kind in ("f", "i", "b"):
                self._declare(argument.arg, kind)
                self.emit(f"store {_LLVM[kind]} %arg_{argument.arg}, ptr %v_{argument.arg}")
            else:
                self.arrays[argument.arg] = kind
        self.block(node.body)

    def text(self, linkage: str) -> str:
        parameters = []
        for argument, kind in zip(self.node.args.args, self.kinds, strict=True):
            parameters.append("ptr %p" if kind == "memory" else f"{_LLVM[kind]} %arg_{argument.arg}")
        returns = ("zeroext " if self.returns == "b" else "") + _LLVM[self.returns]
        inlining = "" if linkage else "noinline "  # it exists anyway: copies of it only take the compiler's time
        lines = list(self.lines)
        if not self._ended:
            lines.append("  ret void" if self.returns == "none" else "  unreachable")
        return "\n".join(
            [
                f"define {linkage}{returns} @{self.name}({', '.join(parameters)}) nounwind {inlining}{{",
                "entry:",
                *self.head,
                *lines,
                "}",
            ]
        )

    # -- writing -------------------------------------------------------------------------------------------------

    def emit(self, text: str) -> None:
        if not self._ended:
            self.lines.append(f"  {text}")

    def put(self, text: str) -> str:
        name = f"%t{self._count}"
        self._count += 1
        self.emit(f"{name} = {text}")
        return name

    def label(self, word: str) -> str:
        self._count += 1
        return f"{word}{self._count}"

    def begin(self, label: str) -> None:
        if not self._ended:
            self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self._ended = False

    def end(self, text: str) -> None:
        self.emit(text)
        self._ended = True

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        self.end(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def _declare(self, name: str, kind: str) -> None:
        known = self.variables.get(name)
        if known is None:
            self.variables[name] = kind
            self.head.append(f"  %v_{name} = alloca {_LLVM[kind]}")
        elif known != kind:
            raise TypeError(f"{self.node.name}: {name} changes from {known} to {kind}")

    # -- statements ----------------------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self._ended:
                return
            getattr(self, f"on_{type(statement).__name__}")(statement)

    def on_Pass(self, _: ast.Pass) -> None:
        pass

    def on_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.value(node.value)

    def on_Assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.store(target, value)

    def on_AugAssign(self, node: ast.AugAssign) -> None:
        self.store(node.target, self.arithmetic(node.op, self.value(node.target), self.value(node.value)))

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name):
            kind = value[1]
            if self.variables.get(target.id) == "f":
                kind = "f"
            self._declare(target.id, kind)
            self.emit(f"store {_LLVM[kind]} {self.converted(value, kind)}, ptr %v_{target.id}")
            return
        assert isinstance(target, ast.Subscript), ast.dump(target)
        address, kind, aliasing = self.address(target)
        self.emit(f"store {_LLVM[kind]} {self.converted(value, kind)}, ptr {address}, align 8{aliasing}")

    def on_If(self, node: ast.If) -> None:
        negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) and negated else node.test
        if self.of_memory(test) and test.attr in self.module.constants:  # decided beforehand
            self.block(node.orelse if bool(self.module.constants[test.attr]) == negated else node.body)
            return
        then, otherwise, after = self.label("then"), self.label("else"), self.label("after")
        self.branch(self.truth(node.test), then, otherwise)
        for label, body in ((then, node.body), (otherwise, node.orelse)):
            self.begin(label)
            self.block(body)
            if not self._ended:
                self.end(f"br label %{after}")
        self.begin(after)

    def on_While(self, node: ast.While) -> None:
        test, body, after = self.label("test"), self.label("body"), self.label("after")
        self.begin(test)
        self.branch(self.truth(node.test), body, after)
        self.begin(body)
        self.loops.append((test, after))
        self.block(node.body)
        self.loops.pop()
        if not self._ended:
            self.end(f"br label %{test}")
        self.begin(after)

    def on_For(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call)
        bounds = [self.value(a)[0] for a in node.iter.args]
        start, stop = ("0", bounds[0]) if len(bounds) == 1 else bounds[:2]
        step = bounds[2] if len(bounds) == 3 else "1"
        name = node.target.id
        self._declare(name, "i")
        counter = f"%c{self._count}"
        self._count += 1
        self.head.append(f"  {counter} = alloca i64")
        test, body, following, after = (self.label(w) for w in ("test", "body", "next", "after"))
        self.emit(f"store i64 {start}, ptr {counter}")
        self.begin(test)
        now = self.put(f"load i64, ptr {counter}")
        direction = "sgt" if step.startswith("-") else "slt"
        self.branch(self.put(f"icmp {direction} i64 {now}, {stop}"), body, after)
        self.begin(body)
        self.emit(f"store i64 {now}, ptr %v_{name}")
        self.loops.append((following, after))
        self.block(node.body)
        self.loops.pop()
        self.begin(following)
        self.emit(f"store i64 {self.put(f'add nsw i64 {now}, {step}')}, ptr {counter}")
        self.end(f"br label %{test}")
        self.begin(after)

    def on_Break(self, _: ast.Break) -> None:
        self.end(f"br label %{self.loops[-1][1]}")

    def on_Continue(self, _: ast.Continue) -> None:
        self.end(f"br label %{self.loops[-1][0]}")

    def on_Return(self, node: ast.Return) -> None:
        if node.value is None:
            self.end("ret void")
        else:
            self.end(f"ret {_LLVM[self.returns]} {self.converted(self.value(node.value), self.returns)}")

    # -- expressions ---------------------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        result: Value = getattr(self, f"of_{type(node).__name__}")(node)
        return result

    def truth(self, node: ast.expr) -> str:
        text, kind = self.value(node)
        return text if kind == "b" else self.put(f"icmp ne i64 {text}, 0")

    def converted(self, value: Value, kind: str) -> str:
        text, given = value
        if given == kind:
            return text
        if given == "b":
            text, given = self.put(f"zext i1 {text} to i64"), "i"
        if (given, kind) == ("i", "f"):
            return double(float(text)) if text.lstrip("-").isdigit() else self.put(f"sitofp i64 {text} to double")
        if given == kind:
            return text
        raise TypeError(f"{self.node.name}: {given} where {kind} is expected")

    def of_Constant(self, node: ast.Constant) -> Value:
        return _constant(node.value)

    def of_Name(self, node: ast.Name) -> Value:
        if node.id in self.variables:
            kind = self.variables[node.id]
            return self.put(f"load {_LLVM[kind]}, ptr %v_{node.id}"), kind
        if node.id in self.arrays:
            return f"%arg_{node.id}", self.arrays[node.id]
        return _constant(self.scope[node.id])

    def of_memory(self, node: ast.expr) -> TypeGuard[ast.Attribute]:
        """Whether an expression is a name in the memory."""
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == self.memory

    def outside(self, node: ast.expr) -> Any:
        """The object that a name means in the routine's module."""
        return self.scope[node.id] if isinstance(node, ast.Name) else getattr(self.outside(node.value), node.attr)  # type: ignore

    def of_Attribute(self, node: ast.Attribute) -> Value:
        if not self.of_memory(node):
            return _constant(self.outside(node))
        if node.attr in self.module.constants:
            return _constant(self.module.constants[node.attr])
        return self.base(node)[:2]

    def base(self, node: ast.expr) -> tuple[str, str, str]:
        """Address, kind and what is known of the aliasing of an array."""
        if isinstance(node, ast.Attribute):
            slot = self.module.slots[node.attr]
            kind = "integers" if slot.integer else "matrix" if len(slot.shape) == 2 else "vector"
            address = self.put(f"getelementptr inbounds double, ptr %p, i64 {slot.offset}")
            return address, kind, self.module.aliasing(node.attr)
        assert isinstance(node, ast.Name)
        return f"%arg_{node.id}", self.arrays[node.id], ""

    def address(self, node: ast.Subscript) -> tuple[str, str, str]:
        """Address and kind of an entry."""
        base, kind, aliasing = self.base(node.value)
        if kind == "matrix":
            assert isinstance(node.slice, ast.Tuple)
            row, column = (self.value(x)[0] for x in node.slice.elts)
            row = self.put(f"mul nsw i64 {row}, {self.width(node.value)}")
            index = self.put(f"add nsw i64 {row}, {column}")
        else:
            index = self.value(node.slice)[0]
        entry = "i" if kind == "integers" else "f"
        return self.put(f"getelementptr inbounds {_LLVM[entry]}, ptr {base}, i64 {index}"), entry, aliasing

    def width(self, matrix: ast.expr) -> int:
        """The length of a matrix's rows."""
        if self.of_memory(matrix):
            return self.module.slots[matrix.attr].shape[1]
        return int(self.module.constants["nv"])

    def of_Subscript(self, node: ast.Subscript) -> Value:
        address, kind, aliasing = self.address(node)
        return self.put(f"load {_LLVM[kind]}, ptr {address}, align 8{aliasing}"), kind

    def of_UnaryOp(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return self.put(f"xor i1 {self.truth(node.operand)}, true"), "b"
        assert isinstance(node.op, ast.USub)
        if isinstance(node.operand, ast.Constant) and isinstance(node.operand.value, (int, float)):
            return _constant(-node.operand.value)
        text, kind = self.value(node.operand)
        return self.put(f"fneg double {text}" if kind == "f" else f"sub nsw i64 0, {text}"), kind

    def of_BinOp(self, node: ast.BinOp) -> Value:
        return self.arithmetic(node.op, self.value(node.left), self.value(node.right))

    def arithmetic(self, op: ast.operator, left: Value, right: Value) -> Value:
        if isinstance(op, ast.Div):
            a, b = self.converted(left, "f"), self.converted(right, "f")
            return self.put(f"fdiv double {a}, {b}"), "f"
        if type(op) in _OF_INTEGERS:
            a, b = self.converted(left, "i"), self.converted(right, "i")
            return self.put(f"{_OF_INTEGERS[type(op)]} i64 {a}, {b}"), "i"
        word = _ARITHMETIC[type(op)]
        if left[1] == right[1] == "i":
            return self.put(f"{word} nsw i64 {left[0]}, {right[0]}"), "i"
        a, b = self.converted(left, "f"), self.converted(right, "f")
        return self.put(f"f{word} contract double {a}, {b}"), "f"

    def of_Compare(self, node: ast.Compare) -> Value:
        sides = [self.value(x) for x in (node.left, *node.comparators)]
        tests = [self.compare(type(op), *pair) for op, pair in zip(node.ops, pairwise(sides), strict=True)]
        return functools.reduce(lambda a, b: self.put(f"and i1 {a}, {b}"), tests), "b"

    def compare(self, op: type[ast.cmpop], left: Value, right: Value) -> str:
        if "f" in (left[1], right[1]):
            a, b = self.converted(left, "f"), self.converted(right, "f")
            return self.put(f"fcmp {_FLOAT_TESTS[op]} double {a}, {b}")
        a, b = self.converted(left, "i"), self.converted(right, "i")
        return self.put(f"icmp {_INTEGER_TESTS[op]} i64 {a}, {b}")

    def of_BoolOp(self, node: ast.BoolOp) -> Value:
        result = self.temporary("b")
        after = self.label("after")
        for k, part in enumerate(node.values):
            truth = self.truth(part)
            self.emit(f"store i1 {truth}, ptr {result}")
            if k + 1 == len(node.values):
                break
            following = self.label("more")
            then, otherwise = (following, after) if isinstance(node.op, ast.And) else (after, following)
            self.branch(truth, then, otherwise)
            self.begin(following)
        self.begin(after)
        return self.put(f"load i1, ptr {result}"), "b"

    def temporary(self, kind: str) -> str:
        name = f"%s{self._count}"
        self._count += 1
        self.head.append(f"  {name} = alloca {_LLVM[kind]}")
        return name

    def of_IfExp(self, node: ast.IfExp) -> Value:
        then, otherwise, after = self.label("then"), self.label("else"), self.label("after")
        self.branch(self.truth(node.test), then, otherwise)
        self.begin(then)
        first = self.value(node.body)
        leaving = len(self.lines)
        self.begin(otherwise)  # its jump is replaced below
        second = self.value(node.orelse)
        kind = "f" if "f" in (first[1], second[1]) else first[1]
        result = self.temporary(kind)
        self.emit(f"store {_LLVM[kind]} {self.converted(second, kind)}, ptr {result}")
        self.end(f"br label %{after}")
        rest, self.lines = self.lines[leaving + 1 :], self.lines[:leaving]
        self._ended = False
        self.emit(f"store {_LLVM[kind]} {self.converted(first, kind)}, ptr {result}")
        self.end(f"br label %{after}")
        self.lines += rest
        self.begin(after)
        return self.put(f"load {_LLVM[kind]}, ptr {result}"), kind

    def of_Call(self, node: ast.Call) -> Value:
        if self.of_memory(node.func):
            return self.kernel_call(node)
        if isinstance(node.func, ast.Name) and node.func.id in _BUILT_IN and node.func.id not in self.scope:
            return self.built_in(node.func.id, [self.value(a) for a in node.args])
        function = self.outside(node.func)
        if function in _MATHEMATICS:
            words = ", ".join(f"double {self.converted(self.value(a), 'f')}" for a in node.args)
            return self.put(f"call double @{_MATHEMATICS[function]}({words})"), "f"
        if function in _WHOLE:
            whole = self.put(f"call double @{_WHOLE[function]}(double {self.converted(self.value(node.args[0]), 'f')})")
            return self.put(f"fptosi double {whole} to i64"), "i"
        if function in (math.isfinite, math.isnan):
            x = self.converted(self.value(node.args[0]), "f")
            if function is math.isnan:
                return self.put(f"fcmp uno double {x}, {x}"), "b"
            return self.put(f"fcmp oeq double {self.put(f'fsub double {x}, {x}')}, {double(0.0)}"), "b"
        if function is declared.row:
            base, _, _ = self.base(node.args[0])
            start = self.put(f"mul nsw i64 {self.value(node.args[1])[0]}, {self.width(node.args[0])}")
            return self.put(f"getelementptr inbounds double, ptr {base}, i64 {start}"), "vector"
        if function in _PACKED or function in _PACKED_STORES:
            return self.packed_call(function, [self.value(a) for a in node.args])
        head = self.module.add(function)
        handed = []
        for argument, kind in zip(node.args, head.kinds, strict=True):
            handed.append(
                "ptr %p" if kind == "memory" else f"{_LLVM[kind]} {self.converted(self.value(argument), kind)}"
            )
        returns = ("zeroext " if head.returns == "b" else "") + _LLVM[head.returns]
        call = f"call {returns} @{head.name}({', '.join(handed)})"
        if head.returns == "none":
            self.emit(call)
            return "", "none"
        return self.put(call), head.returns

    def built_in(self, name: str, values: list[Value]) -> Value:
        if name == "float":
            return self.converted(values[0], "f"), "f"
        if name == "int":
            text, kind = values[0]
            return (self.put(f"fptosi double {text} to i64") if kind == "f" else self.converted(values[0], "i")), "i"
        if name == "abs":
            text, kind = values[0]
            if kind == "f":
                return self.put(f"call double @llvm.fabs.f64(double {text})"), "f"
            text = self.converted(values[0], "i")
            values = [(text, "i"), (self.put(f"sub nsw i64 0, {text}"), "i")]
        kind = "f" if "f" in [kind for _, kind in values] else "i"
        test = ast.Lt if name == "min" else ast.Gt
        best = self.converted(values[0], kind)
        for value in values[1:]:
            other = self.converted(value, kind)
            better = self.compare(test, (other, kind), (best, kind))
            best = self.put(f"select i1 {better}, {_LLVM[kind]} {other}, {_LLVM[kind]} {best}")
        return best, kind

    def packed_call(self, function: Callable[..., Any], given: list[Value]) -> Value:
        """Read or write in a packed message, whose numbers stand at multiples of four bytes."""
        (message, _), (index, _), *values = given
        address = self.put(f"getelementptr inbounds i32, ptr {message}, i64 {index}")
        if function in _PACKED:
            llvm, kind = _PACKED[function]
            found = self.put(f"load {llvm}, ptr {address}, align 4")
            return (self.put(f"zext i32 {found} to i64") if kind == "i" else found), kind
        llvm = _PACKED_STORES[function]
        value = self.converted(values[0], "i" if llvm == "i32" else "f")
        if llvm == "i32":
            value = self.put(f"trunc i64 {value} to i32")
        self.emit(f"store {llvm} {value}, ptr {address}, align 4")
        return "", "none"

    def kernel_call(self, node: ast.Call) -> Value:
        assert isinstance(node.func, ast.Attribute)
        kernel = self.module.kernels[node.func.attr]
        given = [self.value(a)[0] for a in node.args]
        table = self.put(f"getelementptr inbounds ptr, ptr %p, i64 {kernel.offset}")
        if kernel.count >= 0:
            row = self.put(f"mul nsw i64 {given.pop(0)}, {kernel.further + 1}")
            table = self.put(f"getelementptr inbounds ptr, ptr {table}, i64 {row}")
        for k in range(kernel.further + 1):
            at = self.put(f"getelementptr inbounds ptr, ptr {table}, i64 {k}")
            given.append(self.put(f"load ptr, ptr {at}, align 8"))
        function = given.pop(-kernel.further - 1)
        handed = ", ".join(f"ptr {x}" for x in given)
        self.emit(f"call void {function}(i64 0, i64 1, {handed})")
        return "", "none"


def _constant(value: Any) -> Value:
    if isinstance(value, bool):
        return ("true" if value else "false"), "b"
    if isinstance(value, int):
        return str(value), "i"
    if isinstance(value, float):
        return double(value), "f"
    raise TypeError(f"{value!r} cannot be used in a routine")
