"""A document as plain text that can be pasted into SymPy or NumPy, and as plain values for
programs.
"""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.equations.document import Document, Section, number_text


def render_text(document: Document) -> str:
    """The whole document."""
    from sympy import sstr

    out = [
        document.title,
        "=" * len(document.title),
        *(["", document.about] if document.about else []),
    ]
    for section in document.sections:
        out += ["", section.title, "-" * len(section.title)]
        if section.about:
            out += [section.about, ""]
        for line in section.lines:
            if line.index:
                index = f"[{', '.join(line.index)}]"
            else:
                index = ""
            if line.dots:
                name = f"d({line.name}{line.joined_index})/dt"
            else:
                name = f"{line.name}{index}"
            out.append(f"{name} = {sstr(line.value, full_prec=False)}")
        if section.definitions:
            out += _columns(
                [(d.symbol, number_text(d.value), d.unit, d.meaning) for d in section.definitions]
            )
        if section.rows:
            out += _columns([section.head, *section.rows])
    return "\n".join(line.rstrip() for line in out) + "\n"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]


def render_data(document: Document) -> dict[str, object]:
    """The whole document: lists, dictionaries, strings and numbers; expressions as SymPy and Python
    read them.

    ``sections`` hold ``equations`` (name, index, value, and time derivatives of the name),
    ``symbols`` (name, value, unit, meaning, parameter) and ``rows`` of a table, each a dictionary.
    """
    return {
        "title": document.title,
        "about": document.about,
        "coordinates": document.coordinates,
        "sections": [_section(section) for section in document.sections],
    }


def _section(section: Section) -> dict[str, object]:
    from sympy import sstr

    data: dict[str, object] = {"title": section.title, "about": section.about}
    if section.lines:
        data["equations"] = [
            {
                "name": x.name,
                "index": list(x.index),
                "derivatives": x.dots,
                "value": sstr(x.value, full_prec=False),
            }
            for x in section.lines
        ]
    if section.definitions:
        data["symbols"] = [
            {
                "name": d.symbol,
                "value": d.value,
                "unit": d.unit,
                "meaning": d.meaning,
                "parameter": d.parameter,
            }
            for d in section.definitions
        ]
    if section.rows:
        data["rows"] = [dict(zip(section.head, row, strict=True)) for row in section.rows]
    return data
