"""Functions that can be exported: those of the table, traced for one robot; and the step that is made of them.

The step is stated once, as calls of functions on whole arrays and sums of arrays, which each language writes in its own words.
What it needs beside the dynamics (rates of positions, friction, motors) is traced for the ordinary emitters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from robot_dynamics_ros.dynamics.algorithms.function import Export
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.motion_rate import configuration_rate
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import SHAPES, TABLE, Function, sizes
from robot_dynamics_ros.equations.names import identifier_of
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.friction.law import secant_slope
from robot_dynamics_ros.model.motors import DCMotor, current_rate
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import ExplicitRungeKutta
from robot_dynamics_ros.spatial import Force, S, Scalar, maximum, minimum, sqrt

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
        return math.prod(self.shape)


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

DEFAULT = (*(name for name, (_, export) in FUNCTIONS.items() if export.default), "step")  # if nothing is named


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


# -- the step ---------------------------------------------------------------------------------------------------------

Numbers: TypeAlias = Sequence[Scalar]


@dataclass(frozen=True)
class Call:
    """``outputs`` = function(``inputs``), arrays by name."""

    function: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Advance:
    """``target`` = ``start`` + h Σ weight · rate, entry by entry."""

    target: str
    start: str
    rates: tuple[tuple[float, str], ...]


@dataclass(frozen=True, eq=False)
class Composed:
    """A function made of others: what it is called with, arrays of its own, and its statements in order."""

    request: Request
    own: tuple[Argument, ...]
    statements: tuple[Call | Advance, ...]


@dataclass(frozen=True, eq=False)
class Joints:
    """Friction and motors at the joints, and which of them float."""

    viscous: Sequence[float]  # (nv) N m s/rad or N s/m
    dry: Sequence[float]  # (nv) N m or N
    width: float  # rad/s or m/s, over which dry friction is smoothed
    motors: tuple[
        tuple[str, int, DCMotor], ...
    ]  # joint, its entry in v, motor, in joint order; the command is then a voltage
    floating: tuple[int, ...]  # first numbers in q of floating joints

    def normalized(self, q: Numbers) -> list[Scalar]:
        """q with unit quaternions."""
        unit = list(q)
        for k in (start + 3 for start in self.floating):
            length = sqrt(q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3])
            unit[k : k + 4] = [x / length for x in q[k : k + 4]]
        return unit

    @property
    def words(self) -> str:
        """The friction."""
        dry = f" and dry friction (smoothed over {self.width:g})" if any(self.dry) else ""
        return ("viscous friction" if any(self.viscous) else "no friction") + dry

    def efforts(self, v: Sequence[S], i: Sequence[S], command: Sequence[S]) -> tuple[list[S], list[S]]:
        """(nv) efforts at the joints and (motors) rates of the currents, for currents ``i`` and efforts or voltages."""
        tau: list[Any] = list(command)
        rates: list[Any] = []
        for current, (_, k, motor) in zip(i, self.motors, strict=True):
            voltage, ke = _clamped(command[k], motor.max_voltage), motor.emf * motor.gear_ratio
            if motor.inductance:
                rates.append(
                    current_rate(voltage, current, v[k], motor.resistance, motor.inductance, ke, motor.max_current)
                )
            else:
                current = (voltage - ke * v[k]) / motor.resistance
                rates.append(0.0)
            tau[k] = motor.torque_constant * motor.gear_ratio * _clamped(current, motor.max_current)
        for k, x in enumerate(v):
            if self.viscous[k] or self.dry[k]:
                tau[k] = tau[k] - x * secant_slope(x, self.viscous[k], self.dry[k], self.width)
        return tau, rates


def _clamped(x: Scalar, limit: float) -> Scalar:
    return x if math.isinf(limit) else minimum(maximum(x, -limit), limit)


def parts_of_step(tree: NumericTree, joints: Joints) -> list[tuple[Request, Run]]:
    """Functions for the step alone: ``normalized`` (where joints float), ``position_rates``, ``applied_efforts``."""
    nq, nv, nm = tree.model.nq, tree.model.nv, len(joints.motors)
    sizes = {"q": nq, "unit": nq, "dq": nq, "v": nv, "command": nv, "tau": nv, "i": nm, "di": nm}

    def request(name: str, said: str, inputs: str, outputs: str) -> Request:
        given, found = (tuple(Argument(x, (sizes[x],), "") for x in y.split() if sizes[x]) for y in (inputs, outputs))
        return Request(name, name, said, given, found, ())

    def efforts(x: Mapping[str, Numbers]) -> Sequence[Numbers]:
        return joints.efforts(x["v"], x.get("i", ()), x["command"])[: 1 + bool(nm)]

    unit = request("normalized", "q with quaternions of unit length.", "q", "unit")
    rates = request("position_rates", "Rates of q.", "q v", "dq")
    applied = request("applied_efforts", "Efforts at the joints, and rates of currents.", "v i command", "tau di")
    return [
        *([(unit, lambda x: [joints.normalized(x["q"])])] if joints.floating else []),
        (rates, lambda x: [configuration_rate(tree, x["q"], x["v"])]),
        (applied, efforts),
    ]


def composed_step(
    model: RobotModel, joints: Joints, external: tuple[str, ...], integrator: str
) -> tuple[Composed, Composed]:
    """``state_rates`` and ``step``; ``external``: links that carry known wrenches; ``integrator``: an explicit method, or
    ``"semi_implicit_euler"``: v first, then q with the new v."""
    motors, floating = joints.motors, bool(joints.floating)
    i = Argument("i", (len(motors),), f"currents of the motors of {', '.join(joint for joint, *_ in motors)}, A")
    q, v = Argument("q", (model.nq,), MEANINGS["q"]), Argument("v", (model.nv,), MEANINGS["v"])
    voltages = ", ".join(f"command[{k}] of {joint}" for joint, k, _ in motors)
    said = "efforts, N m or N" + (f"; voltages, V, at joints with a motor: {voltages}" if motors else "")
    wrenches = Argument("external", (len(external), 6), MEANINGS["external"])
    state = (q, v, *([i] if motors else []))
    held = (Argument("command", v.shape, said), *([wrenches] if external else []))

    def rates(k: str = "") -> tuple[Argument, ...]:
        return tuple(Argument(f"d{a.name}{k}", a.shape, f"rate of {a.name}") for a in state)

    def names(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
        return tuple(a.name for a in arguments)

    def advanced(target: str, weights: Sequence[float]) -> list[Advance]:
        used = [(w, k) for k, w in enumerate(weights) if w]
        return [Advance(f"{x}{target}", x, tuple((w, f"d{x}{k}") for w, k in used)) for x in names(state)]

    unit, tau = Argument("unit", q.shape, ""), Argument("tau", v.shape, "")
    position_rates = Call("position_rates", ("q", "v"), ("dq",))
    said = f"Rates of the state, with {joints.words} at the joints."
    if motors:
        said += "  The rate of a current is zero where the motor has no inductance: its current follows at once."
    state_rates = Composed(
        Request("state_rates", "state_rates", said, (*state, *held), rates(), ()),
        (*([unit] if floating else []), tau),
        (
            *([Call("normalized", ("q",), ("unit",))] if floating else []),
            position_rates,
            Call("applied_efforts", (*names(state[1:]), "command"), ("tau", *names(rates()[2:]))),
            Call("forward_dynamics", ("unit" if floating else "q", "v", "tau", *names(held[1:])), ("dv",)),
        ),
    )
    own: list[Argument] = []
    statements: list[Call | Advance] = []
    if integrator == "semi_implicit_euler":
        own += rates()
        statements.append(Call("state_rates", names((*state, *held)), names(rates())))
        statements += [Advance(x, x, ((1.0, f"d{x}"),)) for x in names(state[1:])]
        statements += [position_rates, Advance("q", "q", ((1.0, "dq"),))]
    else:
        tableau = ExplicitRungeKutta(integrator)
        moved = tuple(Argument(f"{a.name}_moved", a.shape, "") for a in state)
        own += moved
        for k, row in enumerate(tableau.A.tolist()):
            own += rates(str(k))
            statements += advanced("_moved", row)
            statements.append(Call("state_rates", names((*moved, *held)), names(rates(str(k)))))
        statements += advanced("", tableau.b.tolist())
    if floating:
        statements.append(Call("normalized", ("q",), ("q",)))
    said = f"The state h seconds later under a constant command: {integrator}.  No joint limits, no contacts."
    step = Request("step", "step", said, (*state, *held, Argument("h", (), "s")), state, ())
    return state_rates, Composed(step, tuple(own), tuple(statements))
