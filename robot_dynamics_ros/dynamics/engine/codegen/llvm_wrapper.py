"""Fast call wrappers of kernels: functions of CPython's fast calling convention, in LLVM assembly.

A *wrapper* belongs to one kernel: it checks its arguments, allocates results where none are given,
and runs the kernel on the arrays' memory. A *router* belongs to one public function: it finds the
wrapper for the model it is called with. Whatever either of them does not expect goes, with the very
same arguments, to a Python callable.

The object that the builtin is bound to is an array of words, the builtin's table.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from robot_dynamics_ros.dynamics.engine.codegen.llvm_source import Writer, double
from robot_dynamics_ros.spatial import QUATERNION_TOLERANCE

PYTHON_WRAPPER = "python_wrapper"

# Where CPython's object and NumPy's array structures keep what the wrapper reads (64-bit, GIL
# builds).  The loader verifies them on a real array before any wrapper is used.
OB_TYPE = 8
# Bytes from the start of NumPy's ``PyArrayObject``, the same since its version 1.7.
ARRAY_DATA = 16
ARRAY_ND = 24
ARRAY_DIMENSIONS = 32
ARRAY_DESCR = 56
ARRAY_FLAGS = 64
# Its flags.
C_CONTIGUOUS = 0x1
ALIGNED = 0x100
WRITEABLE = 0x400

WRAPPER_TABLE = ("array_type", "descr", "slow", "none", "finite")
"""First words of a wrapper's table: NumPy's array type, the descriptor of float64, the Python
callable, None, and whether numbers that are not finite are refused.  Pointers that the kernel takes
besides the arrays follow.
"""


@dataclass(frozen=True)
class ArrayArgument:
    """One array that a kernel takes or writes to, and the flat indices where unit quaternions (x,
    y, z, w) begin.
    """

    shape: tuple[int, ...]
    output: bool = False
    quaternions: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        return prod(self.shape)


def python_wrapper(
    arguments: Sequence[ArrayArgument],
    disjoint: bool = False,
    extra: int = 0,
    verdict: bool = False,
) -> str:
    """A function (self, args, nargs) around ``@single``: all inputs, then all outputs, or nothing,
    or one ``None``.

    Arrays of exactly the right type, descriptor, shape, contiguous and aligned (outputs writable,
    quaternions of unit length; ``disjoint``: no output overlaps an input) go to the kernel as they
    are; everything else goes to the Python callable. ``extra`` further pointers for the kernel are
    at the end of the table.  With ``verdict`` the kernel says whether all went well; where it did
    not, the Python callable is called, too.
    """
    return _Wrapper(arguments, disjoint, extra, verdict).text()


class _Wrapper(Writer):
    def __init__(
        self,
        arguments: Sequence[ArrayArgument],
        disjoint: bool,
        extra: int,
        verdict: bool,
    ) -> None:
        self.inputs = [a for a in arguments if not a.output]
        self.outputs = [a for a in arguments if a.output]
        super().__init__()
        self.disjoint = disjoint
        self.extra = extra
        self.verdict = verdict

    def field(self, base: str, offset: int, kind: str) -> str:
        return self.put(
            f"load {kind}, ptr {self.put(f'getelementptr i8, ptr {base}, i64 {offset}')}"
        )

    def word(self, name: str, kind: str = "ptr") -> str:
        return self.field("%table", 8 * WRAPPER_TABLE.index(name), kind)

    def argument(self, k: int) -> str:
        return self.put(f"load ptr, ptr {self.put(f'getelementptr ptr, ptr %args, i64 {k}')}")

    def require(self, conditions: list[str], then: str) -> None:
        """Go on at ``then`` if all conditions hold, else to the Python callable."""
        if not conditions:
            self.line(f"br label %{then}")
        else:
            total = conditions[0]
            for c in conditions[1:]:
                total = self.put(f"and i1 {total}, {c}")
            self.line(f"br i1 {total}, label %{then}, label %slow")
        self.start(then)

    # -- the parts ---------------------------------------------------------------------------------

    def text(self) -> str:
        n = len(self.inputs)
        m = len(self.outputs)
        self.line(f"%self_data = getelementptr i8, ptr %self, i64 {ARRAY_DATA}")
        self.line("%table = load ptr, ptr %self_data")
        self.array_type, self.descr = self.word("array_type"), self.word("descr")
        self.require([self.put(f"icmp uge i64 %nargs, {n}")], "counted")
        data = self.arrays([self.argument(k) for k in range(n)], self.inputs, "in")
        self.unit_quaternions(data)
        self.finite(data)
        self.line(
            f"switch i64 %nargs, label %slow [ i64 {n}, label %fresh i64 {n + m}, label %given ]"
        )
        self.start("given")
        objects = [self.argument(n + k) for k in range(m)]
        if m == 1:
            none = self.put(f"icmp eq ptr {objects[0]}, {self.word('none')}")
            self.line(f"br i1 {none}, label %fresh, label %array")
            self.start("array")
        memory = self.arrays(objects, self.outputs, "out")
        if self.disjoint:
            self.require(self.separate(memory, data), "disjoint")
        well = self.run(data, memory)
        if self.verdict:
            self.require([well], "well")
        answer = objects[0] if m == 1 else self.word("none")
        self.line(f"call void @Py_IncRef(ptr {answer})")
        self.line(f"ret ptr {answer}")
        self.start("fresh")
        self.allocated(data)
        self.start("slow")
        self.line(
            f"%answer = call ptr @PyObject_VectorcallDict(ptr {self.word('slow')}, ptr %args, "
            "i64 %nargs, ptr null)"
        )
        self.line("ret ptr %answer")
        head = "".join(
            f"@dims{k} = private constant {self.dimensions(a)}\n"
            for k, a in enumerate(self.outputs)
        )
        body = self.function(f"ptr @{PYTHON_WRAPPER}(ptr %self, ptr %args, i64 %nargs) nounwind")
        return f"{head}{body}\n{_PYTHON_DECLARATIONS}"

    @staticmethod
    def dimensions(a: ArrayArgument) -> str:
        sizes = ", ".join(f"i64 {x}" for x in a.shape) or "i64 0"
        return f"[{max(len(a.shape), 1)} x i64] [{sizes}]"

    def arrays(
        self,
        objects: list[str],
        expected: Sequence[ArrayArgument],
        word: str,
    ) -> list[str]:
        """Check arrays and return where their data is."""
        is_array = [
            self.put(f"icmp eq ptr {self.field(o, OB_TYPE, 'ptr')}, {self.array_type}")
            for o in objects
        ]
        self.require(is_array, f"{word}_arrays")
        checks = []
        for o, a in zip(objects, expected, strict=True):
            checks.append(
                self.put(f"icmp eq ptr {self.field(o, ARRAY_DESCR, 'ptr')}, {self.descr}")
            )
            checks.append(self.put(f"icmp eq i32 {self.field(o, ARRAY_ND, 'i32')}, {len(a.shape)}"))
            mask = C_CONTIGUOUS | ALIGNED | (WRITEABLE if a.output else 0)
            flags = self.field(o, ARRAY_FLAGS, "i32")
            checks.append(self.put(f"icmp eq i32 {self.put(f'and i32 {flags}, {mask}')}, {mask}"))
        self.require(checks, f"{word}_doubles")
        checks = []
        for o, a in zip(objects, expected, strict=True):
            if a.shape:
                dims = self.field(o, ARRAY_DIMENSIONS, "ptr")
                checks += [
                    self.put(f"icmp eq i64 {self.field(dims, 8 * d, 'i64')}, {size}")
                    for d, size in enumerate(a.shape)
                ]
        self.require(checks, f"{word}_shaped")
        return [self.field(o, ARRAY_DATA, "ptr") for o in objects]

    def unit_quaternions(self, data: list[str]) -> None:
        checks = []
        for p, a in zip(data, self.inputs, strict=True):
            for start in a.quaternions:
                off = "-1.0"
                for k in range(start, start + 4):
                    x = self.field(p, 8 * k, "double")
                    off = self.put(f"fadd double {off}, {self.put(f'fmul double {x}, {x}')}")
                checks.append(self.put(f"fcmp oge double {off}, {double(-QUATERNION_TOLERANCE)}"))
                checks.append(self.put(f"fcmp ole double {off}, {double(QUATERNION_TOLERANCE)}"))
        if checks:
            self.require(checks, "unit")

    def finite(self, data: list[str]) -> None:
        """Where the table asks for it: 0 x summed over all inputs is zero, which NaN and infinities
        do not allow.
        """
        checked = self.put(f"icmp ne i64 {self.word('finite', 'i64')}, 0")
        self.line(f"br i1 {checked}, label %look, label %ready")
        self.start("look")
        terms = []
        for p, a in zip(data, self.inputs, strict=True):
            wide = a.size // 4 * 4
            parts = [
                self.put(
                    "load <4 x double>, ptr "
                    f"{self.put(f'getelementptr double, ptr {p}, i64 {k}')}, align 8"
                )
                for k in range(0, wide, 4)
            ]
            parts = self.summed(
                "<4 x double>", [self.put(f"fmul <4 x double> {x}, zeroinitializer") for x in parts]
            )
            terms += [
                self.put(f"extractelement <4 x double> {x}, i32 {k}")
                for x, k in itertools.product(parts, range(4))
            ]
            terms += [
                self.put(f"fmul double {self.field(p, 8 * k, 'double')}, 0.0")
                for k in range(wide, a.size)
            ]
        self.require(
            [self.put(f"fcmp oeq double {x}, 0.0") for x in self.summed("double", terms)], "ready"
        )

    def summed(self, kind: str, terms: list[str]) -> list[str]:
        """Their sum, made pair by pair; nothing of nothing."""
        while len(terms) > 1:
            pairs = [
                self.put(f"fadd {kind} {x}, {y}")
                for x, y in zip(terms[::2], terms[1::2], strict=False)
            ]
            terms = pairs + terms[2 * len(pairs) :]
        return terms

    def separate(self, memory: list[str], data: list[str]) -> list[str]:
        """Conditions: outputs overlap neither inputs nor each other."""
        checks = []
        spans = [*zip(data, self.inputs, strict=True), *zip(memory, self.outputs, strict=True)]
        for k in range(len(data), len(spans)):
            p, a = spans[k]
            for o, b in spans[:k]:
                end, other = (
                    self.put(f"getelementptr i8, ptr {x}, i64 {8 * y.size}")
                    for x, y in ((p, a), (o, b))
                )
                before = self.put(f"icmp ule ptr {end}, {o}")
                checks.append(self.put(f"or i1 {before}, {self.put(f'icmp ule ptr {other}, {p}')}"))
        return checks

    def run(self, data: list[str], memory: list[str]) -> str:
        """Call the kernel; its verdict, if it has one."""
        further = [
            self.field("%table", 8 * (len(WRAPPER_TABLE) + k), "ptr") for k in range(self.extra)
        ]
        arguments = ", ".join(f"ptr {p}" for p in [*data, *memory, *further])
        if self.verdict:
            return self.put(f"call i1 @single({arguments})")
        self.line(f"call void @single({arguments})")
        return ""

    def allocated(self, data: list[str]) -> None:
        """New arrays for all outputs; a float for a scalar."""
        m = len(self.outputs)
        if m == 1 and not self.outputs[0].shape:
            memory = [self.put("alloca double, align 64")]
            self.run(data, memory)
            x = self.put(f"load double, ptr {memory[0]}")
            return self.line(f"ret ptr {self.put(f'call ptr @PyFloat_FromDouble(double {x})')}")
        if m == 1:
            array = self.new_array(0, "")
            self.run(data, [self.field(array, ARRAY_DATA, "ptr")])
            return self.line(f"ret ptr {array}")
        if not all(a.shape for a in self.outputs):
            return self.line("br label %slow")
        tuple_ = self.put(f"call ptr @PyTuple_New(i64 {m})")
        self.line(f"br i1 {self.put(f'icmp eq ptr {tuple_}, null')}, label %failed, label %tuple")
        self.start("failed")
        self.line("ret ptr null")
        self.start("tuple")
        memory = []
        for k in range(m):
            array = self.new_array(k, tuple_)
            self.line(f"call i32 @PyTuple_SetItem(ptr {tuple_}, i64 {k}, ptr {array})")
            memory.append(self.field(array, ARRAY_DATA, "ptr"))
        self.run(data, memory)
        return self.line(f"ret ptr {tuple_}")

    def new_array(self, k: int, held: str) -> str:
        """The array of an output; where memory is short, ``held`` is let go and the error is
        Python's.
        """
        # the call below takes a reference over
        self.line(f"call void @Py_IncRef(ptr {self.descr})")
        array = self.put(
            f"call ptr @numpy_new_array(ptr {self.array_type}, ptr {self.descr}, i32 "
            f"{len(self.outputs[k].shape)}, "
            f"ptr @dims{k}, ptr null, ptr null, i32 0, ptr null)"
        )
        bad = self.put(f"icmp eq ptr {array}, null")
        self.line(f"br i1 {bad}, label %lost{k}, label %got{k}")
        self.start(f"lost{k}")
        if held:
            self.line(f"call void @Py_DecRef(ptr {held})")
        self.line("ret ptr null")
        self.start(f"got{k}")
        return array


_PYTHON_DECLARATIONS = """\
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @numpy_new_array(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)
declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)"""

ROUTER_SLOTS = 64
"""Wrappers that a router finds at once; a power of two."""


def router_module() -> str:
    """``@route1`` and ``@route2``: go to the wrapper for the first one or two arguments, compared
    by identity.

    The table holds the Python callable for everything else, then for each slot the two keys (the
    second 0 for ``@route1``), the address of the wrapper's code and its own table.
    """
    return "\n".join(
        [_router(1), _router(2), "declare ptr @PyObject_VectorcallDict(ptr, ptr, i64, ptr)"]
    )


def _router(keys: int) -> str:
    """``@route{keys}``: a hash table without chains; a slot that holds other keys, or none, leads
    to the Python callable.
    """
    w = Writer()
    table = w.put(f"load ptr, ptr {w.put(f'getelementptr i8, ptr %self, i64 {ARRAY_DATA}')}")
    w.line(f"br i1 {w.put(f'icmp uge i64 %nargs, {keys}')}, label %find, label %slow")
    w.start("find")
    given = [
        w.put(f"load i64, ptr {w.put(f'getelementptr i64, ptr %args, i64 {k}')}")
        for k in range(keys)
    ]
    if keys == 1:
        mixed = given[0]
    else:
        mixed = w.put(f"xor i64 {given[0]}, {given[1]}")
    # addresses of objects are multiples of 16
    number = w.put(f"and i64 {w.put(f'lshr i64 {mixed}, 4')}, {ROUTER_SLOTS - 1}")
    # four words a slot, after the callable
    first_word = w.put(f"add i64 {w.put(f'shl i64 {number}, 2')}, 1")
    slot = w.put(f"getelementptr i64, ptr {table}, i64 {first_word}")

    def word(k: int, kind: str) -> str:
        return w.put(f"load {kind}, ptr {w.put(f'getelementptr i64, ptr {slot}, i64 {k}')}")

    first = word(0, "i64")
    same = w.put(f"icmp eq i64 {first}, {given[0]}")
    if keys == 2:
        second = word(1, "i64")
        same = w.put(f"and i1 {same}, {w.put(f'icmp eq i64 {second}, {given[1]}')}")
    w.line(f"br i1 {same}, label %known, label %slow")
    w.start("known")
    code = word(2, "ptr")
    wrapper = word(3, "ptr")
    rest = w.put(f"getelementptr ptr, ptr %args, i64 {keys}")
    count = w.put(f"sub i64 %nargs, {keys}")
    w.line(f"ret ptr {w.put(f'tail call ptr {code}(ptr {wrapper}, ptr {rest}, i64 {count})')}")
    w.start("slow")
    slow = f"ptr {w.put(f'load ptr, ptr {table}')}"
    call = f"tail call ptr @PyObject_VectorcallDict({slow}, ptr %args, i64 %nargs, ptr null)"
    w.line(f"ret ptr {w.put(call)}")
    return w.function(f"ptr @route{keys}(ptr %self, ptr %args, i64 %nargs) nounwind")
