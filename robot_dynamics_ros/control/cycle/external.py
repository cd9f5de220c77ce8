"""Known wrenches on links, fed forward until they are too old."""

from __future__ import annotations

from collections.abc import Sequence

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.per_joint import vector


class ExternalWrenches:
    """The wrenches [moment; force] that the surroundings exert on links, about their origins, in their frames.

    Attributes:
        timeout: ns after which a wrench is forgotten.
        values: link → (6,) wrench.
    """

    __slots__ = ("_since", "timeout", "values")

    def __init__(self, timeout: int) -> None:
        self.timeout = timeout
        self.values: dict[str, Array] = {}
        self._since: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self.values)

    def set(self, link: str, wrench: Sequence[float] | None, t: int) -> bool:
        """Take a wrench, or with ``None`` forget it.  True if one appeared or disappeared.

        Raises:
            ArgumentError: not six finite numbers.
        """
        if wrench is None:
            self._since.pop(link, None)
            return self.values.pop(link, None) is not None
        array = vector(
            wrench, 6, f"external wrench on {link!r}", remedy="Use [moment; force], N m and N, in its frame."
        )
        new = link not in self.values
        self.values[link], self._since[link] = array, t
        return new

    @property
    def due(self) -> int:
        """When the oldest is too old, ns; there must be one."""
        return min(self._since.values()) + self.timeout + 1

    def expire(self, t: int) -> list[str]:
        """Forget what is too old at ``t``; returns the links."""
        old = [link for link, since in self._since.items() if t - since > self.timeout]
        for link in old:
            del self.values[link], self._since[link]
        return old

    def clear(self) -> None:
        """Forget all."""
        self.values.clear()
        self._since.clear()
