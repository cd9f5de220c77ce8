"""The terms of the equations of motion in symbols, from which all else is derived, and their
document.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from robot_dynamics_ros.equations.document import DOCUMENT_PARTS, Document, Line, Section, rounded
from robot_dynamics_ros.equations.formulas import Formulas, Step, section_of, symbol_names
from robot_dynamics_ros.equations.motors import MotorEquations
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.equations.proof import Proof
from robot_dynamics_ros.errors import check_name
from robot_dynamics_ros.model.robot_model import RobotModel

if TYPE_CHECKING:
    import sympy


@dataclass(frozen=True, eq=False)
class EquationTerms:
    """SymPy matrices and expressions of M(q) q̈ + D(q, q̇) + G(q) = τ; the attributes are those of
    :class:`~robot_dynamics_ros.equations.Equations`.
    """

    model: RobotModel
    q: tuple[sympy.Symbol, ...]
    v: tuple[sympy.Symbol, ...]
    a: tuple[sympy.Symbol, ...]
    tau: tuple[sympy.Symbol, ...]
    K: sympy.Expr
    U: sympy.Expr
    M: sympy.Matrix
    D: sympy.Matrix
    coriolis: sympy.Matrix
    B: sympy.Matrix
    C: sympy.Matrix
    G: sympy.Matrix
    definitions: tuple[Definition, ...]
    steps: tuple[Step, ...] = ()
    proof: Proof | None = None
    operations: Mapping[str, int] = field(default_factory=dict)
    motors: MotorEquations | None = None

    @property
    def values(self) -> dict[sympy.Symbol, float]:
        """Values of the chosen symbols in this robot, to be substituted."""
        import sympy

        return {
            sympy.Symbol(d.symbol, real=True): d.value
            for d in self.definitions
            if d.value is not None
        }

    def velocity_products(self) -> sympy.Matrix:
        """(nv(nv−1)/2, 1) the products q̇ᵢ q̇ⱼ, i < j, that B multiplies."""
        import sympy

        n = len(self.v)
        products = [self.v[i] * self.v[j] for i, j in itertools.combinations(range(n), 2)]
        return sympy.Matrix(len(products), 1, products)

    def named(self) -> dict[str, sympy.Matrix | sympy.Expr]:
        """The matrices and scalars by name, in the order in which they are printed."""
        return {
            name: getattr(self, name) for name in ("M", "D", "G", "coriolis", "B", "C", "K", "U")
        }


_OPERATIONS = {
    "M": "mass matrix",
    "tau": "inverse dynamics",
    "bias": "D + G",
    "G": "gravity",
    "coriolis": "Coriolis matrix",
    "K": "kinetic energy",
    "U": "potential energy",
}


def document_of(
    equations: EquationTerms,
    parts: Iterable[str] | None = None,
    digits: int | None = None,
    formulas: Iterable[Formulas] = (),
) -> Document:
    """The equations of motion as a document, then ``formulas``; ``parts`` and ``digits`` as of
    :meth:`Equations.text`.
    """
    chosen = list(DOCUMENT_PARTS if parts is None else parts)
    for part in chosen:
        check_name("part", part, DOCUMENT_PARTS, where="parts")
    formulas = list(formulas)
    sections = []
    for part, title, about, lines in (*_matrices(equations), *_motors(equations)):
        if part in chosen and lines:
            sections.append(
                Section(
                    title,
                    about,
                    tuple(Line(x.name, x.index, rounded(x.value, digits), x.dots) for x in lines),
                )
            )
    for f in formulas:
        sections += section_of(f, digits)
    if "definitions" in chosen:
        sections.append(
            Section("Symbols", "SI units throughout.", definitions=_needed(equations, formulas))
        )
    if "proof" in chosen and equations.proof is not None:
        sections.append(_proof(equations))
    if "operations" in chosen:
        sections.append(_operations(equations))
    joints = ", ".join(f"{k + 1} {name}" for k, name in enumerate(_coordinate_names(equations)))
    if equations.motors is None:
        rotors = ""
    else:
        rotors = ", but for that of the motors given, which is part of A"
    about = (
        "Equations of motion M(q) a + D(q, v) + G(q) = tau, with v and a the first and second "
        "derivative of q. "
        f"Coordinates: {joints}. Joint friction is not part of them; rotor inertia is part of "
        f"M{rotors}."
    )
    letter = str(equations.q[0])[:-1]
    return Document(
        f"Equations of motion of {equations.model.name}", about, tuple(sections), letter
    )


_Part = tuple[str, str, str, list[Line]]
"""One of DOCUMENT_PARTS, title, introduction, lines."""


def _matrices(equations: EquationTerms) -> Iterator[_Part]:
    n = len(equations.q)
    pairs = [
        f"{i + 1}{j + 1}" if n < 10 else f"{i + 1},{j + 1}"
        for i, j in itertools.combinations(range(n), 2)
    ]
    steps = [Line(str(symbol), (), value) for symbol, value in equations.steps]
    yield "steps", "Steps", "Each is used by the ones after it, and below.", steps
    upper = _entries("M", equations.M, lambda i, j: j >= i)
    yield "M", "Mass matrix", "M is symmetric; its upper half is given.", upper
    yield (
        "D",
        "Coriolis and centrifugal efforts",
        "D(q, v), quadratic in the velocities.",
        _column("D", equations.D),
    )
    yield "G", "Gravity", "G(q), the derivative of the potential energy.", _column("G", equations.G)
    yield (
        "coriolis",
        "Coriolis matrix",
        "N(q, v) of the Christoffel symbols: N v = D, and dM/dt - 2 N is skew-symmetric.",
        _entries("N", equations.coriolis),
    )
    yield (
        "B",
        "Configuration-space form: Coriolis part",
        "D = B [products of two velocities] + C [squares of the velocities]; the second index of "
        "B names the product.",
        [
            Line("B", (str(i + 1), pair), equations.B[i, k])
            for i, (k, pair) in itertools.product(range(n), enumerate(pairs))
        ],
    )
    yield (
        "C",
        "Configuration-space form: centrifugal part",
        "C multiplies the squares of the velocities.",
        _entries("C", equations.C),
    )
    yield "K", "Kinetic energy", "", [Line("K", (), equations.K)]
    yield "U", "Potential energy", "Zero where the world's origin is.", [Line("U", (), equations.U)]


def _motors(equations: EquationTerms) -> Iterator[_Part]:
    motors = equations.motors
    if motors is None:
        return
    yield (
        "motors",
        "Motors: mass matrix with rotors",
        "The other entries are those of M.",
        _entries("A", motors.M, lambda i, j: i == j and motors.M[i, i] != equations.M[i, i]),
    )
    yield (
        "motors",
        "Motors: efforts",
        "A(q) a + D(q, v) + G(q) = f: what motors, free efforts and friction add up to.",
        _column("f", motors.effort),
    )
    rates = zip(motors.currents, motors.current_rates, strict=True)
    yield (
        "motors",
        "Motors: currents",
        "Rates of the currents.",
        [Line(str(i)[0], (str(i)[1:],), rate, dots=1) for i, rate in rates if rate != 0],
    )


def _entries(
    name: str,
    matrix: sympy.Matrix,
    printed: Callable[[int, int], bool] = lambda i, j: True,
) -> list[Line]:
    rows, columns = matrix.shape
    return [
        Line(name, (str(i + 1), str(j + 1)), matrix[i, j])
        for i, j in itertools.product(range(rows), range(columns))
        if printed(i, j)
    ]


def _column(name: str, vector: sympy.Matrix) -> list[Line]:
    return [Line(name, (str(i + 1),), x) for i, x in enumerate(vector)]


def _proof(equations: EquationTerms) -> Section:
    assert equations.proof is not None
    return Section(
        "Proof",
        "Both sides were reduced to the one normal form of polynomials in sines and cosines, in "
        "exact "
        "arithmetic, and agree for every configuration, velocity and parameter value.",
        head=("identity", "equations", "terms"),
        rows=tuple(
            (identity, str(count), str(terms))
            for identity, count, terms in equations.proof.identities
        ),
    )


def _operations(equations: EquationTerms) -> Section:
    import sympy

    def as_printed(name: str) -> str:
        if name not in ("M", "G", "coriolis", "K", "U") or equations.steps:
            return "-"
        value = getattr(equations, name)
        return str(
            sum(int(sympy.count_ops(x)) for x in (value if hasattr(value, "shape") else [value]))
        )

    return Section(
        "Operations",
        "Additions, multiplications, sines and cosines that each takes.",
        head=("function", "recursive, shared", "as printed"),
        rows=tuple(
            (_OPERATIONS[k], str(count), as_printed(k)) for k, count in equations.operations.items()
        ),
    )


def _needed(equations: EquationTerms, formulas: Iterable[Formulas]) -> tuple[Definition, ...]:
    """The definitions of variables, and of those parameters that occur."""
    printed = [*equations.named().values(), *(value for _, value in equations.steps)]
    definitions = {d.symbol: d for d in equations.definitions}
    for f in formulas:
        printed += [*f.matrices.values(), *(value for _, value in f.steps)]
        definitions |= {d.symbol: d for d in f.definitions}
    if equations.motors is not None:
        printed += [equations.motors.M, equations.motors.effort, equations.motors.current_rates]
    symbols = symbol_names(printed)
    return tuple(d for d in definitions.values() if d.value is None or d.symbol in symbols)


def _coordinate_names(equations: EquationTerms) -> list[str]:
    model = equations.model
    names: list[str] = []
    for joint in model.joint_names:
        count = model.joint(joint).type.nv
        names += [joint] if count == 1 else [f"{joint} ({axis})" for axis in ("x", "y", "angle")]
    return names
