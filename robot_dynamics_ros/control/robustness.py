"""Settings of the step that makes computed torque hold up on robots that differ from their description."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from robot_dynamics_ros.errors import ArgumentError

__all__ = ["Robustness"]

_LARGEST = {"rotor_share": 1.0, "rejected_effort": 1.0, "bandwidth": 1000.0, "delay": 0.1}


@dataclass(frozen=True, slots=True)
class Robustness:
    """Feedback that does not rest on an inertia that may be wrong, and rejection of what the model does not explain.

    The natural frequency of the error is ``bandwidth``, or less where delay and rate ask for it.

    Attributes:
        rotor_share: rotor inertia assumed of a joint that has not shown another, as a share of the largest that
            joints of its effort limit have, 0.2 kg m² √(limit / 100 N m).
        bandwidth: rad/s.
        rejected_effort: bound of the effort that makes up for what the model does not explain, as a share of the
            effort limit; a person or an obstacle is pushed no harder than with this and the stiffness.
        delay: s from a command to its effort and from a state to its message together: a property of the robot.

    Raises:
        ArgumentError: a number that is negative, too large or not finite.
    """

    rotor_share: float = 0.4
    bandwidth: float = 35.0
    rejected_effort: float = 0.4
    delay: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, largest = getattr(self, field.name), _LARGEST[field.name]
            if not (math.isfinite(value) and 0.0 <= value <= largest) or (field.name == "bandwidth" and value == 0.0):
                raise ArgumentError(
                    f"expected a number from 0 to {largest:g}, got {value!r}",
                    where=f"robustness {field.name}",
                    got=value,
                    remedy="Correct the setting.",
                )
