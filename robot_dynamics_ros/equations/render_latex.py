"""A document as LaTeX: equations to be put into a paper, or a file that compiles by itself."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING

from robot_dynamics_ros.equations.document import (
    GREEK,
    Document,
    Line,
    Notation,
    Section,
    notation_of,
    number_text,
)

if TYPE_CHECKING:
    import sympy

LATEX_LINE_CHARACTERS = 110
"""LaTeX characters of a sum's terms that go on one line, about."""

_PREAMBLE = r"""\documentclass[a4paper,10pt]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage{amsmath,longtable,geometry}
\geometry{margin=22mm}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
"""
_DOTS = ("{}", r"\dot{{{}}}", r"\ddot{{{}}}")
_LATEX_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "²": r"\textsuperscript{2}",
    "Ω": r"$\Omega$",
}


def escape(text: str) -> str:
    """Text with LaTeX's special characters made harmless."""
    return "".join(_LATEX_ESCAPES.get(c, c) for c in text)


def symbol_latex(notation: Notation) -> str:
    """A symbol in mathematics mode."""
    base = notation.base
    if base in GREEK:
        base = f"\\{base}"
    elif len(base) > 1:
        base = f"\\mathit{{{escape(base)}}}"
    text = _DOTS[notation.dots].format(base)
    if not notation.index:
        return text
    # letters, and the digits after them
    head = notation.index.rstrip("0123456789")
    if head.isalpha():
        index = f"\\mathrm{{{head}}}{notation.index[len(head) :]}"
    else:
        index = escape(notation.index)
    return f"{text}_{{{index}}}"


def _names(document: Document, section: Section) -> dict[sympy.Symbol, str]:
    """Each symbol in the equations of a section, as LaTeX."""
    symbols = set(
        itertools.chain.from_iterable(
            getattr(line.value, "free_symbols", ()) for line in section.lines
        )
    )
    return {s: symbol_latex(notation_of(str(s), document.coordinates)) for s in symbols}


def _left(line: Line, coordinates: str) -> str:
    """The left-hand side of an equation."""
    if not line.index:
        return symbol_latex(notation_of(line.name, coordinates))
    short = all(len(x) == 1 for x in line.index)
    if short:
        index = "".join(line.index)
    else:
        index = ",".join(
            x if len(x) == 1 or x.isdigit() else f"\\mathrm{{{x}}}" for x in line.index
        )
    base = _DOTS[line.dots].format(f"\\{line.name}" if line.name in GREEK else line.name)
    return f"{base}_{{{index}}}"


def _line(line: Line, names: dict[sympy.Symbol, str], coordinates: str) -> str:
    from sympy import Add, latex

    as_latex = functools.partial(latex, symbol_names=names, mul_symbol=" ", full_prec=False)
    whole = as_latex(line.value)
    head = f"{_left(line, coordinates)} &= "
    if len(whole) <= LATEX_LINE_CHARACTERS or not isinstance(line.value, Add):
        return head + whole
    rows = []
    row = ""
    for k, term in enumerate(line.value.as_ordered_terms()):
        text = as_latex(term)
        if k:
            if text.startswith("-"):
                text = f" - {text[1:].lstrip()}"
            else:
                text = f" + {text}"
        if row and len(row) + len(text) > LATEX_LINE_CHARACTERS:
            rows.append(row)
            row = "{}" + text
        else:
            row += text
    return head + " \\\\\n  &\\quad ".join([*rows, row])


def render_latex(document: Document) -> str:
    """Sections and equations, without a preamble (needs amsmath and longtable)."""
    out = [f"\\section*{{{escape(document.title)}}}", escape(document.about)]
    for section in document.sections:
        out.append(f"\\subsection*{{{escape(section.title)}}}")
        if section.about:
            out.append(escape(section.about))
        if section.lines:
            names = _names(document, section)
            body = " \\\\\n".join(
                _line(line, names, document.coordinates) for line in section.lines
            )
            out.append(f"\\begin{{align*}}\n{body}\n\\end{{align*}}")
        if section.definitions:
            rows = [
                f"${symbol_latex(notation_of(d.symbol, document.coordinates))}$ & "
                f"{number_text(d.value)} & "
                f"{escape(d.unit)} & {escape(d.meaning)} \\\\"
                for d in section.definitions
            ]
            out.append("\\begin{longtable}{@{}llll@{}}\n" + "\n".join(rows) + "\n\\end{longtable}")
        if section.rows:
            rows = [
                " & ".join(escape(cell) for cell in row) + " \\\\"
                for row in (section.head, *section.rows)
            ]
            columns = "p{0.7\\textwidth}" + "r" * (len(section.head) - 1)
            out.append(
                f"\\begin{{longtable}}{{@{{}}{columns}@{{}}}}\n"
                + "\n".join(rows)
                + "\n\\end{longtable}"
            )
    return "\n\n".join(out) + "\n"


def render_tex(document: Document) -> str:
    """A file that LaTeX turns into a PDF."""
    return f"{_PREAMBLE}\\begin{{document}}\n\n{render_latex(document)}\n\\end{{document}}\n"
