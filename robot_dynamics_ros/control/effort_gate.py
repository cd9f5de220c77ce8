"""A second line of safety between any controller and a driver, which may hold the last effort for
ever: only fresh, finite and bounded efforts pass, others are replaced by a safe one.  The node
``effort_gate`` translates messages into calls of it.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.reference.trajectory import NANOSECONDS
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.per_joint import expect, per_joint

# Share that is kept, from state to state, of whether ways and velocities agree
AGREEMENT_KEPT = 0.95


class GateState(enum.Enum):
    """State of the gate."""

    # no good command has arrived yet: the safe command is sent
    WAITING = "waiting"
    # commands pass
    OPEN = "open"
    # commands have stopped arriving, or the gate was held up: the safe command until the next good
    # one
    STALE = "stale"
    # a violation was seen: the safe command is sent until EffortGate.reset
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class GateSettings:
    """Bounds of an :class:`EffortGate`; arrays are (n,) in the order of the joints.

    Attributes:
        effort_limit: largest effort, N m or N; finite.
        effort_rate: largest change of the effort, N m/s or N/s; inf: any.
        velocity_limit: largest measured speed, rad/s or m/s; a faster joint stops the gate; inf:
            any.
        braking: effort per speed while braking, N m s/rad or N s/m; zero: the effort drops to zero.
        command_timeout: s without a good command after which the safe command is sent.
        state_timeout: s after which a measured velocity is too old to brake with.
        clip: an effort beyond its limit or rate is cut to it; otherwise it stops the gate.
    """

    effort_limit: Array
    effort_rate: Array
    velocity_limit: Array
    braking: Array
    command_timeout: float = 0.1
    state_timeout: float = 0.1
    clip: bool = True

    def __post_init__(self) -> None:
        n = len(np.atleast_1d(self.effort_limit))
        for name in ("effort_limit", "effort_rate", "velocity_limit", "braking"):
            bounded = name in ("effort_limit", "braking")
            value = getattr(self, name)
            remedy = "Give one for each joint" + (
                ", also where the description has none." if bounded else "."
            )
            array = per_joint(value, n, f"effort gate, {name}", infinite=not bounded, remedy=remedy)
            object.__setattr__(self, name, array)
        for name, value in (
            ("command_timeout", self.command_timeout),
            ("state_timeout", self.state_timeout),
        ):
            expect(
                0.0 < value < math.inf,
                "a positive and finite time in s",
                value,
                f"effort gate, {name}",
            )


class EffortGate:
    """Decides for each command whether it passes; ``names``: of the joints, in the order of the
    arrays, for messages.

    ``state``: a :class:`GateState`; ``reason``: a sentence why the gate is not open, or "";
    ``output``: (n,) the effort to send, overwritten by the next call; ``counts``: cause → how
    often. Times are integers in nanoseconds of one steady clock. Nothing here locks: calls belong
    to one thread.
    """

    def __init__(self, settings: GateSettings, names: Sequence[str]) -> None:
        n = len(names)
        bounds = len(settings.effort_limit)
        expect(bounds == n, f"bounds of {n} joints", bounds, "effort gate", f"Give {n}.")
        self.settings = settings
        self.names = tuple(names)
        self.state = GateState.WAITING
        self.reason = "no command has arrived yet"
        self.output = np.zeros(n)
        self.counts: Counter[str] = Counter()
        self._velocity, self._position, self._agreement = np.zeros((3, n))
        self._measured: int | None = None
        self._last: int | None = None
        self._called: int | None = None
        self._distrust_until = 0

    def command(self, t: int, effort: Array) -> bool:
        """Whether a command of time ``t``, (n,) N m or N, passes, cut to the bounds if need be:
        ``output`` is then to be sent.  One that is not finite is dropped, or has waited while the
        gate was held up: the one before stands until ``command_timeout``.
        """
        self._notice_standstill(t)
        if self.state is GateState.STOPPED:
            self.counts["refused_while_stopped"] += 1
            return False
        if t < self._distrust_until:
            self.counts["held_up"] += 1
            return False
        if not np.isfinite(effort).all():
            self.counts["not_finite"] += 1
            return False
        s = self.settings
        if self._last is None:
            elapsed = s.command_timeout
        else:
            elapsed = (t - self._last) / NANOSECONDS
        # not zero: no bound (inf) over no time must stay no bound
        rate = s.effort_rate * min(max(elapsed, 1e-9), s.command_timeout)
        new = np.clip(effort, -s.effort_limit, s.effort_limit)
        change = new - self.output
        for cause, exceeds, what in (
            ("effort_limit", np.abs(effort) > s.effort_limit, "beyond its limit"),
            ("effort_rate", np.abs(change) > rate, "changed faster than allowed"),
        ):
            if exceeds.any():
                if not s.clip:
                    i = int(np.argmax(exceeds))
                    self.stop(
                        t, cause, f"the effort {effort[i]:.6g} of joint {self.names[i]!r} is {what}"
                    )
                    return False
                self.counts[cause] += 1
        self.output += np.clip(change, -rate, rate)
        self._last = t
        self.state = GateState.OPEN
        self.reason = ""
        return True

    def measured(self, t: int, velocity: Array, position: Array | None = None) -> bool:
        """Take the measured velocity, (n,) rad/s or m/s; what is not finite is ignored.  False if
        it stops the gate.  With the ``position``, (n,) rad or m, no joint is braked that moves
        against its velocity: that would drive it.
        """
        self._notice_standstill(t)
        if not np.isfinite(velocity).all():
            self.counts["velocity_not_finite"] += 1
            return True
        self._velocity[:] = velocity
        if position is not None:
            way = position - self._position if self._measured is not None else 0.0
            self._agreement = AGREEMENT_KEPT * self._agreement + way * velocity
            self._position[:] = position
        self._measured = t
        self._distrust_until = 0
        exceeds = np.abs(velocity) > self.settings.velocity_limit
        if self.state is not GateState.STOPPED and exceeds.any():
            i = int(np.argmax(exceeds))
            self.stop(
                t,
                "velocity_limit",
                f"joint {self.names[i]!r} moves at {velocity[i]:.4g}, faster than allowed",
            )
            return False
        return True

    def check(self, t: int) -> bool:
        """To be called many times a second: whether the safe command, then in ``output``, must be
        sent at time ``t``.
        """
        self._notice_standstill(t)
        if self.state is GateState.OPEN:
            assert self._last is not None
            age = (t - self._last) / NANOSECONDS
            if age <= self.settings.command_timeout:
                return False
            self.counts["stale_command"] += 1
            self.state = GateState.STALE
            self.reason = f"no good command for {age:.3g} s"
        self._safe(t)
        return True

    def speed_is_known(self, t: int) -> bool:
        """Whether velocities have been measured within ``state_timeout``."""
        return (
            self._measured is not None
            and t - self._measured <= self.settings.state_timeout * NANOSECONDS
        )

    def stop(self, t: int, cause: str, reason: str) -> None:
        """Stop passing commands until :meth:`reset`; ``output`` becomes the safe command."""
        self.counts[cause] += 1
        self.state = GateState.STOPPED
        self.reason = reason
        self._safe(t)

    def reset(self) -> None:
        """Pass commands again from the next good one on; the effort starts from the last one sent,
        within the rate.
        """
        if self.state is GateState.STOPPED:
            self.state = GateState.WAITING
            self.reason = "reset: waiting for a command"
            self._last = None

    def _notice_standstill(self, t: int) -> None:
        """Close if nobody has called for ``command_timeout``: this process was halted, and what has
        waited for it is old.  Commands are dropped until a velocity has been measured, at most for
        ``state_timeout``.
        """
        if self._called is None:
            apart = 0.0
        else:
            apart = (t - self._called) / NANOSECONDS
        self._called = t
        if apart > self.settings.command_timeout and self.state is GateState.OPEN:
            self.counts["stale_command"] += 1
            self.state = GateState.STALE
            self.reason = f"the gate itself was held up for {apart:.3g} s"
            self._distrust_until = t + int(self.settings.state_timeout * NANOSECONDS)
            self._safe(t)

    def _safe(self, t: int) -> None:
        self.output[:] = 0.0
        limit = self.settings.effort_limit
        if self.speed_is_known(t):
            braking = np.where(self._agreement < 0.0, 0.0, -self.settings.braking * self._velocity)
            np.clip(braking, -limit, limit, out=self.output)
