"""Typed statements from plain Python functions that loop and branch on numbers.

A traced algorithm (:mod:`~robot_dynamics_ros.dynamics.engine.trace`) is a straight line.  What
iterates until a condition holds, such as a complementarity problem, is written as a function of a
small subset of Python instead.  That one text is run by Python, or read here, and written as LLVM
assembly (:mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_llvm`) or as C
(:mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_c`).  The subset:

- the first parameter, usually ``p``, is the memory, annotated with the class that declares it
  (:class:`~robot_dynamics_ros.dynamics.engine.codegen.declared.Declared`): ``p.name[i]`` and
  ``p.name[i, j]`` are numbers in its arrays, ``p.name`` alone is one of its constants or an array
  handed to a function, and ``p.name(arrays)`` calls one of its kernels, ``p.name(k, arrays)`` the
  k-th of several of one name; a function of numbers alone needs no memory;
- further parameters are annotated ``int``, ``float`` (``Scalar`` or ``S`` where arrays and symbols
  may come too), ``bool``, ``Vector``, ``Matrix`` (rows as long as ``p.nv``), ``Integers`` or
  ``Packed``; what is returned is a number, a truth value or nothing;
- ``if`` of constants of the memory leaves out what is not taken, before anything in it is looked
  up;
- ``for … in range``, ``while``, ``if``, ``break``, ``continue``, ``return``, assignments to names,
  array entries, and to several of them at once, arithmetic, comparisons, ``and``, ``or``, ``not``,
  conditional expressions; ``//`` and ``%`` of integers that are not negative, ``&``, ``|``, ``^``;
- ``abs``, ``min``, ``max``, ``float``, ``int`` of a number that fits; ``math``'s ``sqrt``, ``exp``,
  ``expm1``, ``log``, ``tanh``, ``pow``, ``sin``, ``cos``, ``tan``, ``atan2``, ``fmod``,
  ``remainder``, ``copysign``, ``floor``, ``ceil``, ``isfinite``, ``isnan``, by name or as
  ``math.name``;
- numbers of the module in which the routine stands, or of another (``math.pi``), members of an
  ``IntEnum``;
- :func:`~robot_dynamics_ros.dynamics.engine.codegen.declared.row`, the functions of
  :mod:`~robot_dynamics_ros.dynamics.engine.codegen.packed`, and other such functions, of any
  module.

Integers are of 64 bits. A division by zero gives an infinity where Python raises, so nothing here
may divide by zero; what is rounded to an integer is finite and fits. Operands are evaluated in any
order: a routine that changes the memory is called by itself, or after ``and`` or ``or``.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeGuard

from robot_dynamics_ros import spatial
from robot_dynamics_ros.dynamics.engine.codegen import declared, packed
from robot_dynamics_ros.dynamics.engine.codegen.declared import Constant, Declared, annotation_name

Function: TypeAlias = Callable[..., Any]
_LETTERS_OF_KINDS = {
    "float": "f",
    "Scalar": "f",
    "S": "f",
    "int": "i",
    "bool": "b",
    "Vector": "vector",
    "Matrix": "matrix",
    "Integers": "integers",
    "Packed": "packed",
    "None": "none",
}
MATHEMATICS = tuple(
    [
        "sqrt",
        "exp",
        "expm1",
        "log",
        "tanh",
        "pow",
        "sin",
        "cos",
        "tan",
        "atan2",
        "fmod",
        "remainder",
        "copysign",
    ]
)
"""Functions of :mod:`math` that C has under the same name."""
_MATHEMATICS = {getattr(math, name): name for name in MATHEMATICS}
_MATHEMATICS |= {getattr(spatial, name): name for name in ("sqrt", "exp", "tanh", "sin", "cos")}
_WHOLE = {math.floor: "floor", math.ceil: "ceil"}
_TESTS_OF_NUMBERS = {math.isfinite: "isfinite", math.isnan: "isnan"}
_PACKED = {packed.number: "f", packed.word: "i", packed.put_number: "none", packed.put_word: "none"}
_ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_OF_INTEGERS = {ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_BUILT_IN = ("min", "max", "abs", "float", "int")


# -- expressions: each has a kind, "f", "i", "b", that of an array, or "none" ----------------------


class Number(NamedTuple):
    """A constant."""

    kind: str
    value: Constant


class Variable(NamedTuple):
    """A local name, or a parameter that is a number."""

    kind: str
    name: str


class Array(NamedTuple):
    """An array, the memory's ``own`` or a parameter; ``width`` is the length of a matrix's rows."""

    kind: str
    name: str
    own: bool
    width: int = 0


class Element(NamedTuple):
    """One entry of an array; ``place`` has one or two parts."""

    kind: str
    array: Array
    place: tuple[Expression, ...]


class Row(NamedTuple):
    """One row of a matrix."""

    kind: str
    array: Array
    place: Expression


class Operation(NamedTuple):
    """An operation on numbers, named as in Python, whose operands have the kinds that it works on.

    "to_f" and "to_i" convert; "choose" has a condition, and what to take if it holds and if not.
    """

    kind: str
    name: str
    operands: tuple[Expression, ...]


class Call(NamedTuple):
    """A call of another routine, or of a function of
    :mod:`~robot_dynamics_ros.dynamics.engine.codegen.packed` where ``routine`` is a name.
    """

    kind: str
    routine: Routine | str
    arguments: tuple[Expression, ...]


class KernelCall(NamedTuple):
    """A call of a kernel; ``number`` chooses one of several."""

    kind: str
    name: str
    number: Expression | None
    arguments: tuple[Expression, ...]


Expression: TypeAlias = Number | Variable | Array | Element | Row | Operation | Call | KernelCall


# -- statements ------------------------------------------------------------------------------------


class Assign(NamedTuple):
    """Give a variable a value."""

    name: str
    value: Expression


class Store(NamedTuple):
    """Give an entry of an array a value."""

    target: Element
    value: Expression


class Do(NamedTuple):
    """Evaluate something for its effect."""

    value: Expression


class If(NamedTuple):
    """One of two blocks."""

    test: Expression
    body: list[Statement]
    otherwise: list[Statement]


class While(NamedTuple):
    """A block while a condition holds."""

    test: Expression
    body: list[Statement]


class For(NamedTuple):
    """A block for each integer from ``start`` to before ``stop``, which are evaluated once."""

    name: str
    start: Expression
    stop: Expression
    step: int
    body: list[Statement]


class Jump(NamedTuple):
    """``break`` or ``continue``."""

    word: str


class Return(NamedTuple):
    """The end of a routine, and its value."""

    value: Expression | None


Statement: TypeAlias = Assign | Store | Do | If | While | For | Jump | Return


@dataclass(eq=False)
class Routine:
    """One function, read: kinds by parameter ("memory" among them) and by local name, the first
    paragraph of its docstring, its statements.  Its name is unique in a program; exported ones are
    called from outside.
    """

    name: str
    parameters: dict[str, str]
    returns: str
    exported: bool
    words: str
    variables: dict[str, str] = field(default_factory=dict)
    body: list[Statement] = field(default_factory=list)


@dataclass(eq=False)
class Program:
    """Some functions and all that they call, for one memory; those that are called stand before
    their callers.
    """

    declared: type[Declared]
    constants: Mapping[str, Constant]
    routines: list[Routine]


def read_routines(
    memory: type[Declared],
    constants: Mapping[str, Constant],
    exported: Sequence[Function],
) -> Program:
    """Read functions and those that they call; raises TypeError where something in them is not of
    the subset.
    """
    reader = _Reader(memory, constants, exported)
    for function in exported:
        reader.read(function)
    return Program(memory, dict(constants), reader.routines)


def _definition(function: Function) -> ast.FunctionDef:
    code = function.__code__
    found = _definitions(code.co_filename).get(code.co_firstlineno)
    if found is None:
        raise TypeError(f"routine {function.__name__}: its source is not in {code.co_filename}")
    return found


@functools.cache
def _definitions(file: str) -> dict[int, ast.FunctionDef]:
    """The functions of a file by their first lines.  Each file is parsed once: to look for the end
    of one function after the other, as :mod:`inspect` does, takes ten times as long.
    """

    def functions(statements: Iterable[ast.stmt]) -> Iterator[ast.FunctionDef]:
        for statement in statements:
            if isinstance(statement, ast.FunctionDef):
                yield statement
            yield from functions(getattr(statement, "body", []))

    module = ast.parse("".join(linecache.getlines(file)))
    return {
        min([node.lineno, *(x.lineno for x in node.decorator_list)]): node
        for node in functions(module.body)
    }


class _Reader:
    def __init__(
        self,
        memory: type[Declared],
        constants: Mapping[str, Constant],
        exported: Sequence[Function],
    ) -> None:
        self.constants, self.fields = dict(constants), declared.fields(memory)
        self.shapes = {
            name: declared.shape_of(x, constants)
            for name, x in self.fields.items()
            if x.kind in ("numbers", "integers")
        }
        self.routines: list[Routine] = []
        self._exported = set(exported)
        self._known: dict[Function, Routine] = {}
        self._names = {function.__name__ for function in exported}

    def read(self, function: Function) -> Routine:
        """The statements of a function, read once."""
        routine = self._known.get(function)
        if routine is None:
            node = _definition(function)
            exported = function in self._exported
            kinds = {
                a.arg: _LETTERS_OF_KINDS.get(_annotation(a.annotation), "memory")
                for a in node.args.args
            }
            words = (ast.get_docstring(node) or "").split("\n\n")[0]
            if exported:
                name = function.__name__
            else:
                name = self._unused(function.__name__.lstrip("_"))
            routine = Routine(
                name, kinds, _LETTERS_OF_KINDS[_annotation(node.returns)], exported, words
            )
            self._known[function] = routine
            _FunctionReader(self, node, routine, function.__globals__)
            self.routines.append(routine)
        return routine

    def _unused(self, name: str) -> str:
        unused = name
        number = 2
        while unused in self._names:
            unused = f"{name}_{number}"
            number = number + 1
        self._names.add(unused)
        return unused


def _annotation(node: ast.expr | None) -> str:
    if node is None:
        return "None"
    return annotation_name(ast.unparse(node))


class _FunctionReader:
    """Reads one function."""

    def __init__(
        self,
        reader: _Reader,
        node: ast.FunctionDef,
        routine: Routine,
        scope: Mapping[str, Any],
    ) -> None:
        self.reader = reader
        self.routine = routine
        self.scope = scope
        self.constants = reader.constants
        self.memory = next(
            (name for name, kind in routine.parameters.items() if kind == "memory"), ""
        )
        self.known = {"__builtins__": {}, self.memory: SimpleNamespace(**reader.constants)}
        self.variables = {
            name: kind for name, kind in routine.parameters.items() if kind in ("f", "i", "b")
        }
        routine.body.extend(self.block(node.body))
        routine.variables.update(
            (k, v) for k, v in self.variables.items() if k not in routine.parameters
        )

    def refuse(self, node: ast.AST, words: str) -> NoReturn:
        line = getattr(node, "lineno", 0)
        raise TypeError(f"routine {self.routine.name}, line {line}, {ast.unparse(node)!r}: {words}")

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: Sequence[ast.stmt]) -> list[Statement]:
        statements: list[Statement] = []
        for node in body:
            read = getattr(self, f"on_{type(node).__name__}", None)
            if read is None:
                self.refuse(node, "such a statement is not of the subset")
            statements += read(node)
            if statements and isinstance(statements[-1], (Jump, Return)):
                break
        return statements

    def on_Pass(self, _: ast.Pass) -> list[Statement]:
        return []

    def on_Expr(self, node: ast.Expr) -> list[Statement]:
        if isinstance(node.value, ast.Constant):
            return []
        return [Do(self.value(node.value))]

    def on_Assign(self, node: ast.Assign) -> list[Statement]:
        target = node.targets[0]
        if len(node.targets) > 1:
            self.refuse(node, "assign one after the other")
        if not isinstance(target, ast.Tuple):
            return [self.assigned(target, self.value(node.value))]
        if not isinstance(node.value, ast.Tuple) or len(target.elts) != len(node.value.elts):
            self.refuse(node, "as many values as names, please")
        values = [self.value(x) for x in node.value.elts]
        held = [
            Variable(value.kind, f"held_{len(self.variables) + k}")
            for k, value in enumerate(values)
        ]
        self.variables |= {x.name: x.kind for x in held}
        first: list[Statement] = [
            Assign(x.name, value) for x, value in zip(held, values, strict=True)
        ]
        return first + [self.assigned(x, value) for x, value in zip(target.elts, held, strict=True)]

    def on_AnnAssign(self, node: ast.AnnAssign) -> list[Statement]:
        assert node.value is not None
        value = self.converted(
            self.value(node.value), _LETTERS_OF_KINDS[_annotation(node.annotation)], node
        )
        return [self.assigned(node.target, value)]

    def on_AugAssign(self, node: ast.AugAssign) -> list[Statement]:
        value = self.arithmetic(node, node.op, self.value(node.target), self.value(node.value))
        return [self.assigned(node.target, value)]

    def assigned(self, target: ast.expr, value: Expression) -> Statement:
        if isinstance(target, ast.Name):
            kind = self.variables.setdefault(target.id, value.kind)
            return Assign(target.id, self.converted(value, kind, target))
        if not isinstance(target, ast.Subscript):
            self.refuse(target, "assign to names and to entries of arrays")
        element = self.of_Subscript(target)
        return Store(element, self.converted(value, element.kind, target))

    def on_If(self, node: ast.If) -> list[Statement]:
        folded = self.folded(node.test)
        if folded is not None:
            return self.block(node.body if folded else node.orelse)
        return [If(self.truth(node.test), self.block(node.body), self.block(node.orelse))]

    def on_While(self, node: ast.While) -> list[Statement]:
        return [While(self.truth(node.test), self.block(node.body))]

    def on_For(self, node: ast.For) -> list[Statement]:
        if not (
            isinstance(node.target, ast.Name)
            and isinstance(node.iter, ast.Call)
            and not node.orelse
        ):
            self.refuse(node, "loop over a range")
        bounds = [self.converted(self.value(a), "i", a) for a in node.iter.args]
        start, stop = (Number("i", 0), bounds[0]) if len(bounds) == 1 else bounds[:2]
        if len(bounds) == 3:
            step = bounds[2]
        else:
            step = Number("i", 1)
        if not isinstance(step, Number):
            self.refuse(node, "the step of a range is a constant")
        known = [int(x.value) for x in (start, stop, step) if isinstance(x, Number)]
        if len(known) == 3 and not range(*known):
            return []
        if self.variables.setdefault(node.target.id, "i") != "i":
            self.refuse(node.target, "it is no integer")
        return [For(node.target.id, start, stop, int(step.value), self.block(node.body))]

    def on_Break(self, _: ast.Break) -> list[Statement]:
        return [Jump("break")]

    def on_Continue(self, _: ast.Continue) -> list[Statement]:
        return [Jump("continue")]

    def on_Return(self, node: ast.Return) -> list[Statement]:
        if node.value is None:
            return [Return(None)]
        return [Return(self.converted(self.value(node.value), self.routine.returns, node))]

    # -- what is known beforehand ------------------------------------------------------------------

    def folded(self, node: ast.expr) -> Constant | None:
        """The value of an expression of the memory's constants, or ``None`` if it depends on
        anything else.
        """
        try:
            value = eval(compile(ast.Expression(node), self.routine.name, "eval"), self.known)
        except (NameError, AttributeError, TypeError, ArithmeticError):
            return None
        if isinstance(value, (bool, int, float)):
            return value
        return None

    # -- expressions -------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Expression:
        read = getattr(self, f"of_{type(node).__name__}", None)
        if read is None:
            self.refuse(node, "such an expression is not of the subset")
        expression: Expression = read(node)
        return expression

    def truth(self, node: ast.expr) -> Expression:
        value = self.value(node)
        if value.kind == "b":
            return value
        return Operation("b", "!=", (self.converted(value, "i", node), Number("i", 0)))

    def converted(self, value: Expression, kind: str, node: ast.AST) -> Expression:
        if value.kind == kind:
            return value
        if isinstance(value, Number) and (kind == "f" or (kind == "i" and value.kind == "b")):
            return Number(kind, float(value.value) if kind == "f" else int(value.value))
        if value.kind == "b" and kind in ("i", "f"):
            value = Operation("i", "to_i", (value,))
        if value.kind == kind:
            return value
        if (value.kind, kind) == ("i", "f"):
            return Operation("f", "to_f", (value,))
        self.refuse(node, f"{_word(value.kind)} where {_word(kind)} is expected")

    def of_Constant(self, node: ast.Constant) -> Expression:
        return self.constant(node.value, node)

    def constant(self, value: object, node: ast.AST) -> Number:
        for kind, word in ((bool, "b"), (int, "i"), (float, "f")):
            if isinstance(value, kind):
                return Number(word, kind(value))
        self.refuse(node, "it is no number")

    def of_Name(self, node: ast.Name) -> Expression:
        if node.id in self.variables:
            return Variable(self.variables[node.id], node.id)
        if node.id in self.routine.parameters:
            return self.array(node)
        return self.constant(self.outside(node), node)

    def of_memory(self, node: ast.expr) -> TypeGuard[ast.Attribute]:
        """Whether an expression is a name in the memory."""
        return (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.memory
        )

    def outside(self, node: ast.expr) -> Any:
        """The object that a name means in the routine's module."""
        if isinstance(node, ast.Attribute):
            return getattr(self.outside(node.value), node.attr)
        if not isinstance(node, ast.Name) or node.id not in self.scope:
            self.refuse(node, "this name is not known here")
        return self.scope[node.id]

    def of_Attribute(self, node: ast.Attribute) -> Expression:
        if not self.of_memory(node):
            return self.constant(self.outside(node), node)
        if node.attr in self.constants:
            return self.constant(self.constants[node.attr], node)
        return self.array(node)

    def array(self, node: ast.expr) -> Array:
        if self.of_memory(node):
            if node.attr not in self.reader.shapes:
                self.refuse(node, "the memory has no such array")
            shape = self.reader.shapes[node.attr]
            if self.reader.fields[node.attr].kind == "integers":
                return Array("integers", node.attr, True)
            if len(shape) == 2:
                return Array("matrix", node.attr, True, shape[1])
            return Array("vector", node.attr, True)
        if isinstance(node, ast.Name):
            kind = self.routine.parameters.get(node.id)
        else:
            kind = None
        if not isinstance(node, ast.Name) or kind not in ("vector", "matrix", "integers", "packed"):
            self.refuse(node, "it is no array")
        return Array(kind, node.id, False, int(self.constants["nv"]) if kind == "matrix" else 0)

    def of_Subscript(self, node: ast.Subscript) -> Element:
        array = self.array(node.value)
        if isinstance(node.slice, ast.Tuple):
            parts = node.slice.elts
        else:
            parts = [node.slice]
        if len(parts) != (2 if array.kind == "matrix" else 1) or array.kind == "packed":
            self.refuse(node, "a matrix has two indices, another array one")
        index = tuple(self.converted(self.value(x), "i", x) for x in parts)
        return Element("i" if array.kind == "integers" else "f", array, index)

    def of_UnaryOp(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return Operation("b", "not", (self.truth(node.operand),))
        operand = self.value(node.operand)
        if not isinstance(node.op, ast.USub):
            self.refuse(node, "such an operation is not of the subset")
        if operand.kind == "b":
            operand = self.converted(operand, "i", node)
        else:
            operand = operand
        if isinstance(operand, Number):
            return Number(operand.kind, -operand.value)
        return Operation(operand.kind, "-", (operand,))

    def of_BinOp(self, node: ast.BinOp) -> Expression:
        return self.arithmetic(node, node.op, self.value(node.left), self.value(node.right))

    def arithmetic(
        self,
        node: ast.AST,
        op: ast.operator,
        left: Expression,
        right: Expression,
    ) -> Expression:
        def on(kind: str, name: str) -> Expression:
            return Operation(
                kind, name, (self.converted(left, kind, node), self.converted(right, kind, node))
            )

        if isinstance(op, (ast.Div, ast.Pow)):
            return on("f", "/" if isinstance(op, ast.Div) else "pow")
        if type(op) in _OF_INTEGERS:
            return on("i", _OF_INTEGERS[type(op)])
        if type(op) not in _ARITHMETIC:
            self.refuse(node, "such an operation is not of the subset")
        return on("f" if "f" in (left.kind, right.kind) else "i", _ARITHMETIC[type(op)])

    def of_Compare(self, node: ast.Compare) -> Expression:
        sides = [self.value(x) for x in (node.left, *node.comparators)]
        tests = [
            self.compared(node, op, *pair)
            for op, pair in zip(node.ops, pairwise(sides), strict=True)
        ]
        return functools.reduce(lambda a, b: Operation("b", "and", (a, b)), tests)

    def compared(
        self,
        node: ast.AST,
        op: ast.cmpop,
        left: Expression,
        right: Expression,
    ) -> Expression:
        if type(op) not in _COMPARISONS:
            self.refuse(node, "such a comparison is not of the subset")
        kind = "f" if "f" in (left.kind, right.kind) else "i"
        sides = self.converted(left, kind, node), self.converted(right, kind, node)
        return Operation("b", _COMPARISONS[type(op)], sides)

    def of_BoolOp(self, node: ast.BoolOp) -> Expression:
        word, decisive = ("and", False) if isinstance(node.op, ast.And) else ("or", True)
        parts = []
        for part in node.values:
            folded = self.folded(part)
            if folded is None:
                parts.append(self.truth(part))
            elif bool(folded) == decisive:
                parts.append(Number("b", decisive))
                break
        if not parts:
            return Number("b", not decisive)
        return functools.reduce(lambda a, b: Operation("b", word, (a, b)), parts)

    def of_IfExp(self, node: ast.IfExp) -> Expression:
        folded = self.folded(node.test)
        if folded is not None:
            return self.value(node.body if folded else node.orelse)
        values = self.value(node.body), self.value(node.orelse)
        if "f" in [x.kind for x in values]:
            kind = "f"
        else:
            kind = values[0].kind
        first, second = (self.converted(x, kind, node) for x in values)
        return Operation(kind, "choose", (self.truth(node.test), first, second))

    # -- calls -------------------------------------------------------------------------------------

    def of_Call(self, node: ast.Call) -> Expression:
        if node.keywords:
            self.refuse(node, "give arguments without their names")
        if self.of_memory(node.func):
            return self.kernel_call(node, node.func.attr)
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in _BUILT_IN
            and node.func.id not in self.scope
        ):
            return self.built_in(node, node.func.id)
        function = self.outside(node.func)
        if function is declared.row:
            return Row(
                "vector",
                self.array(node.args[0]),
                self.converted(self.value(node.args[1]), "i", node),
            )
        if function in _PACKED:
            return self.packed_call(node, function)
        if (name := _MATHEMATICS.get(function)) or (name := _WHOLE.get(function)):
            operands = tuple(self.converted(self.value(a), "f", a) for a in node.args)
            number = Operation("f", name, operands)
            if function in _MATHEMATICS:
                return number
            return Operation("i", "to_i", (number,))
        if function in _TESTS_OF_NUMBERS:
            return Operation(
                "b",
                _TESTS_OF_NUMBERS[function],
                (self.converted(self.value(node.args[0]), "f", node),),
            )
        if function in (spatial.minimum, spatial.maximum):
            return self.built_in(node, function.__name__[:3])
        if not inspect.isfunction(function):
            self.refuse(node, "it is no routine")
        routine = self.reader.read(function)
        return Call(
            routine.returns,
            routine,
            self.arguments(node, node.args, list(routine.parameters.values())),
        )

    def arguments(
        self,
        node: ast.Call,
        expressions: Sequence[ast.expr],
        kinds: Sequence[str],
    ) -> tuple[Expression, ...]:
        if len(expressions) != len(kinds):
            self.refuse(node, f"{len(kinds)} arguments are expected")
        return tuple(
            Variable("memory", self.memory)
            if kind == "memory"
            else self.converted(self.value(x), kind, x)
            for x, kind in zip(expressions, kinds, strict=True)
        )

    def packed_call(self, node: ast.Call, function: Function) -> Expression:
        kinds = ["packed", "i", "f" if function is packed.put_number else "i"][: len(node.args)]
        return Call(_PACKED[function], function.__name__, self.arguments(node, node.args, kinds))

    def kernel_call(self, node: ast.Call, name: str) -> Expression:
        """A call of a kernel in the memory, ``p.name(arrays)``; of several kernels under one name,
        the first argument is the number of one.
        """
        kernel = self.reader.fields.get(name)
        if kernel is None or kernel.kind not in ("kernel", "kernels"):
            self.refuse(node, "the memory has no such kernel")
        several = kernel.kind == "kernels"
        expressions = list(node.args)
        if several:
            number = self.converted(self.value(expressions.pop(0)), "i", node)
        else:
            number = None
        arrays = tuple(self.value(x) for x in expressions)
        if len(arrays) != len(kernel.arguments) or any(
            x.kind not in ("vector", "matrix") for x in arrays
        ):
            self.refuse(node, f"arrays are expected: {', '.join(kernel.arguments)}")
        return KernelCall("none", name, number, arrays)

    def built_in(self, node: ast.Call, name: str) -> Expression:
        values = [self.value(a) for a in node.args]
        if name == "float":
            return self.converted(values[0], "f", node)
        if name == "int":
            value = values[0]
            if value.kind == "f":
                return Operation("i", "to_i", (value,))
            return self.converted(value, "i", node)
        kind = "f" if "f" in [x.kind for x in values] else "i"
        converted = [self.converted(x, kind, node) for x in values]
        if name == "abs":
            return Operation(kind, "abs", (converted[0],))
        return functools.reduce(lambda a, b: Operation(kind, name, (a, b)), converted)


def _word(kind: str) -> str:
    words = {"f": "a number", "i": "an integer", "b": "a truth value", "none": "nothing"}
    return words.get(kind, f"an array ({kind})")
