"""Functions that can be exported: those of the table and a few more, traced for one robot."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

    @classmethod
    def of(cls, name: str, shape: Sequence[str | int], meaning: str, numbers: Mapping[str, int]) -> Argument:
        """With words of the shape replaced by numbers."""
        return cls(name, tuple(numbers[x] if isinstance(x, str) else x for x in shape), meaning)

    @property
    def size(self) -> int:
        """Number of entries."""
        return prod(self.shape)


MEANINGS = {
    "q": "configuration",
    "v": "velocities",
    "a": "accelerations",
    "tau": "efforts",
    "external": "wrench [moment; force] on each loaded link, about its origin, in its axes",
}

FUNCTIONS: dict[str, tuple[Function, Export]] = {
    export.name or name: (entry, export) for name, entry in TABLE.items() for export in entry.exports
}
"""Everything that is traced, by name: entry of the table, and how it is exported; ``step`` and the motors' functions are written around ``forward_dynamics``."""

DEFAULT = (*(name for name, (_, export) in FUNCTIONS.items() if export.default), "step")
"""What is exported if nothing is named."""


@dataclass(frozen=True, eq=False)
class Request:
    """One function to be exported: ``name`` without prefix; ``kind``: key of :data:`FUNCTIONS`; ``link``: that it is about, or ""."""

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
    model: RobotModel, names: Iterable[str], links: Iterable[str], external: Sequence[str], words: Mapping[str, str]
) -> list[Request]:
    """Requests for functions by name, those about links once for every link; ``words``: link → identifier."""
    requests: list[Request] = []
    for name in names:
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, (*FUNCTIONS, "step"), where="functions")
        entry, export = FUNCTIONS[name]
        # points are the origins of links, the base does not move
        given = [w for w, _ in entry.inputs if w in MEANINGS and (w != "external" or external)]
        for link in links if "link" in entry.options else ("",):
            options: dict[str, Any] = dict(export.options)
            if "external" in given:
                options["loaded"] = tuple(model.link_index(x) for x in external)
            if link:
                options |= {"link": model.link_index(link), "frame": "world"}
            numbers, shapes = {**sizes(model, options), "nx": len(external)}, dict(entry.outputs)
            inputs = tuple(Argument.of(w, SHAPES[w], MEANINGS[w], numbers) for w in given)
            outputs = tuple(Argument.of(w, shapes[w], meaning, numbers) for w, meaning in export.outputs.items())
            own = f"{name}_{words.get(link) or identifier_of(link)}" if link else name
            said = f"{export.said}  Link: {link}." if link else export.said
            requests.append(Request(own, name, said, inputs, outputs, tuple(sorted(options.items())), link))
    return requests


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
    entry, export = FUNCTIONS[request.kind]
    options = dict(request.options)
    if loaded := options.pop("loaded", ()):
        inputs = {**inputs, "external": _on_bodies(tree, loaded, inputs["external"])}
    results = entry.run(tree, options, {"point": [0.0, 0.0, 0.0], **inputs})
    return [flat for (word, _), flat in zip(entry.outputs, results, strict=True) if word in export.outputs]


def trace_request(request: Request, run: Run, graph: Graph) -> Traced:
    """Record the operations of a request, which ``run`` computes."""
    inputs = {a.name: [graph.leaf((a.name, k)) for k in range(a.size)] for a in request.inputs}
    try:
        results = run(inputs)
    except ZeroDivisionError:
        problem, remedy = "the mass matrix of this robot is singular everywhere", "Give every moving link inertia."
        raise ArgumentError(problem, where=f"function {request.name}", remedy=remedy) from None
    return Traced(request, tuple(tuple(graph.lift(x) for x in flat) for flat in results))
