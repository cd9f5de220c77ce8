"""Functions without branches that routines call and that belong to no robot: traced, compiled, kept on disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.codegen.llvm_kernel import callee_module
from robot_dynamics_ros.dynamics.engine.codegen.llvm_wrapper import ArrayArgument
from robot_dynamics_ros.dynamics.engine.codegen.native import library_of, vector_width

Shape = tuple[int, ...]


def symbols(graph: Graph, inputs: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """For each input an array of its shape (dtype object) whose entries stand for its numbers."""
    leaves = {}
    for number, (name, shape) in enumerate(inputs.items()):
        array = np.empty(prod(shape), dtype=object)
        array[:] = [graph.leaf((number, i)) for i in range(len(array))]
        leaves[name] = array.reshape(shape)
    return leaves


class TracedFunction:
    """Machine code for expressions of :func:`symbols`, a list for each output array."""

    def __init__(self, inputs: Mapping[str, Shape], outputs: Sequence[Sequence[Expr]]) -> None:
        arguments = [ArrayArgument(shape) for shape in inputs.values()]
        arguments += [ArrayArgument((len(output),), output=True) for output in outputs]
        self._library = library_of(callee_module(arguments, outputs, vector_width()))

    def callee(self) -> tuple[int, list[np.ndarray]]:
        """See :meth:`~robot_dynamics_ros.dynamics.engine.native_engine.NativeEngine.callee`."""
        return self._library.address("batch"), []
