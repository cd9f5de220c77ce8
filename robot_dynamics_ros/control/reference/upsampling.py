"""Velocities for positions that come without: chunks of a policy, and single set-points.

A trajectory of positions alone becomes the cubic spline through them that begins with the velocity
that the reference has, so that no seam brakes.  A stream of single positions gets the velocity
and acceleration of the cubic through the last four of them, and the time until the next one to get
there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robot_dynamics_ros.control.reference.trajectory import (
    NANOSECONDS,
    Trajectory,
    TrajectoryPoint,
)
from robot_dynamics_ros.model.description import Array

# s: set-points further apart are single ones
LONGEST_GAP = 0.15
# s: set-points closer than this need no velocity: each is due at once
SHORTEST_GAP = 0.004
# of a stream, that a velocity and an acceleration are taken from
POINTS = 4
# times the mean gap in which a set-point is due: the next one may be a little late
PATIENCE = 1.1


def flowing(trajectory: Trajectory, start: Array, velocity: Array) -> Trajectory:
    """The trajectory with the velocities of the spline through its positions.

    Args:
        trajectory: k joints, positions alone; one with velocities, or without points, stays as it
            is, so does one that has a single point.
        start: (k,) where the joints' reference is when it begins.
        velocity: (k,) how fast it is then.
    """
    if len(trajectory) < 2 or (trajectory.degree != 1).any():
        return trajectory
    from scipy.interpolate import CubicSpline

    times = trajectory.times / NANOSECONDS
    positions = trajectory.positions
    leads = bool(times[0] > 0.0)
    if leads:
        times = np.concatenate([[0.0], times])
        positions = np.vstack([start, positions])
    rest = np.zeros_like(velocity)
    spline = CubicSpline(times, positions, bc_type=((1, velocity), (1, rest)))
    velocities = spline(times, 1)[1 if leads else 0 :]
    velocities[-1] = 0.0
    degree = np.full(len(trajectory), 3, dtype=np.int8)
    for array in (velocities, degree):
        array.setflags(write=False)
    return replace(trajectory, velocities=velocities, degree=degree)


class SetPointStream:
    """Remembers the last set-points of a stream, to give the next one a velocity and a time."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._last: deque[tuple[int, Array]] = deque(maxlen=POINTS)

    def completed(self, names: Sequence[str], point: TrajectoryPoint, t: int) -> TrajectoryPoint:
        """The point with velocity and acceleration, and a time if it has none, where a stream says
        them; ``t``: ns, when it came.
        """
        if len(point.velocities) or not len(point.positions):
            self._last.clear()
            return point
        positions = np.array(point.positions, dtype=np.float64)
        last = self._last
        late = bool(last) and t - last[-1][0] > LONGEST_GAP * NANOSECONDS
        if late or tuple(names) != self._names or (last and len(last[-1][1]) != len(positions)):
            last.clear()
        if last and t <= last[-1][0]:
            return point
        self._names = tuple(names)
        last.append((t, positions))
        if len(last) < 3:
            return point
        times = [(moment - t) / NANOSECONDS for moment, _ in last]
        gap = -times[0] / (len(last) - 1)
        if gap < SHORTEST_GAP:
            return point
        velocities, accelerations = end_rates(times, [x for _, x in last])
        due = point.time_from_start or round(PATIENCE * gap * NANOSECONDS)
        return replace(
            point,
            time_from_start=due,
            velocities=velocities.tolist(),
            accelerations=accelerations.tolist(),
        )


def end_rates(times: Sequence[float], positions: Sequence[Array]) -> tuple[Array, Array]:
    """(k,) velocity and acceleration at time 0, the last of the times, of the polynomial through
    the positions (k,).
    """
    scale = -times[0]
    powers = np.vander(np.array(times) / scale, increasing=True)
    coefficients = np.linalg.solve(powers, np.array(positions))
    return coefficients[1] / scale, 2.0 * coefficients[2] / scale**2
