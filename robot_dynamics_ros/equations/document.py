"""A document of equations: sections of lines, which the renderers write as text, LaTeX or HTML; and
how symbols look.

q1 is q with index 1, dq1 has a dot, lc2 is l with index c2.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robot_dynamics_ros.equations.parameters import Definition

if TYPE_CHECKING:
    import sympy

DOCUMENT_PARTS = (
    "steps",
    "M",
    "D",
    "G",
    "coriolis",
    "B",
    "C",
    "K",
    "U",
    "motors",
    "definitions",
    "proof",
    "operations",
)
"""Parts of a document, in order."""


@dataclass(frozen=True)
class Line:
    """``name``[``index``] = ``value``, a SymPy expression.  ``dots`` are put over the name."""

    name: str
    index: tuple[str, ...]
    value: sympy.Expr
    dots: int = 0

    @property
    def joined_index(self) -> str:
        """The index as one word, with commas where a part of it has several characters."""
        return ("" if all(len(x) == 1 for x in self.index) else ",").join(self.index)


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, equations, and rows of a table."""

    title: str
    about: str
    lines: tuple[Line, ...] = ()
    definitions: tuple[Definition, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Document:
    """Title, introduction, sections; ``coordinates`` is the letter of the coordinates."""

    title: str
    about: str
    sections: tuple[Section, ...]
    coordinates: str


def rounded(expression: sympy.Expr, digits: int | None) -> sympy.Expr:
    """Fractions as decimals, of so many digits or exact to the last bit (``None``), but for halves
    of small numbers.
    """
    import sympy

    def decimal(x: sympy.Rational) -> sympy.Number:
        if x.q == 1 and abs(x.p) < 10 ** (digits or 15):
            return x
        if x.q == 2 and abs(x.p) < 10:
            return x
        if digits is None:
            text = repr(float(x))
            return sympy.Float(text, max(15, len(text.split("e")[0].replace(".", "").lstrip("-0"))))
        return sympy.Float(x, digits)

    if hasattr(expression, "atoms"):
        numbers = {x: decimal(x) for x in expression.atoms(sympy.Rational)}
    else:
        numbers = {}
    if numbers:
        powers = {p.exp for p in expression.atoms(sympy.Pow)}
    else:
        powers = set()
    return expression.xreplace({x: y for x, y in numbers.items() if x is not y and x not in powers})


def number_text(value: float | None) -> str:
    """A value for tables; empty for variables."""
    return "" if value is None else f"{value:.9g}"


_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta kappa mu nu xi rho sigma tau phi chi psi omega"
)
GREEK = {name: unicodedata.lookup(f"GREEK SMALL LETTER {name}") for name in _GREEK.split()}


@dataclass(frozen=True)
class Notation:
    """A letter (or word, or Greek letter by name), a number of dots, and an index."""

    base: str
    dots: int = 0
    index: str = ""


def notation_of(name: str, coordinates: str) -> Notation:
    """How a symbol of that name is printed; ``coordinates``: the letter of those, whose rates are
    dotted.
    """
    rate = re.fullmatch(rf"(d{{0,2}}){re.escape(coordinates)}(\d+)", name)
    if rate:
        return Notation(coordinates, len(rate[1]), rate[2])
    parts = re.fullmatch(r"([A-Za-z]+)(\d*)(?:_(\w+))?", name)
    if not parts:
        return Notation(name)
    letters = parts[1]
    digits = parts[2]
    rest = parts[3] or ""
    index = ",".join(x for x in (digits, rest) if x)
    if letters in GREEK or len(letters) == 1:
        return Notation(letters, 0, index)
    if len(letters) == 2:
        return Notation(letters[0], 0, letters[1] + index)
    return Notation(letters, 0, index)
