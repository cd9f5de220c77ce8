"""A document of equations: sections of lines, which the renderers write as text, LaTeX or HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from robot_dynamics_ros.equations.parameters import Definition

if TYPE_CHECKING:
    import sympy

PARTS = ("steps", "M", "D", "G", "coriolis", "B", "C", "K", "U", "motors", "definitions", "proof", "operations")
"""Parts of a document, in order."""


@dataclass(frozen=True)
class Line:
    """``name``[``index``] = ``value``, a SymPy expression.  ``dots`` are put over the name."""

    name: str
    index: tuple[str, ...]
    value: sympy.Expr
    dots: int = 0


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
    """Fractions turned into decimals, but for halves of small numbers.

    Args:
        digits: figures; ``None`` for as many as bring each number back to the last bit.
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

    numbers = {x: decimal(x) for x in expression.atoms(sympy.Rational)} if hasattr(expression, "atoms") else {}
    powers = {p.exp for p in expression.atoms(sympy.Pow)} if numbers else set()
    return expression.xreplace({x: y for x, y in numbers.items() if x is not y and x not in powers})
