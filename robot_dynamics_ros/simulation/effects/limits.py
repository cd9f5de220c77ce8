"""Limits: what a drive refuses to do, and what a stop does to a joint that gets there.

The command limiter follows ros2_control's ``joint_limits`` (function ``compute_effort_limits``): an effort command is
clamped to ±max_effort; at or beyond a position limit and not moving away from it, effort further towards the limit is
cut to zero; above the velocity limit, effort that would accelerate further is cut to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import per_joint

__all__ = ["CompliantStops", "RigidStops", "StopTable", "limit_effort"]

Values = float | Array | Mapping[str, float]


def limit_effort(
    tau: Array, position: Array, v: Array, lower: Array, upper: Array, velocity: Array, effort: Array
) -> Array:
    """(nv,) effort that ros2_control's limiter lets through.

    Args:
        tau: (nv,) commanded effort.
        position, v: (nv,) measured position and velocity.
        lower, upper, velocity, effort: (nv,) limits, infinite where there are none.
    """
    low, high = -effort, effort.copy()
    low[((position <= lower) & (v <= 0.0)) | (v < -velocity)] = 0.0
    high[((position >= upper) & (v >= 0.0)) | (v > velocity)] = 0.0
    return np.minimum(np.maximum(tau, low), high)


@dataclass(frozen=True, slots=True, eq=False)
class RigidStops:
    """Stops that do not yield: a joint hitting one rebounds with ``restitution`` times its speed.

    Attributes:
        restitution: e, 0 (dead stop) to 1; a number, (nv,), or a mapping of joint names (others 0).
        rest_velocity: speeds below it do not rebound, rad/s or m/s, so that bouncing ends.
    """

    restitution: Values = 0.0
    rest_velocity: float = 1e-3

    def coefficients(self, model: RobotModel) -> Array:
        """(nv,) e."""
        e = per_joint(self.restitution, model, "restitution")
        if (e > 1.0).any():
            raise ArgumentError(
                "a rebound cannot be faster than the impact",
                where="restitution",
                got=self.restitution,
                remedy="Give values between 0 and 1.",
            )
        if not self.rest_velocity > 0.0:
            raise ArgumentError("must be positive", where="rest_velocity", got=self.rest_velocity)
        return e


@dataclass(frozen=True, slots=True, eq=False)
class CompliantStops:
    """Stops that yield: effort k p + c ṗ for a penetration p > 0, never pulling.

    Attributes:
        stiffness: k, N m/rad or N/m.
        damping: c, N m s/rad or N s/m.
    """

    stiffness: Values
    damping: Values = 0.0

    def table(self, model: RobotModel, lower: Array, upper: Array) -> StopTable:
        """The numbers for one model."""
        stiffness = per_joint(self.stiffness, model, "stop stiffness")
        return StopTable(lower, upper, stiffness, per_joint(self.damping, model, "stop damping"))


class StopTable:
    """Compliant stops as (nv,) arrays."""

    def __init__(self, lower: Array, upper: Array, stiffness: Array, damping: Array) -> None:
        self.lower, self.upper, self.stiffness, self.damping = lower, upper, stiffness, damping

    def effort(self, position: Array, v: Array) -> Array:
        """(nv,) effort of the stops."""
        below, above = self.lower - position, position - self.upper
        push = np.where(below > 0.0, np.maximum(self.stiffness * below - self.damping * v, 0.0), 0.0)
        pull = np.where(above > 0.0, np.maximum(self.stiffness * above + self.damping * v, 0.0), 0.0)
        out: Array = push - pull
        return out

    def engaged(self, position: Array) -> np.ndarray:
        """(nv,) which joints are in a stop."""
        return (position < self.lower) | (position > self.upper)

    def energy(self, position: Array) -> float:
        """Elastic energy, J."""
        depth = np.maximum(np.maximum(self.lower - position, position - self.upper), 0.0)
        return float(0.5 * np.sum(self.stiffness * depth * depth))
