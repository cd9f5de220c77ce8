"""Names that have to work as symbols, as C identifiers and as Python ones."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

from robot_dynamics_ros.dynamics.engine.codegen.c_source import C_KEYWORDS, CPP_KEYWORDS
from robot_dynamics_ros.errors import ArgumentError

_MATH = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp
    ilogb ldexp log
    log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma
    tgamma ceil floor nearbyint rint
    lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
    nexttoward fdim fmax fmin fma
    abs div exit free malloc gamma j0 j1 jn y0 y1 yn signgam printf
"""
MATH_NAMES = frozenset(name + suffix for name in _MATH.split() for suffix in ("", "f", "l"))
"""What math.h, and the standard headers used beside it, declare."""

_TAKEN = {
    C_KEYWORDS: "a keyword or reserved word of C",
    CPP_KEYWORDS: "a keyword of C++, which headers are read by, too",
    frozenset((*keyword.kwlist, *keyword.softkwlist)): "a keyword of Python",
    MATH_NAMES: "a function of the C library",
}
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def check_identifier(name: object, where: str) -> str:
    """``name`` itself, if it can be an identifier in C, C++ and Python."""
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        problem = f"{name!r} is not a letter followed by letters, digits and underscores (ASCII)"
        raise ArgumentError(
            problem, where=where, remedy="Choose a name that C and Python accept, such as 'm1'."
        )
    kinds = [kind for names, kind in _TAKEN.items() if name in names]
    if "__" in name or kinds:
        if kinds:
            problem = f"{name!r} is {kinds[0]}"
        else:
            problem = f"{name!r} has a double underscore, which is reserved"
        remedy = "Choose another name, such as one with a number or a suffix."
        raise ArgumentError(problem, where=where, remedy=remedy)
    return name


def check_identifiers(names: Iterable[tuple[str, str]]) -> None:
    """Check identifiers that share one scope: (name, what it stands for) pairs."""
    taken: dict[str, str] = {}
    for name, meaning in names:
        check_identifier(name, meaning)
        if name in taken:
            problem = f"the name {name!r} is already taken by {taken[name]}"
            raise ArgumentError(problem, where=meaning, remedy="Give each its own name.")
        taken[name] = meaning


def identifier_of(text: str) -> str:
    """``text`` with everything an identifier cannot hold turned into underscores; may still be a
    keyword or empty.
    """
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return f"n{word}" if word[:1].isdigit() else word
