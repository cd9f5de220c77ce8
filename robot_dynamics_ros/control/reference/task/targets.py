"""Targets of the tool are taken over: poses and their streams, twists, wrenches.

What is given stands in the memory already, checked and in world axes.
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.halves import halves_in_frame, halves_in_world
from robot_dynamics_ros.control.cycle.memory import NANOSECONDS
from robot_dynamics_ros.control.reference.task.approach import norm
from robot_dynamics_ros.control.reference.task.memory import (
    BY_TWIST,
    TARGET_EARLY,
    TARGET_LATE,
    TARGET_REPEATED,
    TO_POSE,
    TaskMemory,
)
from robot_dynamics_ros.control.reference.task.rotations import difference
from robot_dynamics_ros.dynamics.engine.routines import Vector, row

# s: targets that follow each other within this time are a stream, whose velocity is estimated
STREAM_GAP = 0.1
# s: closer than this, the stamps say nothing about a velocity
LEAST_GAP = 0.0005
# how many times its mean interval a stream is taken to go on
GOES_ON = 1.5
# share of a new difference in the estimated velocity of a stream
NEWEST_SHARE = 0.5


def judge_stamp(p: TaskMemory, t: int, stamp: int, streams: int) -> int:
    """0, or why a target with this stamp, ns, 0: now, is refused at ``t``, ns.

    ``streams``: poses and twists are followed, and stamps of targets must increase.
    """
    if stamp <= 0:
        return 0
    if t - stamp > p.largest_age[0]:
        return TARGET_LATE
    if stamp - t > p.largest_age[0]:
        return TARGET_EARLY
    goes_on = streams == 1 and p.kind[0] >= TO_POSE and p.kind[0] <= BY_TWIST
    if goes_on and stamp <= p.target_time[0]:
        return TARGET_REPEATED
    return 0


def take_pose(p: TaskMemory, stamp: int) -> None:
    """Head for ``given_pose``, meant for the time ``stamp``, ns."""
    gap = (stamp - p.target_time[0]) / NANOSECONDS
    if p.kind[0] != TO_POSE or gap < 0.0 or gap >= STREAM_GAP:
        for k in range(6):
            p.target_twist[k] = 0.0
        p.mean_gap[0] = 0.0
    elif gap > LEAST_GAP:
        watch_stream(p, gap)
    for k in range(7):
        p.target_pose[k] = p.given_pose[k]
    p.kind[0] = TO_POSE
    p.target_time[0] = stamp
    p.target_until[0] = stamp + int(GOES_ON * p.mean_gap[0] * NANOSECONDS)


def watch_stream(p: TaskMemory, gap: float) -> None:
    """Another pose of a stream came after ``gap`` s: the velocity between the last two."""
    share = 1.0
    if p.mean_gap[0] > 0.0:
        share = NEWEST_SHARE
    p.mean_gap[0] = p.mean_gap[0] + share * (gap - p.mean_gap[0])
    difference(p, p.given_pose, p.target_pose, p.wanted)
    # a jump of the target is no velocity
    jumps = (
        norm(p.wanted, 0) > p.largest_speed[0] * gap or norm(p.wanted, 3) > p.largest_speed[1] * gap
    )
    for k in range(6):
        change = share * (p.wanted[k] / gap - p.target_twist[k])
        p.target_twist[k] = 0.0 if jumps else p.target_twist[k] + change


def take_twist(p: TaskMemory, t: int, stamp: int) -> None:
    """Move by ``given_twist`` from ``t``, ns, on, until ``twist_timeout``."""
    for k in range(6):
        p.target_twist[k] = p.given_twist[k]
    p.kind[0] = BY_TWIST
    p.target_time[0] = stamp
    p.target_until[0] = t + p.twist_timeout[0]


def take_wrench(p: TaskMemory, t: int, in_link: int) -> None:
    """Exert ``given_wrench`` from ``t``, ns, on, until ``wrench_timeout``; ``in_link``: it is given
    in the axes of the tool's link.
    """
    if p.exerts[0] == 1 and p.wrench_in_link[0] != in_link:
        p.link_pose(p.measured, p.link)
        turn_wrench(p, p.wrench_between, in_link)
        turn_wrench(p, p.wrench, in_link)
    for k in range(6):
        p.wrench_asked[k] = p.given_wrench[k]
    p.wrench_in_link[0] = in_link
    p.wrench_until[0] = t + p.wrench_timeout[0]
    p.exerts[0] = 1


def turn_wrench(p: TaskMemory, wrench: Vector, into_link: int) -> None:
    """A wrench that is exerted goes on, in the axes of the link or of the world."""
    if into_link == 1:
        halves_in_frame(1, row(p.link, 0), row(p.link, 1), row(p.link, 2), wrench, p.wanted)
    else:
        halves_in_world(1, row(p.link, 0), row(p.link, 1), row(p.link, 2), wrench, p.wanted)
    for k in range(6):
        wrench[k] = p.wanted[k]
