"""The table of control laws in the page on control: made from the laws that ship."""

from __future__ import annotations

import inspect
import re

from robot_dynamics_ros.control.laws import LAWS, gain_fields
from robot_dynamics_ros.control.laws.base import Law

_ABOVE = {"\u0307": r"\dot", "\u0308": r"\ddot"}
_SIGNS = {"−": "-", "ᵀ": r"^{\mathsf T}", "₀": "_0", "Δ": r"\Delta ", "τ": r"\tau "}


def equation_of(law: type[Law]) -> str:
    """Right side of the equation with which the law's description begins."""
    first = inspect.cleandoc(law.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    left, equals, right = first.partition(" = ")
    assert equals and left == "τ", f"the description of {law.__name__} begins with 'τ = …'"
    return right.partition(": ")[0].rstrip(".")


def latex_of(plain: str) -> str:
    """A formula of a docstring, ``M(q) (q̈_d + Kp e)``, in LaTeX: dots, indices and signs."""
    text = re.sub("(.)([\u0307\u0308])", lambda x: rf"{_ABOVE[x[2]]} {x[1]}", plain)
    # letters with a dot as one character, as ė is
    for dotted, bare in {"ė": "e", "ẋ": "x", "ṗ": "p", "ṙ": "r"}.items():
        text = text.replace(dotted, rf"\dot {bare}")
    for sign, latex in _SIGNS.items():
        text = text.replace(sign, latex)
    return re.sub(r"\bK([pdi])\b", r"K_\1", text)


def law_table() -> str:
    """Every law that ships, with the function of that name, its equation, and its gains."""
    rows = [r"| law | function | $\tau =$ | gains p, i, d |", "|---|---|---|---|"]
    for name, law in LAWS.items():
        fields = gain_fields(law)
        gains = ", ".join(f"`{fields[word]}`" if word in fields else "-" for word in "pid")
        rows.append(f"| `{law.__name__}` | `{name}` | ${latex_of(equation_of(law))}$ | {gains} |")
    return "\n".join(rows)
