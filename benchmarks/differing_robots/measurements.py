"""Robots whose driver spoils what they measure: published twice, late by chance, coarse, or wrong
now and then.
"""

from __future__ import annotations

import numpy as np

from benchmarks.differing_robots.robot import BenchRobot

__all__ = ["MEASUREMENTS"]

State = tuple[np.ndarray, np.ndarray]


class Repeated(BenchRobot):
    """A share of the states is the one before, with a new stamp."""

    share = 0.02

    def measured(self) -> State:
        state = super().measured()
        if not hasattr(self, "before") or not self.repeats():
            self.before = state
        return self.before

    def repeats(self) -> bool:
        return bool(self._rng.uniform() < self.share)


class HalfRate(Repeated):
    """The robot measures half as often as it publishes."""

    count = 0

    def repeats(self) -> bool:
        self.count += 1
        return self.count % 2 == 0


class OwnClocks(BenchRobot):
    """Each joint repeats one measurement in twenty on its own, as on a bus."""

    def measured(self) -> State:
        q, v = super().measured()
        if hasattr(self, "before"):
            old = self._rng.uniform(size=len(q)) < 0.05
            q = np.where(old, self.before[0], q)
            v = np.where(old, self.before[1], v)
        self.before = q, v
        return q, v


class Jitter(BenchRobot):
    """Positions are from up to 0.3 periods before or after their stamp."""

    def measured(self) -> State:
        q, v = super().measured()
        return q + self.v * self._rng.uniform(-0.3, 0.3) * self.period, v


class Coarse(BenchRobot):
    """Encoders of 14 bits."""

    bits = 14

    def measured(self) -> State:
        q, v = super().measured()
        digit = 2.0 * np.pi / 2**self.bits
        return digit * np.round(q / digit), v


class Coarser(Coarse):
    """Encoders of 12 bits: 1.5 mrad."""

    bits = 12


class Outliers(BenchRobot):
    """One state in 500 has a joint that is 3 mrad off."""

    def measured(self) -> State:
        q, v = super().measured()
        if self._rng.uniform() < 0.002:
            q = q.copy()
            q[self._rng.integers(len(q))] += self._rng.choice([-3e-3, 3e-3])
        return q, v


MEASUREMENTS = {
    "not spoiled": BenchRobot,
    "one state in 50 published twice": Repeated,
    "each state published twice": HalfRate,
    "each joint on its own, one in 20 twice": OwnClocks,
    "stamps off by up to 0.3 periods": Jitter,
    "encoders of 14 bits": Coarse,
    "encoders of 12 bits": Coarser,
    "one state in 500 off by 3 mrad": Outliers,
}
