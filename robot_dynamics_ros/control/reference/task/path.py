"""A path of the tool: poses at times, joined by polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.task.settings import (
    checked_pose,
    checked_twist,
    numbers_of,
)
from robot_dynamics_ros.model.description import Array


@dataclass(frozen=True, slots=True, eq=False)
class ToolPath:
    """Poses that the tool passes, checked; made by :meth:`of`.

    Attributes:
        times: (m,) s after the start, increasing.
        poses: (m, 7) position in m and quaternion x, y, z, w.
        twists: (m, 6) [angular; linear] there, or ``None``: those of a smooth curve through the
            poses.
        frame: the link that they are given in, or "" for the world.
    """

    times: Array
    poses: Array
    twists: Array | None
    frame: str = ""

    @classmethod
    def of(
        cls,
        times: Sequence[float],
        positions: Sequence[ArrayLike] | Array,
        quaternions: Sequence[ArrayLike] | Array,
        twists: Sequence[ArrayLike] | Array | None = None,
        *,
        frame: str = "",
    ) -> ToolPath:
        """Check points; TrajectoryRejected names the one that is wrong."""
        moments = numbers_of(times, len(times), "time_from_start")
        if not len(moments):
            raise TrajectoryRejected("there are no points", where="points", remedy="Give one.")
        if moments[0] < 0.0 or (np.diff(moments) <= 0.0).any():
            raise TrajectoryRejected(
                "times must increase", where="points", got=times, remedy="Sort the points by time."
            )
        pairs = zip(positions, quaternions, strict=True)
        poses = np.array([checked_pose(x, turn) for x, turn in pairs])
        rows = None
        if twists is not None:
            rows = np.array([checked_twist(np.asarray(x)[:3], np.asarray(x)[3:]) for x in twists])
        return cls(moments, poses, rows, frame)
