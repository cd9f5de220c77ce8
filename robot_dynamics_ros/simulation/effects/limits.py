"""Limits: the command limiter of a drive, and the stops of a joint.

The command limiter follows ros2_control's ``joint_limits`` (function ``compute_effort_limits``): an
effort command is clamped to ±max_effort; at or beyond a position limit and not moving away from it,
effort further towards the limit is cut to zero; above the velocity limit, effort that would
accelerate further is cut to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.routines import Declared, Vector, numbers
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Values, per_joint


class LimitMemory(Declared):
    """Limits of drives and compliant stops."""

    nv: int
    effort_limit: Vector = numbers("nv", unit="N m or N", meaning="largest effort of the drive")
    velocity_limit: Vector = numbers(
        "nv", unit="rad/s or m/s", meaning="speed above which drives do not accelerate"
    )
    limit_lower: Vector = numbers(
        "nv", unit="rad or m", meaning="position below which the drive does not push further"
    )
    limit_upper: Vector = numbers(
        "nv", unit="rad or m", meaning="position above which the drive does not push further"
    )
    stop_lower: Vector = numbers("nv", unit="rad or m", meaning="compliant stop below")
    stop_upper: Vector = numbers("nv", unit="rad or m", meaning="compliant stop above")
    stop_stiffness: Vector = numbers("nv", unit="N m/rad or N/m", meaning="stiffness of the stops")
    stop_damping: Vector = numbers("nv", unit="N m s/rad or N s/m", meaning="damping of the stops")


def limited_effort(
    p: LimitMemory,
    i: int,
    effort: float,
    position: float,
    speed: float,
) -> float:
    """The commanded effort of joint ``i`` that ros2_control's limiter lets through at a position
    and speed.  A routine.
    """
    low = -p.effort_limit[i]
    high = p.effort_limit[i]
    if (position <= p.limit_lower[i] and speed <= 0.0) or speed < -p.velocity_limit[i]:
        low = 0.0
    if (position >= p.limit_upper[i] and speed >= 0.0) or speed > p.velocity_limit[i]:
        high = 0.0
    return min(max(effort, low), high)


def stop_effort(p: LimitMemory, i: int, position: float, speed: float) -> float:
    """Effort of the compliant stops of joint ``i``.  A routine."""
    effort = linear_stop_effort(p, i, position, speed)
    if position < p.stop_lower[i]:
        effort = max(effort, 0.0)
    else:
        effort = min(effort, 0.0)
    return effort


def linear_stop_effort(p: LimitMemory, i: int, position: float, speed: float) -> float:
    """The same where stops may pull: k p + c ṗ for a penetration p > 0."""
    effort = 0.0
    if position < p.stop_lower[i]:
        effort = p.stop_stiffness[i] * (p.stop_lower[i] - position) - p.stop_damping[i] * speed
    elif position > p.stop_upper[i]:
        effort = p.stop_stiffness[i] * (p.stop_upper[i] - position) - p.stop_damping[i] * speed
    return effort


@dataclass(frozen=True, slots=True, eq=False)
class RigidStops:
    """Stops that do not yield: a joint hitting one rebounds with ``restitution`` times its speed.

    Attributes:
        restitution: e, 0 (dead stop) to 1; a number, (nv,), or a mapping of joint names (others 0).
        rest_velocity: speeds below it do not rebound, rad/s or m/s, so that bouncing ends.
    """

    restitution: Values = 0.0
    rest_velocity: float = 1e-3

    def parameters(
        self,
        model: RobotModel,
        lower: Array,
        upper: Array,
    ) -> dict[str, ArrayLike]:
        """The numbers for one model, by their names in the plant's memory."""
        e = per_joint(self.restitution, model, "restitution")
        if (e > 1.0).any():
            problem = "a rebound cannot be faster than the impact"
            remedy = "Give values between 0 and 1."
            raise ArgumentError(problem, where="restitution", got=self.restitution, remedy=remedy)
        if not self.rest_velocity > 0.0:
            raise ArgumentError("must be positive", where="rest_velocity", got=self.rest_velocity)
        size = [np.where(np.isfinite(bound), np.abs(bound), 0.0) for bound in (lower, upper)]
        # distance below which a joint counts as touching
        tolerance = 1e-12 * (1.0 + np.maximum(*size))
        return {
            "lower": lower,
            "upper": upper,
            "restitution": e,
            "rest_velocity": self.rest_velocity,
            "tolerance": tolerance,
        }


@dataclass(frozen=True, slots=True, eq=False)
class CompliantStops:
    """Compliant stops: effort k p + c ṗ for a penetration p > 0, and zero where that would pull.

    Time stepping takes it linearly implicit, at the end of the step for a stiff one: where it
    would pull there, it is left out of that step.

    Attributes:
        stiffness: k, N m/rad or N/m.
        damping: c, N m s/rad or N s/m.
    """

    stiffness: Values
    damping: Values = 0.0

    def parameters(
        self,
        model: RobotModel,
        lower: Array,
        upper: Array,
    ) -> dict[str, ArrayLike]:
        """The numbers for one model, by their names in :class:`LimitMemory`."""
        stiffness = per_joint(self.stiffness, model, "stop stiffness")
        damping = per_joint(self.damping, model, "stop damping")
        return {
            "stop_lower": lower,
            "stop_upper": upper,
            "stop_stiffness": stiffness,
            "stop_damping": damping,
        }


def stop_parameters(
    stops: RigidStops | CompliantStops | str | None,
    model: RobotModel,
    lower: Array,
    upper: Array,
) -> dict[str, ArrayLike]:
    """The numbers for an option of a plant, by their names in its memory: those of rigid stops
    always, at infinity if there are none.
    """
    nowhere = np.full(model.nv, np.inf)
    none = RigidStops().parameters(model, -nowhere, nowhere)
    if stops == "rigid":
        stops = RigidStops()
    if isinstance(stops, (RigidStops, CompliantStops)):
        return {**none, **stops.parameters(model, lower, upper)}
    if stops is not None:
        raise ArgumentError(
            "expected 'rigid', RigidStops, CompliantStops or None", where="stops", got=stops
        )
    return none
