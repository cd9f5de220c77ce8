"""The joint wrenches of a cycle, for the acceleration that is asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.model.description import Array


class Differentiator:
    """Derivative of the velocity through a first-order low-pass; its delay is 1 / (2π cutoff).

    Attributes:
        value: (n,) filtered acceleration.
    """

    __slots__ = ("_previous", "_time_constant", "started", "value")

    def __init__(self, n: int, cutoff: float) -> None:
        self.value = np.zeros(n)
        self._previous = np.zeros(n)
        self._time_constant = 1.0 / (2.0 * math.pi * cutoff)
        self.started = False

    def update(self, v: Array, dt: float) -> Array:
        """Take the next velocity, ``dt`` s after the one before."""
        if self.started and dt > 0.0:
            self.value += dt / (dt + self._time_constant) * ((v - self._previous) / dt - self.value)
        np.copyto(self._previous, v)
        self.started = True
        return self.value

    def reset(self) -> None:
        """Start afresh from zero."""
        self.started = False
        self.value[:] = 0.0


class WrenchPass:
    """Computes wrenches where the law's own pass did not already.

    Attributes:
        source: as ``ControllerOptions.wrench_acceleration``.
        acceleration: (n,) the acceleration that the wrenches belong to.
    """

    def __init__(self, n: int, source: str, cutoff: float) -> None:
        self.source = source
        self.acceleration = np.zeros(n)
        self._differentiator = Differentiator(n, cutoff)
        self._net, self._tau = np.zeros(n), np.zeros(n)

    def reset(self) -> None:
        """Time goes by without calls, or the motion is a new one."""
        if self._differentiator.started:
            self._differentiator.reset()

    def compute(
        self,
        work: Workspace,
        tau: Array,
        altered: bool,
        measured: Array | None,
        friction: Friction | None,
        external: Mapping[str, Array],
        dt: float,
    ) -> None:
        """Fill ``work.wrenches``.

        Args:
            tau: (n,) effort after the guards; ``altered``: whether it is no longer the law's own.
            measured: (n,) measured effort or ``None``.
            friction: what the motors spend in the joints before it reaches the links.
            external: known wrenches on links.
            dt: s since the cycle before.
        """
        a = self.acceleration
        differentiated = self._differentiator.update(work.v, dt) if self.source == "differentiated" else None
        if self.source == "reference":
            np.copyto(a, work.a_d)
        elif differentiated is not None:
            np.copyto(a, differentiated)
        elif self.source == "commanded" and work.wrenches_current and not altered and not external:
            np.copyto(a, work.a)
            return
        else:
            effort = measured if self.source == "measured_effort" and measured is not None else tau
            np.copyto(self._net, effort)
            if friction is not None:
                self._net -= friction.effort(work.v)
            if external:
                self._net += work.kernels.efforts_of(work.q, external)
            work.kernels.forward_dynamics(work.q, work.v, self._net, a)
        if external:
            kernels = work.kernels
            kernels.loaded_inverse_dynamics(work.q, work.v, a, kernels.gather(external), self._tau, work.wrenches)
        else:
            work.kernels.inverse_dynamics_wrenches(work.q, work.v, a, self._tau, work.wrenches)
