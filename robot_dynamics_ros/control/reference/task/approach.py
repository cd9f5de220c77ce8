"""How the tool's reference approaches its target: with bounded velocity, acceleration and jerk.

Rotation and way are two vectors that are treated alike.  Far from the target the speed follows the
curve from which the tool stops in time, near it the distance; the rate heads for that speed, and
the jerk for that rate.  Norms are bounded, not components, so that a motion from rest is a straight
line.
"""

from __future__ import annotations

from math import sqrt

from robot_dynamics_ros.control.cycle.memory import NANOSECONDS
from robot_dynamics_ros.control.reference.task.memory import (
    BY_TWIST,
    HOLD_POSE,
    ON_PATH,
    SEGMENT,
    TO_POSE,
    TaskMemory,
)
from robot_dynamics_ros.control.reference.task.rotations import difference, move, turn_by
from robot_dynamics_ros.dynamics.engine.routines import Vector

# 1/s, each some four times the one before, so that all three together do not swing. With twice of
# all three the tool arrives in half the time and asks for eight times the jerk.
# Velocity over distance:
DISTANCE_RATE = 8.0
# acceleration over velocity:
VELOCITY_RATE = 32.0
# jerk over acceleration:
ACCELERATION_RATE = 128.0
# Share of the largest acceleration that the way to stop is planned with
STOPPING_SHARE = 0.5


def find_goal(p: TaskMemory, t: float, h: float, segments: Vector) -> None:
    """``goal``, ``goal_twist``, ``goal_rate``: where the target is, ``t`` s after its stamp."""
    for k in range(7):
        p.goal[k] = p.target_pose[k]
    for k in range(6):
        p.goal_twist[k] = 0.0
        p.goal_rate[k] = 0.0
    if p.kind[0] == ON_PATH:
        p.clock[0] = p.clock[0] + p.share[0] * h
        follow_path(p, segments)
    elif t < (p.target_until[0] - p.target_time[0]) / NANOSECONDS:
        for k in range(6):
            p.goal_twist[k] = p.target_twist[k]
        if p.kind[0] == TO_POSE:
            move(p, p.goal, p.target_twist, max(t, 0.0))


def follow_path(p: TaskMemory, segments: Vector) -> None:
    """The path at ``clock``, after its end its last pose."""
    k = 0
    while k < p.segments[0] - 1 and p.clock[0] >= segments[SEGMENT * k] + segments[SEGMENT * k + 1]:
        k = k + 1
    first = SEGMENT * k
    length = segments[first + 1]
    s = min(max(p.clock[0] - segments[first], 0.0), length)
    for m in range(7):
        p.goal[m] = segments[first + 2 + m]
    moves = 1.0
    if p.clock[0] > segments[first] + length or p.clock[0] < segments[first]:
        moves = 0.0
    for m in range(6):
        at = first + 9 + 6 * m
        c0 = segments[at]
        c1 = segments[at + 1]
        c2 = segments[at + 2]
        c3 = segments[at + 3]
        c4 = segments[at + 4]
        c5 = segments[at + 5]
        p.wanted[m] = c0 + s * (c1 + s * (c2 + s * (c3 + s * (c4 + s * c5))))
        p.goal_twist[m] = moves * (
            c1 + s * (2.0 * c2 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))
        )
        p.goal_rate[m] = moves * (2.0 * c2 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5)))
    for m in range(3):
        p.goal[m] = p.goal[m] + p.wanted[3 + m]
    turn_by(p, p.goal, p.wanted[0], p.wanted[1], p.wanted[2])
    turn_rates(p)


def turn_rates(p: TaskMemory) -> None:
    """Angular velocity and its rate from those of the rotation vector in ``wanted``.

    ω = φ̇ + (1 − cos φ)/φ² φ × φ̇ + (φ − sin φ)/φ³ φ × (φ × φ̇), of which segments, less than half
    a turn each, need the first terms of the series: 1/2 − φ²/24 and 1/6 − φ²/120.
    """
    x = p.wanted[0]
    y = p.wanted[1]
    z = p.wanted[2]
    square = x * x + y * y + z * z
    first = 0.5 - square / 24.0 + square * square / 720.0
    second = 1.0 / 6.0 - square / 120.0 + square * square / 5040.0
    turn_rate(p.goal_twist, x, y, z, first, second)
    turn_rate(p.goal_rate, x, y, z, first, second)


def turn_rate(u: Vector, x: float, y: float, z: float, first: float, second: float) -> None:
    """u + first φ × u + second φ × (φ × u) in place of the first three of ``u``."""
    a = y * u[2] - z * u[1]
    b = z * u[0] - x * u[2]
    c = x * u[1] - y * u[0]
    i = y * c - z * b
    j = z * a - x * c
    k = x * b - y * a
    u[0] = u[0] + first * a + second * i
    u[1] = u[1] + first * b + second * j
    u[2] = u[2] + first * c + second * k


def norm(u: Vector, first: int) -> float:
    """Length of three entries."""
    return sqrt(u[first] * u[first] + u[first + 1] * u[first + 1] + u[first + 2] * u[first + 2])


def shorten(u: Vector, first: int, largest: float) -> None:
    """Bring three entries to a length that is allowed."""
    length = norm(u, first)
    if length > largest:
        for k in range(3):
            u[first + k] = u[first + k] * (largest / length)


def approach(p: TaskMemory, h: float) -> None:
    """``twist`` and ``rate`` of the tool's reference after a step of ``h`` s."""
    difference(p, p.goal, p.pose, p.gap)
    # pose and twist are those before the step: so is what they are compared with, or the tool would
    # run ahead of its target by a step
    for k in range(6):
        p.gap[k] = p.gap[k] - h * p.goal_twist[k]
    for part in range(2):
        first = 3 * part
        distance = norm(p.gap, first)
        # the speed with which the way that is left can be stopped in
        edge = STOPPING_SHARE * p.largest_acceleration[part] / (DISTANCE_RATE * DISTANCE_RATE)
        speed = DISTANCE_RATE * distance
        if distance > edge:
            speed = sqrt(
                2.0 * STOPPING_SHARE * p.largest_acceleration[part] * (distance - 0.5 * edge)
            )
        speed_per_distance = 0.0
        if distance > 0.0 and p.kind[0] != BY_TWIST:
            speed_per_distance = speed / distance
        for k in range(first, first + 3):
            before = p.goal_twist[k] - h * p.goal_rate[k]
            p.wanted[k] = before + speed_per_distance * p.gap[k]
        shorten(p.wanted, first, p.largest_speed[part])
        for k in range(first, first + 3):
            p.wanted[k] = VELOCITY_RATE * (p.wanted[k] - p.twist[k]) + p.goal_rate[k]
        shorten(p.wanted, first, p.largest_acceleration[part])
        share = min(1.0, ACCELERATION_RATE * h)
        for k in range(first, first + 3):
            p.wanted[k] = (p.wanted[k] - p.rate[k]) * share
        shorten(p.wanted, first, p.largest_jerk[part] * h)
        for k in range(first, first + 3):
            p.rate[k] = p.rate[k] + p.wanted[k]
            p.twist[k] = p.twist[k] + h * p.rate[k]


def rest_at_reference(p: TaskMemory) -> None:
    """The tool's reference is its own target: it comes to rest where it is."""
    p.kind[0] = HOLD_POSE
    for k in range(7):
        p.target_pose[k] = p.pose[k]
    for k in range(6):
        p.target_twist[k] = 0.0
