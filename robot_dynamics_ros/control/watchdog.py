"""Is the state fresh?  A state machine on times alone."""

from __future__ import annotations

import enum

from robot_dynamics_ros.errors import ArgumentError

__all__ = ["Arrival", "Freshness", "Watchdog"]


class Freshness(enum.Enum):
    """Whether the newest state can be trusted."""

    NONE = "none"  # nothing has arrived yet
    FRESH = "fresh"
    STALE = "stale"


class Arrival(enum.Enum):
    """Meaning of an arriving stamp."""

    FIRST = "first"
    NORMAL = "normal"
    STILL = "still"  # the same stamp again: a duplicate, or a clock that stands
    LATE = "late"  # a little older than the newest: messages overtook each other; to be ignored
    BACKWARDS = "backwards"  # older by more than the timeout: a simulation was reset, or a clock was set
    RECOVERED = "recovered"  # the first one after a gap longer than the timeout


class Watchdog:
    """Follows the stamps of a state that should arrive regularly.

    Attributes:
        timeout: ns without a new stamp after which the state is stale.
        last: newest stamp, ns, or ``None``.
        freshness: see :class:`Freshness`.
    """

    __slots__ = ("freshness", "last", "timeout")

    def __init__(self, timeout: int) -> None:
        if timeout <= 0:
            raise ArgumentError(
                f"expected a positive number of ns, got {timeout!r}",
                where="state_timeout",
                got=timeout,
                remedy="Some milliseconds more than the longest regular pause.",
            )
        self.timeout = int(timeout)
        self.last: int | None = None
        self.freshness = Freshness.NONE

    def arrive(self, t: int) -> Arrival:
        """A state with stamp ``t`` arrived."""
        last, was = self.last, self.freshness
        if last is not None and t <= last and last - t <= self.timeout:
            return Arrival.STILL if t == last else Arrival.LATE
        self.last, self.freshness = t, Freshness.FRESH
        if last is None:
            return Arrival.FIRST
        if t < last:
            return Arrival.BACKWARDS
        if was is Freshness.STALE or t - last > self.timeout:
            return Arrival.RECOVERED
        return Arrival.NORMAL

    def check(self, t: int) -> Freshness:
        """The freshness at time ``t``; time before the newest stamp does not age it."""
        if self.last is not None and t - self.last > self.timeout:
            self.freshness = Freshness.STALE
        return self.freshness

    def excuse(self, t: int) -> None:
        """The gap before the state with stamp ``t`` is not the state's fault: take the one before as just in time."""
        if self.last is not None and t - self.last > 0:
            self.last = max(self.last, t - self.timeout)

    def reset(self) -> None:
        """Forget everything."""
        self.last, self.freshness = None, Freshness.NONE
