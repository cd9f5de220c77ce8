"""A document as plain text that can be pasted into SymPy or NumPy."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.equations.document import Document


def number_text(value: float | None) -> str:
    """A value for tables; empty for variables."""
    return "" if value is None else f"{value:.9g}"


def render_text(document: Document) -> str:
    """The whole document."""
    from sympy import sstr

    out = [document.title, "=" * len(document.title), *(["", document.about] if document.about else [])]
    for section in document.sections:
        out += ["", section.title, "-" * len(section.title)]
        if section.about:
            out += [section.about, ""]
        for line in section.lines:
            name = ("d" * line.dots) + line.name
            index = f"[{', '.join(line.index)}]" if line.index else ""
            if line.dots:
                short = all(len(x) == 1 for x in line.index)
                name, index = f"d({line.name}{('' if short else ',').join(line.index)})/dt", ""
            out.append(f"{name}{index} = {sstr(line.value, full_prec=False)}")
        if section.definitions:
            out += _columns([(d.symbol, number_text(d.value), d.unit, d.meaning) for d in section.definitions])
        if section.rows:
            out += _columns([section.head, *section.rows])
    return "\n".join(line.rstrip() for line in out) + "\n"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
