"""The functions to be emitted, checked and traced for one robot, independent of the language; the
step that is made of them; and reference values.

The step is stated once, as calls of functions on whole arrays and sums of arrays, which each
language writes in its own words. What it needs beside the dynamics (rates of positions, friction,
motors) is traced for the ordinary emitters.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, TypedDict

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.function import Export
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.motion_rate import configuration_rate
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import (
    SHAPES,
    TABLE,
    Function,
    estimated_operations,
    sizes,
)
from robot_dynamics_ros.dynamics.joint_space import mass_matrix
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.names import check_identifier, check_identifiers, identifier_of
from robot_dynamics_ros.equations.parameters import Definition, Symbols
from robot_dynamics_ros.equations.symbol_tree import SymbolTree, float_leaves
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError, check_name
from robot_dynamics_ros.friction.law import secant_slope
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.motors import DCMotor, add_rotors, check_motors, current_rate
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import TABLEAUS, ExplicitRungeKutta
from robot_dynamics_ros.spatial import Force, S, Scalar, maximum, minimum, sqrt

FRICTIONS = ("none", "viscous", "smooth")
EXPORTED_INTEGRATORS = ("semi_implicit_euler", *TABLEAUS)
# Operations of one function written out: compilers take about a minute for as many.
MAX_OPERATIONS = 100_000
CMAKE_TARGETS = ("all", "clean", "help", "install", "package", "test")
_COORDINATES = {
    JointType.PLANAR: "q: x, y (m), angle (rad); v: their rates",
    JointType.FLOATING: (
        "q: x, y, z (m), unit quaternion x, y, z, w; v: angular, then linear velocity in the "
        "body's axes"
    ),
    JointType.PRISMATIC: "m, m/s, N",
}

Shape = tuple[int, ...]
Inputs: TypeAlias = Mapping[str, Sequence[Any]]
Run: TypeAlias = Callable[[NumericTree, Inputs], Sequence[Sequence[Any]]]
"""Flat outputs in order for a robot, from flat inputs by name."""


@dataclass(frozen=True)
class Argument:
    """An array of a function: name, shape (row-major; ``()`` for a number), what it is, and its
    unit.
    """

    name: str
    shape: Shape
    meaning: str

    @classmethod
    def of(
        cls,
        name: str,
        shape: Sequence[str | int],
        meaning: str,
        numbers: Mapping[str, int],
    ) -> Argument:
        """With words of the shape replaced by numbers."""
        return cls(name, tuple(numbers[x] if isinstance(x, str) else x for x in shape), meaning)

    @property
    def size(self) -> int:
        return math.prod(self.shape)


ARGUMENT_MEANINGS = {
    "q": "configuration",
    "v": "velocities",
    "a": "accelerations",
    "tau": "efforts",
    "external": "wrench [moment; force] on each loaded link, about its origin, in its axes",
}

EXPORTED_FUNCTIONS: dict[str, tuple[Function, Export]] = {
    export.name or name: (entry, export)
    for name, entry in TABLE.items()
    for export in entry.exports
}
"""Everything that is traced, by name: entry of the table, and how it is exported; ``step`` and the
motors' functions are written around ``forward_dynamics``.
"""

# if nothing is named
DEFAULT_FUNCTIONS = (
    *(name for name, (_, export) in EXPORTED_FUNCTIONS.items() if export.default),
    "step",
)


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """One function to be exported: ``name`` without prefix; ``kind``: key of
    :data:`EXPORTED_FUNCTIONS`;
    ``run``: what it computes, unless it is made of others; ``link``: that it is about, or "".
    """

    name: str
    kind: str
    said: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    run: Run = lambda *_: ()
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
        return tuple(a for a in self.outputs if a not in self.inputs)


@dataclass(frozen=True, eq=False)
class Traced:
    """A request with its operations.

    Leaves are keyed (input name, flat index) and ("parameter", name).
    """

    request: ExportRequest
    outputs: tuple[tuple[Expr, ...], ...]

    def flat(self) -> list[Expr]:
        return list(itertools.chain.from_iterable(self.outputs))


def requests_for(
    model: RobotModel,
    names: Iterable[str],
    links: Iterable[str],
    external: Sequence[str],
    words: Mapping[str, str],
) -> list[ExportRequest]:
    """Requests for functions by name, those about links once for every link; ``words``: link →
    identifier.
    """
    requests: list[ExportRequest] = []
    for name in names:
        if name not in EXPORTED_FUNCTIONS:
            raise UnknownNameError(
                "function", name, (*EXPORTED_FUNCTIONS, "step"), where="functions"
            )
        entry, export = EXPORTED_FUNCTIONS[name]
        # points are the origins of links, the base does not move
        given = [
            w for w, _ in entry.inputs if w in ARGUMENT_MEANINGS and (w != "external" or external)
        ]
        for link in links if "link" in entry.options else ("",):
            options: dict[str, Any] = dict(export.options)
            if "external" in given:
                options["loaded"] = tuple(model.link_index(x) for x in external)
            if link:
                options |= {"link": model.link_index(link), "frame": "world"}
            numbers = {**sizes(model, options), "nx": len(external)}
            shapes = dict(entry.outputs)
            inputs = tuple(Argument.of(w, SHAPES[w], ARGUMENT_MEANINGS[w], numbers) for w in given)
            outputs = tuple(
                Argument.of(w, shapes[w], meaning, numbers) for w, meaning in export.outputs.items()
            )
            if link:
                own = f"{name}_{words.get(link) or identifier_of(link)}"
            else:
                own = name
            if link:
                said = f"{export.said}  Link: {link}."
            else:
                said = export.said
            run = partial(_run_entry, entry, export, options)
            requests.append(ExportRequest(own, name, said, inputs, outputs, run, link))
    return requests


def _on_bodies(
    tree: NumericTree,
    links: tuple[int, ...],
    wrenches: Sequence[Scalar],
) -> list[Scalar]:
    """Wrenches on bodies, flat (nb, 6), from flat wrenches on some links; see
    ``dynamics.external_wrenches``.
    """
    rows: list[Scalar] = [0.0] * (6 * tree.model.nb)
    for k, link in enumerate(links):
        body, X = link_placement(tree, link)
        if body is not None:
            moved = body.to_link(X.force_back(Force.of(wrenches[6 * k : 6 * k + 6]))).parts()
            first = 6 * int(tree.model.link_body[link])
            rows[first : first + 6] = [
                x + y for x, y in zip(rows[first : first + 6], moved, strict=True)
            ]
    return rows


def _run_entry(
    entry: Function,
    export: Export,
    options: Mapping[str, Any],
    tree: NumericTree,
    inputs: Inputs,
) -> list[list[Any]]:
    """Run an algorithm; see :data:`Run`."""
    if "loaded" in options:
        inputs = {**inputs, "external": _on_bodies(tree, options["loaded"], inputs["external"])}
    options = {name: value for name, value in options.items() if name != "loaded"}
    results = entry.run(tree, options, {"point": [0.0, 0.0, 0.0], **inputs})
    return [
        flat
        for (word, _), flat in zip(entry.outputs, results, strict=True)
        if word in export.outputs
    ]


def trace_request(request: ExportRequest, tree: NumericTree, graph: Graph) -> Traced:
    """Record the operations of a request on a robot."""
    inputs = {a.name: [graph.leaf((a.name, k)) for k in range(a.size)] for a in request.inputs}
    try:
        results = request.run(tree, inputs)
    except ZeroDivisionError:
        problem = "the mass matrix of this robot is singular everywhere"
        remedy = "Give every moving link inertia."
        raise ArgumentError(problem, where=f"function {request.name}", remedy=remedy) from None
    return Traced(request, tuple(tuple(graph.lift(x) for x in flat) for flat in results))


# -- the step --------------------------------------------------------------------------------------

Numbers: TypeAlias = Sequence[Scalar]


@dataclass(frozen=True)
class FunctionCall:
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
    """A function made of others: what it is called with, arrays of its own, and its statements in
    order.
    """

    request: ExportRequest
    own: tuple[Argument, ...]
    statements: tuple[FunctionCall | Advance, ...]


@dataclass(frozen=True, eq=False)
class Joints:
    """Friction and motors at the joints, and which of them float."""

    # (nv) N m s/rad or N s/m
    viscous: Sequence[float]
    # (nv) N m or N
    dry: Sequence[float]
    # rad/s or m/s, over which dry friction is smoothed
    width: float
    # joint, its entry in v, motor; in joint order; commanded by voltage
    motors: tuple[tuple[str, int, DCMotor], ...]
    # first numbers in q of floating joints
    floating: tuple[int, ...]

    def normalized(self, q: Numbers) -> list[Scalar]:
        """q with unit quaternions."""
        unit = list(q)
        for k in (start + 3 for start in self.floating):
            length = sqrt(
                q[k] * q[k] + q[k + 1] * q[k + 1] + q[k + 2] * q[k + 2] + q[k + 3] * q[k + 3]
            )
            unit[k : k + 4] = [x / length for x in q[k : k + 4]]
        return unit

    @property
    def words(self) -> str:
        if any(self.dry):
            dry = f" and dry friction (smoothed over {self.width:g})"
        else:
            dry = ""
        return ("viscous friction" if any(self.viscous) else "no friction") + dry

    def efforts(
        self,
        v: Sequence[S],
        i: Sequence[S],
        command: Sequence[S],
    ) -> tuple[list[S], list[S]]:
        """(nv) efforts at the joints and (motors) rates of the currents, for currents ``i`` and
        efforts or voltages.
        """
        tau: list[Any] = list(command)
        rates: list[Any] = []
        for current, (_, k, motor) in zip(i, self.motors, strict=True):
            voltage = _clamped(command[k], motor.max_voltage)
            ke = motor.emf * motor.gear_ratio
            if motor.inductance:
                rates.append(
                    current_rate(
                        voltage,
                        current,
                        v[k],
                        motor.resistance,
                        motor.inductance,
                        ke,
                        motor.max_current,
                    )
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
    if math.isinf(limit):
        return x
    return minimum(maximum(x, -limit), limit)


def parts_of_step(model: RobotModel, joints: Joints) -> list[ExportRequest]:
    """Functions for the step alone: ``normalized`` (where joints float), ``position_rates``,
    ``applied_efforts``.
    """
    nq = model.nq
    nv = model.nv
    nm = len(joints.motors)
    sizes = {"q": nq, "unit": nq, "dq": nq, "v": nv, "command": nv, "tau": nv, "i": nm, "di": nm}

    def request(name: str, said: str, inputs: str, outputs: str, run: Run) -> ExportRequest:
        given, found = (
            tuple(Argument(x, (sizes[x],), "") for x in y.split() if sizes[x])
            for y in (inputs, outputs)
        )
        return ExportRequest(name, name, said, given, found, run)

    def efforts(_: NumericTree, x: Inputs) -> Sequence[Numbers]:
        return joints.efforts(x["v"], x.get("i", ()), x["command"])[: 1 + bool(nm)]

    unit = "normalized", "q with quaternions of unit length.", "q", "unit"
    rates = "position_rates", "Rates of q.", "q v", "dq"
    applied = (
        "applied_efforts",
        "Efforts at the joints, and rates of currents.",
        "v i command",
        "tau di",
    )
    return [
        *([request(*unit, lambda _, x: [joints.normalized(x["q"])])] if joints.floating else []),
        request(*rates, lambda tree, x: [configuration_rate(tree, x["q"], x["v"])]),
        request(*applied, efforts),
    ]


_POSITION_RATES = FunctionCall("position_rates", ("q", "v"), ("dq",))


def _rates(state: tuple[Argument, ...], k: str = "") -> tuple[Argument, ...]:
    """Rates of the state; ``k``: those of one stage of an integrator."""
    return tuple(Argument(f"d{a.name}{k}", a.shape, f"rate of {a.name}") for a in state)


def _names(arguments: tuple[Argument, ...]) -> tuple[str, ...]:
    return tuple(a.name for a in arguments)


def composed_step(
    model: RobotModel,
    joints: Joints,
    external: tuple[str, ...],
    integrator: str,
) -> tuple[Composed, Composed]:
    """``state_rates`` and ``step``; ``external``: links that carry known wrenches; ``integrator``:
    an explicit method, or ``"semi_implicit_euler"``: v first, then q with the new v.
    """
    motors = joints.motors
    floating = bool(joints.floating)
    i = Argument(
        "i",
        (len(motors),),
        f"currents of the motors of {', '.join(joint for joint, *_ in motors)}, A",
    )
    q = Argument("q", (model.nq,), ARGUMENT_MEANINGS["q"])
    v = Argument("v", (model.nv,), ARGUMENT_MEANINGS["v"])
    voltages = ", ".join(f"command[{k}] of {joint}" for joint, k, _ in motors)
    said = "efforts, N m or N" + (
        f"; voltages, V, at joints with a motor: {voltages}" if motors else ""
    )
    wrenches = Argument("external", (len(external), 6), ARGUMENT_MEANINGS["external"])
    state = (q, v, *([i] if motors else []))
    held = (Argument("command", v.shape, said), *([wrenches] if external else []))

    unit = Argument("unit", q.shape, "")
    tau = Argument("tau", v.shape, "")
    said = f"Rates of the state, with {joints.words} at the joints."
    if motors:
        said += (
            "  The rate of a current is zero where the motor has no inductance: its current "
            "follows at once."
        )
    # rates of currents come with the efforts
    applied = ("tau", *_names(_rates(state)[2:]))
    state_rates = Composed(
        ExportRequest("state_rates", "state_rates", said, (*state, *held), _rates(state)),
        (*([unit] if floating else []), tau),
        (
            *([FunctionCall("normalized", ("q",), ("unit",))] if floating else []),
            _POSITION_RATES,
            FunctionCall("applied_efforts", (*_names(state[1:]), "command"), applied),
            FunctionCall(
                "forward_dynamics",
                ("unit" if floating else "q", "v", "tau", *_names(held[1:])),
                ("dv",),
            ),
        ),
    )
    return state_rates, _step(state, held, integrator, floating)


def _step(
    state: tuple[Argument, ...],
    held: tuple[Argument, ...],
    integrator: str,
    floating: bool,
) -> Composed:
    """``step``: calls of ``state_rates``, and the state advanced by what they give."""

    def advanced(target: str, weights: Sequence[float]) -> list[Advance]:
        used = [(w, k) for k, w in enumerate(weights) if w]
        return [
            Advance(f"{x}{target}", x, tuple((w, f"d{x}{k}") for w, k in used))
            for x in _names(state)
        ]

    own: list[Argument] = []
    statements: list[FunctionCall | Advance] = []
    if integrator == "semi_implicit_euler":
        own += _rates(state)
        statements.append(
            FunctionCall("state_rates", _names((*state, *held)), _names(_rates(state)))
        )
        statements += [Advance(x, x, ((1.0, f"d{x}"),)) for x in _names(state[1:])]
        statements += [_POSITION_RATES, Advance("q", "q", ((1.0, "dq"),))]
    else:
        tableau = ExplicitRungeKutta(integrator)
        moved = tuple(Argument(f"{a.name}_moved", a.shape, "") for a in state)
        own += moved
        for k, row in enumerate(tableau.A.tolist()):
            own += _rates(state, str(k))
            statements += advanced("_moved", row)
            statements.append(
                FunctionCall("state_rates", _names((*moved, *held)), _names(_rates(state, str(k))))
            )
        statements += advanced("", tableau.b.tolist())
    if floating:
        statements.append(FunctionCall("normalized", ("q",), ("q",)))
    said = (
        f"The state h seconds later under a constant command: {integrator}.  No joint limits, no "
        "contacts."
    )
    step = ExportRequest("step", "step", said, (*state, *held, Argument("h", (), "s")), state)
    return Composed(step, tuple(own), tuple(statements))


# -- the plan --------------------------------------------------------------------------------------


class ExportOptions(TypedDict, total=False):
    """Keywords of :func:`~robot_dynamics_ros.export.package.export_code`, which describes them, for
    all languages.
    """

    prefix: str | None
    links: Iterable[str] | None
    symbols: Symbols
    external: Iterable[str]
    motors: Mapping[str, DCMotor] | None
    integrator: str
    friction: str
    smooth_velocity: float
    rename: Mapping[str, str] | None
    max_operations: int


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything an emitter needs."""

    # rotors of given motors included
    model: RobotModel
    # in front of every name that is emitted
    prefix: str
    # functions, in order
    traced: tuple[Traced, ...]
    # (name, identifier) of all joints with coordinates
    joint_words: tuple[tuple[str, str], ...]
    # functions for the step alone, in order
    stepping: tuple[Traced, ...]
    # the step and the rates of the state, if they are emitted
    composed: tuple[Composed, ...]
    # friction and motors in the step, floating joints
    joints: Joints
    # links that carry known wrenches
    external: tuple[str, ...]
    # with symbols for parameters
    geometry: Geometry

    @property
    def parameters(self) -> list[Definition]:
        """Run-time parameters, in order; empty if every number is built in."""
        return self.geometry.definitions

    @property
    def requests(self) -> list[ExportRequest]:
        """All functions that are emitted for users."""
        return [x.request for x in self.emitted if x not in self.stepping]

    @property
    def emitted(self) -> list[Traced | Composed]:
        """All functions, those before others that call them."""
        return [*self.traced, *self.stepping, *self.composed]


def _check_sizes(model: RobotModel, kinds: Iterable[str], limit: int) -> None:
    """Refuse functions that would take too many operations written out."""
    for kind in kinds:
        size = estimated_operations(model, EXPORTED_FUNCTIONS[kind][0].name)
        if size > limit:
            problem = f"{kind} would take about {size} operations written out, more than {limit}"
            remedy = (
                "Leave that function out, lock joints (model.lock), or raise max_operations "
                "(--max-operations)."
            )
            raise ModelError(problem, where=f"robot {model.name!r}", got=size, remedy=remedy)


def _joints(
    model: RobotModel,
    friction: str,
    smooth_velocity: float,
    motors: Mapping[str, DCMotor] | None,
) -> Joints:
    """Damping, dry friction and motors at the joints in the step."""
    zero = [0.0] * model.nv
    damping = zero
    if friction != "none":
        damping = model.damping.tolist()
    dry = zero
    if friction == "smooth":
        dry = model.friction.tolist()
    driven = []
    if motors:
        driven = [(n, model.v_slice(n).start, motors[n]) for n in check_motors(model, motors)]
    floating = [n for n in model.joint_names if model.joint(n).type is JointType.FLOATING]
    starts = tuple(model.q_slice(n).start for n in floating)
    return Joints(damping, dry, smooth_velocity, tuple(driven), starts)


def make_plan(model: RobotModel, functions: Iterable[str], options: ExportOptions) -> Plan:
    """Check and trace; see :func:`~robot_dynamics_ros.export.package.export_code`, also for the
    errors.
    """
    for name in options.keys() - ExportOptions.__annotations__.keys():
        raise TypeError(f"export_code() got an unexpected keyword argument {name!r}")
    integrator = options.get("integrator", "rk4")
    friction = options.get("friction", "viscous")
    smooth_velocity = options.get("smooth_velocity", 1e-3)
    motors = options.get("motors")
    links = options.get("links")
    for kind, word, known in (
        ("integrator", integrator, EXPORTED_INTEGRATORS),
        ("friction", friction, FRICTIONS),
    ):
        check_name(kind, word, known)
    if not smooth_velocity > 0.0:
        raise ArgumentError("must be positive", where="smooth_velocity", got=smooth_velocity)
    prefix = _prefix(model, options.get("prefix"))
    words = dict(options.get("rename") or {})
    for name in words:
        if name not in model.joint_names and name not in model.link_names:
            raise UnknownNameError(
                "joint or link", name, (*model.joint_names, *model.link_names), where="rename"
            )
    names = list(dict.fromkeys(functions))
    step = "step" in names
    if step:
        names.remove("step")
        if "forward_dynamics" not in names:
            names.insert(0, "forward_dynamics")
    if motors:
        model = add_rotors(model, motors)
    geometry = Geometry(model, options.get("symbols"))
    loaded = tuple(dict.fromkeys(options.get("external", ())))
    joint_words = tuple(
        (name, words.get(name) or identifier_of(name)) for name in model.joint_names
    )
    if links is not None:
        chosen = tuple(dict.fromkeys(links))
    else:
        chosen = (model.link_names[-1],)
    for link in chosen:
        model.link_index(link)
    requests = requests_for(model, names, chosen, loaded, words)
    _check_names(prefix, joint_words, requests, step)
    limit = options.get("max_operations", MAX_OPERATIONS)
    _check_sizes(model, [r.kind for r in requests], limit)
    graph = Graph()
    tree = tree_of(geometry, graph)
    joints = _joints(model, friction, smooth_velocity, motors)
    return Plan(
        model=model,
        prefix=prefix,
        traced=tuple(trace_request(r, tree, graph) for r in requests),
        joint_words=joint_words,
        stepping=tuple(trace_request(r, tree, graph) for r in parts_of_step(model, joints))
        if step
        else (),
        composed=composed_step(model, joints, loaded, integrator) if step else (),
        joints=joints,
        external=loaded,
        geometry=geometry,
    )


def head_lines(plan: Plan) -> list[str]:
    """Lines at the top of an emitted file, for its reader: conventions, and where each joint's
    coordinates are.
    """
    model = plan.model
    lines = list[str]()
    for name in model.joint_names:
        q = model.q_slice(name)
        v = model.v_slice(name)
        kind = model.joint(name).type
        if kind.nv == 1:
            places = f"q[{q.start}], v[{v.start}]"
        else:
            places = f"q[{q.start}..{q.stop - 1}], v[{v.start}..{v.stop - 1}]"
        lines.append(
            f"{places}: {name} ({kind.name.lower()}; {_COORDINATES.get(kind, 'rad, rad/s, N m')})"
        )
    for name in model.moving_joint_names:
        if name not in model.joint_names and (mimic := model.joint(name).mimic) is not None:
            lines.append(
                f"{name} follows {mimic.joint}: {mimic.multiplier:g} times its position plus "
                f"{mimic.offset:g}"
            )
    g = ", ".join(f"{x:g}" for x in model.gravity)
    return [
        f"Rigid-body dynamics of the robot {model.name}.",
        "",
        f"SI units, radians.  Gravity ({g}) m/s2 in the world frame.  Root link: "
        f"{model.root_link}.",
        "Matrices are stored by rows.  Spatial vectors are [angular; linear] and [moment; force].",
        "Rotor inertia is part of the mass matrix; joint friction acts in the simulation step "
        "alone.",
        "",
        "Coordinates:",
        *(f"  {line}" for line in lines),
    ]


def argument_lines(arguments: tuple[Argument, ...]) -> list[str]:
    """One line an argument: shape and meaning."""
    return [
        f"{a.name}: {'x'.join(map(str, a.shape)) or 'one number'}, {a.meaning}" for a in arguments
    ]


def tree_of(geometry: Geometry, graph: Graph) -> NumericTree:
    """The robot's tree, its parameters, if it has any, leaves of ``graph``."""
    if geometry.definitions:
        return SymbolTree(geometry, float_leaves(graph))
    return NumericTree(geometry.model)


def _prefix(model: RobotModel, prefix: str | None) -> str:
    """The prefix, checked; one made of the robot's name gets out of the way of words that are
    taken.
    """
    if prefix is None:
        prefix = identifier_of(model.name).lower()
        if not prefix:
            problem = f"no identifier can be made of the robot's name {model.name!r}"
            raise ArgumentError(problem, where="prefix", got=model.name, remedy="Give a prefix.")
        try:
            check_identifier(prefix, "prefix")
        except ArgumentError:
            prefix += "_robot"
        if prefix in CMAKE_TARGETS:
            prefix += "_robot"
    if prefix in CMAKE_TARGETS:
        problem = f"{prefix!r} is a target that CMake has already"
        raise ArgumentError(problem, where="prefix", got=prefix, remedy="Choose another prefix.")
    return check_identifier(prefix, "prefix")


def _check_names(
    prefix: str,
    joints: Iterable[tuple[str, str]],
    requests: Iterable[ExportRequest],
    step: bool,
) -> None:
    """Refuse identifiers that are empty, taken or equal."""
    remedy = "Rename one of them (rename={name: identifier}, --rename name=identifier)."
    taken: dict[str, str] = {}
    for name, word in joints:
        other = taken.setdefault(word.upper(), name)
        if not word or other != name:
            both = f"the joints {other!r} and {name!r} both become the identifier {word.upper()!r}"
            if word:
                problem = both
            else:
                problem = f"no C identifier can be made of the joint name {name!r}"
            raise ArgumentError(problem, where="joints", got=name, remedy=remedy)
    functions = [
        (f"{prefix}_{r.name}", f"function {r.kind} of {r.link or 'the robot'}") for r in requests
    ]
    functions += [(f"{prefix}_{w}", f"function {w}") for w in ("state_rates", "step") if step]
    for r in requests:
        if r.link and r.name == f"{r.kind}_":
            problem = f"no C identifier can be made of the link name {r.link!r}"
            raise ArgumentError(problem, where="links", got=r.link, remedy=remedy)
    check_identifiers(functions)


# -- reference values ------------------------------------------------------------------------------
# No trace, no compiler and no linear-algebra library takes part, so that the values do not depend
# on what is installed.
# Only the tolerances ask for the condition of the mass matrix.

# states
COUNT = 3
# s
EXPORTED_STEP_S = 1e-4


@dataclass(frozen=True)
class Case:
    """Inputs of one call, by name, and its flat outputs in order; ``loss`` as
    :func:`loss_of_digits` says.
    """

    inputs: dict[str, list[float]]
    outputs: list[list[float]]
    loss: float


def loss_of_digits(model: RobotModel, q: list[float]) -> float:
    """How many times larger errors are after a division by the mass matrix: its condition over 100,
    at least 1, as a power of ten, so that it does not depend on what is installed.
    """
    condition = float(np.linalg.cond(mass_matrix(model, np.array(q))))
    return 10.0 ** max(0, math.ceil(math.log10(condition) - 2.0))


def cases_of(plan: Plan, request: ExportRequest) -> list[Case]:
    """A few calls of one function: what the algorithms give, run as written, on plain floats."""
    draw = random.Random(request.name)
    tree = NumericTree(plan.model)
    functions = {x.request.name: x for x in plan.emitted}
    cases = []
    for _ in range(COUNT):
        q = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nq)]
        q = [float(x) for x in plan.joints.normalized(q)]  # type: ignore[arg-type]
        v = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nv)]
        loss = loss_of_digits(plan.model, q)
        # a step is short where efforts would send a light finger past all computing
        given = {"q": q, "v": v, "h": [EXPORTED_STEP_S / loss]}
        inputs = {
            a.name: given.get(a.name) or [round(draw.uniform(-5.0, 5.0), 6) for _ in range(a.size)]
            for a in request.inputs
        }
        outputs = [[float(x) for x in flat] for flat in _run(functions, request.name, tree, inputs)]
        divides = request.kind in ("state_rates", "mass_matrix_inverse") or "tau" in inputs
        cases.append(Case(inputs, outputs, loss if divides else 1.0))
    return cases


def _run(
    functions: Mapping[str, Traced | Composed],
    name: str,
    tree: NumericTree,
    inputs: Inputs,
) -> Sequence[Sequence[float]]:
    """The results of one of the functions: those of its algorithm, or its statements one after the
    other, entry by entry.
    """
    function = functions[name]
    if isinstance(function, Traced):
        return function.request.run(tree, inputs)
    arrays = dict(inputs)
    for s in function.statements:
        if isinstance(s, FunctionCall):
            taken = functions[s.function].request.inputs
            given = {a.name: arrays[x] for a, x in zip(taken, s.inputs, strict=True)}
            arrays.update(zip(s.outputs, _run(functions, s.function, tree, given), strict=True))
        else:
            rates = [(weight, arrays[rate]) for weight, rate in s.rates]
            h = arrays["h"][0]
            arrays[s.target] = [
                x + h * sum(w * y[k] for w, y in rates) for k, x in enumerate(arrays[s.start])
            ]
    return [arrays[a.name] for a in function.request.outputs]
