"""C99 of routines, see :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.

The memory is a struct: one member an array, documented by its declaration. The same text is C++.
Compiled without contraction of multiplications and additions, it gives Python's results bit for
bit, those of the mathematical library aside.
"""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from robot_dynamics_ros.dynamics.engine.codegen import routine_source as source
from robot_dynamics_ros.dynamics.engine.codegen.c_source import (
    C_KEYWORDS,
    CPP_KEYWORDS,
    c_comment,
    c_number,
)
from robot_dynamics_ros.dynamics.engine.codegen.declared import DeclaredField, fields, shape_of

_C = {"f": "double", "i": "int64_t", "b": "int", "none": "void"}
_C_ZEROS = {"f": "0.0", "i": "0", "b": "0"}
_ARRAY = {
    "vector": "double *",
    "matrix": "double *",
    "integers": "int64_t *",
    "packed": "unsigned char *",
}
_LEVELS = {1: "or", 2: "and", 4: "== !=", 5: "< <= > >=", 7: "+ -", 8: "* / // %"}
_PRECEDENCE = {sign: level for level, signs in _LEVELS.items() for sign in signs.split()}
_BITS = 3
_ATOM = 10
_UNARY = 9
_CHOICE = 0
_SIGNS = {"or": "||", "and": "&&", "//": "/"}
_HELPERS = {
    "min": "static double {0}min(double a, double b) {{ return b < a ? b : a; }}",
    "max": "static double {0}max(double a, double b) {{ return b > a ? b : a; }}",
    "min_i": "static int64_t {0}min_i(int64_t a, int64_t b) {{ return b < a ? b : a; }}",
    "max_i": "static int64_t {0}max_i(int64_t a, int64_t b) {{ return b > a ? b : a; }}",
    "abs_i": "static int64_t {0}abs_i(int64_t a) {{ return a < 0 ? -a : a; }}",
    "number": """static double {0}number(const unsigned char *message, int64_t i)
{{
    double value;
    memcpy(&value, message + 4 * i, sizeof value);
    return value;
}}""",
    "word": """static int64_t {0}word(const unsigned char *message, int64_t i)
{{
    uint32_t value;
    memcpy(&value, message + 4 * i, sizeof value);
    return (int64_t)value;
}}""",
    "put_number": """static void {0}put_number(unsigned char *message, int64_t i, double value)
{{
    memcpy(message + 4 * i, &value, sizeof value);
}}""",
    "put_word": """static void {0}put_word(unsigned char *message, int64_t i, int64_t value)
{{
    const uint32_t whole = (uint32_t)value;
    memcpy(message + 4 * i, &whole, sizeof whole);
}}""",
}
_RESERVED = C_KEYWORDS | CPP_KEYWORDS | {"int64_t", "uint32_t"}


@dataclass(frozen=True)
class CText:
    """Text of routines: standard headers; the memory's struct and prototypes of exported functions;
    the functions.
    """

    includes: tuple[str, ...]
    declarations: str
    definitions: str


def routines_in_c(
    program: source.Program,
    prefix: str,
    kernels: Mapping[str, str] | None = None,
    *,
    context: str = "void",
    several: Mapping[str, int] | None = None,
) -> CText:
    """A program as C99.

    An exported function ``prefix_name`` takes a pointer to ``prefix_memory``, then its own
    parameters: ``int64_t``, ``double``, ``int`` for truth values, or pointers.

    Args:
        prefix: of all names with external linkage, and of the static functions.
        kernels: name of a kernel → the C function to call for it; those that are not in it are
            function pointers in the struct. Each gets the memory's ``context``, then pointers to
            ``double``, ``const`` for inputs.
        context: the type that ``context`` points to.
        several: name of kernels of which a number chooses one → how many there are.
    """
    direct = dict(kernels or {})
    helpers: set[str] = set()
    writers = [_CRoutineWriter(routine, prefix, direct, helpers) for routine in program.routines]
    declarations = [*_struct(program, prefix, direct, context, several or {}), ""]
    for writer in writers:
        if writer.routine.exported:
            declarations += [*_comment(writer.routine.words), f"{writer.head};", ""]
    definitions = [
        _HELPERS[name].format(f"{prefix}_") + "\n" for name in _HELPERS if name in helpers
    ]
    definitions += [f"{w.head};" for w in writers if not w.routine.exported]
    definitions += ["", *itertools.chain.from_iterable(w.text() for w in writers)]
    includes = (
        "math.h",
        "stdint.h",
        *(["string.h"] if helpers & {"number", "word", "put_number", "put_word"} else []),
    )
    return CText(includes, "\n".join(declarations).rstrip("\n"), "\n".join(definitions).strip("\n"))


def _struct(
    program: source.Program,
    prefix: str,
    direct: Mapping[str, str],
    context: str,
    several: Mapping[str, int],
) -> list[str]:
    declarations = fields(program.declared)
    lines = [
        *_comment((program.declared.__doc__ or "").split("\n\n")[0]),
        f"typedef struct {prefix}_memory {{",
    ]
    if any(x.kind in ("kernel", "kernels") for x in declarations.values()):
        lines.append(f"    {context} *context; /* first argument of all kernels */")
    for name, field_ in declarations.items():
        about = _about(field_)
        if field_.kind in ("numbers", "integers"):
            size = " * ".join(str(x) for x in shape_of(field_, program.constants))
            # C has no empty arrays
            if size.startswith("0") or size.endswith(" 0"):
                size = "1"
            else:
                size = size
            lines.append(
                f"    {'double' if field_.kind == 'numbers' else 'int64_t'} "
                f"{_name(name)}[{size}];{about}"
            )
        elif field_.kind in ("kernel", "kernels") and name not in direct:
            if field_.kind == "kernel":
                count = ""
            else:
                count = f"[{several.get(name, 1)}]"
            parameters = ", ".join([f"{context} *context", *_kernel_parameters(field_)])
            lines.append(f"    void (*{_name(name)}{count})({parameters});{about}")
    constants = [
        f"{name} = {program.constants[name]!r}"
        for name, x in declarations.items()
        if x.kind == "constant"
    ]
    return [*lines, f"}} {prefix}_memory;", *_comment(f"Made for {', '.join(constants)}.")]


def _kernel_parameters(kernel: DeclaredField) -> Iterator[str]:
    for word in kernel.arguments:
        output = word.startswith("out ")
        yield f"{'' if output else 'const '}double *{_name(word.removeprefix('out '))}"


def _about(field_: DeclaredField) -> str:
    words = ", ".join(x for x in (plain_text(field_.meaning), plain_text(field_.unit)) if x)
    return f" /* {words} */" if words else ""


def _comment(words: str) -> list[str]:
    lines = [plain_text(line) for line in words.splitlines() if line.strip()]
    if len(lines) < 2:
        return [f"/* {line} */" for line in lines]
    return [f"/* {lines[0]}", *(f" * {line}" for line in lines[1:-1]), f" * {lines[-1]} */"]


def plain_text(words: str) -> str:
    """Words of a docstring or a declaration in ASCII: without marks, Greek letters by name, dots as
    primes.
    """
    words = re.sub(r":\w+:`~?([^`]*)`", lambda m: m[1].rpartition(".")[2], words).replace("``", "")
    out = []
    for letter in unicodedata.normalize("NFD", words):
        name = unicodedata.name(letter, "")
        if name.startswith("GREEK "):
            word = name.rpartition(" ")[2].lower()
            out.append(word.capitalize() if "CAPITAL" in name else word)
        elif name.startswith(("SUPERSCRIPT", "MODIFIER LETTER CAPITAL")):
            out.append("^" + unicodedata.normalize("NFKC", letter))
        else:
            marks = {
                "COMBINING DOT ABOVE": "'",
                "COMBINING DIAERESIS": "''",
                "MINUS SIGN": "-",
                "INTEGRAL": "integral ",
            }
            out.append(marks.get(name, letter))
    return c_comment("".join(out).strip())


def _name(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


# -- which statements have to do with which variables ----------------------------------------------


@dataclass(frozen=True)
class _Usage:
    """Names of variables that some statements read and write, and of the arrays that they may write
    to.
    """

    read: set[str] = field(default_factory=set)
    written: Counter[str] = field(default_factory=Counter)
    arrays: set[str] = field(default_factory=set)


def _usage(part: object, usage: _Usage | None = None) -> _Usage:
    """Collected from a statement, an expression, or a sequence of them."""
    usage = usage or _Usage()
    if isinstance(part, source.Variable):
        usage.read.add(part.name)
    elif isinstance(part, source.Array):
        usage.read.add("" if part.own else part.name)
    elif isinstance(part, (list, tuple)):
        if isinstance(part, (source.Assign, source.For)):
            usage.written[part.name] += 1
        elif isinstance(part, source.Store):
            usage.arrays.add(part.target.array.name)
        elif isinstance(part, (source.Call, source.KernelCall)):
            usage.arrays.update(_handed(part))
            usage.read.update([""] if isinstance(part, source.KernelCall) else [])
        for x in part:
            _usage(x, usage)
    return usage


def _handed(call: source.Call | source.KernelCall) -> Iterator[str]:
    """Arrays that a call may write to."""
    if isinstance(call, source.Call) and call.routine in ("number", "word"):
        return
    if isinstance(call, source.Call):
        routine = call.routine
    else:
        routine = None
    if isinstance(routine, source.Routine):
        written = _arrays_written(routine)
        names = list(routine.parameters)
    else:
        written = None
        names = [""] * len(call.arguments)
    for x, name in zip(call.arguments, names, strict=True):
        if isinstance(x, (source.Array, source.Row)) and (written is None or name in written):
            yield x.name if isinstance(x, source.Array) else x.array.name


_ARRAYS_WRITTEN: WeakKeyDictionary[source.Routine, set[str]] = WeakKeyDictionary()
"""Looked for once: the same routine is called from many places."""


def _arrays_written(routine: source.Routine) -> set[str]:
    """Arrays that a routine, or one that it calls, may write to."""
    written = _ARRAYS_WRITTEN.get(routine)
    if written is None:
        written = _usage(routine.body).arrays
        _ARRAYS_WRITTEN[routine] = written
    return written


def _blocks(s: source.Statement) -> list[list[source.Statement]]:
    return [x for x in s if isinstance(x, list)]


def _head(s: source.Statement) -> list[object]:
    """The expressions of a statement with blocks."""
    return [x for x in s if isinstance(x, tuple)]


def _loop_owns(body: Sequence[source.Statement], name: str, inside: bool = False) -> bool:
    """Whether a loop's variable is used nowhere but in loops over it, which do not assign to it."""
    for s in body:
        over = isinstance(s, source.For) and s.name == name
        if (over and inside) or (not _blocks(s) and name in _usage(s).written):
            return False
        if name in _usage(_head(s) if _blocks(s) else s).read and (over or not inside):
            return False
        if not all(_loop_owns(block, name, inside or over) for block in _blocks(s)):
            return False
    return True


def _declaring(body: Sequence[source.Statement], name: str) -> list[source.Assign] | None:
    """The assignments that can declare a variable, one in each block that uses it; ``None`` if it
    needs to live longer.
    """
    using = [s for s in body if name in (u := _usage(s)).read or name in u.written]
    if not using:
        return []
    first = using[0]
    if isinstance(first, source.Assign):
        if name in _usage(first.value).read:
            return None
        return [first]
    if (
        len(using) > 1
        or name in _usage(_head(first)).read
        or (isinstance(first, source.For) and first.name == name)
    ):
        return None
    parts = [_declaring(block, name) for block in _blocks(first)]
    if None in parts or not parts:
        return None
    return list(itertools.chain.from_iterable(part for part in parts if part))


def _fixed(x: source.Expression, written: Container[str]) -> bool:
    """Whether an expression keeps its value while these variables, and the memory, change."""
    if isinstance(x, source.Operation):
        return all(_fixed(y, written) for y in x.operands)
    return isinstance(x, source.Number) or (
        isinstance(x, source.Variable) and x.name not in written
    )


# -- one function ----------------------------------------------------------------------------------


class _CRoutineWriter:
    """Writes one function."""

    def __init__(
        self,
        routine: source.Routine,
        prefix: str,
        kernels: Mapping[str, str],
        helpers: set[str],
    ) -> None:
        self.routine = routine
        self.prefix = prefix
        self.kernels = kernels
        self.helpers = helpers
        self.lines: list[str] = []
        self._depth = 1
        self._count = 0
        self._usage = _usage(routine.body)
        self._loops = {
            n
            for n, kind in routine.variables.items()
            if kind == "i" and _loop_owns(routine.body, n)
        }
        self._declaring: dict[int, str] = {}
        self.head = self._head()
        self._declare()
        self.block(routine.body)

    def _head(self) -> str:
        routine = self.routine
        parameters = [
            f"{self.prefix}_memory *{_name(name)}"
            if kind == "memory"
            else self._parameter(name, kind)
            for name, kind in routine.parameters.items()
        ]
        static = "" if routine.exported else "static "
        return (
            f"{static}{_C[routine.returns]} "
            f"{self.prefix}_{routine.name}({', '.join(parameters) or 'void'})"
        )

    def _parameter(self, name: str, kind: str) -> str:
        if kind in _C:
            return f"{_C[kind]} {_name(name)}"
        return f"{'' if name in self._usage.arrays else 'const '}{_ARRAY[kind]}{_name(name)}"

    def _declare(self) -> None:
        """Decide where variables are declared: where they get their first value, or else at the
        beginning.
        """
        for name, kind in self.routine.variables.items():
            if name in self._loops or not (name in self._usage.read or name in self._usage.written):
                continue
            first = _declaring(self.routine.body, name)
            if first is None:
                self.put(f"{_C[kind]} {_name(name)} = {_C_ZEROS[kind]};")
            else:
                once = len(first) == self._usage.written[name]
                self._declaring |= {id(s): f"{'const ' if once else ''}{_C[kind]} " for s in first}
        for name in self.routine.parameters:
            if not self._reads(name):
                self.put(f"(void){_name(name)};")

    def _reads(self, name: str) -> bool:
        if self.routine.parameters.get(name) == "memory":
            own = ""
        else:
            own = name
        return name in self._usage.read or own in self._usage.read

    def text(self) -> list[str]:
        if self.routine.exported:
            about = []
        else:
            about = _comment(self.routine.words)
        return [*about, self.head, "{", *self.lines, "}", ""]

    def put(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Sequence[source.Statement]) -> None:
        for statement in body:
            getattr(self, f"on_{type(statement).__name__}")(statement)

    def inner(self, body: Sequence[source.Statement]) -> None:
        self._depth += 1
        self.block(body)
        self._depth -= 1

    def on_Assign(self, s: source.Assign) -> None:
        self.put(f"{self._declaring.get(id(s), '')}{_name(s.name)} = {self.text_of(s.value)};")
        if s.name not in self._usage.read and id(s) in self._declaring:
            self.put(f"(void){_name(s.name)};")

    def on_Store(self, s: source.Store) -> None:
        self.put(f"{self.text_of(s.target)} = {self.text_of(s.value)};")

    def on_Do(self, s: source.Do) -> None:
        self.put(f"{'' if s.value.kind == 'none' else '(void)'}{self.text_of(s.value)};")

    def on_If(self, s: source.If, word: str = "if") -> None:
        self.put(f"{word} ({self.text_of(s.test)}) {{")
        self.inner(s.body)
        if len(s.otherwise) == 1 and isinstance(s.otherwise[0], source.If):
            self.on_If(s.otherwise[0], "} else if")
            return
        if s.otherwise:
            self.put("} else {")
            self.inner(s.otherwise)
        self.put("}")

    def on_While(self, s: source.While) -> None:
        self.put(f"while ({self.text_of(s.test)}) {{")
        self.inner(s.body)
        self.put("}")

    def on_For(self, s: source.For) -> None:
        name = _name(s.name)
        stop = self.text_of(s.stop, 6)
        written = _usage(s.body).written
        self._count += 1
        if not _fixed(s.stop, written):
            self.put(f"const int64_t end_{self._count} = {stop};")
            stop = f"end_{self._count}"
        if s.name in self._loops:
            counter = name
        else:
            counter = f"next_{self._count}"
        advance = {1: f"++{counter}", -1: f"--{counter}"}.get(s.step, f"{counter} += {s.step}")
        test = f"{counter} {'>' if s.step < 0 else '<'} {stop}"
        self.put(f"for (int64_t {counter} = {self.text_of(s.start)}; {test}; {advance}) {{")
        self._depth += 1
        if counter != name:
            self.put(f"{name} = {counter};")
        self.block(s.body)
        self._depth -= 1
        self.put("}")

    def on_Jump(self, s: source.Jump) -> None:
        self.put(f"{s.word};")

    def on_Return(self, s: source.Return) -> None:
        self.put("return;" if s.value is None else f"return {self.text_of(s.value)};")

    # -- expressions: text and how closely it binds ------------------------------------------------

    def text_of(self, x: source.Expression, least: int = 0) -> str:
        """The text, in parentheses if it binds less closely than ``least``."""
        text, binding = getattr(self, f"of_{type(x).__name__}")(x)
        return f"({text})" if binding < least else text

    def of_Number(self, x: source.Number) -> tuple[str, int]:
        if x.kind == "f":
            value = float(x.value)
            if math.isnan(value):
                return "(double)NAN", _UNARY
            if math.isinf(value):
                text = ("-" if value < 0.0 else "") + "HUGE_VAL"
            else:
                text = c_number(value, "double")
        else:
            text = str(int(x.value)) + ("LL" if abs(x.value) > 2**31 - 1 else "")
        return text, _UNARY if text.startswith("-") else _ATOM

    def of_Variable(self, x: source.Variable) -> tuple[str, int]:
        return _name(x.name), _ATOM

    def of_Array(self, x: source.Array) -> tuple[str, int]:
        return f"{self.memory}->{_name(x.name)}" if x.own else _name(x.name), _ATOM

    @property
    def memory(self) -> str:
        return next(
            _name(name) for name, kind in self.routine.parameters.items() if kind == "memory"
        )

    def of_Row(self, x: source.Row) -> tuple[str, int]:
        return f"{self.text_of(x.array)} + {self._product(x.place, x.array.width)}", _PRECEDENCE[
            "+"
        ]

    def _product(self, index: source.Expression, width: int) -> str:
        if isinstance(index, source.Number):
            return str(int(index.value) * width)
        return f"{width} * {self.text_of(index, _PRECEDENCE['*'] + 1)}"

    def of_Element(self, x: source.Element) -> tuple[str, int]:
        if len(x.place) == 1:
            return f"{self.text_of(x.array)}[{self.text_of(x.place[0])}]", _ATOM
        row, column = x.place
        start = self._product(row, x.array.width)
        if start == "0":
            index = self.text_of(column)
        else:
            index = f"{start} + {self.text_of(column, _PRECEDENCE['*'])}"
        return f"{self.text_of(x.array)}[{index}]", _ATOM

    def of_Operation(self, x: source.Operation) -> tuple[str, int]:
        if x.name == "choose":
            condition, first, second = (self.text_of(y, 1) for y in x.operands)
            return f"{condition} ? {first} : {second}", _CHOICE
        if x.name in ("&", "|", "^"):
            return f" {x.name} ".join(self.text_of(y, _UNARY) for y in x.operands), _BITS
        if len(x.operands) == 2 and x.name in _PRECEDENCE:
            return self._infix(x)
        if x.name in ("to_f", "to_i"):
            return f"({_C[x.kind]}){self.text_of(x.operands[0], _UNARY)}", _UNARY
        if x.name in ("-", "not"):
            operand = self.text_of(x.operands[0], _UNARY)
            sign = "!" if x.name == "not" else "-"
            return f"{sign}({operand})" if operand.startswith("-") else f"{sign}{operand}", _UNARY
        if x.kind != "i":
            name = {"abs": "fabs"}.get(x.name, x.name)
        else:
            name = f"{x.name}_i"
        if name in _HELPERS:
            self.helpers.add(name)
            name = f"{self.prefix}_{name}"
        return f"{name}({', '.join(self.text_of(y) for y in x.operands)})", _ATOM

    def _infix(self, x: source.Operation) -> tuple[str, int]:
        binding = _PRECEDENCE[x.name]
        left, right = x.operands
        if x.name not in ("and", "or") or not _mixed(x, left):
            first = binding
        else:
            first = _UNARY
        if binding in (4, 5):
            # compilers warn of comparisons of comparisons
            first = 6
        if x.name in ("and", "or") and _mixed(x, right):
            second = _UNARY
        else:
            second = binding + 1
        sign = _SIGNS.get(x.name, x.name)
        return f"{self.text_of(left, first)} {sign} {self.text_of(right, second)}", binding

    def of_Call(self, x: source.Call) -> tuple[str, int]:
        handed = ", ".join(self.text_of(a) for a in x.arguments)
        if isinstance(x.routine, str):
            self.helpers.add(x.routine)
            return f"{self.prefix}_{x.routine}({handed})", _ATOM
        return f"{self.prefix}_{x.routine.name}({handed})", _ATOM

    def of_KernelCall(self, x: source.KernelCall) -> tuple[str, int]:
        handed = ", ".join([f"{self.memory}->context", *(self.text_of(a) for a in x.arguments)])
        name = self.kernels.get(x.name, f"{self.memory}->{_name(x.name)}")
        if x.number is None:
            number = ""
        else:
            number = f"[{self.text_of(x.number)}]"
        return f"{name}{number}({handed})", _ATOM


def _mixed(x: source.Operation, side: source.Expression) -> bool:
    """Whether "and" and "or" meet."""
    return isinstance(side, source.Operation) and side.name in ("and", "or") and side.name != x.name
