"""The tool as it is, beside where it should be; and targets in the frame of its link."""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.halves import halves_in_world
from robot_dynamics_ros.control.reference.task.memory import TaskMemory
from robot_dynamics_ros.control.reference.task.rotations import (
    difference,
    place_in_link,
    read_tool,
)
from robot_dynamics_ros.dynamics.engine.routines import Vector, row


def see_tool(p: TaskMemory, q: Vector, v: Vector, desired: Vector) -> None:
    """``seen_pose``, ``seen_twist``, ``seen_error`` for measured positions and velocities, and the
    reference's positions, (n,) each.
    """
    p.link_pose(desired, p.link)
    read_tool(p)
    for k in range(7):
        p.desired_pose[k] = p.tool[k]
    p.link_pose(q, p.link)
    read_tool(p)
    for k in range(7):
        p.seen_pose[k] = p.tool[k]
    difference(p, p.desired_pose, p.seen_pose, p.seen_error)
    p.link_jacobian(q, p.point, p.jacobian)
    for k in range(6):
        p.seen_twist[k] = 0.0
        for i in range(p.n):
            p.seen_twist[k] = p.seen_twist[k] + p.jacobian[k, i] * v[i]


def given_in_link(p: TaskMemory) -> None:
    """``given_pose`` and ``given_twist`` are in the frame of the link, where the reference has it
    now: bring them to the world.
    """
    p.link_pose(p.position, p.link)
    place_in_link(p, p.given_pose, p.given_pose, 3, p.given_pose)
    halves_in_world(1, row(p.link, 0), row(p.link, 1), row(p.link, 2), p.given_twist, p.wanted)
    for k in range(6):
        p.given_twist[k] = p.wanted[k]
