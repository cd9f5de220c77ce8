"""Routines as C, compiled here and run on copies of a memory."""

from __future__ import annotations

import ctypes
import inspect
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.declared import annotation_name, fields
from robot_dynamics_ros.dynamics.engine.codegen.routine_c import routines_in_c
from robot_dynamics_ros.dynamics.engine.codegen.routine_source import read_routines
from robot_dynamics_ros.dynamics.engine.routines import Memory

from .c_code import COMPILERS, CPP_COMPILERS, CPP_FLAGS, FLAGS, run_compiler

_NUMBERS = {"float": ctypes.c_double, "int": ctypes.c_int64, "bool": ctypes.c_int}


class RoutinesInC:
    """Some functions for memories like one, in C.

    Args:
        memory: not compiled; its kernels are called from C too.
        functions: the routines.
        directory: for the files.
        kernels: what the memory was given.
        shapes: name → shapes of all arguments of kernels that are no functions of a robot.
    """

    def __init__(
        self,
        memory: Memory,
        functions: Sequence[Callable],
        directory: Path,
        kernels=None,
        shapes=None,
    ) -> None:
        self.memory = memory
        kernels = dict(kernels or {})
        self._counts = {name: len(x) for name, x in kernels.items() if isinstance(x, Sequence)}
        self._shapes = {name: _shapes(x) for name, x in kernels.items()} | (shapes or {})
        constants = dict(memory.layout.constants)
        program = read_routines(memory.declared, constants, functions)
        self.text = routines_in_c(program, "it", several=self._counts)
        head = "".join(f"#include <{name}>\n" for name in self.text.includes)
        text = f"{head}\n{self.text.declarations}\n\n{self.text.definitions}\n"
        (directory / "it.c").write_text(text)
        (directory / "it.cpp").write_text(f'extern "C" {{\n{text}}}\n')
        flags = ["-O1", "-ffp-contract=off", "-fPIC", "-shared"]
        run_compiler([COMPILERS[0], *FLAGS, *flags, "it.c", "-o", "it.so", "-lm"], directory)
        if CPP_COMPILERS:
            run_compiler([CPP_COMPILERS[0], *CPP_FLAGS, "-fsyntax-only", "it.cpp"], directory)
        self._library = ctypes.CDLL(str(directory / "it.so"))
        self._functions = {f.__name__: f for f in functions}
        self._arrays = {name: slot.shape for name, slot in memory.layout.slots}
        self._struct = self._structure()

    def _structure(self) -> type[ctypes.Structure]:
        members: list[tuple[str, type]] = []
        declarations = fields(self.memory.declared)
        if any(x.kind in ("kernel", "kernels") for x in declarations.values()):
            members.append(("context", ctypes.c_void_p))
        for name, field in declarations.items():
            if field.kind in ("numbers", "integers"):
                kind = ctypes.c_double if field.kind == "numbers" else ctypes.c_int64
                members.append((name, kind * max(math.prod(self._arrays[name]), 1)))
            elif field.kind != "constant":
                members.append((name, ctypes.c_void_p * self._counts.get(name, 1)))
        return type("It", (ctypes.Structure,), {"_fields_": members})

    def __call__(self, name: str, memory: Memory, *arguments):
        """Call one on what the memory holds, and leave there what it holds then."""
        words = [
            annotation_name(x) for x in inspect.get_annotations(self._functions[name]).values()
        ]
        struct = self._struct()
        arrays = {name: memory[name] for name, shape in self._arrays.items() if math.prod(shape)}
        for array_name, array in arrays.items():
            np.ctypeslib.as_array(getattr(struct, array_name))[:] = array.ravel()
        kept = [self._callbacks(struct, kernel, memory) for kernel in self._shapes]
        function = getattr(self._library, f"it_{name}")
        function.restype = _NUMBERS.get(words[-1])
        function.argtypes = [
            ctypes.c_void_p,
            *(_NUMBERS.get(word, ctypes.c_void_p) for word in words[1:-1]),
        ]
        result = function(
            ctypes.addressof(struct),
            *(x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments),
        )
        for array_name, array in arrays.items():
            array[...] = np.ctypeslib.as_array(getattr(struct, array_name)).reshape(array.shape)
        assert len(kept) == len(self._shapes)
        return result

    def _callbacks(self, struct: ctypes.Structure, name: str, memory: Memory) -> list:
        function = getattr(memory.python, name)
        shapes = self._shapes[name]
        several = name in self._counts

        def call(k: int, *addresses: int) -> None:
            function(
                *([k] if several else []),
                *(_view(a, shape) for a, shape in zip(addresses, shapes, strict=True)),
            )

        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_void_p] * len(shapes))
        table = getattr(struct, name)
        callbacks = [kind(lambda _context, *a, k=k: call(k, *a)) for k in range(len(table))]
        for k, callback in enumerate(callbacks):
            table[k] = ctypes.cast(callback, ctypes.c_void_p).value
        return callbacks


def _shapes(kernel) -> list[tuple[int, ...]]:
    signature = (kernel[0] if isinstance(kernel, Sequence) else kernel).signature
    return [shape for _, shape in (*signature.inputs, *signature.outputs)]


def _view(address: int, shape: tuple[int, ...]) -> memoryview:
    size = math.prod(shape)
    if not size:
        return np.empty(shape).data
    return np.ctypeslib.as_array((ctypes.c_double * size).from_address(address)).reshape(shape).data
