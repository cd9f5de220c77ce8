"""A document as plain values, for programs."""

from __future__ import annotations

from robot_dynamics_ros.equations.document import Document, Line, Section


def render_data(document: Document) -> dict[str, object]:
    """The whole document: lists, dictionaries, strings and numbers; expressions as SymPy and Python read them.

    ``sections`` hold ``equations`` (name, index, value, and time derivatives of the name), ``symbols`` (name, value, unit,
    meaning, parameter) and ``rows`` of a table, each a dictionary.
    """
    return {
        "title": document.title,
        "about": document.about,
        "coordinates": document.coordinates,
        "sections": [_section(section) for section in document.sections],
    }


def _section(section: Section) -> dict[str, object]:
    data: dict[str, object] = {"title": section.title, "about": section.about}
    if section.lines:
        data["equations"] = [_equation(line) for line in section.lines]
    if section.definitions:
        data["symbols"] = [
            {"name": d.symbol, "value": d.value, "unit": d.unit, "meaning": d.meaning, "parameter": d.parameter}
            for d in section.definitions
        ]
    if section.rows:
        data["rows"] = [dict(zip(section.head, row, strict=True)) for row in section.rows]
    return data


def _equation(line: Line) -> dict[str, object]:
    from sympy import sstr

    return {
        "name": line.name,
        "index": list(line.index),
        "derivatives": line.dots,
        "value": sstr(line.value, full_prec=False),
    }
