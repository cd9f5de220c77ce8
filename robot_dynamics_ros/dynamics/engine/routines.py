"""Functions with loops and branches, on a memory of named arrays: compiled where there is a compiler, else run as written.

See :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source` for the subset of Python in which they are written.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Protocol, TypeAlias

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.routine_source import Kernel, MemoryLayout, Slot, routine_module
from robot_dynamics_ros.dynamics.engine.evaluate import Evaluator
from robot_dynamics_ros.model.description import Array

__all__ = ["Integers", "InterpretedRoutines", "Matrix", "Memory", "Routines", "Vector", "entry_of", "make_routines"]

Vector: TypeAlias = Any
Matrix: TypeAlias = Any
Integers: TypeAlias = Any
"""Parameters of routines: arrays of doubles in one and two dimensions, and of integers."""


class Callee(Protocol):
    """Compiled code that routines may call."""

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """Its address, and arrays to hand on after its arguments."""


_ALIGNMENT = 8  # numbers: 64 bytes
_LONG = 16
"""Robots of fewer degrees of freedom have loops too short for vector instructions."""
_lock = threading.Lock()


class Memory:
    """Named arrays in one block, constants, and the kernels of one robot that routines call.

    Attributes:
        block: (size,) all of it.
        python: the same as the routines see it when Python runs them.

    Args:
        constants: numbers that compiled routines have built in.
        arrays: name → shape of an array of doubles; zero at first.
        integers: name → shape of an array of integers; zero at first.
        kernels: name → function of a robot, called with its inputs and outputs; or several, of which the first argument
            of a call chooses one; or ``None`` for one that :meth:`exchange` will give.
        compiled: whether compiled code will use it; needs kernels of a compiling backend.
    """

    def __init__(
        self,
        constants: Mapping[str, int | float | bool],
        arrays: Mapping[str, tuple[int, ...]],
        integers: Mapping[str, tuple[int, ...]],
        kernels: Mapping[str, Evaluator | Sequence[Evaluator] | None],
        *,
        compiled: bool,
    ) -> None:
        slots: dict[str, Slot] = {}
        called: dict[str, Kernel] = {}
        self._kept: list[Any] = [kernels]
        pointers: list[int] = []
        if compiled:
            for name, given in kernels.items():
                several = isinstance(given, Sequence)
                callees = [_callee(x) for x in (given if isinstance(given, Sequence) else [given])]
                wide = max((len(further) for _, further in callees), default=0)
                called[name] = Kernel(len(pointers), wide, len(callees) if several else -1)
                for address, further in callees:
                    room = [0] * (wide - len(further))
                    pointers += [address, *(x.ctypes.data for x in further), *room]
                self._kept.append(callees)
        at = -(-len(pointers) // _ALIGNMENT) * _ALIGNMENT
        for shapes, whole in ((arrays, False), (integers, True)):
            for name, shape in shapes.items():
                slots[name] = Slot(at, shape, whole)
                at += -(-slots[name].size // _ALIGNMENT) * _ALIGNMENT
        self.layout = MemoryLayout(tuple(constants.items()), tuple(slots.items()), tuple(called.items()), at)
        self.block: Array = _aligned(at)
        self.block[: len(pointers)].view(np.uint64)[:] = pointers
        self._arrays = {name: self._view(slot) for name, slot in slots.items()}
        views = {name: array.data for name, array in self._arrays.items()}
        interpreted = {name: _interpreted(given) for name, given in kernels.items() if given is not None}
        self.python = SimpleNamespace(**dict(constants), **views, **interpreted)
        self._exchanged: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Array:
        """The array of that name: a view."""
        return self._arrays[name]

    def exchange(self, name: str, given: Evaluator | Callee) -> bool:
        """Have compiled routines call another function under this name from now on; its arguments must be the same.

        Returns:
            False, and nothing is changed, where there is no room for what this one needs besides its arguments.
        """
        kernel = dict(self.layout.kernels)[name]
        address, further = callee = _callee(given)
        if len(further) > kernel.further:
            return False
        words = self.block[kernel.offset : kernel.offset + kernel.further + 1].view(np.uint64)
        words[0] = address
        words[1 : 1 + len(further)] = [x.ctypes.data for x in further]
        self._exchanged[name] = (given, callee)
        return True

    def _view(self, slot: Slot) -> Array:
        part = self.block[slot.offset : slot.offset + slot.size]
        return (part.view(np.int64) if slot.integer else part).reshape(slot.shape)  # type: ignore[return-value]


def _callee(given: Evaluator | Callee | None) -> tuple[int, list[np.ndarray]]:
    if given is None:
        return 0, []
    return given.engine.callee() if isinstance(given, Evaluator) else given.callee()  # type: ignore[attr-defined]


def _aligned(size: int) -> Array:
    room = np.zeros(size + _ALIGNMENT)
    start = -room.ctypes.data // 8 % _ALIGNMENT
    return room[start : start + size]


def _interpreted(given: Evaluator | Sequence[Evaluator]) -> Callable[..., None]:
    if not isinstance(given, Evaluator):
        several = [_interpreted(evaluator) for evaluator in given]
        return lambda k, *views: several[k](*views)
    evaluator = given
    count = len(evaluator.signature.inputs)

    def call(*views: memoryview) -> None:
        arrays = [np.asarray(x) for x in views]
        evaluator.engine.single(arrays[:count], arrays[count:])

    return call


class Routines:
    """Some functions for memories of one layout.

    ``routines[name](memory, …)`` runs one; further arguments are numbers, or contiguous arrays of doubles.

    Args:
        layout: of the memories.
        functions: the functions that can be called from outside.
        entry: the name of one with two parameters, the memory and a vector of ``entry_size``, that is also to be had as
            :attr:`entry`.
    """

    def __init__(
        self, layout: MemoryLayout, functions: Sequence[Callable[..., Any]], entry: str = "", entry_size: int = 0
    ) -> None:
        from robot_dynamics_ros.dynamics.engine.codegen import cache
        from robot_dynamics_ros.dynamics.engine.codegen.llvm_entry import ArrayArgument, python_entry
        from robot_dynamics_ros.dynamics.engine.codegen.native import (
            NativeLibrary,
            compile_module,
            entry_supported,
            target_key,
        )

        source = routine_module(layout, functions)
        with_entry = bool(entry) and entry_supported()
        if with_entry:
            arguments = [ArrayArgument((entry_size,)), ArrayArgument((layout.size,), output=True)]
            source += (
                "\ndefine internal void @single(ptr %x, ptr %p) nounwind {\n"
                f"  %status = call i64 @{entry}(ptr %p, ptr %x)\n  ret void\n}}\n" + python_entry(arguments)
            )
        key = hashlib.sha256(f"{target_key()}|{source}".encode()).hexdigest()
        code = cache.load(key)
        if code is None:
            code = compile_module(source, optimize=True, vectorize=dict(layout.constants)["nv"] >= _LONG)
            cache.store(key, code)
        self._library = NativeLibrary(code)
        self._originals = {function.__name__: function for function in functions}
        self._functions = {function.__name__: self._bound(function) for function in functions}
        self.entry: Any = self._library.python_entry(entry, _unusual) if with_entry else _unusual
        """``entry(vector, memory.block)``: the block if the routine has run, ``None`` if an argument was unusual."""

    def _bound(self, function: Callable[..., Any], prototype: Any = ctypes.CFUNCTYPE) -> Any:
        words = function.__annotations__
        kinds = [_C_TYPES[words[name]] for name in list(words)[1:] if name != "return"]
        returns = _C_TYPES.get(function.__annotations__.get("return", "None"))
        return prototype(returns, ctypes.c_void_p, *kinds)(self._library.address(function.__name__))

    def held(self, name: str) -> Any:
        """One compiled function for calls that take microseconds: the interpreter's lock is kept, and arguments are addresses, of the
        memory's block first, or bytes."""
        return self._bound(self._originals[name], ctypes.PYFUNCTYPE)

    def __getitem__(self, name: str) -> Any:
        function = self._functions[name]

        def run(memory: Memory, *arguments: Any) -> Any:
            handed = [x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments]
            return function(memory.block.ctypes.data, *handed)

        return run


class InterpretedRoutines:
    """The same functions as Python runs them."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        self._functions = {function.__name__: function for function in functions}
        self.entry: Any = _unusual

    def __getitem__(self, name: str) -> Any:
        function = self._functions[name]

        def run(memory: Memory, *arguments: Any) -> Any:
            return function(memory.python, *(x.data if isinstance(x, np.ndarray) else x for x in arguments))

        return run


_C_TYPES: dict[str, Any] = {
    "int": ctypes.c_int64,
    "float": ctypes.c_double,
    "bool": ctypes.c_bool,
    "Vector": ctypes.c_void_p,
    "Matrix": ctypes.c_void_p,
    "Integers": ctypes.c_void_p,
    "Packed": ctypes.c_void_p,
}


def _unusual(*_: Any) -> None:
    """Whom compiled entries ask when an argument is not a plain array: the caller handles it."""


def entry_of(routines: Routines | InterpretedRoutines, memory: Memory, name: str, vector: Array) -> Any:
    """``entry(vector, memory.block)`` for the routine of that name, as fast as this Python allows.

    Runs it once: where there is no compiler, or Python's objects are laid out otherwise, the routine is called the long way.
    """
    if routines.entry(vector, memory.block) is not None:
        return routines.entry
    run = routines[name]
    return lambda given, _block: run(memory, given)


def make_routines(
    memory: Memory,
    functions: tuple[Callable[..., Any], ...],
    *,
    compiled: bool,
    entry: str = "",
    entry_size: int = 0,
) -> Routines | InterpretedRoutines:
    """The functions for a memory and all others of its layout."""
    if not compiled:
        return InterpretedRoutines(functions)
    with _lock:
        return _compiled(memory.layout, functions, entry, entry_size)


@functools.lru_cache(maxsize=64)
def _compiled(layout: MemoryLayout, functions: tuple[Callable[..., Any], ...], entry: str, entry_size: int) -> Routines:
    return Routines(layout, functions, entry, entry_size)
