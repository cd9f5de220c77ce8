"""Functions with loops and branches, on declared memory: compiled where there is a compiler, else
run as written.

See :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source` for the subset of Python in
which they are written, and :mod:`~robot_dynamics_ros.dynamics.engine.codegen.declared` for the
declarations.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.arrays import aligned_zeros
from robot_dynamics_ros.dynamics.engine.codegen.declared import *  # noqa: F403
from robot_dynamics_ros.dynamics.engine.codegen.declared import (
    Constant,
    Declared,
    annotation_name,
    fields,
    shape_of,
)
from robot_dynamics_ros.dynamics.engine.codegen.routine_llvm import (
    CallSlot,
    MemoryLayout,
    Slot,
    routine_module,
)
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.model.description import Array


class Callee(Protocol):
    """Compiled code that routines may call."""

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """Its address, and arrays to hand on after its arguments."""


Function: TypeAlias = Evaluator | Callee | Callable[..., object]
"""What a kernel may be: a function of a robot, other compiled code, or a function on arrays, inputs
first, where nothing is compiled.
"""
Routine: TypeAlias = Callable[..., Any]
"""A function that works on a memory; what it returns is a number or nothing."""
Entry: TypeAlias = Callable[[ArrayLike, Array], object]
"""Runs a routine on a vector and the block of its memory."""
Prototype: TypeAlias = "Callable[..., type[ctypes._CFunctionType]]"
Given: TypeAlias = Array | memoryview | bytes | int | float
D = TypeVar("D", bound=Declared, covariant=True)
# Arrays begin at multiples of so many numbers: 64 bytes.
_ALIGNMENT = 8
FOLDERS_OF_ROUTINES = ("control", "dynamics", "friction", "model", "simulation")
"""Folders of this package in which routines are; they import nothing from others but from files
beside them.
"""
_DEGREES_WORTH_VECTORS = 16
"""Robots of fewer degrees of freedom have loops too short for vector instructions."""
_lock = threading.Lock()


class Memory(Generic[D]):
    """All that a class declares, in one ``block``: arrays, constants, and the kernels that routines
    call.

    ``python`` is the same as the routines see it when Python runs them.

    Args:
        kernels: name → function of a robot, called with its inputs and outputs; or several, of
            which the first argument of a call chooses one.  Those that are left out, or ``None``,
            are given by :meth:`exchange` before they are called.
        compiled: whether compiled code will use it; needs kernels of a compiling backend.
    """

    def __init__(
        self,
        declared: type[D],
        constants: Mapping[str, Constant],
        kernels: Mapping[str, Function | Sequence[Evaluator] | None] | None = None,
        *,
        compiled: bool,
    ) -> None:
        self.declared = declared
        self._compiled = compiled
        declarations = fields(declared)
        kernels = dict(kernels or {})
        _check_names(declared, constants, kernels)
        slots: dict[str, Slot] = {}
        called: dict[str, CallSlot] = {}
        self._kept: list[Any] = [kernels]
        pointers: list[int] = []
        for name, field in declarations.items() if compiled else ():
            if field.kind in ("kernel", "kernels"):
                function = kernels.get(name)
                callees = [
                    _callee(x) for x in (function if isinstance(function, Sequence) else [function])
                ]
                wide = max((len(further) for _, further in callees), default=0)
                called[name] = CallSlot(len(pointers), wide)
                for address, further in callees:
                    room = [0] * (wide - len(further))
                    pointers += [address, *(x.ctypes.data for x in further), *room]
                self._kept.append(callees)
        offset = -(-len(pointers) // _ALIGNMENT) * _ALIGNMENT
        for kind in ("numbers", "integers"):
            for name, field in declarations.items():
                if field.kind == kind:
                    slots[name] = Slot(offset, shape_of(field, constants), kind == "integers")
                    offset += -(-slots[name].size // _ALIGNMENT) * _ALIGNMENT
        self.layout = MemoryLayout(
            declared, tuple(constants.items()), tuple(slots.items()), tuple(called.items()), offset
        )
        self.block: Array = aligned_zeros(offset)
        self.address: int = self.block.ctypes.data
        self.block[: len(pointers)].view(np.uint64)[:] = pointers
        self._arrays = {name: self._view(slot) for name, slot in slots.items()}
        self.python = declared()
        interpreted = {
            name: _interpreted(function)
            for name, function in kernels.items()
            if function is not None
        }
        views = {name: array.data for name, array in self._arrays.items()}
        for name, value in (*constants.items(), *views.items(), *interpreted.items()):
            setattr(self.python, name, value)
        self._exchanged: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Array:
        """The array of that name: a view."""
        return self._arrays[name]

    def fits(self, name: str, function: Function) -> bool:
        """Whether :meth:`exchange` has room for what this function needs besides its arguments."""
        return (
            not self._compiled
            or len(_callee(function)[1]) <= dict(self.layout.kernels)[name].further
        )

    def exchange(self, name: str, function: Function) -> bool:
        """Have routines call another function under this name from now on, with the same arguments;
        false, and nothing is changed, where there is no room for what this one needs besides them.
        """
        if not self._compiled:
            setattr(self.python, name, _interpreted(function))
            return True
        slot = dict(self.layout.kernels)[name]
        address, further = callee = _callee(function)
        if len(further) > slot.further:
            return False
        words = self.block[slot.offset : slot.offset + slot.further + 1].view(np.uint64)
        words[0] = address
        words[1 : 1 + len(further)] = [x.ctypes.data for x in further]
        self._exchanged[name] = (function, callee)
        return True

    def _view(self, slot: Slot) -> Array:
        part = self.block[slot.offset : slot.offset + slot.size]
        if slot.integer:
            part = part.view(np.int64)
        return part.reshape(slot.shape)


def _check_names(
    declared: type[Declared],
    constants: Mapping[str, Constant],
    kernels: Mapping[str, object],
) -> None:
    declarations = fields(declared)
    needed = {name for name, field in declarations.items() if field.kind == "constant"}
    callable_ = {
        name for name, field in declarations.items() if field.kind in ("kernel", "kernels")
    }
    for words, names in (
        ("has no value for", needed - set(constants)),
        ("does not declare", (set(constants) - needed) | (set(kernels) - callable_)),
    ):
        if names:
            raise TypeError(f"{declared.__name__} {words} {', '.join(sorted(names))}")


def _callee(function: Function | None) -> tuple[int, list[np.ndarray]]:
    if function is None:
        return 0, []
    if isinstance(function, Evaluator):
        return function.engine.callee()  # type: ignore[attr-defined]
    return function.callee()  # type: ignore[union-attr]


def _interpreted(function: Function | Sequence[Evaluator]) -> Callable[..., None]:
    if isinstance(function, Sequence):
        several = [_interpreted(evaluator) for evaluator in function]
        return lambda k, *views: several[k](*views)
    if isinstance(function, Evaluator):
        single = function.engine.single
        count = len(function.signature.inputs)

        def evaluate(*views: memoryview) -> None:
            arrays = [np.asarray(x) for x in views]
            single(arrays[:count], arrays[count:])

        return evaluate
    plain: Any = function

    def call(*views: memoryview) -> None:
        plain(*(np.asarray(x) for x in views))

    return call


class Routines:
    """Some functions for memories of one layout.

    ``routines[name](memory, …)`` runs one; further arguments are numbers, or contiguous arrays of
    doubles.  The one named ``entry``, with two parameters, the memory and a vector of
    ``entry_size``, is also to be had as :attr:`entry`.
    """

    def __init__(
        self,
        layout: MemoryLayout,
        functions: Sequence[Routine],
        entry: str = "",
        entry_size: int = 0,
        *,
        loops: bool = False,
        optimize: bool = True,
    ) -> None:
        from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import (
            ArrayArgument,
            python_wrapper,
        )
        from robot_dynamics_ros.dynamics.engine.codegen.native import (
            Passes,
            cached_library,
            compile_module,
            content_key,
            wrappers_supported,
        )

        with_entry = bool(entry) and wrappers_supported()

        def source() -> str:
            text = routine_module(
                read_routines(layout.declared, dict(layout.constants), functions), layout
            )
            if not with_entry:
                return text
            arguments = [ArrayArgument((entry_size,)), ArrayArgument((layout.size,), output=True)]
            return (
                f"{text}\ndefine internal i1 @single(ptr %x, ptr %p) nounwind {{\n"
                f"  %status = call i64 @{entry}(ptr %p, ptr %x)\n"
                "  %well = icmp eq i64 %status, 0\n  ret i1 %well\n}\n"
                + python_wrapper(arguments, verdict=True)
            )

        large = dict(layout.constants)["nv"] >= _DEGREES_WORTH_VECTORS
        if not optimize:
            passes = Passes.NONE
        elif loops:
            passes = Passes.ALL
        else:
            passes = Passes.FEW
        content = _content(layout, functions, f"{entry} {entry_size}") or source()
        self._library = cached_library(
            content_key(content, passes, large),
            lambda: compile_module(source(), passes=passes, vectorize=large),
        )
        self._originals = {function.__name__: function for function in functions}
        self._functions = {function.__name__: self._bound(function) for function in functions}
        self.entry: Entry = (
            self._library.python_wrapper(entry, _unusual) if with_entry else _unusual
        )
        """``entry(vector, memory.block)``: the block if the routine has returned zero, ``None`` if
        it has not, or if an argument was unusual.
        """

    def _bound(self, function: Routine, prototype: Prototype = ctypes.CFUNCTYPE) -> Routine:
        words = {name: annotation_name(x) for name, x in inspect.get_annotations(function).items()}
        returns = _C_TYPES.get(words.pop("return", "None"))
        kinds = [_C_TYPES[word] for word in list(words.values())[1:]]
        bound = prototype(returns, ctypes.c_void_p, *kinds)(
            self._library.address(function.__name__)
        )
        # whoever holds the function keeps its code
        bound._library = self._library  # type: ignore[attr-defined]
        return bound

    def held(self, name: str) -> Routine:
        """One compiled function for calls that take microseconds: the interpreter's lock is kept,
        and arguments are addresses, of the memory's block first, or bytes.
        """
        return self._bound(self._originals[name], ctypes.PYFUNCTYPE)

    def __getitem__(self, name: str) -> Routine:
        function = self._functions[name]

        def run(memory: Memory[Declared], *arguments: Given) -> Any:
            handed = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]
            return function(memory.address, *handed)

        return run


class InterpretedRoutines:
    """The same functions as Python runs them."""

    def __init__(self, functions: Sequence[Routine]) -> None:
        self._functions = {function.__name__: function for function in functions}
        self.entry: Entry = _unusual

    def __getitem__(self, name: str) -> Routine:
        function = self._functions[name]

        def run(memory: Memory[Declared], *arguments: Given) -> Any:
            return function(
                memory.python, *(x.data if isinstance(x, np.ndarray) else x for x in arguments)
            )

        return run


def _content(layout: MemoryLayout, functions: Sequence[Routine], entry: str) -> str:
    """A text that determines the assembly of functions of this package: the names of all, and the
    package's sources, which are read in a tenth of the time that it takes to write the assembly of
    a control cycle.  Empty for functions of others.
    """
    named: tuple[Any, ...] = (layout.declared, *functions)
    package = __name__.partition(".")[0]
    homes = tuple(f"{package}.{folder}." for folder in FOLDERS_OF_ROUTINES)
    sources = _sources_digest()
    if not sources or not all(x.__module__.startswith(homes) for x in named):
        return ""
    names = " ".join(f"{x.__module__}.{x.__qualname__}" for x in named)
    return f"{sources}|{np.__version__}|{layout!r}|{names}|{entry}"


@functools.cache
def _sources_digest() -> str:
    """Digest of the sources that routines of this package may depend on.  Empty where they are in
    no folder.
    """
    package = Path(__file__).resolve().parents[2]
    paths = sorted(package.glob("*.py"))
    for folder in FOLDERS_OF_ROUTINES:
        paths += sorted((package / folder).rglob("*.py"))
    if not paths:
        return ""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(package)} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


_C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "bool": ctypes.c_bool,
    **dict.fromkeys(("Vector", "Matrix", "Integers", "Packed"), ctypes.c_void_p),
}


def _unusual(*_: object) -> None:
    """Whom compiled entries ask when an argument is not a plain array: the caller handles it."""


def make_routines(
    memory: Memory[Declared],
    functions: tuple[Routine, ...],
    *,
    compiled: bool,
    loops: bool = False,
    entry: str = "",
    entry_size: int = 0,
) -> Routines | InterpretedRoutines:
    """The functions for a memory and all others of its layout.

    ``loops``: their time goes into loops, which is worth several times as long a compilation.
    """
    if not compiled:
        return InterpretedRoutines(functions)
    from robot_dynamics_ros.dynamics.engine.codegen.native import optimizing

    with _lock:
        return _compiled(memory.layout, functions, entry, entry_size, loops, optimizing())


@functools.lru_cache(maxsize=64)
def _compiled(
    layout: MemoryLayout,
    functions: tuple[Routine, ...],
    entry: str,
    entry_size: int,
    loops: bool,
    optimize: bool,
) -> Routines:
    return Routines(layout, functions, entry, entry_size, loops=loops, optimize=optimize)
