"""A document as one HTML page that needs nothing else: formulas in MathML, ready to be printed to
PDF.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from robot_dynamics_ros.equations.document import (
    GREEK,
    Document,
    Line,
    Notation,
    notation_of,
    number_text,
)

if TYPE_CHECKING:
    from xml.dom.minidom import Element

    import sympy

_STYLE = """
body { font: 11pt/1.45 Georgia, "Times New Roman", serif; max-width: 62em;
  margin: 2em auto; padding: 0 1em; color: #111; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 1.8em; border-bottom: 1px solid #ccc; }
.equation { margin: 0.6em 0; overflow-x: auto; break-inside: avoid; }
table { border-collapse: collapse; }
td, th { padding: 0.15em 1.2em 0.15em 0; text-align: left; vertical-align: top; }
@media print { body { max-width: none; margin: 0; font-size: 9.5pt; }
  .equation { overflow: visible; } }
"""
Write: TypeAlias = "Callable[[sympy.Expr], str]"
_DOT = {1: "˙", 2: "¨"}
HTML_LINE_CHARACTERS = 90
"""Characters of a sum's terms that go on one line, about."""


def symbol_mathml(notation: Notation) -> str:
    """A symbol as presentation MathML."""
    base = f"<mi>{escape(GREEK.get(notation.base, notation.base))}</mi>"
    if notation.dots:
        base = f'<mover accent="true">{base}<mo>{_DOT[notation.dots]}</mo></mover>'
    if not notation.index:
        return base
    kind = "mn" if notation.index.isdigit() else "mtext"
    return f"<msub>{base}<{kind}>{escape(notation.index)}</{kind}></msub>"


def _expression_writer(coordinates: str) -> Write:
    """SymPy's writer of presentation MathML, with the symbols of this document."""
    from xml.dom.minidom import parseString

    from sympy.printing.mathml import MathMLPresentationPrinter

    class Printer(MathMLPresentationPrinter):  # type: ignore[misc]
        def _print_Symbol(
            self,
            symbol: sympy.Symbol,
            style: str = "plain",
        ) -> Element | None:
            return parseString(symbol_mathml(notation_of(symbol.name, coordinates))).documentElement

    printer = Printer()

    def write(expression: sympy.Expr) -> str:
        text: str = printer._print(expression).toxml()
        return text.replace("&InvisibleTimes;", "&#x2062;").replace("<mo>-</mo>", "<mo>−</mo>")

    return write


def _terms(terms: list[sympy.Expr], write: Write, first: bool) -> str:
    """Terms with their signs between them."""
    out = []
    for k, term in enumerate(terms):
        minus = term.could_extract_minus_sign()
        if minus:
            sign = "<mo>−</mo>"
        elif first and k == 0:
            sign = ""
        else:
            sign = "<mo>+</mo>"
        out.append(sign + write(-term if minus else term))
    return "".join(out)


def _equation(line: Line, coordinates: str, write: Write) -> str:
    from sympy import Add, sstr

    rows = list[list["sympy.Expr"]]()
    used = 0
    for term in line.value.as_ordered_terms() if isinstance(line.value, Add) else [line.value]:
        length = len(sstr(term, full_prec=False))
        if not rows or used + length > HTML_LINE_CHARACTERS:
            rows.append([])
            used = 0
        rows[-1].append(term)
        used += length
    if line.index:
        notation = Notation(line.name, line.dots, line.joined_index)
    else:
        notation = notation_of(line.name, coordinates)
    cells = [
        f"<mtr><mtd>{symbol_mathml(notation) + '<mo>=</mo>' if k == 0 else ''}</mtd>"
        f'<mtd style="text-align: left"><mrow>{_terms(row, write, first=k == 0)}</mrow></mtd></mtr>'
        for k, row in enumerate(rows)
    ]
    return (
        '<div class="equation"><math '
        f'display="inline"><mtable>{"".join(cells)}</mtable></math></div>'
    )


def _table(rows: Iterable[Iterable[str]], head: Iterable[str] = ()) -> list[str]:
    names = "".join(f"<th>{x}</th>" for x in head)
    lines = ["<tr>" + "".join(f"<td>{x}</td>" for x in row) + "</tr>" for row in rows]
    return ["<table>", *([f"<tr>{names}</tr>"] if names else []), *lines, "</table>"]


def render_html(document: Document) -> str:
    """The page."""
    letter = document.coordinates
    write = _expression_writer(letter)
    title = escape(document.title)
    out = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f"<title>{title}</title>",
        f"<style>{_STYLE}</style>",
        "</head>",
        "<body>",
        f"<h1>{title}</h1>",
        *([f"<p>{escape(document.about)}</p>"] if document.about else []),
    ]
    for section in document.sections:
        out.append(f"<h2>{escape(section.title)}</h2>")
        if section.about:
            out.append(f"<p>{escape(section.about)}</p>")
        out += [_equation(line, letter, write) for line in section.lines]
        if section.definitions:
            symbols = [
                f"<math>{symbol_mathml(notation_of(d.symbol, letter))}</math>"
                for d in section.definitions
            ]
            cells = [
                (number_text(d.value), escape(d.unit), escape(d.meaning))
                for d in section.definitions
            ]
            out += _table([(symbol, *row) for symbol, row in zip(symbols, cells, strict=True)])
        if section.rows:
            out += _table(
                [list(map(escape, row)) for row in section.rows], list(map(escape, section.head))
            )
    return "\n".join([*out, "</body>", "</html>"]) + "\n"
