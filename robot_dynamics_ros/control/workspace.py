"""The memory of a control cycle, allocated once, and the compiled functions of the robot that laws call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["Kernels", "Workspace"]


@dataclass(frozen=True, slots=True)
class Kernels:
    """Allocation-free functions of one robot; arguments are contiguous float64 arrays, the last ones are written.

    Attributes:
        inverse_dynamics: (q, v, a, out_tau).
        inverse_dynamics_wrenches: (q, v, a, out_tau, out_wrenches).
        bias_forces: (q, v, out); C q̇ + g.
        gravity_forces: (q, out).
        mass_matrix: (q, out).
    """

    model: RobotModel
    inverse_dynamics: Callable[..., Any]
    inverse_dynamics_wrenches: Callable[..., Any]
    bias_forces: Callable[..., Any]
    gravity_forces: Callable[..., Any]
    mass_matrix: Callable[..., Any]

    @classmethod
    def of(cls, model: RobotModel) -> Kernels:
        """Get (and, the first time, compile) the kernels of a model.  Not for the control cycle."""
        import robot_dynamics_ros as rd

        names = ("inverse_dynamics", "inverse_dynamics_wrenches", "bias_forces", "gravity_forces", "mass_matrix")
        return cls(model, *(rd.kernel(model, name) for name in names))


@dataclass(slots=True)
class Workspace:
    """What a law reads (state, reference, errors) and where it may write in between.

    Attributes:
        kernels: of the robot as it is now, payload included.
        q, v: (n,) measured position and velocity.
        q_d, v_d, a_d: (n,) reference position, velocity, acceleration.
        e, ed: (n,) q_d − q the short way round, v_d − v.
        integral: (n,) ∫ e dt, held within limits by its owner.
        a: (n,) the acceleration that the efforts were computed for.
        tau: (n,) and wrenches: (nb, 6) results of the pass that a law makes through inverse dynamics, if it does.
        wrenches_current: whether ``wrenches`` were written by the present evaluation, for acceleration ``a``.
        want_wrenches: whether the law should have the wrenches computed on its way.
        s0, s1: (n,) and m: (n, n) scratch.
    """

    kernels: Kernels
    n: int
    nb: int
    q: Array = field(init=False)
    v: Array = field(init=False)
    reference: Array = field(init=False)
    q_d: Array = field(init=False)
    v_d: Array = field(init=False)
    a_d: Array = field(init=False)
    error: Array = field(init=False)
    e: Array = field(init=False)
    ed: Array = field(init=False)
    integral: Array = field(init=False)
    a: Array = field(init=False)
    tau: Array = field(init=False)
    wrenches: Array = field(init=False)
    s0: Array = field(init=False)
    s1: Array = field(init=False)
    m: Array = field(init=False)
    wrenches_current: bool = False
    want_wrenches: bool = False

    def __post_init__(self) -> None:
        n = self.n
        self.q, self.v, self.integral, self.a, self.tau, self.s0, self.s1 = (np.zeros(n) for _ in range(7))
        self.reference = np.zeros((3, n))
        self.q_d, self.v_d, self.a_d = self.reference
        self.error = np.zeros((2, n))
        self.e, self.ed = self.error
        self.wrenches = np.zeros((self.nb, 6))
        self.m = np.zeros((n, n))

    @classmethod
    def of(cls, model: RobotModel) -> Workspace:
        """A workspace for a fixed-base model of joints with one degree of freedom."""
        return cls(Kernels.of(model), model.nv, model.nb)

    def inverse_dynamics(self, out: Array) -> Array:
        """Efforts for the acceleration ``a`` at the measured state, the wrenches with them where wanted."""
        if self.want_wrenches:
            self.kernels.inverse_dynamics_wrenches(self.q, self.v, self.a, out, self.wrenches)
            self.wrenches_current = True
        else:
            self.kernels.inverse_dynamics(self.q, self.v, self.a, out)
        return out
