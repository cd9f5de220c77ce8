"""The table of control laws in the page on control: made from the laws that ship."""

from __future__ import annotations

import inspect

from robot_dynamics_ros.control.laws import LAWS, gain_fields
from robot_dynamics_ros.control.laws.base import Law


def equation_of(law: type[Law]) -> str:
    """Right side of the equation with which the law's description begins."""
    first = inspect.cleandoc(law.__doc__ or "").split("\n\n")[0].replace("\n", " ")
    left, equals, right = first.partition(" = ")
    assert equals and left == "τ", f"the description of {law.__name__} begins with 'τ = …'"
    return right.partition(": ")[0].rstrip(".")


def law_table() -> str:
    """Every law that ships, with the function of that name, its equation, and its gains."""
    rows = ["| law | function | τ = | gains p, i, d |", "|---|---|---|---|"]
    for name, law in LAWS.items():
        fields = gain_fields(law)
        gains = ", ".join(f"`{fields[word]}`" if word in fields else "-" for word in "pid")
        rows.append(f"| `{law.__name__}` | `{name}` | {equation_of(law)} | {gains} |")
    return "\n".join(rows)
