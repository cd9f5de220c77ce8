"""Arguments of a control law: state, reference, errors, and the robot's dynamics at that state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.memory import cycle_memory
from robot_dynamics_ros.control.cycle.reference import compute_errors
from robot_dynamics_ros.control.kernels import Kernels, LinkKernels, check_controllable
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel


class Workspace:
    """State and reference of the present cycle, and the robot's dynamics there.

    Attributes:
        kernels: of the robot as it is now, payload included.
        q, v: (n,) measured position and velocity.
        reference: (3, n), with the rows ``q_d``, ``v_d``, ``a_d``: desired position, velocity, acceleration.
        error: (2, n), with the rows ``e`` = q_d − q the short way round, ``ed`` = v_d − v.
        z: (n,) ∫ e dt, kept within limits by its owner.
        a: (n,) the acceleration that the law asked the robot for.
        wrenches: (joints, 6) [moment; force] of the joints for ``a``.
        want_wrenches: whether :meth:`inverse_dynamics` computes them on its way.
        memory: the cycle's memory, in which all these arrays lie.
        compiled: whether compiled code can work on it.
    """

    def __init__(self, model: RobotModel, *, estimates: bool = True) -> None:
        check_controllable(model)
        n = self.n = model.nv
        self.kernels = Kernels(model, estimates=estimates)
        self.memory, self.compiled = memory, _ = cycle_memory(model, estimates=estimates)
        self.q, self.v, self.z, self.a = (memory[name] for name in ("q", "v", "z", "a"))
        self.reference = memory["reference"]
        self.q_d, self.v_d, self.a_d = self.reference
        self.error = memory["error"]
        self.e, self.ed = self.error
        self.wrenches = memory["wrenches"]
        self._tau, self._g, self._M = np.zeros(n), np.zeros(n), np.zeros((n, n))
        self.want_wrenches = False

    @property
    def model(self) -> RobotModel:
        """The robot as it is now, payload included."""
        return self.kernels.model

    def set(self, q: ArrayLike, v: ArrayLike, q_d: ArrayLike, v_d: ArrayLike, a_d: ArrayLike) -> Workspace:
        """Load a state and a reference, each (n,), and compute the errors."""
        self.q[:], self.v[:] = q, v
        self.q_d[:], self.v_d[:], self.a_d[:] = q_d, v_d, a_d
        compute_errors(self.memory.python)
        return self

    # -- the robot at the present state; results are overwritten by the next call --------------------------------

    def inverse_dynamics(self, a: Array) -> Array:
        """(n,) M(q) a + C(q, q̇) q̇ + g(q) at the measured state, the wrenches with it where wanted."""
        np.copyto(self.a, a)
        if self.want_wrenches:
            self.kernels.inverse_dynamics_wrenches(self.q, self.v, self.a, self._tau, self.wrenches)
        else:
            self.kernels.inverse_dynamics(self.q, self.v, self.a, self._tau)
        return self._tau

    def inverse_dynamics_of_reference(self) -> Array:
        """(n,) M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d)."""
        self.kernels.inverse_dynamics(self.q_d, self.v_d, self.a_d, self._tau)
        return self._tau

    def gravity_forces(self) -> Array:
        """(n,) g(q) at the measured position."""
        self.kernels.gravity_forces(self.q, self._g)
        return self._g

    def mass_matrix(self) -> Array:
        """(n, n) M(q) at the measured position."""
        self.kernels.mass_matrix(self.q, self._M)
        return self._M

    def link(self, name: str) -> LinkKernels:
        """Jacobian and pose of a link."""
        return self.kernels.link(name)
