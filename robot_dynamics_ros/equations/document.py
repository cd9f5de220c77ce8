"""The equations as a document: sections of lines, to be rendered as text, LaTeX or HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robot_dynamics_ros.equations.formulas import Formulas
from robot_dynamics_ros.equations.parameters import Definition
from robot_dynamics_ros.errors import UnknownNameError

if TYPE_CHECKING:
    from robot_dynamics_ros.equations.equations import Equations

__all__ = ["PARTS", "Document", "Line", "Section", "document_of", "document_of_formulas", "rounded"]

PARTS = ("steps", "M", "D", "G", "coriolis", "B", "C", "K", "U", "motors", "definitions", "proof", "operations")
"""Parts of a document, in order."""


@dataclass(frozen=True)
class Line:
    """``name``[``index``] = ``value``, a SymPy expression.  ``dots`` are put over the name."""

    name: str
    index: tuple[str, ...]
    value: Any
    dots: int = 0


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, equations, and rows of a table."""

    title: str
    said: str
    lines: tuple[Line, ...] = ()
    definitions: tuple[Definition, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Document:
    """Title, introduction, sections; ``coordinates`` is the letter of the coordinates."""

    title: str
    said: str
    sections: tuple[Section, ...]
    coordinates: str


def rounded(expression: Any, digits: int | None) -> Any:
    """Fractions turned into decimals, but for halves of small numbers.

    Args:
        digits: figures; ``None`` for as many as bring each number back to the last bit.
    """
    import sympy

    def decimal(x: Any) -> Any:
        if x.q == 1 and abs(x.p) < 10 ** (digits or 15):
            return x
        if x.q == 2 and abs(x.p) < 10:
            return x
        if digits is None:
            text = repr(float(x))
            return sympy.Float(text, max(15, len(text.split("e")[0].replace(".", "").lstrip("-0"))))
        return sympy.Float(x, digits)

    numbers = {x: decimal(x) for x in expression.atoms(sympy.Rational)} if hasattr(expression, "atoms") else {}
    powers = {p.exp for p in expression.atoms(sympy.Pow)} if numbers else set()
    return expression.xreplace({x: y for x, y in numbers.items() if x is not y and x not in powers})


def section_of(formulas: Formulas, digits: int | None = None) -> list[Section]:
    """Formulas as sections: intermediate steps, if there are any, then the matrices."""
    found = []
    if formulas.steps:
        steps = [Line(str(s), (), rounded(x, digits)) for s, x in formulas.steps]
        found.append(Section(f"{formulas.title}: steps", "Each is used by the ones after it.", tuple(steps)))
    lines, zero = [], []
    for name, matrix in formulas.matrices.items():
        if len(formulas) > 1 and matrix.is_zero_matrix:
            zero.append(name)
            continue
        letter, index = formulas.rows.get(name, (name, ()))
        columns = matrix.shape[1]
        for k, x in enumerate(matrix):
            if index:
                at = index[k]
            else:
                at = (str(k // columns + 1), str(k % columns + 1)) if columns > 1 else (str(k + 1),)
            word = letter or at[0]
            dots = int(word.endswith("dot"))
            lines.append(Line(word[:-3] if dots else word, at if letter else at[1:], rounded(x, digits), dots))
    said = f"{formulas.said} Zero throughout: {', '.join(zero)}." if zero else formulas.said
    return [*found, Section(formulas.title, said, tuple(lines))]


def document_of_formulas(given: Iterable[Formulas], digits: int | None = None) -> Document:
    """A document of formulas alone, with the symbols that they use."""
    formulas = list(given)
    sections = [section for f in formulas for section in section_of(f, digits)]
    there = {str(s) for f in formulas for m in f.matrices.values() for s in m.free_symbols}
    there |= {str(s) for f in formulas for _, x in f.steps for s in x.free_symbols}
    definitions = {d.symbol: d for f in formulas for d in f.definitions if d.symbol in there}
    if definitions:
        sections.append(Section("Symbols", "SI units throughout.", definitions=tuple(definitions.values())))
    title = f"Formulas of {formulas[0].model_name}" if formulas else "Formulas"
    return Document(title, "", tuple(sections), formulas[0].coordinates if formulas else "q")


def document_of(
    equations: Equations,
    parts: Iterable[str] | None = None,
    digits: int | None = None,
    formulas: Iterable[Formulas] = (),
) -> Document:
    """Gather what is to be printed.

    Args:
        parts: some of :data:`PARTS`; all if not given.
        digits: figures that decimals are rounded to in print; if not given they are exact to the last bit.
        formulas: printed after the equations of motion.

    Raises:
        UnknownNameError: there is no such part.
    """
    chosen = list(PARTS if parts is None else parts)
    for part in chosen:
        if part not in PARTS:
            raise UnknownNameError("part", part, PARTS, where="parts")
    model, n = equations.model, len(equations.q)
    sections: list[Section] = []

    def put(part: str, title: str, said: str, lines: Iterable[Line]) -> None:
        if part in chosen:
            done = tuple(Line(x.name, x.index, rounded(x.value, digits), x.dots) for x in lines)
            if done:
                sections.append(Section(title, said, done))

    def entries(name: str, matrix: Any, *, symmetric: bool = False) -> list[Line]:
        return [
            Line(name, (str(i + 1), str(j + 1)), matrix[i, j])
            for i in range(matrix.shape[0])
            for j in range(matrix.shape[1])
            if not symmetric or j >= i
        ]

    def column(name: str, vector: Any) -> list[Line]:
        return [Line(name, (str(i + 1),), vector[i]) for i in range(vector.shape[0])]

    pairs = [f"{i + 1}{j + 1}" if n < 10 else f"{i + 1},{j + 1}" for i in range(n) for j in range(i + 1, n)]
    put(
        "steps",
        "Steps",
        "Each is used by the ones after it, and below.",
        [Line(str(symbol), (), value) for symbol, value in equations.steps],
    )
    put("M", "Mass matrix", "M is symmetric; its upper half is given.", entries("M", equations.M, symmetric=True))
    put("D", "Coriolis and centrifugal efforts", "D(q, v), quadratic in the velocities.", column("D", equations.D))
    put("G", "Gravity", "G(q), the derivative of the potential energy.", column("G", equations.G))
    put(
        "coriolis",
        "Coriolis matrix",
        "N(q, v) of the Christoffel symbols: N v = D, and dM/dt - 2 N is skew-symmetric.",
        entries("N", equations.coriolis),
    )
    put(
        "B",
        "Configuration-space form: Coriolis part",
        "D = B [products of two velocities] + C [squares of the velocities]; the second index of B names the product.",
        [Line("B", (str(i + 1), pairs[k]), equations.B[i, k]) for i in range(n) for k in range(len(pairs))],
    )
    put(
        "C",
        "Configuration-space form: centrifugal part",
        "C multiplies the squares of the velocities.",
        entries("C", equations.C),
    )
    put("K", "Kinetic energy", "", [Line("K", (), equations.K)])
    put("U", "Potential energy", "Zero where the world's origin is.", [Line("U", (), equations.U)])
    _motors(equations, put)
    given = list(formulas)
    for f in given:
        sections += section_of(f, digits)
    if "definitions" in chosen:
        sections.append(Section("Symbols", "SI units throughout.", definitions=_needed(equations, given)))
    if "proof" in chosen and equations.proof is not None:
        rows = tuple((statement, str(count), str(terms)) for statement, count, terms in equations.proof.identities)
        sections.append(
            Section(
                "Proof",
                "Both sides were reduced to the one normal form of polynomials in sines and cosines, in exact "
                "arithmetic, and agree for every configuration, velocity and parameter value.",
                head=("identity", "equations", "terms"),
                rows=rows,
            )
        )
    if "operations" in chosen:
        names = {
            "M": "mass matrix",
            "tau": "inverse dynamics",
            "bias": "D + G",
            "G": "gravity",
            "coriolis": "Coriolis matrix",
            "K": "kinetic energy",
            "U": "potential energy",
        }
        import sympy

        printed = {
            "M": equations.M,
            "G": equations.G,
            "coriolis": equations.coriolis,
            "K": equations.K,
            "U": equations.U,
        }
        rows = tuple(
            (
                names[k],
                str(count),
                str(
                    sum(int(sympy.count_ops(x)) for x in (printed[k] if hasattr(printed[k], "shape") else [printed[k]]))
                )
                if k in printed and not equations.steps
                else "-",
            )
            for k, count in equations.operations.items()
        )
        sections.append(
            Section(
                "Operations",
                "Additions, multiplications, sines and cosines that each takes.",
                head=("function", "recursive, shared", "as printed"),
                rows=rows,
            )
        )
    letter = str(equations.q[0])[:-1]
    joints = ", ".join(f"{k + 1} {name}" for k, name in enumerate(_coordinate_names(equations)))
    rotors = "" if equations.motors is None else ", but for that of the motors given, which is part of A"
    said = (
        "Equations of motion M(q) a + D(q, v) + G(q) = tau, with v and a the first and second derivative of q. "
        f"Coordinates: {joints}. Joint friction is not part of them; rotor inertia is part of M{rotors}."
    )
    return Document(f"Equations of motion of {model.name}", said, tuple(sections), letter)


def _needed(equations: Equations, formulas: Iterable[Formulas]) -> tuple[Definition, ...]:
    """The definitions of variables, and of those parameters that occur."""
    there: set[str] = set()
    written = [*equations.named().values(), *(value for _, value in equations.steps)]
    known = {d.symbol: d for d in equations.definitions}
    for f in formulas:
        written += [*f.matrices.values(), *(value for _, value in f.steps)]
        known |= {d.symbol: d for d in f.definitions}
    if equations.motors is not None:
        written += [equations.motors.M, equations.motors.effort, equations.motors.current_rates]
    for x in written:
        there |= {str(s) for s in getattr(x, "free_symbols", ())}
    return tuple(d for d in known.values() if d.value is None or d.symbol in there)


def _motors(equations: Equations, put: Any) -> None:
    motors = equations.motors
    if motors is None:
        return
    n = len(equations.q)
    changed = [(i, i) for i in range(n) if motors.M[i, i] != equations.M[i, i]]
    put(
        "motors",
        "Motors: mass matrix with rotors",
        "The other entries are those of M.",
        [Line("A", (str(i + 1), str(j + 1)), motors.M[i, j]) for i, j in changed],
    )
    put(
        "motors",
        "Motors: efforts",
        "A(q) a + D(q, v) + G(q) = f: what motors, free efforts and friction add up to.",
        [Line("f", (str(k + 1),), motors.effort[k]) for k in range(n)],
    )
    put(
        "motors",
        "Motors: currents",
        "Rates of the currents.",
        [
            Line(str(i)[0], (str(i)[1:],), rate, dots=1)
            for i, rate in zip(motors.currents, motors.current_rates, strict=True)
            if rate != 0
        ],
    )


def _coordinate_names(equations: Equations) -> list[str]:
    model = equations.model
    names: list[str] = []
    for joint in model.joint_names:
        count = model.joint(joint).type.nv
        names += [joint] if count == 1 else [f"{joint} ({axis})" for axis in ("x", "y", "angle")]
    return names
