"""A path of the tool becomes segments, each a polynomial of rotation and way from its first pose.

Points are rows of pose (7) and twist (6).  Row 0 is kept for the tool's own reference, from which
the path leads to its first point.
"""

from __future__ import annotations

from math import sqrt, tan

from robot_dynamics_ros.control.reference.task.approach import norm
from robot_dynamics_ros.control.reference.task.memory import ON_PATH, SEGMENT, TaskMemory
from robot_dynamics_ros.control.reference.task.rotations import difference
from robot_dynamics_ros.control.reference.upsampling import spline_divisor
from robot_dynamics_ros.dynamics.engine.routines import Vector

# rad: a segment turns less than this, or its way round is not clear
LARGEST_TURN = 2.5
# s: how long the only segment of a path of one pose is
ONE_POSE_S = 1e-3
POSE = 7
TWIST = 6
# numbers of a segment before its coefficients
SEGMENT_HEAD = 9
# coefficients of one component
COEFFICIENTS = 6


def follow_points(
    p: TaskMemory,
    t: int,
    count: int,
    with_twists: int,
    times: Vector,
    poses: Vector,
    twists: Vector,
    segments: Vector,
) -> int:
    """Follow a path through ``count`` points, in world axes, from ``t``, ns, on; 0, or the number
    of a point that the tool would turn too far to: nothing is changed then.

    ``times``: (1 + count) s after ``t``; ``poses``: (1 + count) × 7, and ``twists``, × 6, in rows,
    of which the first belongs to this routine; without ``with_twists`` the others do, too.
    ``segments``: count × SEGMENT.
    """
    first = 1
    if times[1] > 0.0:
        first = 0
        times[0] = 0.0
        for m in range(POSE):
            poses[m] = p.pose[m]
        for m in range(TWIST):
            twists[m] = p.moving[m]
    for k in range(first, count):
        find_way(p, poses, k)
        if norm(p.gap, 0) > LARGEST_TURN:
            return k + 1
    if with_twists == 0:
        if first == 1:
            for m in range(TWIST):
                twists[TWIST + m] = 0.0
        smooth_path(p, first, count, times, poses, twists, segments)
    for k in range(first, count):
        find_way(p, poses, k)
        make_segment(p, k, SEGMENT * (k - first), times, poses, twists, segments)
    p.segments[0] = count - first
    if count == first:
        hold_pose(POSE * count, times[count], poses, segments)
        p.segments[0] = 1
    p.clock[0] = 0.0
    p.kind[0] = ON_PATH
    p.target_time[0] = t
    for m in range(POSE):
        p.target_pose[m] = poses[POSE * count + m]
    return 0


def find_way(p: TaskMemory, poses: Vector, k: int) -> None:
    """``gap``: rotation and way from point ``k`` to the next one."""
    for m in range(POSE):
        p.goal[m] = poses[POSE * k + m]
        p.tool[m] = poses[POSE * (k + 1) + m]
    difference(p, p.tool, p.goal, p.gap)


def smooth_path(
    p: TaskMemory,
    first: int,
    last: int,
    times: Vector,
    poses: Vector,
    twists: Vector,
    segments: Vector,
) -> None:
    """Twists of the curve through the poses with continuous acceleration, which begins with the
    twist of the row ``first`` and ends at rest: a spline in the sum of the ways.

    ``segments`` is working memory: the shares of :func:`spline_divisor`.
    """
    for m in range(TWIST):
        twists[TWIST * last + m] = 0.0
    share = 0.0
    for k in range(last - 1, first, -1):
        left = times[k] - times[k - 1]
        right = times[k + 1] - times[k]
        divisor = spline_divisor(left, right, share)
        share = 1.0 / (left * divisor)
        segments[SEGMENT * (k - first)] = share
        find_way(p, poses, k - 1)
        for m in range(TWIST):
            p.wanted[m] = p.gap[m] / (left * left)
        find_way(p, poses, k)
        for m in range(TWIST):
            slope = 3.0 * (p.wanted[m] + p.gap[m] / (right * right))
            after = twists[TWIST * (k + 1) + m] / right
            twists[TWIST * k + m] = (slope - after) / divisor
    for k in range(first + 1, last):
        share = segments[SEGMENT * (k - first)]
        for m in range(TWIST):
            x = TWIST * k + m
            twists[x] = twists[x] - share * twists[x - TWIST]


def make_segment(
    p: TaskMemory,
    k: int,
    place: int,
    times: Vector,
    poses: Vector,
    twists: Vector,
    segments: Vector,
) -> None:
    """The segment from point ``k`` to the next one, whose way is in ``gap``, from ``place`` on."""
    T = times[k + 1] - times[k]
    segments[place] = times[k]
    segments[place + 1] = T
    for m in range(POSE):
        segments[place + 2 + m] = poses[POSE * k + m]
    for m in range(TWIST):
        p.wanted[m] = twists[TWIST * (k + 1) + m]
    turn_speed(p)
    for m in range(TWIST):
        c = place + SEGMENT_HEAD + COEFFICIENTS * m
        start = twists[TWIST * k + m]
        end = p.wanted[m]
        segments[c] = 0.0
        segments[c + 1] = start
        segments[c + 2] = (3.0 * p.gap[m] / T - 2.0 * start - end) / T
        segments[c + 3] = (start + end - 2.0 * p.gap[m] / T) / (T * T)
        segments[c + 4] = 0.0
        segments[c + 5] = 0.0


def turn_speed(p: TaskMemory) -> None:
    """The angular velocity in ``wanted``, in world axes, becomes the rate of the rotation vector
    ``gap``.

    Source: Bullo and Murray, Proportional derivative control on the Euclidean group (1995), the
    inverse of the exponential's derivative.
    """
    x = p.gap[0]
    y = p.gap[1]
    z = p.gap[2]
    angle = sqrt(x * x + y * y + z * z)
    factor = 1.0 / 12.0
    if angle > 1e-4:
        factor = (1.0 - 0.5 * angle / tan(0.5 * angle)) / (angle * angle)
    a = y * p.wanted[2] - z * p.wanted[1]
    b = z * p.wanted[0] - x * p.wanted[2]
    c = x * p.wanted[1] - y * p.wanted[0]
    p.wanted[0] = p.wanted[0] - 0.5 * a + factor * (y * c - z * b)
    p.wanted[1] = p.wanted[1] - 0.5 * b + factor * (z * a - x * c)
    p.wanted[2] = p.wanted[2] - 0.5 * c + factor * (x * b - y * a)


def hold_pose(first: int, time: float, poses: Vector, segments: Vector) -> None:
    """A path of one pose that is due at once."""
    segments[0] = time
    segments[1] = ONE_POSE_S
    for m in range(POSE):
        segments[2 + m] = poses[first + m]
    for m in range(SEGMENT_HEAD, SEGMENT):
        segments[m] = 0.0
