"""The functions to be emitted, checked and traced, independent of the language; and reference values for them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

import numpy as np

from robot_dynamics_ros.dynamics.engine.codegen.graph import Graph
from robot_dynamics_ros.dynamics.engine.elementary_tree import NumericTree
from robot_dynamics_ros.dynamics.engine.registry import estimated_operations
from robot_dynamics_ros.dynamics.joint_space import mass_matrix
from robot_dynamics_ros.equations.geometry import Geometry
from robot_dynamics_ros.equations.names import check_identifier, check_identifiers, identifier_of
from robot_dynamics_ros.equations.parameters import Definition, Symbols
from robot_dynamics_ros.equations.symbol_tree import SymbolTree, float_leaves
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError, check_name
from robot_dynamics_ros.export.functions import (
    FUNCTIONS,
    Argument,
    Call,
    Composed,
    Joints,
    Request,
    Run,
    Traced,
    composed_step,
    parts_of_step,
    requests_for,
    run_on,
    trace_request,
)
from robot_dynamics_ros.model.description import JointType
from robot_dynamics_ros.model.motors import DCMotor, add_rotors, check_motors
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.integrators.methods import TABLEAUS

FRICTIONS = ("none", "viscous", "smooth")
INTEGRATORS = ("semi_implicit_euler", *TABLEAUS)
MAX_OPERATIONS = 100_000
CMAKE_TARGETS = ("all", "clean", "help", "install", "package", "test")
_COORDINATES = {
    JointType.PLANAR: "q: x, y (m), angle (rad); v: their rates",
    JointType.FLOATING: "q: x, y, z (m), unit quaternion x, y, z, w; v: angular, then linear velocity in the body's axes",
    JointType.PRISMATIC: "m, m/s, N",
}


class ExportOptions(TypedDict, total=False):
    """Keywords of :func:`~robot_dynamics_ros.export.package.export_code`, which describes them, for all languages."""

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

    model: RobotModel  # rotors of given motors included
    prefix: str  # in front of every name that is emitted
    traced: tuple[Traced, ...]  # functions, in order
    joint_words: tuple[tuple[str, str], ...]  # (name, identifier) of all joints with coordinates
    stepping: tuple[Traced, ...]  # functions for the step alone, in order
    composed: tuple[Composed, ...]  # the step and the rates of the state, if they are emitted
    joints: Joints  # friction and motors in the step, floating joints
    external: tuple[str, ...]  # links that carry known wrenches
    geometry: Geometry  # with symbols for parameters

    @property
    def parameters(self) -> list[Definition]:
        """Run-time parameters, in order; empty if every number is built in."""
        return self.geometry.definitions

    @property
    def requests(self) -> list[Request]:
        """All functions that are emitted for users."""
        return [t.request for t in self.traced] + [c.request for c in self.composed]


def make_plan(model: RobotModel, functions: Iterable[str], options: ExportOptions) -> Plan:
    """Check and trace; see :func:`~robot_dynamics_ros.export.package.export_code`, also for the errors."""
    for name in options.keys() - ExportOptions.__annotations__.keys():
        raise TypeError(f"export_code() got an unexpected keyword argument {name!r}")
    integrator, friction = options.get("integrator", "rk4"), options.get("friction", "viscous")
    smooth_velocity = options.get("smooth_velocity", 1e-3)
    motors, links = options.get("motors"), options.get("links")
    for kind, word, known in (("integrator", integrator, INTEGRATORS), ("friction", friction, FRICTIONS)):
        check_name(kind, word, known)
    if not smooth_velocity > 0.0:
        raise ArgumentError("must be positive", where="smooth_velocity", got=smooth_velocity)
    prefix, words = _prefix(model, options.get("prefix")), dict(options.get("rename") or {})
    for name in words:
        if name not in model.joint_names and name not in model.link_names:
            raise UnknownNameError("joint or link", name, (*model.joint_names, *model.link_names), where="rename")
    names = list(dict.fromkeys(functions))
    step = "step" in names
    if step:
        names.remove("step")
        if "forward_dynamics" not in names:
            names.insert(0, "forward_dynamics")
    if motors:
        model = add_rotors(model, motors)
    geometry, loaded = Geometry(model, options.get("symbols")), tuple(dict.fromkeys(options.get("external", ())))
    joint_words = tuple((name, words.get(name) or identifier_of(name)) for name in model.joint_names)
    chosen = tuple(dict.fromkeys(links)) if links is not None else (model.link_names[-1],)
    for link in chosen:
        model.link_index(link)
    requests = requests_for(model, names, chosen, loaded, words)
    _check_names(prefix, joint_words, requests, step)
    limit = options.get("max_operations", MAX_OPERATIONS)
    for kind in (r.kind for r in requests):
        size = estimated_operations(model, FUNCTIONS[kind][0].name)
        if size > limit:
            problem = f"{kind} would take about {size} operations written out, more than {limit}"
            remedy = "Leave that function out, lock joints (model.lock), or raise max_operations (--max-operations)."
            raise ModelError(problem, where=f"robot {model.name!r}", got=size, remedy=remedy)
    graph = Graph()
    tree = tree_of(geometry, graph)
    zero = [0.0] * model.nv
    joints = Joints(
        zero if friction == "none" else model.damping.tolist(),
        model.friction.tolist() if friction == "smooth" else zero,
        smooth_velocity,
        tuple((n, model.v_slice(n).start, motors[n]) for n in check_motors(model, motors)) if motors else (),
        tuple(model.q_slice(n).start for n in model.joint_names if model.joint(n).type is JointType.FLOATING),
    )
    return Plan(
        model=model,
        prefix=prefix,
        traced=tuple(trace_request(r, partial(run_on, r, tree), graph) for r in requests),
        joint_words=joint_words,
        stepping=tuple(trace_request(*part, graph) for part in parts_of_step(tree, joints)) if step else (),
        composed=composed_step(model, joints, loaded, integrator) if step else (),
        joints=joints,
        external=loaded,
        geometry=geometry,
    )


def head_lines(plan: Plan) -> list[str]:
    """Lines at the top of an emitted file, for its reader: conventions, and where each joint's coordinates are."""
    model, lines = plan.model, list[str]()
    for name in model.joint_names:
        q, v, kind = model.q_slice(name), model.v_slice(name), model.joint(name).type
        places = (
            f"q[{q.start}], v[{v.start}]" if kind.nv == 1 else f"q[{q.start}..{q.stop - 1}], v[{v.start}..{v.stop - 1}]"
        )
        lines.append(f"{places}: {name} ({kind.name.lower()}; {_COORDINATES.get(kind, 'rad, rad/s, N m')})")
    for name in model.moving_joint_names:
        if name not in model.joint_names and (mimic := model.joint(name).mimic) is not None:
            lines.append(f"{name} follows {mimic.joint}: {mimic.multiplier:g} times its position plus {mimic.offset:g}")
    g = ", ".join(f"{x:g}" for x in model.gravity)
    return [
        f"Rigid-body dynamics of the robot {model.name}.",
        "",
        f"SI units, radians.  Gravity ({g}) m/s2 in the world frame.  Root link: {model.root_link}.",
        "Matrices are stored by rows.  Spatial vectors are [angular; linear] and [moment; force].",
        "Rotor inertia is part of the mass matrix; joint friction acts in the simulation step alone.",
        "",
        "Coordinates:",
        *(f"  {line}" for line in lines),
    ]


def argument_lines(arguments: tuple[Argument, ...]) -> list[str]:
    """One line an argument: shape and meaning."""
    return [f"{a.name}: {'x'.join(map(str, a.shape)) or 'one number'}, {a.meaning}" for a in arguments]


def tree_of(geometry: Geometry, graph: Graph) -> NumericTree:
    """The robot's tree, its parameters, if it has any, leaves of ``graph``."""
    return SymbolTree(geometry, float_leaves(graph)) if geometry.definitions else NumericTree(geometry.model)


def _prefix(model: RobotModel, prefix: str | None) -> str:
    """The prefix, checked; one made of the robot's name gets out of the way of words that are taken."""
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


def _check_names(prefix: str, joints: Iterable[tuple[str, str]], requests: Iterable[Request], step: bool) -> None:
    """Refuse identifiers that are empty, taken or equal."""
    remedy = "Rename one of them (rename={name: identifier}, --rename name=identifier)."
    taken: dict[str, str] = {}
    for name, word in joints:
        other = taken.setdefault(word.upper(), name)
        if not word or other != name:
            both = f"the joints {other!r} and {name!r} both become the identifier {word.upper()!r}"
            problem = both if word else f"no C identifier can be made of the joint name {name!r}"
            raise ArgumentError(problem, where="joints", got=name, remedy=remedy)
    functions = [(f"{prefix}_{r.name}", f"function {r.kind} of {r.link or 'the robot'}") for r in requests]
    functions += [(f"{prefix}_{w}", f"function {w}") for w in ("state_rates", "step") if step]
    for r in requests:
        if r.link and r.name == f"{r.kind}_":
            problem = f"no C identifier can be made of the link name {r.link!r}"
            raise ArgumentError(problem, where="links", got=r.link, remedy=remedy)
    check_identifiers(functions)


# -- reference values -------------------------------------------------------------------------------------------------
# No trace, no compiler and no linear-algebra library takes part, so that the values do not depend on what is installed.
# Only the tolerances ask for the condition of the mass matrix.

COUNT = 3  # states
STEP = 1e-4  # s


@dataclass(frozen=True)
class Case:
    """Inputs of one call, by name, and its flat outputs in order; ``loss`` as :func:`loss_of_digits` says."""

    inputs: dict[str, list[float]]
    outputs: list[list[float]]
    loss: float


def loss_of_digits(model: RobotModel, q: list[float]) -> float:
    """How many times larger errors are after a division by the mass matrix: its condition over 100, at least 1, as a power of ten,
    so that it does not depend on what is installed."""
    condition = float(np.linalg.cond(mass_matrix(model, np.array(q))))
    return 10.0 ** max(0, math.ceil(math.log10(condition) - 2.0))


def cases_of(plan: Plan, request: Request) -> list[Case]:
    """A few calls of one function: what the algorithms give, run as written, on plain floats."""
    draw, (_, run) = random.Random(request.name), _runs(plan)[request.name]
    cases = []
    for _ in range(COUNT):
        q = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nq)]
        q = [float(x) for x in plan.joints.normalized(q)]  # type: ignore[arg-type]
        v = [round(draw.uniform(-2.0, 2.0), 6) for _ in range(plan.model.nv)]
        loss = loss_of_digits(plan.model, q)
        # a step is short where efforts would send a light finger past all computing
        given = {"q": q, "v": v, "h": [STEP / loss]}
        inputs = {
            a.name: given.get(a.name) or [round(draw.uniform(-5.0, 5.0), 6) for _ in range(a.size)]
            for a in request.inputs
        }
        outputs = [[float(x) for x in flat] for flat in run(inputs)]
        divides = request.kind in ("state_rates", "mass_matrix_inverse") or "tau" in inputs
        cases.append(Case(inputs, outputs, loss if divides else 1.0))
    return cases


def _runs(plan: Plan) -> dict[str, tuple[Request, Run]]:
    """Functions by name, with what computes each: the traced ones, those of the step, those made of them."""
    tree = NumericTree(plan.model)
    parts = parts_of_step(tree, plan.joints) if plan.composed else []
    runs = {request.name: (request, run) for request, run in parts}
    runs |= {t.request.name: (t.request, partial(run_on, t.request, tree)) for t in plan.traced}
    for composed in plan.composed:
        runs[composed.request.name] = composed.request, partial(_run_composed, composed, dict(runs))
    return runs


def _run_composed(
    composed: Composed, functions: Mapping[str, tuple[Request, Run]], inputs: Mapping[str, Sequence[float]]
) -> list[Sequence[float]]:
    """Its statements one after the other, entry by entry."""
    arrays = dict(inputs)
    for s in composed.statements:
        if isinstance(s, Call):
            request, run = functions[s.function]
            given = {a.name: arrays[x] for a, x in zip(request.inputs, s.inputs, strict=True)}
            arrays.update(zip(s.outputs, run(given), strict=True))
        else:
            rates = [(weight, arrays[rate]) for weight, rate in s.rates]
            h = arrays["h"][0]
            arrays[s.target] = [x + h * sum(w * y[k] for w, y in rates) for k, x in enumerate(arrays[s.start])]
    return [arrays[a.name] for a in composed.request.outputs]
