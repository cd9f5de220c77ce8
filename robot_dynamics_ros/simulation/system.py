"""The equations of motion between two events: smooth, because it is settled which joints slide, stick or rest.

    M(q) q̈ = τ_motor + τ_springs + τ_stops + τ_user + Σ Jᵀ w − d v − σ F(|v|) − b(q, v),     q̈ = 0 at locked joints

with σ the sliding direction of each joint, held over a step.  Who slides and who is locked is decided by
:mod:`~robot_dynamics_ros.simulation.integrators.hybrid`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from robot_dynamics_ros.dynamics import kernel
from robot_dynamics_ros.errors import ArgumentError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import MotorTable
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates
from robot_dynamics_ros.simulation.effects.external_wrenches import OutsideWrenches
from robot_dynamics_ros.simulation.effects.friction import FrictionTable
from robot_dynamics_ros.simulation.effects.limits import StopTable
from robot_dynamics_ros.simulation.effects.springs import SpringTable

__all__ = ["JointSystem"]

_ORIGIN = np.zeros(3)


class JointSystem:
    """A :class:`~robot_dynamics_ros.simulation.integrators.runge_kutta.MechanicalSystem` made of a model and what acts on it.

    Attributes:
        command: (nv,) motor effort, or the voltage at joints with a motor, held over the step.
        wrenches: (link name, (6,) wrench, whether in world axes) acting from outside, held over the step.
        slip: (nv,) sliding direction −1, 0, +1.
        locked: numbers of the joints held at rest.
        twists: first numbers in ``v`` of the floating joints' twists.
    """

    def __init__(
        self,
        model: RobotModel,
        friction: FrictionTable,
        motors: MotorTable | None = None,
        springs: SpringTable | None = None,
        stops: StopTable | None = None,
        contacts: Sequence[Any] = (),
        user_effort: Callable[[float, Array, Array], Array] | None = None,
    ) -> None:
        self.model = model
        self.coordinates = Coordinates(model)
        self.twists = [iv for _, iv in self.coordinates.floating]
        self.nq, self.nv = model.nq, model.nv
        self.nz = 0 if motors is None else len(motors)
        self.friction, self.motors, self.springs, self.stops = friction, motors, springs, stops
        self.contacts, self.user_effort = tuple(contacts), user_effort
        self.command = np.zeros(self.nv)
        self.wrenches: list[tuple[str, Array, bool]] = []
        self.slip = np.zeros(self.nv)
        self.locked: np.ndarray = np.empty(0, dtype=np.intp)
        self._forward = kernel(model, "forward_dynamics")
        self._bias = kernel(model, "bias_forces")
        self._mass = kernel(model, "mass_matrix")
        self._M, self._b = np.empty((self.nv, self.nv)), np.empty(self.nv)
        self.outside = OutsideWrenches(model)
        self._jacobians: dict[str, Any] = {}
        self._J = np.empty((6, self.nv))
        self._poses: dict[str, Any] = {}
        self._pose = np.empty((4, 4))
        self._free: np.ndarray = np.arange(self.nv)
        self._identity = np.eye(self.nv)

    # -- what integrators ask ------------------------------------------------------------------------------------

    def derivative(self, t: float, y: Array, out: Array) -> None:
        """Write ẏ = [N(q) v; a; ż] to ``out``."""
        nq, nv = self.nq, self.nv
        q, v, z = y[:nq], y[nq : nq + nv], y[nq + nv :]
        self.coordinates.rates(q, v, out[:nq])
        if not self.coordinates.vector:
            q = q.copy()
            self.coordinates.normalize(q)
        a = out[nq : nq + nv]
        tau = self.applied_effort(t, q, v, z)
        if len(self.locked):
            a[:] = self._constrained(q, v, tau)
        else:
            self._forward(q, v, tau, a)
        if self.nz:
            assert self.motors is not None
            out[nq + nv :] = self.motors.rate(self.command[self.motors.index], v, z)

    def integrate(self, q: Array, dq: Array, out: Array) -> None:
        """Write q ⊕ dq to ``out``."""
        self.coordinates.integrate(q, dq, out)

    def normalize(self, y: Array) -> None:
        """Give the quaternions in ``y`` unit length, in place."""
        if not self.coordinates.vector:
            self.coordinates.normalize(y[: self.nq])

    def mass_matrix(self, q: Array) -> Array:
        """(nv, nv) M(q), in memory used again by the next call."""
        self._mass(q, self._M)
        return self._M

    def bias_forces(self, q: Array, v: Array) -> Array:
        """(nv,) b(q, v), in memory used again by the next call."""
        self._bias(q, v, self._b)
        return self._b

    def applied_effort(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """(nv,) everything on the right-hand side but the bias: motors, springs, stops, user, wrenches, friction."""
        tau = self.motor_effort(v, z) + self.passive_effort(t, q, v)
        tau -= self.friction.viscous * v
        if self.slip.any():
            sliding = self.slip != 0.0
            tau[sliding] -= self.slip[sliding] * self.friction.magnitude(v)[sliding]
        return tau

    # -- the parts -----------------------------------------------------------------------------------------------

    def motor_effort(self, v: Array, z: Array) -> Array:
        """(nv,) what the motors give: the command itself, or k_t i at joints with a DC motor."""
        tau = self.command.copy()
        if self.motors is not None:
            m = self.motors
            tau[m.index] = m.kt * m.current(self.command[m.index], v, z)
        return tau

    def passive_effort(self, t: float, q: Array, v: Array) -> Array:
        """(nv,) springs, compliant stops, user effort, contacts and outside wrenches."""
        tau = np.zeros(self.nv)
        if self.springs is not None or self.stops is not None:
            position = self.coordinates.positions(q)
            if self.springs is not None:
                tau += self.springs.effort(position, v)
            if self.stops is not None:
                tau += self.stops.effort(position, v)
        if self.user_effort is not None:
            tau += self._checked_user_effort(t, q, v)
        for link, wrench, in_world in self.wrenches:
            tau += self.wrench_effort(q, link, wrench, in_world)
        for contact in self.contacts:
            contact.add_effort(self, q, v, tau)
        return tau

    def jacobian(self, q: Array, link: str) -> Array:
        """(6, nv) Jacobian of a link in world axes, in memory used again by the next call."""
        run = self._jacobians.get(link)
        if run is None:
            run = self._jacobians[link] = kernel(
                self.model, "jacobian", link=self.model.link_index(link), frame="world"
            )
        run(q, _ORIGIN, self._J)
        return self._J

    def wrench_effort(self, q: Array, link: str, wrench: Array, in_world: bool) -> Array:
        """(nv,) Jᵀ w of a wrench on a link about its origin, in world or link axes."""
        if not in_world:
            return self.outside.effort(q, {link: wrench})
        out: Array = wrench @ self.jacobian(q, link)
        return out

    def energy(self, q: Array) -> float:
        """Elastic energy of springs, stops and contacts, J."""
        position = self.coordinates.positions(q)
        total = sum(part.energy(position) for part in (self.springs, self.stops) if part is not None)
        return float(total + sum(contact.energy(self, q) for contact in self.contacts))

    def external_wrenches(self, q: Array, v: Array) -> Mapping[str, Array]:
        """Link name → (6,) sum of outside and contact wrenches in link axes, as the dynamics functions take them."""
        total: dict[str, Array] = {}
        for link, wrench, in_world in self.wrenches:
            total[link] = total.get(link, 0.0) + (self.to_link(q, link, wrench) if in_world else wrench)
        for contact in self.contacts:
            wrench = contact.wrench(self, q, v)
            if wrench is not None:
                total[contact.link] = total.get(contact.link, 0.0) + self.to_link(q, contact.link, wrench)
        return total

    def pose(self, q: Array, link: str) -> Array:
        """(4, 4) pose of a link in the world, in memory used again by the next call."""
        run = self._poses.get(link)
        if run is None:
            run = self._poses[link] = kernel(self.model, "link_pose", link=self.model.link_index(link))
        run(q, self._pose)
        return self._pose

    def to_link(self, q: Array, link: str, wrench: Array) -> Array:
        """(6,) a wrench about a link's origin turned from world into link axes."""
        R = self.pose(q, link)[:3, :3]
        return np.concatenate((wrench[:3] @ R, wrench[3:] @ R))

    # -- locked joints -------------------------------------------------------------------------------------------

    def set_modes(self, slip: Array, locked: np.ndarray) -> None:
        """Settle who slides, which way, and who is locked."""
        self.slip = slip
        self.locked = locked
        if len(locked):
            free = np.ones(self.nv, dtype=bool)
            free[locked] = False
            self._free = np.flatnonzero(free)

    def _constrained(self, q: Array, v: Array, tau: Array) -> Array:
        a = np.zeros(self.nv)
        free = self._free
        if len(free):
            M = self.mass_matrix(q)[np.ix_(free, free)]
            a[free] = np.linalg.solve(M, (tau - self.bias_forces(q, v))[free])
        return a

    def reaction(self, t: float, q: Array, v: Array, z: Array) -> Array:
        """(nl,) effort that holds the locked joints at rest."""
        tau = self.applied_effort(t, q, v, z)
        a = self._constrained(q, v, tau)
        residual = self.mass_matrix(q) @ a + self.bias_forces(q, v) - tau
        out: Array = residual[self.locked]
        return out

    def free_acceleration(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, Array]:
        """(nv,) acceleration with nobody locked, and (nv, nv) M⁻¹."""
        tau = self.applied_effort(t, q, v, z)
        inverse = self.inverse_mass(self.mass_matrix(q))
        return inverse @ (tau - self.bias_forces(q, v)), inverse

    def inverse_mass(self, M: Array) -> Array:
        """(nv, nv) inverse of a symmetric positive definite matrix.

        Raises:
            SimulationError: it is not positive definite.
        """
        # LAPACK itself: SciPy's wrappers cost more than the work on matrices of this size.  Not potri, which OpenBLAS
        # spreads over threads however small the matrix: forty microseconds of waiting for two of work.
        factor, bad = dpotrf(M, lower=1)
        if bad:
            raise SimulationError(
                "the mass matrix is not positive definite",
                where=f"robot {self.model.name!r}",
                remedy="Check masses, inertias and armatures for negative or missing values.",
            )
        out: Array = dpotrs(factor, self._identity, lower=1)[0]
        return out

    def _checked_user_effort(self, t: float, q: Array, v: Array) -> Array:
        assert self.user_effort is not None
        tau = np.asarray(self.user_effort(t, q, v), dtype=np.float64)
        if tau.shape != (self.nv,) or not np.isfinite(tau).all():
            raise ArgumentError(
                f"must return {self.nv} finite efforts, returned {tau!r} at t = {t:g} s", where="user_effort", got=tau
            )
        return tau
