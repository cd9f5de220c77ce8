"""Time stepping: one semi-implicit Euler step in which friction and stops act as impulses.

    (M + h D + h² K) (v₁ − v) = h (τ − b − h K v) + λ,        q₁ = q ⊕ h v₁

D and K are what is stiff: viscous friction, springs, engaged stops, contacts, the back-EMF of motors.  λ are the
impulses of dry friction, |λ| ≤ h F, and of rigid stops, λ ≥ 0, which together with v₁ solve a complementarity problem
(Stewart and Trinkle, Int. J. Num. Meth. Eng. 39, 1996; Anitescu, SIAM J. Optim. 16, 2006).  Nothing is located and
nothing can chatter: a joint that would reverse within the step rests at its end.  First order in h.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.effects.complementarity import boxed_lcp
from robot_dynamics_ros.simulation.system import JointSystem

__all__ = ["Stops", "TimeStepper"]


class Stops:
    """Rigid stops as (nv,) arrays.

    Attributes:
        lower, upper: infinite where there is none.
        restitution, rest_velocity: see :class:`~robot_dynamics_ros.simulation.effects.limits.RigidStops`.
        tolerance: distance below which a joint counts as touching.
        any: whether there is any stop.
    """

    def __init__(self, lower: Array, upper: Array, restitution: Array, rest_velocity: float) -> None:
        self.lower, self.upper, self.restitution, self.rest_velocity = lower, upper, restitution, rest_velocity
        finite = np.maximum(
            np.where(np.isfinite(lower), np.abs(lower), 0.0), np.where(np.isfinite(upper), np.abs(upper), 0.0)
        )
        self.tolerance = 1e-12 * (1.0 + finite)
        self.any = bool(np.isfinite(lower).any() or np.isfinite(upper).any())

    @classmethod
    def none(cls, nv: int) -> Stops:
        """No stops."""
        return cls(np.full(nv, -np.inf), np.full(nv, np.inf), np.zeros(nv), 1e-3)

    def touching(self, position: Array) -> tuple[np.ndarray, np.ndarray]:
        """(nv,), (nv,) which joints are at their lower and upper stop."""
        return position <= self.lower + self.tolerance, position >= self.upper - self.tolerance


class TimeStepper:
    """Advances a system by time stepping."""

    def __init__(self, system: JointSystem, stops: Stops) -> None:
        self.system, self.stops = system, stops

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
        system, friction = self.system, self.system.friction
        nq, nv = system.nq, system.nv
        q, v, z = y[:nq], y[nq : nq + nv], y[nq + nv :]
        y1 = y.copy()
        tau = system.passive_effort(t, q, v)
        tau -= friction.viscous * v
        diagonal = h * friction.viscous
        if system.motors is None:
            tau += system.command
        else:
            motors = system.motors
            current, mean, damping = motors.advance(system.command[motors.index], v, z, h)
            command = system.command.copy()
            command[motors.index] = motors.kt * mean
            tau += command
            diagonal[motors.index] += h * damping
            y1[nq + nv :] = current
        position = system.coordinates.positions(q)
        damped, stiffness = self._joint_stiffness(position)
        diagonal += h * damped

        M = system.mass_matrix(q)
        tau -= system.bias_forces(q, v)
        tau -= h * stiffness * v
        M.flat[:: nv + 1] += diagonal + h * h * stiffness
        if system.contacts:
            K, D = np.zeros((nv, nv)), np.zeros((nv, nv))
            for contact in system.contacts:
                contact.add_linear(system, q, v, K, D)
            tau -= h * (K @ v)
            M += h * D + (h * h) * K
        inverse = system.inverse_mass(M)
        v_free = v + inverse @ (h * tau)
        v1 = y1[nq : nq + nv]
        bound = h * friction.magnitude(v)
        v1[:], limit = self._resolve(position, v, v_free, inverse, bound, h)
        system.integrate(q, h * v1, y1[:nq])
        for iq, iv in system.coordinates.floating:
            _fly(q[iq : iq + 7], v[iv : iv + 6], y1[iq : iq + 7], v1[iv : iv + 6], h)
        self._hold_at_stops(y1, limit)
        return y1

    def _joint_stiffness(self, position: Array) -> tuple[Array, Array]:
        """(nv,), (nv,) damping and stiffness of springs and engaged stops."""
        system = self.system
        damping, stiffness = np.zeros(system.nv), np.zeros(system.nv)
        if system.springs is not None:
            damping += system.springs.d
            stiffness += system.springs.p
        if system.stops is not None:
            engaged = system.stops.engaged(position)
            damping += np.where(engaged, system.stops.damping, 0.0)
            stiffness += np.where(engaged, system.stops.stiffness, 0.0)
        return damping, stiffness

    def _hold_at_stops(self, y1: Array, limit: np.ndarray) -> None:
        """Put joints whose stop acted, and which rounding has carried through it, exactly on it."""
        where = self.system.coordinates.q_of_v
        for i in np.flatnonzero(limit):
            stop = self.stops.lower[i] if limit[i] < 0 else self.stops.upper[i]
            if limit[i] * (y1[where[i]] - stop) > -self.stops.tolerance[i]:
                y1[where[i]] = stop

    def _resolve(
        self, position: Array, v: Array, v_free: Array, inverse: Array, bound: Array, h: float
    ) -> tuple[Array, np.ndarray]:
        """Velocity after the step and, for every joint, −1 or +1 if its lower or upper stop acted.

        Args:
            position: (nv,) from where the new velocity moves the joints for a time ``h``.
            v, v_free: (nv,) velocity before the step, and after it without impulses.
            inverse: (nv, nv) velocity per impulse.
            bound: (nv,) largest friction impulse.
        """
        friction, stops = self.system.friction, self.stops
        nv = self.system.nv
        low, high, target = -bound, bound.copy(), np.zeros(nv)
        limit = np.zeros(nv, dtype=np.int8)
        v1 = v_free
        for _ in range(nv + 1):
            rows = (friction.dry | (limit != 0)).nonzero()[0]
            if len(rows):
                going = np.where(limit[rows] == 0, -np.sign(v[rows]), 0)  # what rests is likely to rest on
                x, w, side = boxed_lcp(
                    inverse if len(rows) == nv else inverse[rows[:, None], rows],
                    v_free[rows] - target[rows],
                    low[rows],
                    high[rows],
                    going,
                )
                v1 = v_free + inverse[:, rows] @ x
                v1[rows] = np.where(side == 0, 0.0, w) + target[rows]
            if not stops.any:
                break
            ahead = position + h * v1
            below = (ahead < stops.lower - stops.tolerance) & (limit == 0)
            above = (ahead > stops.upper + stops.tolerance) & (limit == 0)
            if not (below.any() or above.any()):
                break
            for i in np.flatnonzero(below | above):
                self._add_stop(int(i), -1 if below[i] else 1, position, v, h, bound, low, high, target, limit)
        return v1, limit

    def _add_stop(
        self,
        i: int,
        side: int,
        position: Array,
        v: Array,
        h: float,
        bound: Array,
        low: Array,
        high: Array,
        target: Array,
        limit: np.ndarray,
    ) -> None:
        """Turn joint i's friction row into one of friction and stop together."""
        stops = self.stops
        limit[i] = side
        gap = max(0.0, (position[i] - stops.lower[i]) if side < 0 else (stops.upper[i] - position[i]))
        room = stops.upper[i] - stops.lower[i] - gap
        back = stops.restitution[i] * side * v[i]
        # a rebound that would cross to the other stop within the step cannot be followed: the joint is caught instead
        rebounds = side * v[i] > stops.rest_velocity and 0.0 < h * back < room
        if rebounds:
            target[i] = -side * back
            friction_low, friction_high = 0.0, 0.0
        elif gap > stops.tolerance[i]:
            target[i] = side * gap / h  # arrive at the stop at the end of the step, sliding
            friction_low = friction_high = -side * bound[i]
        else:
            target[i] = 0.0
            friction_low, friction_high = -bound[i], bound[i]
        low[i], high[i] = (friction_low, np.inf) if side < 0 else (-np.inf, friction_high)


def _fly(pose: Array, twist: Array, pose1: Array, twist1: Array, h: float) -> None:
    """Let the origin of a floating body move in the axes of its joint frame, in place.

    A body's linear velocity is given in axes that turn with it.  Stepping those components as they are would let a
    spinning body gain speed, (1 + h² ω²)^½ in every step; stepping the vector itself keeps its momentum.
    """
    R, R1 = (Rotation.from_quat(p[3:]).as_matrix() for p in (pose, pose1))
    velocity = R @ (twist1[3:] + h * np.cross(twist[:3], twist[3:]))
    pose1[:3] = pose[:3] + h * velocity
    twist1[3:] = R1.T @ velocity
