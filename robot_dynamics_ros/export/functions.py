"""Functions that can be exported: those of the table and a few more, traced for one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

from robot_dynamics_ros.dynamics.algorithms.function import Export
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import SHAPES, TABLE, Function, sizes
from robot_dynamics_ros.equations.names import identifier_of
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force, Scalar

Shape = tuple[int, ...]
Run: TypeAlias = Callable[[Mapping[str, Sequence[Any]]], Sequence[Sequence[Any]]]
"""Flat outputs in order from flat inputs by name."""


@dataclass(frozen=True)
class Argument:
    """An array of a function: name, shape (row-major; ``()`` for a number), what it is, and its unit."""

    name: str
    shape: Shape
    meaning: str

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)


@dataclass(frozen=True)
class FunctionKind:
    """One kind of function: an entry of the table, and how it is exported."""

    entry: Function
    export: Export

    @property
    def on_link(self) -> bool:
        """Whether it is about one link."""
        return "link" in self.entry.options

    @property
    def inputs(self) -> list[str]:
        """Names of its inputs; points are the origins of links, the base does not move."""
        return [word for word, _ in self.entry.inputs if word in MEANINGS]

    @property
    def kept(self) -> list[int]:
        """Numbers of the outputs that are exported."""
        return [k for k, (word, _) in enumerate(self.entry.outputs) if word in self.export.outputs]


MEANINGS = {
    "q": "configuration",
    "v": "velocities",
    "a": "accelerations",
    "tau": "efforts",
    "external": "wrench [moment; force] on each loaded link, about its origin, in its axes",
}

FUNCTIONS: dict[str, FunctionKind] = {
    export.name or name: FunctionKind(entry, export) for name, entry in TABLE.items() for export in entry.exports
}
"""Everything that is traced, by name; ``step`` and the motors' functions are written around ``forward_dynamics``."""

DEFAULT = (*(name for name, kind in FUNCTIONS.items() if kind.export.default), "step")
"""What is exported if nothing is named."""


@dataclass(frozen=True, eq=False)
class Request:
    """One function to be exported.

    Attributes:
        name: its name, without prefix.
        kind: key of :data:`FUNCTIONS`.
        link: the link it is about, ``""`` for none.
    """

    name: str
    kind: str
    said: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    options: tuple[tuple[str, Any], ...]
    link: str = ""

    @property
    def returns(self) -> bool:
        """Whether the result is one number, to be returned."""
        return len(self.outputs) == 1 and self.outputs[0].shape == ()

    @property
    def replaced(self) -> tuple[Argument, ...]:
        """Outputs that take the place of inputs."""
        return tuple(a for a in self.outputs if a in self.inputs)

    @property
    def results(self) -> tuple[Argument, ...]:
        """The other outputs."""
        return tuple(a for a in self.outputs if a not in self.inputs)


@dataclass(frozen=True, eq=False)
class Traced:
    """A request with its operations.  Leaves are keyed (input name, flat index) and ("parameter", name)."""

    request: Request
    outputs: tuple[tuple[Expr, ...], ...]

    def flat(self) -> list[Expr]:
        """All outputs in order."""
        return [x for output in self.outputs for x in output]


def requests_for(
    model: RobotModel,
    names: tuple[str, ...],
    links: tuple[str, ...],
    external: tuple[str, ...],
    words: Mapping[str, str],
) -> list[Request]:
    """Requests for functions by name, those about links once for every link.

    Args:
        words: link → identifier, where the automatic one will not do.

    Raises:
        UnknownNameError: no such function or link.
    """
    requests: list[Request] = []
    for name in names:
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, (*FUNCTIONS, "step"), where="functions")
        kind = FUNCTIONS[name]
        for link in links if kind.on_link else ("",):
            requests.append(_request(model, name, kind, link, external, words))
    return requests


def _request(
    model: RobotModel, name: str, kind: FunctionKind, link: str, external: tuple[str, ...], words: Mapping[str, str]
) -> Request:
    options: dict[str, Any] = dict(kind.export.options)
    if external and "external" in kind.inputs:
        options["loaded"] = tuple(model.link_index(x) for x in external)
    if link:
        options |= {"link": model.link_index(link), "frame": "world"}
    numbers = {**sizes(model, options), "nx": len(external)}

    def shape(words_: Sequence[str | int]) -> Shape:
        return tuple(numbers[w] if isinstance(w, str) else w for w in words_)

    inputs = tuple(Argument(w, shape(SHAPES[w]), MEANINGS[w]) for w in kind.inputs if w != "external" or external)
    shapes = dict(kind.entry.outputs)
    outputs = tuple(Argument(w, shape(shapes[w]), meaning) for w, meaning in kind.export.outputs.items())
    word = f"_{words.get(link) or identifier_of(link)}" if link else ""
    description = f"{kind.export.said}  Link: {link}." if link else kind.export.said
    return Request(f"{name}{word}", name, description, inputs, outputs, tuple(sorted(options.items())), link)


def _on_bodies(tree: NumericTree, links: tuple[int, ...], wrenches: Sequence[Scalar]) -> list[Scalar]:
    """Wrenches on bodies, flat (nb, 6), from flat wrenches on some links; see ``dynamics.external_wrenches``."""
    rows: list[Scalar] = [0.0] * (6 * tree.model.nb)
    for k, link in enumerate(links):
        body, X = link_placement(tree, link)
        if body is not None:
            moved = body.to_link(X.force_back(Force.of(wrenches[6 * k : 6 * k + 6]))).parts()
            first = 6 * int(tree.model.link_body[link])
            rows[first : first + 6] = [x + y for x, y in zip(rows[first : first + 6], moved, strict=True)]
    return rows


def run_on(request: Request, tree: NumericTree, inputs: Mapping[str, Sequence[Any]]) -> list[list[Any]]:
    """Run the request's algorithm on a robot; see :data:`Run`."""
    kind = FUNCTIONS[request.kind]
    options = dict(request.options)
    if loaded := options.pop("loaded", ()):
        inputs = {**inputs, "external": _on_bodies(tree, loaded, inputs["external"])}
    results = kind.entry.run(tree, options, {"point": [0.0, 0.0, 0.0], **inputs})
    return [results[k] for k in kind.kept]


def trace_request(request: Request, run: Run, graph: Graph) -> Traced:
    """Record the operations of a request.

    Args:
        run: what computes it.

    Raises:
        ArgumentError: the function divides by something that is zero for every configuration of this robot.
    """
    inputs = {a.name: [graph.leaf((a.name, k)) for k in range(a.size)] for a in request.inputs}
    try:
        results = run(inputs)
    except ZeroDivisionError:
        raise ArgumentError(
            "the mass matrix of this robot is singular everywhere",
            where=f"function {request.name}",
            remedy="Give every moving link inertia.",
        ) from None
    return Traced(request, tuple(tuple(graph.lift(x) for x in flat) for flat in results))
