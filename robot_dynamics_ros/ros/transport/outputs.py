"""Topics that follow a control cycle: one protocol, and nothing done for topics that nobody listens to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Output", "Outputs", "RateDivider"]


class Output(Protocol):
    """One topic or several that belong together.

    Attributes:
        wanted: whether somebody listens; brought up to date by :meth:`look_for_listeners`.
    """

    wanted: bool

    def look_for_listeners(self) -> None:
        """Ask the middleware who listens; it costs more than a cycle should spend, so a timer calls it."""
        ...

    def publish(self, stamp: int) -> None:
        """Publish what belongs to the state of time ``stamp``, ns."""
        ...

    def destroy(self) -> None:
        """Take the publishers down."""
        ...


class RateDivider:
    """Lets every ``divisor``-th cycle pass, the first one too.

    Attributes:
        divisor: may be changed; the new one counts from the next cycle that passes.
    """

    def __init__(self, divisor: int) -> None:
        self.divisor = divisor
        self._countdown = 1

    def due(self) -> bool:
        """Count a cycle; whether it passes."""
        self._countdown -= 1
        if self._countdown > 0:
            return False
        self._countdown = self.divisor
        return True


class Outputs:
    """Several outputs as one.

    Args:
        outputs: the outputs.
        divisor: publish with every ``divisor``-th cycle.

    Attributes:
        rate: the divider, whose divisor may be changed.
    """

    def __init__(self, outputs: Sequence[Output], divisor: int = 1) -> None:
        self.rate = RateDivider(divisor)
        self._all = list(outputs)
        self._wanted: list[Output] = []

    @property
    def wanted(self) -> bool:
        """Whether somebody listens to any of them."""
        return bool(self._wanted)

    def look_for_listeners(self) -> None:
        """See :meth:`Output.look_for_listeners`."""
        for output in self._all:
            output.look_for_listeners()
        self._wanted = [output for output in self._all if output.wanted]

    def publish(self, stamp: int) -> None:
        """Publish those that are wanted."""
        if not self._wanted or not self.rate.due():
            return
        for output in self._wanted:
            output.publish(stamp)

    def destroy(self) -> None:
        """See :meth:`Output.destroy`."""
        for output in self._all:
            output.destroy()
        self._all, self._wanted = [], []
