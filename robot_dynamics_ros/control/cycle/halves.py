"""Both halves of wrenches [moment; force] and twists [ω; v], from the axes of a frame to those of
the world and back.

``first``, ``second`` and ``third`` are the first three rows of the frame's pose, whose first three
numbers are those of its rotation matrix: a routine does not know how long the rows of a matrix are
that is handed to it.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.engine.routines import Vector


def halves_in_world(
    turns: int, first: Vector, second: Vector, third: Vector, given: Vector, out: Vector
) -> None:
    """``out``: (6,) ``given``, in the axes of the frame if it ``turns`` with it, in world axes."""
    for k in range(6):
        out[k] = given[k]
    if turns == 1:
        for part in range(2):
            half = 3 * part
            x = given[half]
            y = given[half + 1]
            z = given[half + 2]
            out[half] = first[0] * x + first[1] * y + first[2] * z
            out[half + 1] = second[0] * x + second[1] * y + second[2] * z
            out[half + 2] = third[0] * x + third[1] * y + third[2] * z


def halves_in_frame(
    turns: int, first: Vector, second: Vector, third: Vector, given: Vector, out: Vector
) -> None:
    """``out``: (6,) ``given``, in world axes, in the axes of the frame if it ``turns`` with it."""
    for k in range(6):
        out[k] = given[k]
    if turns == 1:
        for part in range(2):
            half = 3 * part
            for k in range(3):
                out[half + k] = (
                    first[k] * given[half]
                    + second[k] * given[half + 1]
                    + third[k] * given[half + 2]
                )
