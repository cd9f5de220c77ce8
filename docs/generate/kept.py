"""Pages, and tables of pages, that are made from the code and kept in the repository, where other
pages link to them: ``python -m docs.generate.kept`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

from docs.generate import arms, laws, messages, parameters

DOCS = Path(__file__).parents[1]
KEPT = ("reference/parameters.md", "reference/error_messages.md", "reference/arms.md")

TABLES = {"laws": ("reference/control.md", laws.law_table)}
"""Name of a table → the page that has it, between two comments with this name, and its maker."""


def with_tables(path: str, text: str) -> str:
    """A page below ``docs``, its tables made anew."""
    for name, (page, make) in TABLES.items():
        if page == path:
            before, _, rest = text.partition(f"<!-- made: {name} -->\n")
            _, end, after = rest.partition(f"<!-- end of {name} -->")
            assert end, f"{path} has no comments around its table {name!r}"
            text = f"{before}<!-- made: {name} -->\n{make()}\n{end}{after}"
    return text


def kept_pages() -> dict[str, str]:
    """Path below ``docs`` → text."""
    made: dict[str, str] = {}
    for maker in (arms.pages, messages.pages, parameters.pages):
        made |= maker()
    return {path: made[path].rstrip() + "\n" for path in KEPT}


if __name__ == "__main__":
    for path, text in kept_pages().items():
        (DOCS / path).write_text(text, encoding="utf-8")
    for path, _ in TABLES.values():
        made = with_tables(path, (DOCS / path).read_text(encoding="utf-8"))
        (DOCS / path).write_text(made, encoding="utf-8")
