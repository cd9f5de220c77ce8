"""How symbols look in print: q1 as q with index 1, dq1 with a dot, lc2 as l with index c2."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_GREEK = "alpha beta gamma delta epsilon zeta eta theta kappa mu nu xi rho sigma tau phi chi psi omega"
GREEK = {name: unicodedata.lookup(f"GREEK SMALL LETTER {name}") for name in _GREEK.split()}


@dataclass(frozen=True)
class Notation:
    """A letter (or word, or Greek letter by name), a number of dots, and an index."""

    base: str
    dots: int = 0
    index: str = ""


def notation_of(name: str, coordinates: str) -> Notation:
    """How a symbol of that name is printed.

    Args:
        name: its name.
        coordinates: letter of the coordinates, whose rates are dotted.
    """
    rate = re.fullmatch(rf"(d{{0,2}}){re.escape(coordinates)}(\d+)", name)
    if rate:
        return Notation(coordinates, len(rate[1]), rate[2])
    parts = re.fullmatch(r"([A-Za-z]+)(\d*)(?:_(\w+))?", name)
    if not parts:
        return Notation(name)
    letters, digits, rest = parts[1], parts[2], parts[3] or ""
    index = ",".join(x for x in (digits, rest) if x)
    if letters in GREEK or len(letters) == 1:
        return Notation(letters, 0, index)
    if len(letters) == 2:
        return Notation(letters[0], 0, letters[1] + index)
    return Notation(letters, 0, index)
