"""Progress reports of long computations."""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[float, str], None]
"""Called with the share that is done, from 0 to 1, and what is done next."""


def silent(share: float, doing: str) -> None:
    """Report no progress."""


def part(tell: Tell, first: float, last: float) -> Tell:
    """For a step of a computation, which is the stretch from ``first`` to ``last`` of the whole."""
    return lambda share, doing: tell(first + share * (last - first), doing)
