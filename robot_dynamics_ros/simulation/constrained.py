"""A simulated robot with closed loops: time stepping on what the constraints allow.

    M(q_m) (v₁ − v) = h (τ − b)(q_m, v_m) + Kᵀ Λ + p,    K(q_m) (v + v₁) = 0,    q_m = q ⊕ ½ h v,    q₁ = q_m ⊕ ½ h v₁

with Λ the impulses of the constraints and p those of dry friction and rigid stops, which solve a complementarity problem
on the constrained robot.  The midpoint multiplier does no work; what is left of φ(q₁) and K(q₁) v₁, of second order, is
taken off in every step by a projection in the metric of the mass matrix, so that nothing drifts.  Second order where
nothing sticks or strikes (Hairer, Lubich and Wanner, *Geometric Numerical Integration*, 2006, sections IV.4 and VII.1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics import inverse_dynamics, kernel, kinetic_energy, potential_energy
from robot_dynamics_ros.dynamics.constraints import Constraints
from robot_dynamics_ros.dynamics.external_wrenches import body_wrenches
from robot_dynamics_ros.dynamics.wrenches import joint_wrenches
from robot_dynamics_ros.errors import ArgumentError, ConstraintError, SimulationError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.coordinates import Coordinates, per_joint, position_bounds
from robot_dynamics_ros.simulation.effects.friction import JointFriction, friction_table
from robot_dynamics_ros.simulation.plant_arguments import PlantArguments

__all__ = ["ConstrainedPlant"]

RANK = 1e-10
"""Eigenvalues of K M⁻¹ Kᵀ below this part of the largest belong to rows that depend on others."""


class ConstrainedPlant:
    """A robot with closed loops that moves; used as :class:`~robot_dynamics_ros.simulation.plant.Plant` is.

    >>> import robot_dynamics_ros as rd
    >>> arm = rd.limb(3, lengths=[1.0, 2.0, 2.5], plane="vertical")
    >>> loop = rd.Constraints(arm, [rd.point_constraint("closure", "tip", point_b=(-2.0, 0.0, 0.0))])
    >>> plant = rd.ConstrainedPlant(loop, 1e-3, q0=loop.consistent_state([0.1, 1.2, 1.5])[0])
    >>> for _ in range(100):
    ...     plant.step([0.0, 0.0, 0.0])
    >>> bool(abs(loop.residual(plant.q)).max() < 1e-10)
    True

    Args:
        constraints: the loops, with their robot.
        dt: s that a step takes.
        friction, stops, limiter: ``friction`` as for :class:`Plant`; ``stops``: ``"rigid"`` (no rebound) or ``None``;
            ``limiter``: clamp commands to the joints' effort limits.
        user_effort: ``callable(t, q, v) -> (nv,)`` effort added.
        brake_effort: breakaway effort of the holding brakes, as for :class:`Plant`.
        q0, v0: where it starts; brought onto the constraints if they are not far off.
        max_speed: rad/s or m/s beyond which the simulation is given up.

    Raises:
        ConstraintError: the loops cannot be closed near ``q0``.
    """

    def __init__(
        self,
        constraints: Constraints,
        dt: float = 1e-3,
        *,
        friction: JointFriction | bool | None = True,
        stops: str | None = "rigid",
        limiter: bool = True,
        user_effort: Callable[[float, Array, Array], Array] | None = None,
        brake_effort: float | Array | Mapping[str, float] = math.inf,
        q0: Any = None,
        v0: Any = None,
        max_speed: float = 1e5,
    ) -> None:
        if not isinstance(constraints, Constraints):
            raise ArgumentError("expected Constraints", where="constraints", got=constraints)
        if not (isinstance(dt, (int, float)) and 0.0 < dt < math.inf):
            raise ArgumentError("must be a positive number of seconds", where="dt", got=dt)
        if stops not in ("rigid", None):
            raise ArgumentError("expected 'rigid' or None", where="stops", got=stops)
        self.constraints, self.model, self.dt = constraints, constraints.model, float(dt)
        model = self.model
        self.limiter, self.max_speed, self.user_effort = bool(limiter), float(max_speed), user_effort
        self.coordinates = Coordinates(model)
        self._friction = friction_table(model, friction)
        self._bounds = position_bounds(model)
        self._stopped = stops is not None
        self._arguments = PlantArguments(model, self.coordinates, self._bounds if self._stopped else None)
        self._mass, self._bias = kernel(model, "mass_matrix"), kernel(model, "bias_forces")
        self._efforts = kernel(model, "external_efforts", external=True)
        self._terms = constraints.kernel("constraint_terms")
        self._back = constraints.kernel("constraint_projections")
        nv, nc = model.nv, constraints.rows
        self._M, self._b, self._K = np.empty((nv, nv)), np.empty(nv), np.empty((nc, nv))
        self._phi, self._rate = np.empty(nc), np.empty(nc)
        self._dq, self._v_new, self._impulse = np.empty(nv), np.empty(nv), np.empty(nc)
        self.command, self.tau = np.zeros(nv), np.zeros(nv)
        self.brakes = False
        self._brake_effort = per_joint(brake_effort, model, "brake_effort")
        self._resting = np.zeros(nv)
        self._external: Mapping[str, Any] | None = None
        self._q, self._v = np.empty(model.nq), np.empty(nv)
        self._start = (self._arguments.default_start() if q0 is None else q0, np.zeros(nv) if v0 is None else v0)
        self.reset()

    @property
    def compiled(self) -> bool:
        """Whether whole steps run in machine code: never."""
        return False

    # -- state ---------------------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """Time, s."""
        return self._t0 + self._steps * self.dt

    @property
    def q(self) -> Array:
        """(nq,) configuration; a copy."""
        return self._q.copy()

    @property
    def v(self) -> Array:
        """(nv,) velocity; a copy."""
        return self._v.copy()

    def reset(self, q: Any = None, v: Any = None, t: float = 0.0) -> None:
        """Start again, from the initial state or a given one, brought onto the constraints.

        Raises:
            ConstraintError: the loops cannot be closed near ``q``.
        """
        q = self._arguments.configuration(self._start[0] if q is None else q)
        v = self._arguments.velocity("v", self._start[1] if v is None else v)
        if not math.isfinite(t):
            raise ArgumentError("must be finite", where="t", got=t)
        try:
            self._q, self._v = self.constraints.project(q, v)
        except ConstraintError:
            self._q, self._v = self.constraints.consistent_state(q, v)
        self._t0, self._steps = float(t), 0
        self.command[:] = self.tau[:] = self._resting[:] = 0.0
        self._external = None

    def state(self) -> dict[str, Any]:
        """A copy of everything :meth:`restore` needs."""
        return {
            "t0": self._t0,
            "steps": self._steps,
            "q": self.q,
            "v": self.v,
            "command": self.command.copy(),
            "tau": self.tau.copy(),
            "resting": self._resting.copy(),
            "external": self._external,
            "brakes": self.brakes,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a :meth:`state` of a plant like this one."""
        self._t0, self._steps = state["t0"], state["steps"]
        self._q, self._v = state["q"].copy(), state["v"].copy()
        self.command[:], self.tau[:], self._resting[:] = state["command"], state["tau"], state["resting"]
        self._external, self.brakes = state["external"], state["brakes"]

    # -- motion --------------------------------------------------------------------------------------------------

    def step(self, command: Any, external: Any = None) -> None:
        """Advance by ``dt`` under constant motor efforts.

        Args:
            command: (nv,) N m or N.
            external: link → (6,) wrench [moment; force] about its origin in its axes, or :class:`Wrench` values.

        Raises:
            ArgumentError: a wrong length or a number that is not finite; the state is then unchanged.
            SimulationError: the simulation diverges; the state stays at the last good one.
        """
        given = self._arguments.velocity("command", command)
        if external:
            body_wrenches(self.model, external, self._q)  # refused before anything changes
        self.command[:], self._external = given, external or None
        limit = self.model.effort_limit
        self.tau[:] = np.clip(given, -limit, limit) if self.limiter else given
        q, v, resting = self._advanced(self._q, self._v, self.dt)
        fastest = float(np.abs(v).max(initial=0.0))
        if not fastest <= self.max_speed or not np.isfinite(q).all():
            raise SimulationError(
                f"a joint reaches {fastest:.3g} rad/s or m/s",
                where=f"t = {self.t:g} s",
                got=v,
                remedy="Take shorter steps, or look for a constraint that cannot hold.",
            )
        self._q, self._v, self._resting = q, v, resting
        self._steps += 1

    def _advanced(self, q: Array, v: Array, h: float) -> tuple[Array, Array, Array]:
        friction = self._dry()
        middle = np.empty_like(q)
        self.coordinates.integrate(q, 0.5 * h * v, middle)
        self._mass(middle, self._M)
        self._terms(middle, v, self._phi, self._K, self._rate)
        damping = self._friction.viscous
        share = np.where(h * damping > self._M.diagonal(), 1.0, 0.5)  # of the new velocity in the damping
        M = self._M + np.diag(h * share * damping)
        inverse, kept = self._allowed(M, v)
        dry = np.where(v != 0.0, np.where(np.isinf(friction), 0.0, friction), 0.0)
        v_mean = kept + inverse @ (0.5 * h * (self._effort(middle, v) - np.sign(v) * dry))
        effort = self._effort(middle, v_mean) + damping * (v_mean - v)
        free = 2.0 * kept - v + inverse @ (h * effort)
        v1, impulses, stopped = self._with_impulses(middle, free, inverse, h * friction, 0.5 * h)
        q1 = np.empty_like(q)
        self.coordinates.integrate(middle, 0.5 * h * v1, q1)
        self.coordinates.normalize(q1)
        q1, v1 = self._back_at_stops(q1, v1, stopped) if stopped else self._brought_back(q1, v1)
        v1[(np.abs(v1) < 1e-13) & (impulses != 0.0)] = 0.0
        return q1, v1, impulses / h

    def _brought_back(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The nearest state that the constraints allow."""
        for _ in range(4):
            self._back(q, v, self._dq, self._v_new, self._impulse)
            if np.abs(self._dq).max(initial=0.0) < 1e-14:
                break
            moved = np.empty_like(q)
            self.coordinates.integrate(q, self._dq, moved)
            q = moved
        self._back(q, v, self._dq, self._v_new, self._impulse)
        return q, self._v_new.copy()

    def _back_at_stops(self, q: Array, v: Array, stopped: Mapping[int, float]) -> tuple[Array, Array]:
        """The same with joints resting on their stops: as long as a stop acts it is one more constraint."""
        at = list(stopped)
        where = self.coordinates.q_of_v[at]
        selected = np.eye(self.model.nv)[at]
        free = np.linalg.inv(self._M)
        for _ in range(6):
            self._terms(q, v, self._phi, self._K, self._rate)
            K = np.concatenate([self._K, selected])
            gap = np.concatenate([self._phi, q[where] - list(stopped.values())])
            weighted = free @ K.T
            inner = np.linalg.pinv(K @ weighted, rcond=RANK, hermitian=True)
            if np.abs(gap).max() < 1e-13:
                break
            moved = np.empty_like(q)
            self.coordinates.integrate(q, -weighted @ (inner @ gap), moved)
            q = moved
        return q, v - weighted @ (inner @ (K @ v))

    def _dry(self) -> Array:
        """(nv,) dry friction of the joints, brakes included."""
        table = self._friction
        hump = np.exp(-((np.abs(self._v) / table.velocity) ** table.exponent)) if table.curved else 0.0
        friction: Array = table.coulomb + table.rise * hump
        return friction + self._brake_effort if self.brakes else friction

    def _effort(self, q: Array, v: Array) -> Array:
        """(nv,) motors, user, outside wrenches and viscous friction, less the bias."""
        self._bias(q, v, self._b)
        tau = self.tau - self._friction.viscous * v - self._b
        if self.user_effort is not None:
            tau = tau + self._arguments.velocity("user_effort", self.user_effort(self.t, q, v))
        if self._external is not None:
            pushed = np.empty(self.model.nv)
            self._efforts(q, body_wrenches(self.model, self._external, q), pushed)
            tau = tau + pushed
        return tau

    def _allowed(self, M: Array, v: Array) -> tuple[Array, Array]:
        """Velocity per impulse on the constrained robot, and the part of ``v`` that the constraints allow."""
        free: Array = np.asarray(np.linalg.inv(M), dtype=np.float64)
        if not self.constraints.rows:
            return free, v
        Y = free @ self._K.T
        values, vectors = np.linalg.eigh(self._K @ Y)
        there = values > RANK * max(values[-1], 1e-300)
        Z = (Y @ vectors[:, there]) / np.sqrt(values[there])
        inverse = free - Z @ Z.T
        kept: Array = v - Z @ (Z.T @ (M @ v))
        return inverse, kept

    def _with_impulses(
        self, q: Array, free: Array, inverse: Array, bound: Array, h: float
    ) -> tuple[Array, Array, dict[int, float]]:
        """Velocity with the impulses of dry friction and stops, and the sum of these at each joint."""
        nv = self.model.nv
        position = self.coordinates.positions(q)
        lower, upper = self._bounds if self._stopped else (np.full(nv, -np.inf), np.full(nv, np.inf))
        rows: list[tuple[int, float, float, float, float]]
        rows = [(int(i), 1.0, float(-bound[i]), float(bound[i]), 0.0) for i in np.flatnonzero(bound > 0.0)]
        v1, x = free, np.zeros(0)
        for _ in range(2 * nv + 1):
            if rows:
                at, sign, low, high, target = (np.array(c) for c in zip(*rows, strict=True))
                N = inverse[:, at] * sign
                A = N[at] * sign[:, None]
                x = _boxed(A, sign * free[at] - target, low, high)
                v1 = free + N @ x
            ahead = position + h * v1
            slack = 1e-12 * (1.0 + np.abs(position))
            there = {(i, s) for i, s, lo, hi, _ in rows if hi == np.inf and lo == 0.0}
            new = [
                (int(i), 1.0, 0.0, np.inf, (lower[i] - position[i]) / h) for i in np.flatnonzero(ahead < lower - slack)
            ]
            new += [
                (int(i), -1.0, 0.0, np.inf, (position[i] - upper[i]) / h) for i in np.flatnonzero(ahead > upper + slack)
            ]
            new = [(i, s, lo, hi, min(t, 0.0)) for i, s, lo, hi, t in new if (i, s) not in there]
            if not new:
                break
            rows += new
        total: Array = np.zeros(nv)
        stopped: dict[int, float] = {}
        for (i, side, lo, hi, _), value in zip(rows, x, strict=True):
            total[i] += side * float(value)
            if lo == 0.0 and hi == np.inf and value > 0.0:
                stopped[i] = float(lower[i] if side > 0 else upper[i])
        return v1, total, stopped

    def prepare(self) -> None:
        """Compile what :meth:`acceleration` and the wrenches need, which otherwise happens at their first call."""
        self.joint_wrenches()
        self.constraint_wrenches()

    # -- what can be known about it ------------------------------------------------------------------------------

    def _motion(self) -> tuple[Array, Array]:
        """Acceleration and reactions now."""
        tau = self.tau - self._friction.viscous * self._v + self._resting
        if self.user_effort is not None:
            tau = tau + self.user_effort(self.t, self._q, self._v)
        return self.constraints.forward_dynamics(self._q, self._v, tau, external=self._external)

    @property
    def stop_and_friction_effort(self) -> Array:
        """(nv,) mean effort of dry friction and stops over the last step, N m or N."""
        return self._resting.copy()

    def acceleration(self) -> Array:
        """(nv,) acceleration now, under the last command."""
        return self._motion()[0]

    def reactions(self) -> Array:
        """(nc,) λ of the constraints now."""
        return self._motion()[1]

    def constraint_wrenches(self) -> dict[str, tuple[Array, Array]]:
        """Wrenches of each constraint on its links now; see :meth:`Constraints.wrenches`."""
        return self.constraints.wrenches(self._q, self.reactions())

    def joint_effort(self) -> Array:
        """(nv,) net effort at the joints now: motors less friction, plus stops, gears of constraints included."""
        a, reactions = self._motion()
        return inverse_dynamics(self.model, self._q, self._v, a, external=self._all_wrenches(reactions))

    def joint_wrenches(self) -> Array:
        """(len(model.joint_names), 6) wrenches of the tree's joints now; those of the loops are in
        :meth:`constraint_wrenches`."""
        a, reactions = self._motion()
        return joint_wrenches(self.model, self._q, self._v, a, external=self._all_wrenches(reactions))

    def _all_wrenches(self, reactions: Array) -> dict[str, Any]:
        total: dict[str, Any] = dict(self.constraints.as_external(self._q, reactions))
        for link, wrench in (self._external or {}).items():
            total[link] = total[link] + np.asarray(wrench) if link in total else wrench
        return total

    def energy(self) -> tuple[float, float]:
        """Kinetic and potential energy, J."""
        return float(kinetic_energy(self.model, self._q, self._v)), float(potential_energy(self.model, self._q))


def _boxed(A: Array, b: Array, low: Array, high: Array) -> Array:
    """x in [low, high] with A x + b = 0, ≥ 0 where x = low and ≤ 0 where x = high; A positive semidefinite.

    Friction at every joint of a loop of one degree of freedom makes A singular: the trace of a tiny ridge picks one of
    the impulses that all do the same.
    """
    n = len(b)
    A = A + 1e-10 * max(float(A.trace()) / n, 1e-300) * np.eye(n)
    side = np.zeros(n, dtype=np.int8)
    x = np.zeros(n)
    fewest, patience = n + 1, 8
    for _ in range(200):
        x = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        inner = np.flatnonzero(side == 0)
        if len(inner):
            others = np.flatnonzero(side)
            right = -b[inner] - A[np.ix_(inner, others)] @ x[others]
            x[inner] = np.linalg.solve(A[np.ix_(inner, inner)], right)
        w = A @ x + b
        scale = 1e-10 * (1.0 + np.abs(b).max())
        wrong = np.where(
            side == 0, (x < low) * -1 + (x > high) * 1, np.where(side < 0, (w < -scale) * 2, (w > scale) * 2)
        )
        bad = np.flatnonzero(wrong)
        if not len(bad):
            return x
        if len(bad) < fewest:
            fewest, patience = len(bad), 8
        elif patience:
            patience -= 1
        else:
            bad = bad[-1:]
        side[bad] = np.where(wrong[bad] == 2, 0, wrong[bad])
    raise SimulationError(
        "friction and stops cannot be resolved",
        where="constrained robot",
        got=x,
        remedy="Take shorter steps, or look for a stop that the constraints keep the robot beyond.",
    )
