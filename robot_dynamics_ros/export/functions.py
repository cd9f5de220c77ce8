"""What can be exported: functions of the table and a few more, traced for one robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from robot_dynamics_ros.dynamics.algorithms.derivatives import inverse_dynamics_derivatives
from robot_dynamics_ros.dynamics.algorithms.kinematics import link_placement
from robot_dynamics_ros.dynamics.algorithms.tree import Kind
from robot_dynamics_ros.dynamics.engine.codegen.graph import Expr, Graph
from robot_dynamics_ros.dynamics.engine.functions import TABLE, sizes
from robot_dynamics_ros.dynamics.engine.registry import SHAPES
from robot_dynamics_ros.equations.names import identifier_of
from robot_dynamics_ros.errors import ArgumentError, ModelError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import Force

__all__ = ["DEFAULT", "FUNCTIONS", "Argument", "Request", "Traced", "requests_for", "run_on", "trace_request"]

Shape = tuple[int, ...]


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
    """One kind of function.

    Attributes:
        said: what it computes.
        entry: name in the table of functions, or an algorithm ``run(tree, options, *inputs)``.
        inputs: names of inputs, as in the table.
        outputs: name → (shape in words, meaning).
        keep: which of the algorithm's outputs these are.
        on_link: whether it is about one link.
        divides: whether it needs a mass matrix that can be inverted.
        viscous: whether joints have their viscous friction.
    """

    said: str
    entry: str | Callable[..., Any]
    inputs: str
    outputs: Mapping[str, tuple[tuple[Any, ...], str]]
    keep: tuple[int, ...] = ()
    on_link: bool = False
    divides: bool = False
    viscous: bool = False


MEANINGS = {
    "q": "configuration",
    "v": "velocities",
    "a": "accelerations",
    "tau": "efforts",
    "external": "wrench [moment; force] on each loaded link, about its origin, in its axes",
}


def _linearization(tree: Any, options: Any, q: Any, v: Any, tau: Any, external: Any) -> Any:
    """Blocks of A and B for x = [deviation of q; deviation of v]."""
    damping, n = options["viscous"], tree.nv
    free = [tau[k] - v[k] * damping[k] if damping[k] else tau[k] for k in range(n)]
    (a,) = TABLE["forward_dynamics"].run(tree, options, q, v, free, external, [])
    (inverse,) = TABLE["mass_matrix_inverse"].run(tree, options, q)
    by_q, by_v = inverse_dynamics_derivatives(tree, q, v, a, tree.external_forces(external))
    for k in range(n):
        if damping[k]:
            by_v[k][k] = by_v[k][k] + damping[k]
    A: list[Any] = [[0.0] * (2 * n) for _ in range(2 * n)]
    B: list[Any] = [[0.0] * n for _ in range(2 * n)]
    for i in range(n):
        A[i][n + i] = 1.0
        for j in range(n):
            for block, at in ((by_q, 0), (by_v, n)):
                total: Any = 0.0
                for k in range(n):
                    total = total - inverse[i * n + k] * block[k][j]
                A[n + i][at + j] = total
            B[n + i][j] = inverse[i * n + j]
    for body in tree.bodies:
        if body.kind is Kind.FREE:
            _turning_frame(A, body.columns[0][0], v)
    return [[x for row in A for x in row], [x for row in B for x in row]]


def _turning_frame(A: Any, at: int, v: Any) -> None:
    """−(v ×) of a floating joint: deviations are counted in a frame that moves with the nominal motion."""
    w, u = v[at : at + 3], v[at + 3 : at + 6]

    def put(row: int, column: int, x: Any) -> None:
        for i, j, value in ((0, 1, x[2]), (0, 2, -x[1]), (1, 0, -x[2]), (1, 2, x[0]), (2, 0, x[1]), (2, 1, -x[0])):
            A[at + row + i][at + column + j] = value

    put(0, 0, w)
    put(3, 3, w)
    put(3, 0, u)


_N, _NN = ("nv",), ("nv", "nv")
FUNCTIONS: dict[str, FunctionKind] = {
    "inverse_dynamics": FunctionKind(
        "Efforts that make the robot move so: M(q) a + C(q, v) v + g(q) - J' external.",
        "inverse_dynamics",
        "q v a external",
        {"tau": (_N, "efforts")},
    ),
    "forward_dynamics": FunctionKind(
        "Accelerations under given efforts.",
        "forward_dynamics",
        "q v tau external",
        {"a": (_N, "accelerations")},
        divides=True,
    ),
    "mass_matrix": FunctionKind(
        "Joint-space inertia matrix M(q), rotor inertia included.", "mass_matrix", "q", {"M": (_NN, "mass matrix")}
    ),
    "mass_matrix_inverse": FunctionKind(
        "Inverse of the mass matrix.", "mass_matrix_inverse", "q", {"Minv": (_NN, "inverse of M")}, divides=True
    ),
    "bias_forces": FunctionKind(
        "Efforts without acceleration: C(q, v) v + g(q) - J' external.",
        "bias_forces",
        "q v external",
        {"tau": (_N, "efforts")},
    ),
    "gravity_forces": FunctionKind(
        "Efforts that hold the robot at rest against gravity.", "gravity_forces", "q", {"tau": (_N, "efforts")}
    ),
    "coriolis_matrix": FunctionKind(
        "Coriolis matrix of the Christoffel symbols.", "coriolis_matrix", "q v", {"C": (_NN, "Coriolis matrix")}
    ),
    "jacobian": FunctionKind(
        "Jacobian of the link's origin: J v = [angular; linear] velocity, world axes.",
        "jacobian",
        "q",
        {"J": ((6, "nv"), "Jacobian, angular rows first")},
        on_link=True,
    ),
    "jacobian_rate": FunctionKind(
        "Time derivative of the Jacobian.",
        "jacobian_rate",
        "q v",
        {"Jdot": ((6, "nv"), "derivative of the Jacobian")},
        on_link=True,
    ),
    "link_pose": FunctionKind(
        "Placement of the link in the world.", "link_pose", "q", {"pose": ((4, 4), "homogeneous matrix")}, on_link=True
    ),
    "kinetic_energy": FunctionKind(
        "Kinetic energy, rotors included.", "kinetic_energy", "q v", {"energy": ((), "energy")}
    ),
    "potential_energy": FunctionKind(
        "Potential energy, zero for masses at the world's origin.", "potential_energy", "q", {"energy": ((), "energy")}
    ),
    "center_of_mass": FunctionKind(
        "Centre of mass of the whole robot in the world.", "center_of_mass", "q", {"position": ((3,), "position")}
    ),
    "joint_wrenches": FunctionKind(
        "What every joint carries: the wrench [moment; force] that the parent side exerts on the child link, about the "
        "joint's origin, in the child link's axes.",
        "inverse_dynamics_wrenches",
        "q v a external",
        {"wrenches": (("nj", 6), "one row a joint")},
        keep=(1,),
    ),
    "inverse_dynamics_derivatives": FunctionKind(
        "Derivatives of inverse dynamics.",
        "inverse_dynamics_derivatives",
        "q v a external",
        {"dtau_dq": (_NN, "by q"), "dtau_dv": (_NN, "by v")},
    ),
    "linearization": FunctionKind(
        "Linearization dx/dt = A x + B u about (q, v, tau), x = [deviation of q; deviation of v], u that of tau.",
        _linearization,
        "q v tau external",
        {"A": (("n2", "n2"), "system matrix"), "B": (("n2", "nv"), "input matrix")},
        divides=True,
    ),
    "linearization_with_friction": FunctionKind(
        "As linearization, with viscous friction at the joints.",
        _linearization,
        "q v tau external",
        {"A": (("n2", "n2"), "system matrix"), "B": (("n2", "nv"), "input matrix")},
        divides=True,
        viscous=True,
    ),
}
"""Everything that is traced, by name; ``step`` and the motors' functions are written around ``forward_dynamics``."""

DEFAULT = (
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "bias_forces",
    "gravity_forces",
    "jacobian",
    "kinetic_energy",
    "potential_energy",
    "joint_wrenches",
    "step",
)
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
        ModelError: a function that inverts the mass matrix of a robot whose mass matrix is singular.
    """
    found: list[Request] = []
    for name in names:
        if name not in FUNCTIONS:
            raise UnknownNameError("function", name, (*FUNCTIONS, "step"), where="functions")
        kind = FUNCTIONS[name]
        if kind.divides and model.massless_joint_names:
            raise ModelError(
                f"{name} cannot be exported: the joints {', '.join(map(repr, model.massless_joint_names))} move nothing "
                "that has inertia, so the mass matrix cannot be inverted",
                where=f"robot {model.name!r}",
                remedy="Give the links behind them mass, fix the joints, or export functions that do not need it.",
            )
        for link in links if kind.on_link else ("",):
            found.append(_request(model, name, kind, link, external, words))
    return found


def _request(
    model: RobotModel, name: str, kind: FunctionKind, link: str, external: tuple[str, ...], words: Mapping[str, str]
) -> Request:
    options: dict[str, Any] = {}
    if external and "external" in kind.inputs.split():
        options["loaded"] = tuple(model.link_index(x) for x in external)
    if link:
        options |= {"link": model.link_index(link), "frame": "world"}
    if kind.entry is _linearization:
        options["viscous"] = tuple(model.damping.tolist()) if kind.viscous else (0.0,) * model.nv
    numbers = {**sizes(model, options), "n2": 2 * model.nv, "nx": len(external)}

    def shape(words_: tuple[Any, ...]) -> Shape:
        return tuple(numbers[w] if isinstance(w, str) else w for w in words_)

    inputs = tuple(
        Argument(w, shape(SHAPES[w]), MEANINGS[w]) for w in kind.inputs.split() if w != "external" or external
    )
    outputs = tuple(Argument(w, shape(s), meaning) for w, (s, meaning) in kind.outputs.items())
    word = f"_{words.get(link) or identifier_of(link)}" if link else ""
    said = f"{kind.said}  Link: {link}." if link else kind.said
    return Request(f"{name}{word}", name, said, inputs, outputs, tuple(sorted(options.items())), link)


def _on_bodies(tree: Any, links: tuple[int, ...], wrenches: list[Any]) -> list[Any]:
    """Wrenches on bodies, flat (nb, 6), from flat wrenches on some links; see ``dynamics.external_wrenches``."""
    rows: list[Any] = [0.0] * (6 * tree.model.nb)
    for k, link in enumerate(links):
        body, X = link_placement(tree, link)
        if body is not None:
            moved = body.to_link(X.force_back(Force.of(wrenches[6 * k : 6 * k + 6]))).parts()
            at = 6 * int(tree.model.link_body[link])
            rows[at : at + 6] = [x + y for x, y in zip(rows[at : at + 6], moved, strict=True)]
    return rows


def run_on(request: Request, tree: Any, inputs: Mapping[str, list[Any]]) -> list[list[Any]]:
    """Run the request's algorithm on given scalars.

    Args:
        tree: the robot.
        inputs: flat lists by name.

    Returns:
        flat outputs in the request's order.
    """
    kind = FUNCTIONS[request.kind]
    options = dict(request.options)
    if loaded := options.pop("loaded", ()):
        inputs = {**inputs, "external": _on_bodies(tree, loaded, inputs["external"])}
    if callable(kind.entry):
        results = kind.entry(tree, options, *(inputs.get(w, []) for w in kind.inputs.split()))
    else:
        entry = TABLE[kind.entry]
        fixed = {"point": [0.0, 0.0, 0.0]}
        results = entry.run(tree, options, *(inputs.get(w, fixed.get(w, [])) for w, _ in entry.inputs))
    return [results[k] for k in kind.keep] if kind.keep else results


def trace_request(request: Request, tree: Any, graph: Graph) -> Traced:
    """Record the operations of a request.

    Raises:
        ArgumentError: the function divides by something that is zero for every configuration of this robot.
    """
    inputs = {a.name: [graph.leaf((a.name, k)) for k in range(a.size)] for a in request.inputs}
    try:
        results = run_on(request, tree, inputs)
    except ZeroDivisionError:
        raise ArgumentError(
            "the mass matrix of this robot is singular everywhere",
            where=f"function {request.name}",
            remedy="Give every moving link inertia.",
        ) from None
    return Traced(request, tuple(tuple(graph.lift(x) for x in flat) for flat in results))
