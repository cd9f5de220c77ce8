"""Tolerances of a goal: error along the path, error at the goal, and delay.

The rules are those of joint_trajectory_controller: a tolerance of zero means that the quantity is not watched.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.per_joint import expect, per_joint


@dataclass(frozen=True, slots=True)
class JointTolerance:
    """A request for one joint, as in control_msgs/JointTolerance: 0 keeps the default, −1 removes the tolerance.

    Attributes:
        position, velocity, acceleration: rad, rad/s, rad/s² (or m, …).
    """

    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Tolerances:
    """Tolerances of all joints; zero: not watched.

    Attributes:
        path_position, path_velocity: (n,) largest error while moving.
        goal_position, goal_velocity: (n,) largest error at the end; goal_velocity is the largest speed that counts as
            stopped.
        goal_time: s by which the goal may be late; 0: no limit.
    """

    path_position: Array
    path_velocity: Array
    goal_position: Array
    goal_velocity: Array
    goal_time: float = 0.0

    @classmethod
    def uniform(
        cls,
        n: int,
        *,
        path: float | Sequence[float] = 0.0,
        goal: float | Sequence[float] = 0.0,
        stopped_velocity: float | Sequence[float] = 0.01,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """Tolerances from ``constraints.<joint>.trajectory``, ``.goal``, ``stopped_velocity_tolerance``, ``goal_time``.

        Args:
            n: number of joints; each other value is one number for all or one for each.

        Raises:
            ArgumentError: a value negative, not finite, or of the wrong length.
        """
        zero = "Zero means: not watched."
        remedy = "Zero means: however long it takes."
        expect(0.0 <= goal_time < math.inf, "a non-negative number of seconds", goal_time, "goal_time", remedy)
        return cls(
            per_joint(path, n, "path", remedy=zero),
            per_joint(0.0, n, "path velocity"),
            per_joint(goal, n, "goal", remedy=zero),
            per_joint(stopped_velocity, n, "stopped_velocity", remedy=zero),
            float(goal_time),
        )

    def with_requests(
        self,
        joints: Sequence[str],
        path: Mapping[str, JointTolerance] | None = None,
        goal: Mapping[str, JointTolerance] | None = None,
        goal_time: float = 0.0,
    ) -> Tolerances:
        """These defaults with what an action goal asks for: 0 keeps the default, −1 lifts it, more sets it.

        Args:
            joints: the n joint names, in the order of the arrays.

        Raises:
            ArgumentError: an unknown joint or another negative value; as with joint_trajectory_controller, the caller
                then keeps the defaults.
        """
        columns = {
            name: getattr(self, name).copy()
            for name in ("path_position", "path_velocity", "goal_position", "goal_velocity")
        }
        for stage, requests in (("path", path or {}), ("goal", goal or {})):
            for joint, request in requests.items():
                if joint not in joints:
                    raise ArgumentError(
                        f"unknown joint {joint!r}",
                        where=f"{stage}_tolerance",
                        got=joint,
                        remedy=f"The joints are {', '.join(joints)}.",
                    )
                i = list(joints).index(joint)
                for quantity in ("position", "velocity"):
                    value = getattr(request, quantity)
                    column = columns[f"{stage}_{quantity}"]
                    column[i] = _resolved(value, float(column[i]), f"{stage}_tolerance[{joint}].{quantity}")
                _resolved(request.acceleration, 0.0, f"{stage}_tolerance[{joint}].acceleration")
        for column in columns.values():
            column.setflags(write=False)
        return replace(self, goal_time=_resolved(goal_time, self.goal_time, "goal_time_tolerance"), **columns)


def _resolved(requested: float, default: float, where: str) -> float:
    if requested == 0.0:
        return default
    if requested == -1.0:
        return 0.0
    kind = "a positive number, 0 (default) or −1 (none)"
    expect(0.0 < requested < math.inf, kind, requested, where, "Correct the tolerance.")
    return float(requested)
