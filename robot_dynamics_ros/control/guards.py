"""The limits of one robot: those of its description, and the settings beside them.

How they are applied is a step of the control cycle: :mod:`~robot_dynamics_ros.control.cycle.limits`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.cycle.limits import narrow_limits, usual_deceleration
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.dynamics.engine.routines import Memory
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, per_joint, settings_or_default


def default_deceleration(velocity_limit: Array) -> Array:
    """(n,) deceleration that takes each joint from its velocity limit to rest in 0.25 s; 5 where there is no limit."""
    return np.array([usual_deceleration(x) for x in velocity_limit.tolist()])


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


class Guards:
    """The limits of one robot.

    Attributes:
        settings: what they were made from, beside the description.
    """

    def __init__(self, model: RobotModel, settings: GuardSettings | None = None) -> None:
        """Check the settings against the model.

        Args:
            settings: the URDF's limits alone if not given.

        Raises:
            ArgumentError: a setting of the wrong length, negative, or a scale above 1.
        """
        s = self.settings = settings_or_default(GuardSettings, settings, "settings")
        n = model.nv
        for name in ("effort_scale", "velocity_scale"):
            value = getattr(s, name)
            expect(0.0 <= value <= 1.0, "a number from 0 to 1", value, name, "It is a factor on the limits.")
        for name in ("position_margin", "zone_rate", "braking_rate"):
            value = getattr(s, name)
            expect(0.0 <= value < math.inf, "a non-negative number", value, name)
        limits = {name: getattr(s, name) for name in ("effort_limit", "effort_rate")}
        limits = {
            name: per_joint(np.inf if value is None else value, n, name, infinite=True)
            for name, value in limits.items()
        }
        deceleration: ArrayLike = 0.0
        if s.max_deceleration is not None:
            remedy = "A joint that cannot brake cannot be stopped."
            deceleration = per_joint(s.max_deceleration, n, "max_deceleration", positive=True, remedy=remedy)
        self._largest_effort = limits["effort_limit"]
        self._described: dict[str, ArrayLike] = {
            "effort_limit": model.effort_limit,
            "effort_rate": limits["effort_rate"],
            "velocity_limit": model.velocity_limit,
            "deceleration": deceleration,
            "lower": model.lower,
            "upper": model.upper,
            "dry": model.friction,
            "viscous": model.damping,
            "zone_rate": s.zone_rate,
            "braking_rate": s.braking_rate,
        }

    def describe(self, memory: Memory[CycleMemory]) -> None:
        """Put down what the settings narrow."""
        for name, value in self._described.items():
            memory[name][:] = value

    def load(self, memory: Memory[CycleMemory]) -> None:
        """Have the cycle use these limits from now on, for the joints that are commanded."""
        s = self.settings
        self.describe(memory)
        largest: Any = self._largest_effort
        narrow_limits(memory.python, largest, s.effort_scale, s.velocity_scale, s.position_margin)
