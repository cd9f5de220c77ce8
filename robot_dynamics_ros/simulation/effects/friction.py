"""Joint friction: viscous, and dry with sticking and a Stribeck curve.

    |v| > 0:   τ_f = −d v − F(|v|) sign(v),     F(s) = F_c + (F_s − F_c) exp(−(s / v_s)^δ)
    v = 0:     τ_f is whatever keeps the joint at rest, as long as that is at most F_s; beyond it,
    the joint breaks away

(Armstrong-Hélouvry, Dupont, Canudas de Wit, Automatica 30(7), 1994.)  URDF's ``<dynamics damping
friction>`` gives d and F_c = F_s.  At rest the law is a constraint, not a function of the velocity:
nothing is regularised, so that a joint loaded below breakaway does not creep, and one that stops
does not chatter.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Vector,
    integers,
    numbers,
)
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.friction import law
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Values, per_joint


class JointFrictionMemory(Declared):
    """Friction of the joints, then of the motors that turn with two of them."""

    nv: int
    couples: int
    viscous: Vector = numbers(
        "nv + couples", unit="N m s/rad or N s/m", meaning="viscous friction d"
    )
    coulomb: Vector = numbers("nv + couples", unit="N m or N", meaning="Coulomb friction F_c")
    rise: Vector = numbers(
        "nv + couples", unit="N m or N", meaning="static friction above Coulomb's, F_s − F_c"
    )
    stribeck_velocity: Vector = numbers(
        "nv + couples", unit="rad/s or m/s", meaning="speed v_s of the Stribeck curve"
    )
    stribeck_exponent: Vector = numbers(1, meaning="exponent δ of the Stribeck curve")
    dry: Integers = integers("nv + couples", meaning="1 where there is dry friction")


def dry_friction(p: JointFrictionMemory, i: int, speed: float) -> float:
    """F(|v|) of joint or coupled motor ``i`` while sliding; F_s in the limit of rest.

    A routine.
    """
    if p.rise[i] == 0.0:
        return p.coulomb[i]
    return law.dry_friction(
        speed, p.coulomb[i], p.rise[i], p.stribeck_velocity[i], p.stribeck_exponent[0]
    )


@dataclass(frozen=True, slots=True, eq=False)
class JointFriction:
    """Friction of all joints: each field a number, (nv,) numbers, or a mapping from joint names
    (others zero).

    Attributes:
        viscous: d, N m s/rad or N s/m; ``None``: the model's damping.
        coulomb: F_c, N m or N; ``None``: the model's friction.
        static: F_s, breakaway, at least F_c; ``None``: equal to F_c.
        stribeck_velocity: v_s, rad/s or m/s; matters only where F_s exceeds F_c.
        stribeck_exponent: δ.
        coupling: (5, nv) motors that turn with two joints, see
            :attr:`~robot_dynamics_ros.friction.compensation.Friction.coupling`; ``None``: the
            model's.
    """

    viscous: Values | None = None
    coulomb: Values | None = None
    static: Values | None = None
    stribeck_velocity: Values = 0.01
    stribeck_exponent: float = 2.0
    coupling: Array | None = None

    def table(self, model: RobotModel) -> FrictionTable:
        """The numbers for one model.

        Raises:
            ArgumentError: a negative value, a wrong length, or breakaway below Coulomb friction.
        """
        if self.viscous is None:
            viscous = model.damping
        else:
            viscous = per_joint(self.viscous, model, "viscous friction")
        if self.coulomb is None:
            coulomb = model.friction
        else:
            coulomb = per_joint(self.coulomb, model, "Coulomb friction")
        # joints not named have no hump
        static = coulomb
        if self.static is not None:
            static = per_joint(self.static, model, "static friction", default=coulomb)
        if (static < coulomb).any():
            i = int(np.flatnonzero(static < coulomb)[0])
            problem = (
                f"breakaway {static[i]:g} is below Coulomb friction {coulomb[i]:g} at entry {i}"
            )
            remedy = "Give at least the Coulomb value, or leave it out."
            raise ArgumentError(problem, where="static friction", got=self.static, remedy=remedy)
        velocity = per_joint(self.stribeck_velocity, model, "Stribeck velocity", default=0.01)
        if (velocity <= 0.0).any() or not self.stribeck_exponent > 0.0:
            got = self.stribeck_velocity, self.stribeck_exponent
            raise ArgumentError(
                "velocity and exponent must be positive", where="Stribeck curve", got=got
            )
        if self.coupling is None:
            rows = model.coupling
        else:
            rows = self.coupling
        # a motor is stated at both of its joints
        later = np.flatnonzero(rows[0] * rows[3:5].any(axis=0))
        turns = np.zeros((len(later), model.nv))
        turns[np.arange(len(later)), later] = 1.0
        turns[np.arange(len(later)), later - 1] = rows[0, later]
        dry = rows[3, later]
        more = (
            (viscous, rows[4, later]),
            (coulomb, dry),
            (static, dry),
            (velocity, np.ones(len(later))),
        )
        d, c, s, v = (np.concatenate(both) for both in more)
        return FrictionTable(d, c, s, v, float(self.stribeck_exponent), turns)


@dataclass(eq=False)
class FrictionTable:
    """Friction of the joints, then of the motors that turn with two of them: arrays named as in
    :class:`JointFrictionMemory`.

    ``static`` is F_s; ``curved`` tells whether any joint has F_s > F_c.
    """

    viscous: Array
    coulomb: Array
    static: Array
    stribeck_velocity: Array
    stribeck_exponent: float
    couple: Array

    def __post_init__(self) -> None:
        self.dry = self.static > 0.0
        self.curved = bool((self.static > self.coulomb).any())
        # where F_c is infinite (a brake that holds anything), inf − inf must not become NaN
        whole = np.isfinite(self.coulomb)
        self.rise = np.subtract(
            self.static, self.coulomb, out=np.zeros_like(self.static), where=whole
        )

    def with_brakes(self, effort: Array) -> FrictionTable:
        """The same joints with holding brakes on, which add dry friction."""
        effort = np.concatenate((effort, np.zeros(len(self.couple))))
        return replace(self, coulomb=self.coulomb + effort, static=self.static + effort)


def friction_table(model: RobotModel, friction: JointFriction | bool | None) -> FrictionTable:
    """The numbers for an option of a plant: ``True`` takes them from the model, ``False`` or
    ``None`` means none.
    """
    if friction is True:
        return JointFriction().table(model)
    if friction is False or friction is None:
        return JointFriction(0.0, 0.0, coupling=np.zeros((5, model.nv))).table(model)
    if isinstance(friction, JointFriction):
        return friction.table(model)
    raise ArgumentError(
        "expected True, False, None or JointFriction", where="friction", got=friction
    )
