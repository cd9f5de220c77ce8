"""The meaning of ``effort`` in joint states: from the value as measured to the motor effort of the
equations of motion.

    M(q) v̇ + C v + g + F(v) = τ + τ_ext

τ is the motor effort at the joint; M has the rotors' inertias B on its diagonal.  Drivers publish
other things than τ:

=============================  ================================================================
``torque``                     τ
``link_torque``                τ − F − B v̇: a sensor between gear and link
``torque_without_gravity``     τ − g
``current``                    τ / k, in A or what the driver counts in
``commanded``                  the last command, nothing measured
``none``                       nothing
=============================  ================================================================
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.description import Array

EFFORT_MEANINGS = (
    "torque",
    "link_torque",
    "torque_without_gravity",
    "current",
    "commanded",
    "none",
)

# Poses from which on a slope is believed.
_ENOUGH_POSES = 3
# Largest distance of a slope from 0 or 1 at which it counts as that: halfway would be a guess.
_SLOPE_TOLERANCE = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredEffort:
    """The meaning of measured efforts.

    Attributes:
        meaning: one of :data:`EFFORT_MEANINGS`.
        factors: (nv,) effort for each unit that the driver publishes: torque constants k for
            ``"current"``, N m/A or N/A; −1 where a sensor counts the other way; ``None``: 1.
    """

    meaning: str = "torque"
    factors: Array | None = None

    def __post_init__(self) -> None:
        check_name("meaning of measured efforts", self.meaning, EFFORT_MEANINGS)
        if self.factors is None:
            if self.meaning == "current":
                problem = "measured efforts are currents, and there are no torque constants"
                remedy = (
                    "Give N m/A at the joint for each joint; identification finds them in a "
                    "recording."
                )
                raise ArgumentError(
                    problem, where="measured effort", got=self.factors, remedy=remedy
                )
            return
        if not self.measured:
            problem = f"measured efforts are {self.meaning!r}, which no factor turns into efforts"
            remedy = "Leave the factors out, or set the meaning to what the driver publishes."
            raise ArgumentError(problem, where="measured effort", got=self.factors, remedy=remedy)
        k = np.array(self.factors, dtype=np.float64)
        if not np.isfinite(k).all() or (k == 0.0).any():
            raise ArgumentError(
                "a factor is zero or not finite",
                where="measured effort",
                got=self.factors,
                remedy="Give one a joint.",
            )
        object.__setattr__(self, "factors", k)

    @property
    def plain(self) -> bool:
        """Whether the values are motor efforts as they are."""
        return self.meaning == "torque" and self.factors is None

    @property
    def measured(self) -> bool:
        """Whether the values tell anything that the command does not."""
        return self.meaning not in ("commanded", "none")

    def need(self, purpose: str) -> None:
        """Refuse a purpose that needs measured efforts."""
        if not self.measured:
            problem = f"needs measured efforts, and those of this robot are {self.meaning!r}"
            remedy = "Do without it, or set measured_effort to what the driver publishes."
            raise ArgumentError(problem, where=purpose, remedy=remedy)


def motor_effort(
    kind: MeasuredEffort,
    measured: Array,
    *,
    applied: Array,
    gravity: Array,
    friction: Array | float = 0.0,
    rotor: Array | float = 0.0,
    out: Array | None = None,
) -> Array:
    """(..., nv) τ from measured efforts.

    Args:
        kind: their meaning.
        measured: (..., nv) as in the joint state; not read for ``"commanded"`` and ``"none"``.
        applied: (..., nv) the effort that was commanded, with what the robot adds of its own.
        gravity: (..., nv) g(q).
        friction: (..., nv) F(v).
        rotor: (..., nv) B v̇; without it a ``link_torque`` is wrong by this much while the arm
            accelerates.
        out: where to write τ.
    """
    if out is None:
        effort = np.empty(np.shape(applied))
    else:
        effort = out
    if not kind.measured:
        effort[...] = applied
        return effort
    np.multiply(measured, 1.0 if kind.factors is None else kind.factors, out=effort)
    if kind.meaning == "link_torque":
        effort += friction + rotor
    elif kind.meaning == "torque_without_gravity":
        effort += gravity
    return effort


def as_measured(
    kind: MeasuredEffort,
    tau: Array,
    *,
    command: Array,
    gravity: Array,
    friction: Array | float = 0.0,
    rotor: Array | float = 0.0,
) -> Array:
    """(..., nv) what a driver publishes: the inverse of :func:`motor_effort`.

    Args:
        kind: the meaning.
        tau: (..., nv) true motor effort.
        command: (..., nv) the last command as received.
        gravity, friction, rotor: as there, the true ones.
    """
    if kind.meaning == "none":
        return np.full(np.shape(tau), np.nan)
    if kind.meaning == "commanded":
        return np.array(command, dtype=np.float64)
    effort = np.array(tau, dtype=np.float64)
    if kind.meaning == "link_torque":
        effort -= friction + rotor
    elif kind.meaning == "torque_without_gravity":
        effort -= gravity
    if kind.factors is None:
        return effort
    return effort / kind.factors


def meaning_at_rest(
    kind: MeasuredEffort,
    measured: Array,
    gravity: Array,
    command: Array,
) -> str:
    """A sentence if efforts at rest contradict their meaning, ``""`` if not, or if the poses do not
    tell.

    At rest the motor holds gravity.  So over several poses measured efforts either rise with g(q)
    one to one, or not at all, or by a factor.

    Args:
        kind: the meaning that is set.
        measured, gravity, command: (poses, nv) measured efforts, g(q), and what was commanded; at
            least three poses.
    """
    measured, gravity, command = (
        np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in (measured, gravity, command)
    )
    if len(measured) < _ENOUGH_POSES:
        return ""
    if not np.isfinite(measured).all() or not np.abs(measured).max() > 0.0:
        if not kind.measured:
            return ""
        return _wrong(kind, "no efforts are published", "none")
    slope = _slope_with_gravity(
        motor_effort(kind, measured, applied=command, gravity=0.0 * gravity), gravity
    )
    if slope is None or not kind.measured:
        return ""
    if kind.meaning == "torque_without_gravity":
        expected = 0.0
    else:
        expected = 1.0
    if abs(slope - expected) <= _SLOPE_TOLERANCE:
        return ""
    if np.allclose(measured, command, rtol=1e-3, atol=1e-3):
        return _wrong(kind, "they are the commands", "commanded")
    change = f"they rise by {slope:.2g} for each N m of gravity"
    if abs(slope) <= _SLOPE_TOLERANCE:
        return _wrong(kind, "they do not change with gravity", "torque_without_gravity")
    if abs(slope - 1.0) <= _SLOPE_TOLERANCE:
        return _wrong(kind, "they rise with gravity one to one", "torque or link_torque")
    if abs(slope + 1.0) <= _SLOPE_TOLERANCE:
        return (
            f"measured efforts are set to {kind.meaning!r}, but {change}: their sign is the "
            "other one"
        )
    if kind.meaning == "current":
        return (
            f"measured efforts are set to 'current', but {change}: the torque constants are "
            "wrong by this factor"
        )
    return _wrong(kind, change, "current, with 1 / slope as torque constants")


def _wrong(kind: MeasuredEffort, evidence: str, rather: str) -> str:
    return f"measured efforts are set to {kind.meaning!r}, but at rest {evidence}: rather {rather}"


def _slope_with_gravity(effort: Array, gravity: Array) -> float | None:
    """Common slope of efforts over gravity, joints by their offsets apart; None if the poses do not
    tell.
    """
    g = gravity - gravity.mean(axis=0)
    m = effort - effort.mean(axis=0)
    spread = float(np.sum(g * g))
    if spread <= 1e-3 * max(float(np.sum(gravity * gravity)), 1e-12):
        return None
    slope = float(np.sum(g * m)) / spread
    remainder = float(np.sum((m - slope * g) ** 2))
    if remainder <= 0.25 * max(spread, slope * slope * spread):
        return slope
    return None
