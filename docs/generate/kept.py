"""Pages that are made from the code and kept in the repository, as other pages link to them there:
``python -m docs.generate.kept`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

from docs.generate import arms, messages, parameters

DOCS = Path(__file__).parents[1]
KEPT = ("reference/parameters.md", "reference/error_messages.md", "reference/arms.md")


def kept_pages() -> dict[str, str]:
    """Path below ``docs`` → text."""
    made: dict[str, str] = {}
    for maker in (arms.pages, messages.pages, parameters.pages):
        made |= maker()
    return {path: made[path].rstrip() + "\n" for path in KEPT}


if __name__ == "__main__":
    for path, text in kept_pages().items():
        (DOCS / path).write_text(text, encoding="utf-8")
