"""Poses as seven numbers, in routines: position, then quaternion x, y, z, w."""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from robot_dynamics_ros.control.reference.task.memory import TaskMemory
from robot_dynamics_ros.dynamics.engine.routines import Vector

# rad; below this a rotation's axis is taken from the first term of its series
SMALL_ANGLE = 1e-9


def difference(p: TaskMemory, to: Vector, start: Vector, out: Vector) -> None:
    """``out``: [rotation vector; way] that takes the pose ``start`` to ``to``, in world axes."""
    x = to[6] * start[3] - to[3] * start[6]
    y = to[6] * start[4] - to[4] * start[6]
    z = to[6] * start[5] - to[5] * start[6]
    # to ⊗ start⁻¹
    x = -x - (to[4] * start[5] - to[5] * start[4])
    y = -y - (to[5] * start[3] - to[3] * start[5])
    z = -z - (to[3] * start[4] - to[4] * start[3])
    w = to[6] * start[6] + to[3] * start[3] + to[4] * start[4] + to[5] * start[5]
    # the short way round
    if w < 0.0:
        x = -x
        y = -y
        z = -z
        w = -w
    length = sqrt(x * x + y * y + z * z)
    factor = 2.0
    if length > SMALL_ANGLE:
        factor = 2.0 * atan2(length, w) / length
    out[0] = factor * x
    out[1] = factor * y
    out[2] = factor * z
    for k in range(3):
        out[3 + k] = to[k] - start[k]


def move(p: TaskMemory, pose: Vector, twist: Vector, h: float) -> None:
    """Move a pose for ``h`` s by a constant twist, in world axes."""
    for k in range(3):
        pose[k] = pose[k] + h * twist[3 + k]
    turn_by(p, pose, h * twist[0], h * twist[1], h * twist[2])


def turn_by(p: TaskMemory, pose: Vector, rx: float, ry: float, rz: float) -> None:
    """Turn a pose about its own point by a rotation vector in world axes."""
    angle = sqrt(rx * rx + ry * ry + rz * rz)
    factor = 0.5
    if angle > SMALL_ANGLE:
        factor = sin(0.5 * angle) / angle
    x = factor * rx
    y = factor * ry
    z = factor * rz
    w = cos(0.5 * angle)
    a = pose[3]
    b = pose[4]
    c = pose[5]
    d = pose[6]
    # (x, y, z, w) ⊗ (a, b, c, d)
    i = w * a + x * d + y * c - z * b
    j = w * b - x * c + y * d + z * a
    k = w * c + x * b - y * a + z * d
    r = w * d - x * a - y * b - z * c
    scale = 1.0 / sqrt(i * i + j * j + k * k + r * r)
    pose[3] = i * scale
    pose[4] = j * scale
    pose[5] = k * scale
    pose[6] = r * scale


def read_link_turn(p: TaskMemory) -> None:
    """``link_turn``: quaternion of the rotation in ``link``; Shepperd's method."""
    trace = p.link[0, 0] + p.link[1, 1] + p.link[2, 2]
    i = 0
    if p.link[1, 1] > p.link[0, 0]:
        i = 1
    if p.link[2, 2] > p.link[i, i]:
        i = 2
    if trace > p.link[i, i]:
        root = sqrt(1.0 + trace)
        p.link_turn[3] = 0.5 * root
        p.link_turn[0] = 0.5 * (p.link[2, 1] - p.link[1, 2]) / root
        p.link_turn[1] = 0.5 * (p.link[0, 2] - p.link[2, 0]) / root
        p.link_turn[2] = 0.5 * (p.link[1, 0] - p.link[0, 1]) / root
        return
    j = (i + 1) % 3
    k = (i + 2) % 3
    root = sqrt(1.0 + p.link[i, i] - p.link[j, j] - p.link[k, k])
    p.link_turn[3] = 0.5 * (p.link[k, j] - p.link[j, k]) / root
    p.link_turn[i] = 0.5 * root
    p.link_turn[j] = 0.5 * (p.link[j, i] + p.link[i, j]) / root
    p.link_turn[k] = 0.5 * (p.link[k, i] + p.link[i, k]) / root


def place_in_link(
    p: TaskMemory,
    position: Vector,
    turn: Vector,
    first_of_turn: int,
    out: Vector,
) -> None:
    """``out``: (7,) the pose in the world of what has this position, and this quaternion from
    ``first_of_turn`` on, in the frame ``link``.
    """
    for k in range(3):
        p.placed[k] = (
            p.link[k, 3]
            + p.link[k, 0] * position[0]
            + p.link[k, 1] * position[1]
            + p.link[k, 2] * position[2]
        )
    read_link_turn(p)
    x = p.link_turn[0]
    y = p.link_turn[1]
    z = p.link_turn[2]
    w = p.link_turn[3]
    a = turn[first_of_turn]
    b = turn[first_of_turn + 1]
    c = turn[first_of_turn + 2]
    d = turn[first_of_turn + 3]
    # the link's rotation, then the other one in it
    out[3] = w * a + x * d + y * c - z * b
    out[4] = w * b - x * c + y * d + z * a
    out[5] = w * c + x * b - y * a + z * d
    out[6] = w * d - x * a - y * b - z * c
    for k in range(3):
        out[k] = p.placed[k]


def read_tool(p: TaskMemory) -> None:
    """``tool``: pose of the tool, from that of its link in ``link``."""
    place_in_link(p, p.point, p.turn, 0, p.tool)
