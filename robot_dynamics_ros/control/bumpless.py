"""Changing law, gains or payload without a step in the effort."""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array

__all__ = ["Blend"]


class Blend:
    """Fades the difference between the effort before and after a change out over ``duration``.

    At the first cycle after :meth:`start` the effort is the one of the cycle before; from there the difference goes to
    zero along a cosine, which starts and ends without a kink.

    Attributes:
        duration: ns; 0 switches at once.
    """

    __slots__ = ("_offset", "_pending", "_start", "active", "duration")

    def __init__(self, n: int, duration: int) -> None:
        self.duration = duration
        self._offset = np.zeros(n)
        self._start = 0
        self._pending = False
        self.active = False

    def start(self) -> None:
        """The next effort comes from something else than the last."""
        self._pending = self.active = self.duration > 0

    def cancel(self) -> None:
        """Fade no longer."""
        self._pending = self.active = False

    def apply(self, t: int, tau: Array, previous: Array) -> None:
        """Change ``tau`` (n,) in place.

        Args:
            t: ns.
            previous: (n,) effort of the cycle before.
        """
        if not self.active:
            return
        if self._pending:
            np.subtract(previous, tau, out=self._offset)
            self._start, self._pending = t, False
        x = (t - self._start) / self.duration
        if x >= 1.0 or x < 0.0:
            self.active = False
            return
        tau += self._offset * (0.5 + 0.5 * np.cos(np.pi * x))
