"""The way back, where the straight way to a target is blocked.

Straight lines end where joints are at their limits, and at singular poses.  If the pose in which
the task began is nearer to the target than the tool is, the joints go back towards that posture,
and the tool sets out again from there.  A target out of reach is no reason to: on its straight line
the tool comes nearer to it than it was.
"""

from __future__ import annotations

from math import sqrt

from robot_dynamics_ros.control.reference.task.memory import TO_POSE, TaskMemory
from robot_dynamics_ros.control.reference.task.rotations import difference, read_tool
from robot_dynamics_ros.dynamics.engine.routines import Vector

# a smaller share of the twist is no motion
BLOCKED_SHARE = 0.1
# s for which the tool does not move before it goes back
PATIENCE_S = 0.3
# m: what is nearer than this is near
NEAR_TARGET_M = 0.01
# 1/s: with which the way back begins, and ends
RETREAT_RISES = 5.0
RETREAT_FALLS = 2.0
# m²: weight of the joints' way back, far above that of the twist
RETREAT_WEIGHT = 10.0
# 1/s: with which the joints approach the posture then
RETREAT_RATE = 4.0
# share of the velocity limits that they use
RETREAT_SPEED = 0.6


def begin_retreat(p: TaskMemory) -> None:
    """No way back is taken; ``posture_pose`` is where it would lead to."""
    p.retreat[0] = 0.0
    p.blocked[0] = 0.0
    p.link_pose(p.posture, p.link)
    read_tool(p)
    for k in range(7):
        p.posture_pose[k] = p.tool[k]


def find_retreat(p: TaskMemory, h: float) -> None:
    """``retreat``: 0 to 1, how much of the motion is the way back, after ``h`` s more."""
    far = False
    if p.kind[0] == TO_POSE:
        distance = distance_of(p, p.pose)
        far = distance > NEAR_TARGET_M and distance > NEAR_TARGET_M + distance_of(p, p.posture_pose)
    if far and p.share[0] < BLOCKED_SHARE:
        p.blocked[0] = p.blocked[0] + h
    elif p.retreat[0] == 0.0:
        p.blocked[0] = 0.0
    if far and p.blocked[0] > PATIENCE_S:
        p.retreat[0] = min(1.0, p.retreat[0] + RETREAT_RISES * h)
    else:
        p.retreat[0] = max(0.0, p.retreat[0] - RETREAT_FALLS * h)
    if p.retreat[0] > 0.0:
        # the straight line begins where the joints lead the tool to
        for k in range(7):
            p.pose[k] = p.tool[k]


def distance_of(p: TaskMemory, pose: Vector) -> float:
    """From a pose to the goal, in m: rotations weigh as in the problem of the joints."""
    difference(p, p.goal, pose, p.gap)
    square = 0.0
    for k in range(6):
        square = square + p.axes[k] * p.axes[k] * p.gap[k] * p.gap[k]
    return sqrt(square)
