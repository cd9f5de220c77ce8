"""Velocities for positions that come without: chunks of a policy, and single set-points.

A trajectory of positions alone becomes the cubic spline through them that begins with the velocity
that the reference has, and ends at rest, so that no seam brakes.  A stream of single positions gets
the velocity and acceleration of the cubic through the last four of them, and the time until the
next one to get there.

Source: de Boor, A Practical Guide to Splines (2001), chapter 4 (complete cubic spline).
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.memory import NANOSECONDS
from robot_dynamics_ros.control.reference.tracks import (
    ROUTINES,
    SET_POINT,
    STREAM_POINTS,
    TracksMemory,
    fastest_meant,
    turns_to_first_point,
)
from robot_dynamics_ros.dynamics.engine.routines import Integers, Vector

# s: set-points further apart are single ones
LONGEST_GAP = 0.15
# s: set-points closer than this need no velocity: each is due at once
SHORTEST_GAP = 0.004
# of a stream, that a velocity is taken from
LEAST_POINTS = 3
# times the mean gap in which a set-point is due: the next one may be a little late
PATIENCE = 1.1
# the polynomials of positions, velocities, and accelerations
POSITION_ALONE = 1
CUBIC = 3
QUINTIC = 5


# -- complete splines ------------------------------------------------------------------------------


def spline_divisor(left: float, right: float, share_after: float) -> float:
    """The divisor of the equation of a spline's velocity m between two pieces.

    The pieces are ``left`` and ``right`` s long, the velocity after them is α − ``share_after`` m:
    m_before / left + (this) m = 3 (way / left² + way / right²) − α / right.
    """
    return 2.0 / left + 2.0 / right - share_after / right


def flow(
    p: TracksMemory,
    slot: int,
    times: Integers,
    degree: Integers,
    fields: Vector,
    segments: Vector,
) -> None:
    """Velocities of the spline from ``now``, where the trajectory begins, through its positions.

    The points from ``first`` on get velocities and degree 3, unless a velocity is one that nobody
    means.  ``segments`` is working memory, whose contents are lost.
    """
    k = p.width[slot]
    first = p.first[slot]
    last = p.points[slot] - 1
    size = k * (last + 1)
    lead = (p.origin[slot] + times[first] - p.start[slot]) / NANOSECONDS
    # the first point that has a velocity of its own
    begin = first
    if lead <= 0.0:
        begin = first + 1
    for x in range(size + last * k, size + last * k + k):
        fields[x] = 0.0
    # each velocity by the one before it, from the end at rest backwards
    share = 0.0
    for m in range(last - 1, begin - 1, -1):
        left = lead
        if m > first:
            left = (times[m] - times[m - 1]) / NANOSECONDS
        right = (times[m + 1] - times[m]) / NANOSECONDS
        divisor = spline_divisor(left, right, share)
        share = 1.0 / (left * divisor)
        segments[8 * m * k] = share
        for i in range(p.nv):
            column = p.column[slot * p.nv + i]
            if column < 0:
                continue
            x = m * k + column
            before = p.now[0, i] - turns_to_first_point(p, i, fields[column])
            if m > first:
                before = fields[x - k]
            slope = (fields[x] - before) / (left * left)
            slope = slope + (fields[x + k] - fields[x]) / (right * right)
            fields[size + x] = (3.0 * slope - fields[size + x + k] / right) / divisor
    for i in range(p.nv):
        column = p.column[slot * p.nv + i]
        if column < 0:
            continue
        speed = p.now[1, i]
        if lead <= 0.0 and first < last:
            fields[size + first * k + column] = speed
        for m in range(begin, last):
            x = size + m * k + column
            speed = fields[x] - segments[8 * m * k] * speed
            fields[x] = speed
            if abs(speed) > fastest_meant(p, i):
                return
    for m in range(first, last + 1):
        degree[m] = CUBIC


# -- streams of set-points -------------------------------------------------------------------------


def complete_point(
    p: TracksMemory,
    t: int,
    after: int,
    degree: Integers,
    fields: Vector,
) -> int:
    """Velocity and acceleration for the set-point in slot 0, which came at ``t``, ns, where a
    stream says them; returns in how many ns it is due: ``after``, or if that is 0, what the stream
    says.
    """
    if degree[0] != POSITION_ALONE:
        p.stream_points[0] = 0
        return after
    count = p.stream_points[0]
    if count > 0 and t <= p.stream_time[0]:
        return after
    for i in range(p.nv):
        if (p.column[i] >= 0) != (p.stream_joint[i] == 1):
            count = 0
    if count > 0 and t - p.stream_time[0] > LONGEST_GAP * NANOSECONDS:
        count = 0
    count = min(count + 1, STREAM_POINTS)
    p.stream_points[0] = count
    # the newest one is the first
    for m in range(count - 1, 0, -1):
        p.stream_time[m] = p.stream_time[m - 1]
        for i in range(p.nv):
            p.stream_position[m, i] = p.stream_position[m - 1, i]
    p.stream_time[0] = t
    for i in range(p.nv):
        p.stream_joint[i] = 0
        if p.column[i] >= 0:
            p.stream_joint[i] = 1
            p.stream_position[0, i] = fields[p.column[i]]
    if count < LEAST_POINTS:
        return after
    gap = (t - p.stream_time[count - 1]) / NANOSECONDS / float(count - 1)
    if gap < SHORTEST_GAP or not rate_stream(p, count, fields):
        return after
    degree[0] = QUINTIC
    if after > 0:
        return after
    return int(PATIENCE * gap * NANOSECONDS)


def rate_stream(p: TracksMemory, count: int, fields: Vector) -> bool:
    """Velocity and acceleration, at the newest of ``count`` set-points, of the polynomial through
    them; whether they are what somebody can mean.

    The polynomial is Newton's, from the newest point on: its coefficients are divided differences.
    """
    size = p.width[SET_POINT]
    first = (p.stream_time[1] - p.stream_time[0]) / NANOSECONDS
    second = (p.stream_time[2] - p.stream_time[0]) / NANOSECONDS
    third = second
    if count > LEAST_POINTS:
        third = (p.stream_time[3] - p.stream_time[0]) / NANOSECONDS
    for i in range(p.nv):
        column = p.column[i]
        if column < 0:
            continue
        slope = (p.stream_position[1, i] - p.stream_position[0, i]) / first
        slope_between = (p.stream_position[2, i] - p.stream_position[1, i]) / (second - first)
        bend = (slope_between - slope) / second
        twist = 0.0
        if count > LEAST_POINTS:
            oldest = (p.stream_position[3, i] - p.stream_position[2, i]) / (third - second)
            twist = ((oldest - slope_between) / (third - first) - bend) / third
        speed = slope - bend * first + twist * first * second
        if abs(speed) > fastest_meant(p, i):
            return False
        fields[size + column] = speed
        fields[2 * size + column] = 2.0 * bend - 2.0 * twist * (first + second)
    return True


REFERENCE_ROUTINES = (*ROUTINES, flow, complete_point)
"""All routines of the reference that are called from outside."""
