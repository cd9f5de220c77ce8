"""A path of the tool: poses at times, joined by polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.control.reference.goal import TrajectoryRejected
from robot_dynamics_ros.control.reference.task.memory import SEGMENT
from robot_dynamics_ros.control.reference.task.poses import pose_difference
from robot_dynamics_ros.control.reference.task.settings import (
    checked_pose,
    checked_twist,
    numbers_of,
)
from robot_dynamics_ros.model.description import Array

# rad: a segment turns less than this, or its way round is not clear
LARGEST_TURN = 2.5


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


def path_segments(
    times: Array, poses: Array, twists: Array | None, start: Array, start_twist: Array
) -> Array:
    """(k × SEGMENT,) the segments of a path as routines follow them, from the pose (7,) and twist
    (6,) of the tool's reference on, if the first point is not due at once.

    TrajectoryRejected: more than 2.5 rad from one pose to the next.
    """
    times = np.asarray(times, dtype=np.float64)
    if times[0] > 0.0:
        times = np.concatenate([[0.0], times])
        poses = np.vstack([start, poses])
        if twists is not None:
            twists = np.vstack([start_twist, twists])
    else:
        start_twist = np.zeros(6) if twists is None else twists[0]
    if len(times) == 1:
        times = np.array([times[0], times[0] + 1e-3])
        poses = np.vstack([poses, poses])
        twists = np.zeros((2, 6))
    ways = np.array([pose_difference(b, a) for a, b in pairwise(poses)])
    turns = np.linalg.norm(ways[:, :3], axis=1)
    if turns.max() > LARGEST_TURN:
        k = int(np.argmax(turns))
        raise TrajectoryRejected(
            f"the tool would turn by {turns[k]:.3g} rad before this point",
            where=f"points[{k}]",
            got=float(turns[k]),
            remedy="Give poses in between.",
        )
    if twists is None:
        twists = smooth_twists(times, ways, start_twist)
    segments = np.zeros((len(ways), SEGMENT))
    for k, way in enumerate(ways):
        T = times[k + 1] - times[k]
        first = twists[k]
        last = twists[k + 1].copy()
        last[:3] = turn_speed(way[:3], last[:3])
        segments[k, :2] = times[k], T
        segments[k, 2:9] = poses[k]
        c = segments[k, 9:].reshape(6, 6)
        c[:, 1] = first
        c[:, 2] = (3.0 * way / T - 2.0 * first - last) / T
        c[:, 3] = (first + last - 2.0 * way / T) / T**2
    return segments.ravel()


def smooth_twists(times: Array, ways: Array, start_twist: Array) -> Array:
    """(m, 6) twists of the curve through the poses with continuous acceleration, which begins with
    a twist (6,) and ends at rest: a spline in the sum of the ways.
    """
    from scipy.interpolate import CubicSpline

    sums = np.vstack([np.zeros(6), np.cumsum(ways, axis=0)])
    end = np.zeros(6)
    spline = CubicSpline(times, sums, bc_type=((1, start_twist), (1, end)))
    return np.asarray(spline(times, 1))


def turn_speed(turn: Array, omega: Array) -> Array:
    """(3,) rate of the rotation vector ``turn`` under an angular velocity in world axes.

    Source: Bullo and Murray, Proportional derivative control on the Euclidean group (1995), the
    inverse of the exponential's derivative.
    """
    angle = float(np.linalg.norm(turn))
    cross = np.cross(turn, omega)
    factor = 1.0 / 12.0
    if angle > 1e-4:
        factor = (1.0 - 0.5 * angle / np.tan(0.5 * angle)) / angle**2
    return omega - 0.5 * cross + factor * np.cross(turn, cross)
