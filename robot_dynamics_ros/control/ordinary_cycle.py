"""The statements of the ordinary control cycle: reference, errors, integral, law, and that nothing has to be cut.

They are translated to machine code, see :mod:`~robot_dynamics_ros.control.compiled_cycle`.
"""

from __future__ import annotations

import math

from robot_dynamics_ros.control.cycle_memory import CycleMemory
from robot_dynamics_ros.dynamics.engine.routines import Vector

__all__ = ["ordinary_cycle"]

PI, TURN = math.pi, 2.0 * math.pi
FAR = 100.0
"""Errors of continuous joints, rad, from which on counting whole turns is left to the statements."""


def ordinary_cycle(p: CycleMemory, x: Vector) -> int:
    """One cycle for the state ``p.q``, ``p.v``; ``p.status``, and what is returned, is 0 if it is done, 1 if it was left as it was.

    Args:
        p: the memory, see :func:`~robot_dynamics_ros.control.cycle_memory.cycle_memory`.
        x: s since the start of the reference's piece; s since the cycle before; whether wrenches are wanted.
    """
    p.status[0] = 1
    if p.ready[0] == 0:
        return 1
    for i in range(p.nv):  # Guards.near_limits
        speed = p.v[i] * p.v[i]
        if speed > p.near_speed[i] or speed * p.reach[i] + abs(p.q[i] - p.centre[i]) > p.half[i]:
            return 1
    if p.tracks[0] == 1:
        if not follow(p, x[0]):
            return 1
        for i in range(p.nv):
            if abs(p.error[0, i]) > p.watch_position[i] or abs(p.error[1, i]) > p.watch_velocity[i]:
                return 1
    else:
        for i in range(p.nv):
            p.reference[0, i] = p.q[i]
            p.reference[1, i] = p.v[i]
            p.reference[2, i] = 0.0
            p.error[0, i] = 0.0
            p.error[1, i] = 0.0
    for i in range(p.nv):  # advance_integral, of joints none of which was cut
        p.z_next[i] = p.z[i]
        if p.integrates[0] == 1:
            p.z_next[i] = max(min(p.z[i] + p.error[0, i] * x[1], p.integral_bound[i]), -p.integral_bound[i])
    evaluate_law(p, x[2])
    for i in range(p.nv):
        effort = p.asked[i]
        if not abs(effort) <= p.effort_limit[i] or effort - effort != 0.0:
            return 1
        if abs(effort - p.previous[i]) > p.effort_rate[i] * x[1]:
            return 1
    for i in range(p.nv):
        p.z[i] = p.z_next[i]
        p.effort[i] = p.asked[i]
        p.command[i] = p.asked[i]
    p.status[0] = 0
    return 0


def follow(p: CycleMemory, t: float) -> bool:
    """Reference and errors, ``t`` s after the start of the piece; see :class:`Path` and ``Workspace.compute_errors``.

    False if a continuous joint is many turns away.
    """
    for i in range(p.nv):
        if p.moves[0] == 1:
            p.reference[0, i] = p.piece[0, i] + t * (
                p.piece[1, i] + t * (p.piece[2, i] + t * (p.piece[3, i] + t * (p.piece[4, i] + t * p.piece[5, i])))
            )
            p.reference[1, i] = p.piece[1, i] + t * (
                2.0 * p.piece[2, i] + t * (3.0 * p.piece[3, i] + t * (4.0 * p.piece[4, i] + t * 5.0 * p.piece[5, i]))
            )
            p.reference[2, i] = 2.0 * p.piece[2, i] + t * (
                6.0 * p.piece[3, i] + t * (12.0 * p.piece[4, i] + t * 20.0 * p.piece[5, i])
            )
        else:
            p.reference[0, i] = p.piece[0, i]
            p.reference[1, i] = 0.0
            p.reference[2, i] = 0.0
        e = p.reference[0, i] - p.q[i]
        if p.continuous[i] == 1:
            if abs(e) > FAR:
                return False
            while e >= PI:
                e = e - TURN
            while e < -PI:
                e = e + TURN
        p.error[0, i] = e
        p.error[1, i] = p.reference[1, i] - p.v[i]
    return True


def evaluate_law(p: CycleMemory, wrenches: float) -> None:
    """``p.asked``: what the law asks for, see :class:`LawCode`; with it the wrenches if the law's own pass gives them."""
    if p.uses_gravity[0] == 1:
        p.gravity_forces(p.q, p.gravity)
    if p.uses_inertia[0] == 1:
        p.mass_matrix(p.q, p.inertia)
    if p.uses_motion_of_reference[0] == 1:
        for i in range(p.nv):
            p.q_reference[i] = p.reference[0, i]
            p.v_reference[i] = p.reference[1, i]
            p.a_reference[i] = p.reference[2, i]
        p.inverse_dynamics(p.q_reference, p.v_reference, p.a_reference, p.motion_of_reference)
    if p.uses_motion[0] == 1:
        p.law_before(
            p.q,
            p.v,
            p.reference,
            p.error,
            p.z_next,
            p.gains,
            p.gravity,
            p.inertia,
            p.motion,
            p.motion_of_reference,
            p.a,
        )
        if wrenches > 0.0:
            p.inverse_dynamics_wrenches(p.q, p.v, p.a, p.motion, p.wrenches)
        else:
            p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    p.law_after(
        p.q,
        p.v,
        p.reference,
        p.error,
        p.z_next,
        p.gains,
        p.gravity,
        p.inertia,
        p.motion,
        p.motion_of_reference,
        p.asked,
    )
