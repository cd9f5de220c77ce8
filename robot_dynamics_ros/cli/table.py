"""Plain-text tables."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["table"]


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they need to be; the first to the left, the others to the right."""
    cells = [list(head), *map(list, rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()

    return "\n".join([line(cells[0]), "  ".join("-" * width for width in widths), *map(line, cells[1:])])
