"""External efforts without a sensor: generalized-momentum observer, collision flag.

With p = M(q) v and M v̇ + C v + g + F = τ + τ_ext, momentum changes as ṗ = τ + τ_ext − F + Cᵀ v − g.  The observer
integrates the known terms; the difference from the true momentum gives the estimate.

Source: De Luca, Albu-Schäffer, Haddadin, Hirzinger, IROS 2006; Haddadin, De Luca, Albu-Schäffer, IEEE T-RO 33 (2017).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.kernels import Kernels
from robot_dynamics_ros.control.per_joint import per_joint
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["CollisionMonitor", "MomentumObserver"]


class MomentumObserver:
    """Estimate of the efforts at the joints that the model does not explain.

    The estimate follows the true external effort through a first-order low-pass per joint, r + ṙ/K = τ_ext: 63 % of a
    step after 1/K s.  No acceleration and no inverse of the mass matrix is needed.

    Attributes:
        gain: (n,) K, 1/s.
        friction: known friction, subtracted if given.
        effort: (n,) the estimate, positive along the joint's positive direction, N m or N.
    """

    def __init__(self, model: RobotModel, gain: Any = 50.0, friction: Friction | None = None) -> None:
        """Allocate.

        Raises:
            ArgumentError: a gain that is not positive and finite, or of the wrong length.
        """
        n = model.nv
        self.gain = per_joint(gain, n, "observer gain", positive=True)
        self.friction = friction
        self.effort = np.zeros(n)
        self._sum, self._before = np.zeros(n), np.zeros(n)
        self._p, self._known = np.zeros(n), np.zeros(n)
        self._started = False

    def reset(self) -> None:
        """Start afresh with a zero estimate."""
        self.effort[:] = 0.0
        self._started = False

    def rebase(self) -> None:
        """Go on with the estimate as it is although the robot's model changes."""
        self._started = False

    def update(self, kernels: Kernels, q: Array, v: Array, tau: Array, dt: float) -> Array:
        """Take the next state.

        Args:
            kernels: of the robot.
            q, v: (n,) measured position and velocity.
            tau: (n,) motor effort that acted since the state before.
            dt: s since then; at the first call it plays no part.

        Returns:
            (n,) ``effort``.
        """
        p, known = self._p, self._known
        kernels.generalized_momentum(q, v, p, known)
        if self.friction is not None:
            known -= self.friction.effort(v)  # Cᵀ v − g − F
        if not self._started:
            self._sum = p - self.effort / self.gain
            self._started = True
        elif dt > 0.0:
            self._sum += dt * (tau + 0.5 * (known + self._before))
            # r = K (p − sum − ∫r), the newest r included: stable for any dt
            np.multiply(p - self._sum, self.gain / (1.0 + self.gain * dt), out=self.effort)
            self._sum += dt * self.effort
        self._before[:] = known
        return self.effort


class CollisionMonitor:
    """A collision flag: rises when an external effort stays above its threshold, falls when all are below half of it.

    Attributes:
        threshold: (n,) N m or N; infinite: the joint is not watched.
        delay: s that an effort must stay above.
        flag: whether a collision is seen.
        joint: index of the joint that raised the flag last, or −1.
    """

    __slots__ = ("_above", "delay", "flag", "joint", "threshold")

    def __init__(self, model: RobotModel, threshold: Any, delay: float = 0.0) -> None:
        """Raises ArgumentError for a threshold that is not positive, or of the wrong length."""
        self.threshold = per_joint(threshold, model.nv, "collision threshold", positive=True, infinite=True)
        self.delay = float(delay)
        self._above = 0.0
        self.flag = False
        self.joint = -1

    def reset(self) -> None:
        """Lower the flag."""
        self.flag, self._above, self.joint = False, 0.0, -1

    def update(self, effort: Array, dt: float) -> bool:
        """Take the next estimate, ``dt`` s after the one before; True in the cycle in which the flag rises."""
        ratio = np.abs(effort) / self.threshold
        worst = int(np.argmax(ratio))
        if self.flag:
            self.flag = bool(ratio[worst] > 0.5)
            self._above = 0.0
            return False
        self._above = self._above + dt if ratio[worst] > 1.0 else 0.0
        if ratio[worst] > 1.0 and self._above >= self.delay:
            self.flag, self.joint = True, worst
            return True
        return False
