"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be; numbers to the right, words to the left."""
    cells = [list(head), *map(list, rows)]
    columns = range(len(head))
    widths = [max(len(row[i]) for row in cells) for i in columns]
    right = [i > 0 and any(_starts_as_number(row[i]) for row in rows) for i in columns]

    def line(row: Sequence[str]) -> str:
        return "  ".join(row[i].rjust(widths[i]) if right[i] else row[i].ljust(widths[i]) for i in columns).rstrip()

    return "\n".join([line(cells[0]), "  ".join("-" * width for width in widths), *map(line, cells[1:])])


def _starts_as_number(cell: str) -> bool:
    """Whether it is a number, or several, with or without a unit."""
    return cell.lstrip("+-.")[:1].isdigit()
