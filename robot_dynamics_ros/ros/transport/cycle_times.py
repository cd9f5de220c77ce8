"""How regularly a cycle runs."""

from __future__ import annotations

from robot_dynamics_ros.ros.transport.diagnostics import Window

_TOLERANCE = 0.1


class CycleTimes:
    """Counts cycles, and those that came a period after the one before, give or take a tenth.

    Args:
        period: intended, ns of the steady clock.

    Attributes:
        count, regular: since the start.
    """

    def __init__(self, period: int) -> None:
        self._period = period
        self._slack = round(_TOLERANCE * period)
        self._last = 0
        self._window = Window()
        self.count = self.regular = 0

    def add(self, now: int) -> None:
        """A cycle has run at time ``now``, ns."""
        if self._last:
            between = now - self._last
            self.count += 1
            self.regular += abs(between - self._period) <= self._slack
            self._window.add(between * 1e-6)
        self._last = now

    def interrupt(self) -> None:
        """The next cycle does not follow on the last one."""
        self._last = 0

    def values(self) -> dict[str, float | int]:
        """Values for the diagnostics."""
        shown: dict[str, float | int] = {"cycles": self.count, "cycles within 10 % of the period": self.regular}
        for label, value in zip(("median", "p99", "max"), self._window.percentiles(50, 99, 100), strict=True):
            shown[f"period {label} [ms]"] = value
        return shown
