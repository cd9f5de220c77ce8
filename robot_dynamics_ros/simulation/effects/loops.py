"""Closed loops within a step: K(q) v = 0 for the velocities, and positions brought back to φ(q) = 0.

    Y = M⁻¹ Kᵀ,    A = K Y,    P = 1 − Y A⁺ K

P takes off a velocity what the loops forbid, in the metric of the mass matrix; P M⁻¹ is the velocity per impulse of the robot with
its loops.  A⁺ is by Cholesky's factors with pivoting up to the rank, so that rows which depend on others do no harm.

The functions here are routines, see :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.  They work on what
:func:`~robot_dynamics_ros.simulation.effects.complementarity.factor_mass` has left.
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.engine.routines import Integers, Kernel, Matrix, Vector, integers, kernel, numbers
from robot_dynamics_ros.simulation.effects.complementarity import (
    ComplementarityMemory,
    factor_loops,
    solve_loops,
    solve_mass,
)


class LoopMemory(ComplementarityMemory):
    """The problem and the terms of closed loops, which are empty without constraints."""

    closing: Matrix = numbers("rows", "nv", meaning="K, rows of the constraints")
    loop_gap: Vector = numbers("rows", unit="m or rad", meaning="φ, what the loops are open")
    loop_rate: Vector = numbers("rows", meaning="rate of K times the velocity")
    resting: Vector = numbers("nv", unit="N m or N", meaning="mean effort of friction and stops in the step")
    limit: Integers = integers("nv", meaning="−1 or 1 where the lower or upper stop acts")
    q_of_v: Integers = integers("nv", meaning="number of the joint's position in q; −1 for a floating joint")
    lower: Vector = numbers("nv", unit="rad or m", meaning="rigid stop below")
    upper: Vector = numbers("nv", unit="rad or m", meaning="rigid stop above")
    constraint_terms: Kernel = kernel("q", "v", "out gap", "out K", "out rate")


def bind(p: LoopMemory, q: Vector, with_stops: bool) -> int:
    """Y and the factors of A at ``q``; the number of rows.  φ is left in ``p.loop_x``.

    ``with_stops`` makes each stop that a joint rests on one more row.
    """
    p.constraint_terms(q, p.v, p.loop_gap, p.closing, p.loop_rate)
    for r in range(p.rows):
        p.loop_x[r] = p.loop_gap[r]
        for i in range(p.nv):
            p.loop_K[r, i] = p.closing[r, i]
    n = p.rows
    for i in range(p.nv):
        if with_stops and p.limit[i] != 0 and p.side[i] == 0:
            for j in range(p.nv):
                p.loop_K[n, j] = 0.0
            p.loop_K[n, i] = 1.0
            p.loop_x[n] = q[p.q_of_v[i]] - stop_of(p, i)
            n += 1
    for r in range(n):
        for i in range(p.nv):
            p.loop_row[i] = p.loop_K[r, i]
        solve_mass(p, p.nv, p.loop_row)
        for i in range(p.nv):
            p.loop_Y[r, i] = p.loop_row[i]
    for r in range(n):
        for s in range(r + 1):
            total = 0.0
            for i in range(p.nv):
                total += p.loop_K[r, i] * p.loop_Y[s, i]
            p.loop_A[r, s] = total
            p.loop_A[s, r] = total
    factor_loops(p, n, 1e-10)
    return n


def stop_of(p: LoopMemory, i: int) -> float:
    """Position of the stop that acts on joint ``i``, rad or m."""
    if p.limit[i] < 0:
        return p.lower[i]
    return p.upper[i]


def take_off(p: LoopMemory, n: int, out: Vector) -> None:
    """Y A⁺ ``p.loop_x`` taken off ``out``, (nv,)."""
    solve_loops(p, n)
    for r in range(n):
        x = p.loop_x[r]
        for i in range(p.nv):
            out[i] -= p.loop_Y[r, i] * x


def allow(p: LoopMemory, n: int, v: Vector) -> None:
    """P v in place of ``v``."""
    for r in range(n):
        total = 0.0
        for i in range(p.nv):
            total += p.loop_K[r, i] * v[i]
        p.loop_x[r] = total
    take_off(p, n, v)
