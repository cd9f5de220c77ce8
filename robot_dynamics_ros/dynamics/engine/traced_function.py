"""Functions without branches that routines call and that belong to no robot: traced, compiled, kept on disk."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen import cache
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import callee_module
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument
from robot_dynamics_ros.dynamics.engine.codegen.native import NativeLibrary, compile_module, target_key

__all__ = ["TracedFunction", "compiled", "symbols"]

Shape = tuple[int, ...]


def symbols(graph: Graph, inputs: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """For each input an array of its shape (dtype object) whose entries stand for its numbers."""
    made = {}
    for number, (name, shape) in enumerate(inputs.items()):
        array = np.empty(prod(shape), dtype=object)
        array[:] = [graph.leaf((number, i)) for i in range(len(array))]
        made[name] = array.reshape(shape)
    return made


class TracedFunction:
    """Machine code for expressions of :func:`symbols`.

    Args:
        inputs: name → shape, as they were given to :func:`symbols`.
        outputs: one list of expressions for each output array.
    """

    def __init__(self, inputs: Mapping[str, Shape], outputs: Sequence[Sequence[Expr]]) -> None:
        arguments = [ArrayArgument(shape) for shape in inputs.values()]
        arguments += [ArrayArgument((len(output),), output=True) for output in outputs]
        self._library = compiled(callee_module(arguments, outputs))

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """See :meth:`~robot_dynamics_ros.dynamics.engine.native_engine.NativeEngine.callee`."""
        return self._library.address("batch"), []


@functools.lru_cache(maxsize=64)
def compiled(source: str) -> NativeLibrary:
    """LLVM assembly as loaded machine code, from the cache where it can be."""
    key = hashlib.sha256(f"{target_key()}|{source}".encode()).hexdigest()
    code = cache.load(key)
    if code is None:
        code = compile_module(source)
        cache.store(key, code)
    return NativeLibrary(code)
