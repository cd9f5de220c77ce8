"""The limits of one robot: those of its description, and the settings beside them.

How they are applied is a step of the control cycle: :mod:`~robot_dynamics_ros.control.cycle.limits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.limits import LAST
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint

#: A speed limit is given up within this time where no deceleration is configured, s.
STOP_TIME = 0.25
#: Deceleration where there is neither a configured one nor a velocity limit, rad/s² or m/s².
PLAIN_DECELERATION = 5.0


def default_deceleration(velocity_limit: Array) -> Array:
    """(n,) deceleration that takes each joint from its velocity limit to rest in 0.25 s; 5 where there is no limit."""
    usable = np.isfinite(velocity_limit) & (velocity_limit > 0.0)
    return np.where(usable, velocity_limit / STOP_TIME, PLAIN_DECELERATION)


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Limits beside those of the URDF.

    Attributes:
        effort_limit: (n,) or one number, N m or N; the smaller of it and the URDF's counts; ``None``: the URDF's.
        effort_scale: factor on the effort limits (derating), 0 to 1.
        effort_rate: (n,) or one number, N m/s or N/s; ``None`` or infinite: not limited.
        position_margin: rad or m; the soft zone inside each position limit, where the allowed speed towards the
            limit falls linearly to zero.  It is narrowed to a quarter of the joint's range.  Before the zone, speed is
            limited so that ``max_deceleration`` can stop the joint in time.
        zone_rate: 1/s; the allowed speed towards a limit is this times the distance to it.
        velocity_scale: factor on the URDF's velocity limits.
        braking_rate: 1/s; a joint that is too fast is braked with the effort inertia × rate × excess of speed.
        max_deceleration: (n,) or one number, rad/s² or m/s², of a stop; ``None``: from the velocity limit in 0.25 s.
    """

    effort_limit: ArrayLike | None = None
    effort_scale: float = 1.0
    effort_rate: ArrayLike | None = None
    position_margin: float = 0.05
    zone_rate: float = 10.0
    velocity_scale: float = 1.0
    braking_rate: float = 50.0
    max_deceleration: ArrayLike | None = None


_LIMITS = (
    "effort_limit",
    "effort_rate",
    "velocity_limit",
    "deceleration",
    "margin",
    "lower",
    "upper",
    "dry",
    "viscous",
)


class Guards:
    """The limits of one robot.

    Attributes:
        settings: what they were made from, beside the description.
        effort_limit, effort_rate, velocity_limit, deceleration, margin, lower, upper: (n,) the limits in use.
        dry, viscous: (n,) friction of the description.
    """

    def __init__(
        self,
        model: RobotModel,
        settings: GuardSettings | None = None,
        idle: np.ndarray | None = None,
    ) -> None:
        """Check the settings against the model.

        Args:
            settings: the URDF's limits alone if not given.
            idle: indices of joints that are not commanded, whose motion is not this robot's to limit.

        Raises:
            ArgumentError: a setting of the wrong length, negative, or a scale above 1.
        """
        s = self.settings = settings or GuardSettings()
        n = model.nv
        for name in ("effort_scale", "velocity_scale"):
            value = getattr(s, name)
            expect(0.0 <= value <= 1.0, "a number from 0 to 1", value, name, "It is a factor on the limits.")
        for name in ("position_margin", "zone_rate", "braking_rate"):
            value = getattr(s, name)
            expect(0.0 <= value < math.inf, "a non-negative number", value, name)
        limit = per_joint(np.inf if s.effort_limit is None else s.effort_limit, n, "effort_limit", infinite=True)
        self.effort_limit = np.minimum(model.effort_limit, limit)
        if s.effort_scale < 1.0:
            self.effort_limit = self.effort_limit * s.effort_scale
        self.effort_rate = per_joint(
            np.inf if s.effort_rate is None else s.effort_rate, n, "effort_rate", infinite=True
        )
        self.velocity_limit = model.velocity_limit * s.velocity_scale
        self.deceleration = (
            default_deceleration(self.velocity_limit)
            if s.max_deceleration is None
            else per_joint(
                s.max_deceleration,
                n,
                "max_deceleration",
                positive=True,
                remedy="A joint that cannot brake cannot be stopped.",
            )
        )
        self.lower, self.upper = np.array(model.lower), np.array(model.upper)
        if idle is not None:
            self.lower[idle], self.upper[idle] = -np.inf, np.inf
            self.velocity_limit = np.array(self.velocity_limit)
            self.velocity_limit[idle] = np.inf
        self.margin = np.minimum(s.position_margin, 0.25 * (self.upper - self.lower))
        self.dry, self.viscous = model.friction, model.damping

    def load(self, memory: Memory[CycleMemory]) -> None:
        """Have the cycle use these limits from now on."""
        for name in _LIMITS:
            memory[name][:] = getattr(self, name)
        s = self.settings
        memory["zone_rate"][0], memory["braking_rate"][0] = s.zone_rate, s.braking_rate
        memory["creep"][:] = LAST * s.zone_rate * self.margin
