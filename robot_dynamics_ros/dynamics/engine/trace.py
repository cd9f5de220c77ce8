"""Traces: a function of the table is run on symbols, for one robot, and its operations are
recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from math import prod
from typing import TypeVar

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph, count_operations
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree, regrouped_layout_of
from robot_dynamics_ros.dynamics.engine.registry import TABLE, Options, sizes
from robot_dynamics_ros.model.robot_model import RobotModel

T = TypeVar("T")
Shape = tuple[int, ...]
OPTIONAL = ("external", "link_external", "base", "carried", "observer", "axes", "about")


@dataclass(frozen=True)
class Signature:
    """Names and shapes of a function's inputs and outputs, for one model and one set of options."""

    name: str
    inputs: tuple[tuple[str, Shape], ...]
    outputs: tuple[tuple[str, Shape], ...]


@dataclass(frozen=True, eq=False)
class Trace:
    """A traced function: a flat list of output expressions for each output array."""

    signature: Signature
    graph: Graph
    outputs: tuple[tuple[Expr, ...], ...]

    def all_outputs(self) -> list[Expr]:
        return [x for output in self.outputs for x in output]

    def by_output(self, values: Iterable[T]) -> list[list[T]]:
        """Values in the place of :meth:`all_outputs`, a list for each output."""
        remaining = iter(values)
        return [list(islice(remaining, len(output))) for output in self.outputs]

    def operations(self) -> dict[str, int]:
        """Operations by kind and in total."""
        return count_operations(self.all_outputs())


def signature(model: RobotModel, name: str, options: Options) -> Signature:
    """Shapes of a function for a model; optional inputs that the options do not ask for are left
    out.
    """
    function = TABLE[name]
    numbers = sizes(model, dict(options))

    def resolve(shape: tuple[int | str, ...]) -> Shape:
        return tuple(numbers[d] if isinstance(d, str) else d for d in shape)

    inputs = tuple((word, resolve(shape)) for word, shape in function.inputs)
    return Signature(
        name,
        tuple((word, shape) for word, shape in inputs if not (word in OPTIONAL and shape[0] == 0)),
        tuple((word, resolve(shape)) for word, shape in function.outputs),
    )


def trace(model: RobotModel, name: str, options: Options = ()) -> Trace:
    """The function's operations for this robot; leaves are keyed (input number, flat index)."""
    shapes = signature(model, name, options)
    graph = Graph()
    arguments = {
        word: [graph.leaf((number, i)) for i in range(prod(shape))]
        for number, (word, shape) in enumerate(shapes.inputs)
    }
    function = TABLE[name]
    if function.joint_space:
        layout = regrouped_layout_of(model)
    else:
        layout = None
    results = function.run(NumericTree(model, layout), dict(options), arguments)
    return Trace(shapes, graph, tuple(tuple(graph.lift(x) for x in flat) for flat in results))


def symbols(graph: Graph, inputs: Mapping[str, Shape]) -> dict[str, np.ndarray]:
    """For each input an array of its shape (dtype object) whose entries stand for its numbers."""
    leaves = {}
    for number, (name, shape) in enumerate(inputs.items()):
        array = np.empty(prod(shape), dtype=object)
        array[:] = [graph.leaf((number, i)) for i in range(len(array))]
        leaves[name] = array.reshape(shape)
    return leaves
