"""Faults of joint states that make a good law swing: too rare for its gains, velocities that contradict positions, and a
speed far above the limits under the controller's own command.

A joint with the error equation ë + Kd ė + Kp e = 0, whose effort is held between states that are T apart, is stable for
Kd T < 2 and Kp T < 2 Kd only (Jury's criterion on the exact discretization of the double integrator).  So the gains are
lowered with the rate: Kd to σ Kd and Kp to σ² Kp keep the damping ratio, and σ Kd T ≤ 1 keeps half of the bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.arrays import real_array_or_nan
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array

__all__ = ["StateWatch", "gain_scale"]

NANOSECONDS = 1_000_000_000
#: Largest Kd T; half of what is stable.
LARGEST_PRODUCT = 1.0
#: s in which the gains come back after the states have become frequent again.
RECOVERY = 1.0
#: s over which motion counts when velocities are compared with positions.
MEMORY = 0.1
#: rad or m of motion in that time below which nothing is concluded.
LEAST_MOTION = 0.02
#: Share of the motion that velocities must account for; quantized and filtered ones are between 0.5 and 1.5.
LEAST_AGREEMENT = -0.3
#: Times the velocity limit, and states in a row, that are a fault.
TOO_FAST, IN_A_ROW = 1.5, 3
#: rad or m between two states that are no motion: a turn of a continuous joint, or another beginning.
JUMP = 1.0


def gain_scale(period: float, kd: float, kp: float = 0.0) -> float:
    """The factor σ ≤ 1 for Kd, σ² for Kp, with which a sampled joint stays well damped.

    Args:
        period: s between two joint states, delays included.
        kd: largest Kd, 1/s.  kp: largest Kp, 1/s²; where it is more than Kd² it counts in place of it.
    """
    rate = max(kd, math.sqrt(max(kp, 0.0)))
    return min(1.0, LARGEST_PRODUCT / (rate * period)) if rate * period > 0.0 else 1.0


class StateWatch:
    """Looks at every joint state.  Plain arithmetic on arrays made once: nothing here allocates more than scalars do.

    Args:
        names: of the joints, for messages.
        velocity_limit: (n,) rad/s or m/s; inf: none.
        kd, kp: (n,) gains of the accelerations, 1/s and 1/s²; of an effort law divided by the joint's inertia.

    Attributes:
        scale: σ of :func:`gain_scale` for the rate at which states come; falls at once, rises within a second.
        cause: ``"velocity_sign"`` or ``"too_fast"``, until :meth:`reset`; empty: no fault.
        reason: the same in a sentence; empty while there is no fault.

    Raises:
        ArgumentError: arrays that do not have one number a joint, or gains that are negative or not finite.
    """

    def __init__(self, names: Sequence[str], velocity_limit: Array, kd: Array, kp: Array) -> None:
        n = len(names)
        for name, values in (("velocity_limit", velocity_limit), ("kd", kd), ("kp", kp)):
            array = real_array_or_nan(values)
            if array.shape != (n,) or not (array >= 0.0).all() or (name != "velocity_limit" and np.isinf(array).any()):
                raise ArgumentError(
                    f"expected {n} numbers that are not negative, got {values!r}",
                    where=f"state watch, {name}",
                    got=values,
                    remedy="Give one for each joint.",
                )
        self.names = tuple(names)
        self._fastest = TOO_FAST * np.array(velocity_limit, dtype=np.float64)
        self.set_gains(kd, kp)
        self._q, self._v, self._step = np.zeros(n), np.zeros(n), np.zeros(n)
        self._moved, self._agreed, self._product = np.zeros(n), np.zeros(n), np.zeros(n)
        self.reset()

    def set_gains(self, kd: Array, kp: Array) -> None:
        """The gains have changed; arguments as of the class."""
        self._kd, self._kp = float(np.max(kd, initial=0.0)), float(np.max(kp, initial=0.0))

    def reset(self) -> None:
        """Forget the fault and all states, as after an activation or a new beginning."""
        self.scale, self.cause, self.reason = 1.0, "", ""
        self._last: int | None = None
        self._in_a_row = 0
        self._moved.fill(0.0)
        self._agreed.fill(0.0)

    def update(self, t: int, q: Array, v: Array, *, commanded: bool = True) -> bool:
        """Take a joint state.

        Args:
            t: its stamp, ns.  q, v: (n,) rad or m, rad/s or m/s; finite.
            commanded: whether the arm moves under this controller's effort; else a speed is not its fault.

        Returns:
            whether there is no fault.
        """
        if self._last is not None and t > self._last:
            period = (t - self._last) / NANOSECONDS
            scale = gain_scale(period, self._kd, self._kp)
            self.scale = min(scale, self.scale + period / RECOVERY)
            self._compare(period, q, v)
        self._last = t
        np.copyto(self._q, q)
        np.copyto(self._v, v)
        self._look_at_speed(v, commanded)
        return not self.cause

    def _compare(self, period: float, q: Array, v: Array) -> None:
        """Velocities with differences of positions: Σ v Δq against Σ Δq²/T, both fading."""
        step, product = self._step, self._product
        np.subtract(q, self._q, out=step)
        step[np.abs(step) > JUMP] = 0.0
        fade = math.exp(-period / MEMORY)
        np.add(self._v, v, out=product)
        product *= step
        product *= 0.5 * period
        self._agreed *= fade
        self._agreed += product
        step *= step
        self._moved *= fade
        self._moved += step
        # steps of one direction add up to the motion squared over their number
        steps = max(MEMORY / period, 1.0)
        contradicts = (self._moved * steps > LEAST_MOTION**2) & (self._agreed < LEAST_AGREEMENT * self._moved)
        if not self.cause and contradicts.any():
            name = self.names[int(np.argmax(contradicts))]
            self.cause = "velocity_sign"
            self.reason = f"the velocity of joint {name!r} is against its motion: its sign is wrong"

    def _look_at_speed(self, v: Array, commanded: bool) -> None:
        np.abs(v, out=self._product)
        fast = self._product > self._fastest
        self._in_a_row = self._in_a_row + 1 if commanded and fast.any() else 0
        if not self.cause and self._in_a_row >= IN_A_ROW:
            i = int(np.argmax(fast))
            self.cause = "too_fast"
            self.reason = (
                f"joint {self.names[i]!r} moves at {v[i]:.4g} under the controller's own command, more than {TOO_FAST:g} "
                "times its velocity limit"
            )
