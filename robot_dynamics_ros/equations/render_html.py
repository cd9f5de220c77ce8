"""A document as one HTML page that needs nothing else: formulas in MathML, ready to be printed to PDF."""

from __future__ import annotations

from html import escape
from typing import Any

from robot_dynamics_ros.equations.document import Document, Line
from robot_dynamics_ros.equations.notation import GREEK, Notation, notation_of
from robot_dynamics_ros.equations.render_text import number_text

__all__ = ["render_html"]

_STYLE = """
body { font: 11pt/1.45 Georgia, "Times New Roman", serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #111; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 1.8em; border-bottom: 1px solid #ccc; }
.equation { margin: 0.6em 0; overflow-x: auto; break-inside: avoid; }
table { border-collapse: collapse; } td, th { padding: 0.15em 1.2em 0.15em 0; text-align: left; vertical-align: top; }
@media print { body { max-width: none; margin: 0; font-size: 9.5pt; } .equation { overflow: visible; } }
"""
_DOT = {1: "˙", 2: "¨"}
WIDTH = 90
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


class _Writer:
    """SymPy expressions as presentation MathML; knows the few kinds that equations of motion consist of."""

    def __init__(self, coordinates: str) -> None:
        import sympy

        self.S, self.coordinates = sympy, coordinates

    def __call__(self, x: Any, inside: str = "") -> str:
        """One expression; ``inside`` tells what it stands in, to decide on parentheses."""
        S = self.S
        if isinstance(x, S.Symbol):
            return symbol_mathml(notation_of(x.name, self.coordinates))
        if isinstance(x, S.Rational) and not isinstance(x, S.Integer):
            body = f"<mfrac><mn>{abs(x.p)}</mn><mn>{x.q}</mn></mfrac>"
            return body if x.p > 0 else f"<mrow><mo>−</mo>{body}</mrow>"
        if isinstance(x, S.Number):
            text = S.sstr(abs(x), full_prec=False)
            return f"<mn>{text}</mn>" if not x.is_negative else f"<mrow><mo>−</mo><mn>{text}</mn></mrow>"
        if isinstance(x, S.Add):
            body = self.terms(x.as_ordered_terms())
            return self._fenced(body) if inside else f"<mrow>{body}</mrow>"
        if isinstance(x, S.Mul):
            return self._product(x, inside)
        if isinstance(x, S.Pow):
            return self._power(x)
        name = type(x).__name__
        argument = self(x.args[0])
        return f"<mrow><mi>{escape(name)}</mi><mo>&#x2061;</mo>{self._fenced(argument)}</mrow>"

    def terms(self, terms: list[Any], first: bool = True) -> str:
        """Terms with their signs between them."""
        out = []
        for term in terms:
            minus = term.could_extract_minus_sign()
            body = self(-term if minus else term, "term" if isinstance(-term if minus else term, self.S.Add) else "")
            if minus:
                out.append(f"<mo>−</mo>{body}")
            else:
                out.append(body if first else f"<mo>+</mo>{body}")
            first = False
        return "".join(out)

    def _fenced(self, body: str) -> str:
        return f"<mrow><mo>(</mo>{body}<mo>)</mo></mrow>"

    def _product(self, x: Any, inside: str) -> str:
        S = self.S
        if x.as_coeff_Mul()[0].is_negative:
            body = f"<mo>−</mo>{self(-x, 'product')}"
            return self._fenced(body) if inside else f"<mrow>{body}</mrow>"
        numerator, denominator = S.fraction(x)
        if denominator != 1:
            return f"<mfrac>{self(numerator)}{self(denominator)}</mfrac>"
        return "<mrow>" + "<mo>&#x2062;</mo>".join(self(f, "product") for f in x.as_ordered_factors()) + "</mrow>"

    def _power(self, x: Any) -> str:
        S = self.S
        if x.exp == S.Rational(1, 2):
            return f"<msqrt>{self(x.base)}</msqrt>"
        if x.exp.is_negative:
            return f"<mfrac><mn>1</mn>{self(x.base**-x.exp)}</mfrac>"
        base = x.base
        if isinstance(base, (S.sin, S.cos)):
            name = f"<msup><mi>{type(base).__name__}</mi>{self(x.exp)}</msup>"
            return f"<mrow>{name}<mo>&#x2061;</mo>{self._fenced(self(base.args[0]))}</mrow>"
        body = self(base) if isinstance(base, S.Symbol) else self._fenced(self(base))
        return f"<msup>{body}{self(x.exp)}</msup>"


def _left(line: Line, coordinates: str) -> str:
    if not line.index:
        return symbol_mathml(notation_of(line.name, coordinates))
    short = all(len(x) == 1 for x in line.index)
    return symbol_mathml(Notation(line.name, line.dots, ("" if short else ",").join(line.index)))


def _equation(line: Line, write: _Writer) -> str:
    from sympy import Add, sstr

    terms = line.value.as_ordered_terms() if isinstance(line.value, Add) else [line.value]
    rows: list[list[Any]] = [[]]
    used = 0
    for term in terms:
        length = len(sstr(term, full_prec=False))
        if rows[-1] and used + length > WIDTH:
            rows.append([])
            used = 0
        rows[-1].append(term)
        used += length
    cells = [
        f"<mtr><mtd>{_left(line, write.coordinates) + '<mo>=</mo>' if k == 0 else ''}</mtd>"
        f'<mtd style="text-align: left"><mrow>{write.terms(row, first=k == 0)}</mrow></mtd></mtr>'
        for k, row in enumerate(rows)
    ]
    return f'<div class="equation"><math display="inline"><mtable>{"".join(cells)}</mtable></math></div>'


def render_html(document: Document) -> str:
    """The page."""
    write = _Writer(document.coordinates)
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
        out += [_equation(line, write) for line in section.lines]
        if section.definitions:
            out.append("<table>")
            for d in section.definitions:
                symbol = f"<math>{symbol_mathml(notation_of(d.symbol, document.coordinates))}</math>"
                out.append(
                    f"<tr><td>{symbol}</td><td>{number_text(d.value)}</td><td>{escape(d.unit)}</td>"
                    f"<td>{escape(d.meaning)}</td></tr>"
                )
            out.append("</table>")
        if section.rows:
            out.append("<table>")
            out.append("<tr>" + "".join(f"<th>{escape(x)}</th>" for x in section.head) + "</tr>")
            out += ["<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in section.rows]
            out.append("</table>")
    return "\n".join([*out, "</body>", "</html>"]) + "\n"
