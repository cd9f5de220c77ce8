"""Stepping through stick, slip and impact without losing the integrator's order.

A step is tried with the modes of its beginning.  If at its end a sliding joint has reversed, a
locked one is loaded beyond its breakaway effort, or a joint has run through a stop, the earliest
such moment is located and the modes are settled anew: which joints break away is a complementarity
problem between reactions and accelerations, an impact one between impulses and velocities.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from robot_dynamics_ros.dynamics.complementarity import FREE, HELD, HIGH, LOW, solve_apart
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.simulation.integrators.methods import TIME_STEPPING, Integrator
from robot_dynamics_ros.simulation.system import JointSystem

# in a step; the rest of endless bouncing is done by time stepping
_MOST_EVENTS = 100


class HybridStepper:
    """Advances a system with any integrator, event by event.

    Attributes:
        events: events located so far.
    """

    def __init__(self, system: JointSystem, integrator: Integrator) -> None:
        self.system = system
        self.integrator = integrator
        memory = system.memory
        self.events = 0
        self._lower = memory["lower"]
        self._upper = memory["upper"]
        self._tolerance = memory["tolerance"]
        self._solve = partial(solve_apart, memory, system.routines["solve_complementarity"])
        self._reaction_low = self._reaction_high = np.empty(0)
        # Time stepping locates no events.
        if getattr(integrator, "name", "") not in TIME_STEPPING:
            # takes long to import: here, not in a step
            from scipy.optimize import brentq

            self._find_root = brentq

    def advance(self, t: float, y: Array, h: float) -> Array:
        """The state at ``t + h``; ``y`` is not changed."""
        y = y.copy()
        end = t + h
        for _ in range(_MOST_EVENTS):
            self._collide(y)
            self.settle(t, y)
            y1 = self._try(t, y, end - t)
            margins, tolerances = self._margins(end, y1)
            if not (margins < -tolerances).any():
                return y1
            t, y = self._locate(t, y, end - t, y1)
            self.events += 1
            if end - t <= 1e-13 * h:
                self._collide(y)
                return y
        self.system.set_modes()
        return self.system.advance(t, y, end - t)

    # -- modes -------------------------------------------------------------------------------------

    def settle(self, t: float, y: Array) -> None:
        """Decide which joints slide, in which direction, and which are locked, for the state
        ``y``.
        """
        friction = self.system.friction
        system = self.system
        q, v, z = system.split(y)
        slip = np.where(friction.dry, np.sign(v), 0.0)
        at_low, at_high = self._touching(q)
        rows = np.flatnonzero((v == 0.0) & (friction.dry | at_low | at_high))
        system.set_modes(slip)
        if not len(rows):
            return
        force = system.applied_effort(t, q, v, z) - system.bias_forces(q, v)
        low = np.where(at_high, -np.inf, -friction.static)
        high = np.where(at_low, np.inf, friction.static)
        guess = np.full(system.nv, FREE)
        guess[rows] = HELD
        # accelerations in place of changes of velocity: M a = τ − b + x
        _, _, sides = self._solve(
            M=system.mass_matrix(q), f=force, v=0.0, target=0.0, lo=low, hi=high, side=guess
        )
        side = sides[rows]
        low = low[rows]
        high = high[rows]
        # friction at its lower bound: the joint moves forward
        slip[rows] = np.where(friction.dry[rows], -side, 0)
        held = side == 0
        system.set_modes(slip, rows[held])
        self._reaction_low = low[held]
        self._reaction_high = high[held]

    def _collide(self, y: Array) -> None:
        """Impulses at rigid stops that are being hit, and at joints held by a brake without
        limit.
        """
        system = self.system
        memory = system.memory
        q, v, _ = system.split(y)
        at_low, at_high = self._touching(q)
        seized = np.isinf(system.friction.static)
        hit = (at_low & (v < 0.0)) | (at_high & (v > 0.0))
        if not (hit.any() or (seized & (v != 0.0)).any()):
            return
        rebound = np.where(
            hit & ~seized & (np.abs(v) > memory["rest_velocity"]), memory["restitution"] * v, 0.0
        )
        low = np.where(at_high | seized, -np.inf, 0.0)
        high = np.where(at_low | seized, np.inf, 0.0)
        guess = np.where(
            at_low | at_high | seized,
            np.where(hit | seized, HELD, np.where(at_low, LOW, HIGH)),
            FREE,
        )
        M = system.mass_matrix(q)
        change, _, side = self._solve(M=M, f=0.0, v=v, target=-rebound, lo=low, hi=high, side=guess)
        v += change
        v[side == HELD] = -rebound[side == HELD]

    def _touching(self, q: Array) -> tuple[np.ndarray, np.ndarray]:
        """(nv,), (nv,) which joints are at their lower and upper stop."""
        position = self.system.coordinates.positions(q)
        return position <= self._lower + self._tolerance, position >= self._upper - self._tolerance

    # -- one try -----------------------------------------------------------------------------------

    def _try(self, t: float, y: Array, h: float) -> Array:
        y1 = self.integrator.step(self.system, t, y, h)
        locked = self.system.locked
        # implicit methods leave rounding where there must be rest
        if len(locked):
            y1[self.system.nq + locked] = 0.0
            held = self.system.coordinates.q_of_v[locked]
            y1[held[held >= 0]] = y[held[held >= 0]]
        return y1

    def _margins(self, t: float, y: Array) -> tuple[Array, Array]:
        """How far every joint is from its next event, and what counts as none; negative is past
        it.
        """
        system = self.system
        q, v, z = system.split(y)
        sliding = np.where(system.slip != 0.0, system.slip * v, np.inf)
        position = system.coordinates.positions(q)
        low = position - self._lower
        high = self._upper - position
        low[system.locked] = high[system.locked] = np.inf
        parts = [sliding, low, high]
        tolerances = [np.full(system.nv, 1e-12), self._tolerance, self._tolerance]
        if len(system.locked):
            reaction = system.reaction(t, q, v, z)
            scale = 1e-9 * (1.0 + np.abs(reaction))
            parts += [reaction - self._reaction_low, self._reaction_high - reaction]
            tolerances += [scale, scale]
        return np.concatenate(parts), np.concatenate(tolerances)

    def _locate(self, t: float, y: Array, h: float, y1: Array) -> tuple[float, Array]:
        """Time and state just past the earliest event within the step."""
        first = h
        event_state = y1

        def nearest(sigma: float) -> float:
            nonlocal first, event_state
            if sigma > 0.0:
                state = self._try(t, y, sigma)
            else:
                state = y
            margins, tolerances = self._margins(t + sigma, state)
            value = float(np.min(margins / tolerances)) + 1.0
            # it diverges on the way: that lies past an event, too
            if math.isnan(value):
                value = -1.0
            if value < 0.0 and sigma < first:
                first = sigma
                event_state = state
            return value

        if nearest(0.0) > 0.0:
            self._find_root(nearest, 0.0, h, xtol=1e-14 * h, rtol=8.9e-16, maxiter=100)
        else:
            # past an event already: cannot get earlier than now, so take the smallest step that
            # moves
            nearest(1e-12 * h)
        state = event_state.copy()
        self._touch(state)
        return t + first, state

    def _touch(self, y: Array) -> None:
        """Put what has just passed its event exactly on it."""
        system = self.system
        q, v, _ = system.split(y)
        reversed_ = (system.slip != 0.0) & (system.slip * v < -1e-12)
        v[reversed_] = 0.0
        position = system.coordinates.positions(q)
        where = system.coordinates.q_of_v
        for past, bound in (
            (position < self._lower - self._tolerance, self._lower),
            (position > self._upper + self._tolerance, self._upper),
        ):
            y[where[past]] = bound[past]
