"""Closed loops within a step: K(q) v = 0 for the velocities, and positions brought back to φ(q) = 0.

    Y = M⁻¹ Kᵀ,    A = K Y,    P = 1 − Y A⁺ K

P takes off a velocity what the loops forbid, in the metric of the mass matrix; P M⁻¹ is the velocity per impulse of the robot with
its loops.  A⁺ is by Cholesky's factors with pivoting up to the rank, so that rows which depend on others do no harm.

The functions here are routines, see :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.  They work on what
:func:`~robot_dynamics_ros.simulation.effects.complementarity.factor_mass` has left.
"""

from __future__ import annotations

from typing import Any

from robot_dynamics_ros.dynamics.engine.routines import Vector
from robot_dynamics_ros.simulation.effects.complementarity import factor_loops, solve_loops, solve_mass

__all__ = ["allow", "bind", "bind_with_stops", "loop_arrays", "take_off"]


def bind(p: Any, q: Vector) -> int:
    """Y and the factors of A at ``q``; the number of rows.  φ is left in ``p.loop_x``."""
    _take_rows(p, q)
    _factor(p, p.rows)
    return p.rows


def bind_with_stops(p: Any, q: Vector) -> int:
    """The same, each stop that a joint rests on being one more row."""
    _take_rows(p, q)
    n = p.rows
    for i in range(p.nv):
        if p.limit[i] != 0 and p.side[i] == 0:
            stop = p.upper[i]
            if p.limit[i] < 0:
                stop = p.lower[i]
            for j in range(p.nv):
                p.loop_K[n, j] = 0.0
            p.loop_K[n, i] = 1.0
            p.loop_x[n] = q[p.q_of_v[i]] - stop
            n += 1
    _factor(p, n)
    return n


def _take_rows(p: Any, q: Vector) -> None:
    p.constraint_terms(q, p.v, p.loop_gap, p.closing, p.loop_rate)
    for r in range(p.rows):
        p.loop_x[r] = p.loop_gap[r]
        for i in range(p.nv):
            p.loop_K[r, i] = p.closing[r, i]


def _factor(p: Any, n: int) -> None:
    for r in range(n):
        for i in range(p.nv):
            p.loop_row[i] = p.loop_K[r, i]
        solve_mass(p, p.loop_row)
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


def take_off(p: Any, n: int, out: Vector) -> None:
    """Y A⁺ ``p.loop_x`` taken off ``out``, (nv,)."""
    solve_loops(p, n)
    for r in range(n):
        x = p.loop_x[r]
        for i in range(p.nv):
            out[i] -= p.loop_Y[r, i] * x


def allow(p: Any, n: int, v: Vector) -> None:
    """P v in place of ``v``."""
    for r in range(n):
        total = 0.0
        for i in range(p.nv):
            total += p.loop_K[r, i] * v[i]
        p.loop_x[r] = total
    take_off(p, n, v)


def loop_arrays(nv: int, rows: int) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
    """The arrays of doubles, and those of integers, that loops need in the memory; empty ones without constraints."""
    n, most = (nv, rows + nv) if rows else (0, 0)
    arrays: dict[str, tuple[int, ...]] = {"closing": (rows, n), "loop_K": (most, n), "loop_Y": (most, n)}
    arrays |= {"loop_A": (most, most), "loop_W": (n, n), "loop_x": (most,), "loop_gap": (rows,), "loop_rate": (rows,)}
    arrays |= dict.fromkeys(("loop_row", "loop_free", "resting"), (n,))
    return arrays, {"loop_order": (most,), "loop_rank": (1,), "loop_ready": (1,)}
