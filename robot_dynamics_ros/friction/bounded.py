"""Friction in the form that controllers compensate, nowhere above the friction that was identified.

Identification may describe the friction of a joint by more effects than a controller knows.  Two of
them can nearly cancel: a friction that rises towards rest, and a step that takes most of it away
again.  A controller that has the first and not the second would compensate friction that does not
exist, and drive the joint.  So controllers never get a part of the effects.  They get the largest
friction of their own form,

    F(v) = d v + [F_c + (F_s − F_c) exp(−(v/v_s)²)] · tanh(v/w),

that lies nowhere above the identified one, at any speed up to the limit and in either direction.
For given v_s and w this is a linear program in d, F_c and F_s − F_c.

Source: Armstrong-Hélouvry, Dupont and Canudas de Wit, Automatica 30 (1994), section 5
(compensation that exceeds friction makes a joint unstable).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from robot_dynamics_ros.friction.effects import JointEffects
from robot_dynamics_ros.friction.law import (
    EFFECTS,
    OF_SPEED,
    QUADRATIC_SPEED_SHARE,
    JointMotion,
    joint_friction,
)
from robot_dynamics_ros.model.description import Array

COMPENSATION_NUMBERS = ("viscous", "coulomb", "breakaway", "stribeck_speed", "smoothing")
"""Of a joint's friction as controllers have it."""
UNLIMITED_SPEED = 10.0
"""rad/s or m/s: up to here friction is compared if a joint has no velocity limit."""


@dataclass(frozen=True, slots=True)
class _Search:
    """How the largest friction below a curve is searched.

    Attributes:
        lowest: share of the narrowest step at rest, from where speeds are compared; below it both
            frictions are nearly straight lines through zero.
        checked: the same of the final check.
        points: speeds that are compared, at equal ratios.
        finer: times as many speeds in the final check.
        widths: factors on the widths of the steps, tried for w.
        speeds: factors on the Stribeck speed, tried for v_s.
        small: share of the largest friction; where there is less, errors count as if there were
            this much, so that the slope at rest does not outweigh all other speeds.
    """

    lowest: float = 0.1
    checked: float = 0.001
    points: int = 60
    finer: int = 16
    widths: tuple[float, ...] = (1.0, 4.0)
    speeds: tuple[float, ...] = (0.5, 1.0, 2.0)
    small: float = 0.02


_SEARCH = _Search()


@dataclass(frozen=True, slots=True)
class CompensatedFriction:
    """Friction of one joint as controllers have it.

    Attributes:
        viscous: N m s/rad or N s/m.
        coulomb: N m or N.
        breakaway: friction at the onset of motion, N m or N, at least ``coulomb``.
        stribeck_speed: rad/s or m/s, over which breakaway friction decays.
        smoothing: rad/s or m/s, over which the step at rest is smoothed.
    """

    viscous: float
    coulomb: float
    breakaway: float
    stribeck_speed: float
    smoothing: float

    def effort(self, v: Array) -> Array:
        """(...) F(v), N m or N, at velocities (...)."""
        rise = self.breakaway - self.coulomb
        parameters = (
            self.viscous,
            self.coulomb,
            rise,
            self.stribeck_speed,
            self.smoothing,
            0.0,
        )
        return np.asarray(joint_friction(v, parameters))

    def scaled(self, factor: float) -> CompensatedFriction:
        """All of friction times ``factor``; speeds as they are."""
        return CompensatedFriction(
            factor * self.viscous,
            factor * self.coulomb,
            factor * self.breakaway,
            self.stribeck_speed,
            self.smoothing,
        )


@dataclass(frozen=True, eq=False)
class IdentifiedFriction:
    """Friction of one joint with all effects that depend on its speed alone.

    Attributes:
        form: the effects and their numbers.
        values: parameter → value: ``"viscous"``, ``"coulomb"`` and those of the effects.
        fastest: rad/s or m/s, up to which it is compared: the joint's velocity limit.
    """

    form: JointEffects
    values: Mapping[str, float]
    fastest: float

    @property
    def is_simple(self) -> bool:
        """Whether controllers have all of it."""
        more = set(OF_SPEED) - {"stribeck"}
        columns = (EFFECTS[name].columns for name in self.form.effects if name in more)
        return not any(
            self.values.get(parameter) for parameter in itertools.chain.from_iterable(columns)
        )

    def columns(self, v: Array) -> dict[str, Array]:
        """Parameter → its column (k,) at velocities (k,)."""
        direction = np.tanh(v / self.form.smoothing)
        known = v
        numbers = self.form.all_numbers
        if "quadratic" in self.form.effects:
            # faster than recorded, viscous friction keeps the coefficient that it had there
            recorded = numbers["quadratic_speed"] / QUADRATIC_SPEED_SHARE
            known = np.clip(v, -recorded, recorded)
        none = np.zeros_like(v)
        out = {"viscous": v, "coulomb": direction}
        for name in self.form.effects:
            if name not in OF_SPEED:
                continue
            if name == "quadratic":
                speed = known
            else:
                speed = v
            motion = JointMotion(
                none, speed, none, direction, np.zeros((len(v), 3)), np.zeros((len(v), 2, 2))
            )
            for parameter, column in EFFECTS[name].columns.items():
                out[parameter] = np.asarray(column(motion, numbers))
                if name == "quadratic":
                    out[parameter] = out[parameter] * v / np.where(known == 0.0, 1.0, known)
        return out

    def effort(self, v: Array) -> Array:
        """(k,) friction at velocities (k,), N m or N, without the offset."""
        columns = self.columns(v)
        return np.asarray(sum(self.values.get(name, 0.0) * x for name, x in columns.items()))

    def brakes(self, v: Array) -> Array:
        """(k,) the least that it brakes at speeds (k,) in either direction, at least zero."""
        return np.maximum(np.minimum(self.effort(v), -self.effort(-v)), 0.0)

    def speeds(self, points: int, lowest: float = _SEARCH.checked) -> Array:
        """(points,) speeds from ``lowest`` of the narrowest step at rest to the fastest."""
        widths = [self.form.smoothing, *self._widths()]
        fastest = UNLIMITED_SPEED
        if np.isfinite(self.fastest) and self.fastest > 0.0:
            fastest = self.fastest
        return np.geomspace(lowest * min(*widths, fastest), fastest, points)

    def _widths(self) -> list[float]:
        """Speeds over which parts of it have their step at rest."""
        numbers = self.form.all_numbers
        names = ("step_width", "sigmoid_width")
        return [max(numbers[name], 1e-6) for name in names if name in numbers]

    def compensated(self) -> CompensatedFriction:
        """The largest friction of the controllers' form that lies nowhere above this one."""
        numbers = self.form.all_numbers
        own_speed = numbers.get("stribeck_speed", EFFECTS["stribeck"].numbers["stribeck_speed"])
        coulomb = max(self.values.get("coulomb", 0.0), 0.0)
        if self.is_simple:
            rise = max(self.values.get("rise", 0.0), 0.0)
            viscous = max(self.values.get("viscous", 0.0), 0.0)
            return CompensatedFriction(
                viscous, coulomb, coulomb + rise, own_speed, self.form.smoothing
            )
        found = self._largest_below(own_speed)
        # between the speeds that were compared it may be above by a little
        v = self.speeds(_SEARCH.finer * _SEARCH.points)
        above = found.effort(v)
        share = np.where(above > 0.0, self.brakes(v) / np.maximum(above, 1e-300), np.inf)
        return found.scaled(min(1.0, float(share.min())))

    def _largest_below(self, own_speed: float) -> CompensatedFriction:
        """The best of all widths and Stribeck speeds that are tried."""
        from scipy.optimize import linprog

        v = self.speeds(_SEARCH.points, _SEARCH.lowest)
        limit = self.brakes(v)
        # each octave of speed counts alike
        weight = 1.0 / np.maximum(limit, _SEARCH.small * max(float(limit.max()), 1e-300))
        widths = {
            width * factor
            for width, factor in itertools.product(
                (self.form.smoothing, *self._widths()), _SEARCH.widths
            )
        }
        best = CompensatedFriction(0.0, 0.0, 0.0, own_speed, self.form.smoothing)
        most = 0.0
        for width, factor in product(sorted(widths), _SEARCH.speeds):
            speed = own_speed * factor
            step = np.tanh(v / width)
            columns = np.column_stack([v, step, step * np.exp(-((v / speed) ** 2))])
            gain = weight @ columns
            found = linprog(-gain, columns, limit, bounds=(0.0, None), method="highs")
            if found.status == 0 and -found.fun > most:
                most = -found.fun
                # the solver keeps its bounds to a tolerance
                viscous, coulomb, rise = np.maximum(found.x, 0.0).tolist()
                best = CompensatedFriction(viscous, coulomb, coulomb + rise, speed, width)
        return best
