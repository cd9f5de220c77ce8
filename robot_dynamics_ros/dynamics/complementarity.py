"""Mixed linear complementarity: dry friction, stops and impacts of all joints at once.  The
functions are routines.

Find the change u of the velocity and the impulses x such that M u = f + x and, with w = v + u −
target, in every row that friction or a stop acts on

    lo < x < hi:  w = 0          x = lo:  w ≥ 0          x = hi:  w ≤ 0

and x = 0 in all others.  Rows are held (w = 0) or pushed (x at a bound): a guess gives the
velocities of all rows that are not held, then the impulses of those that are.  Rows that contradict
it change sides, all at once as long as that helps, then one at a time, which cannot cycle (Júdice
and Pires, Computers & OR 21(5), 1994; Cottle, Pang, Stone, *The Linear Complementarity Problem*,
ch. 4).

Closed loops within a step, K(q) v = 0 for the velocities, and positions brought back to φ(q) = 0:

    Y = M⁻¹ Kᵀ,    A = K Y,    P = 1 − Y A⁺ K

P takes off a velocity what the loops forbid, in the metric of the mass matrix; P M⁻¹ is the
velocity per impulse of the robot with its loops.  A⁺ is by Cholesky's factors with pivoting up to
the rank, so that rows which depend on others do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, sqrt
from typing import TypeVar

import numpy as np

from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Kernel,
    Matrix,
    Memory,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
    row,
)
from robot_dynamics_ros.errors import SimulationError
from robot_dynamics_ros.model.description import Array

# Sides of a row: at its lower bound,
LOW = -1
# between the bounds: what it binds does not move,
HELD = 0
# at its upper bound,
HIGH = 1
# or without a bound that acts.
FREE = 2
# Rounds in which all wrong rows change sides and yet as many are wrong: then one row at a time,
# which is slower and ends for certain
ROUNDS_WITHOUT_GAIN = 10
# nothing where no row of loops or coupled motors is
_UNLESS_PLAIN = "{} if rows + couples else 0"
# of constraints, then of joints and coupled motors
_ROW_LOOP = _UNLESS_PLAIN.format("rows + nv + couples")


class ComplementarityMemory(Declared):
    """The problem and its solution, for a robot that may have closed loops."""

    nv: int
    rows: int = constant(int, "rows of the constraints of closed loops")
    couples: int = constant(int, "motors that turn with two joints")
    by_impulse: bool = constant(
        bool, "whether there are closed loops or such motors: velocities then follow from impulses"
    )
    couple: Matrix = numbers(
        "couples", "nv", meaning="speed of each of these motors per speed of the joints"
    )
    M: Matrix = numbers("nv", "nv", meaning="mass matrix, with what is implicit in the step")
    U: Matrix = numbers("nv", "nv", meaning="its factor")
    pivot: Vector = numbers("nv", meaning="inverse of the factor's diagonal")
    f: Vector = numbers("nv", unit="N m s or N s", meaning="impulse of all that is known")
    v: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity")
    target: Vector = numbers(
        "nv + couples", unit="rad/s or m/s", meaning="velocity at which a held row is held"
    )
    lo: Vector = numbers(
        "nv + couples", unit="N m s or N s", meaning="least impulse of friction and stop"
    )
    hi: Vector = numbers(
        "nv + couples", unit="N m s or N s", meaning="largest impulse of friction and stop"
    )
    u: Vector = numbers("nv", unit="rad/s or m/s", meaning="change of the velocity")
    x: Vector = numbers("nv + couples", unit="N m s or N s", meaning="impulse of friction and stop")
    work: Vector = numbers("nv", meaning="right-hand side for the rows that move")
    side: Integers = integers("nv + couples", meaning="side of each row: LOW, HELD, HIGH or FREE")
    wrong: Integers = integers(
        "nv + couples", meaning="side that a row should be on, FREE where it is right"
    )
    part: Integers = integers("nv + couples", meaning="numbers of the rows that move")
    whole: Integers = integers(1, meaning="1 if the factor is that of the whole matrix")
    unsettled: Integers = integers(1, meaning="1 if the iteration of a step has not converged")
    loop_K: Matrix = numbers(_ROW_LOOP, "nv", meaning="constraint rows, those of stops after them")
    loop_Y: Matrix = numbers(
        _ROW_LOOP, "nv", meaning="inverse mass matrix times the rows, transposed"
    )
    loop_A: Matrix = numbers(_ROW_LOOP, _ROW_LOOP, meaning="its product with the rows")
    loop_W: Matrix = numbers(
        _UNLESS_PLAIN.format("nv + couples"), "nv", meaning="velocities per impulse of each row"
    )
    loop_x: Vector = numbers(_ROW_LOOP, meaning="right-hand side of the rows")
    loop_row: Vector = numbers(_UNLESS_PLAIN.format("nv"), meaning="one row")
    loop_free: Vector = numbers(
        _UNLESS_PLAIN.format("nv"), unit="rad/s or m/s", meaning="change where no row acts"
    )
    loop_order: Integers = integers(_ROW_LOOP, meaning="order of the pivots")
    loop_rank: Integers = integers(1, meaning="rank of the rows")
    loop_ready: Integers = integers(1, meaning="1 if loop_W is that of this step")


M = TypeVar("M", bound=ComplementarityMemory)


def factor_mass(p: ComplementarityMemory) -> int:
    """Factors of ``p.M`` for :func:`solve_mass`, in ``p.U`` and ``p.pivot``; 0 if it is not
    positive definite.
    """
    for i in range(p.nv):
        p.part[i] = i
    return factor_part(p, p.nv)


def factor_part(p: ComplementarityMemory, n: int) -> int:
    """The same as :func:`factor_mass` for the ``n`` rows and columns of ``p.M`` that ``p.part``
    names.

    Uᵀ D⁻¹ U = M, D the diagonal of U, is in the upper half of ``p.U``, 1/D in ``p.pivot``.  The
    other half takes Uᵀ D⁻¹, so that substitution runs along rows both ways.
    """
    p.whole[0] = n == p.nv
    for i in range(n):
        number = p.part[i]
        for j in range(i, n):
            p.U[i, j] = p.M[number, p.part[j]]
    for k in range(n):
        if not p.U[k, k] > 0.0:
            return 0
        p.pivot[k] = 1.0 / p.U[k, k]
        for i in range(k + 1, n):
            ratio = p.U[k, i] * p.pivot[k]
            p.U[i, k] = ratio
            for j in range(i, n):
                p.U[i, j] -= ratio * p.U[k, j]
    return 1


def solve_mass(p: ComplementarityMemory, n: int, b: Vector) -> None:
    """M⁻¹ b in place of ``b``, (n,), of the ``n`` rows and columns of M that are factored."""
    for k in range(n):
        ratio = b[k] * p.pivot[k]
        for i in range(k + 1, n):
            b[i] -= p.U[k, i] * ratio
    for k in range(n):
        b[k] *= p.pivot[k]
    for k in range(n - 1, 0, -1):
        for j in range(k):
            b[j] -= p.U[k, j] * b[k]


def factor_loops(p: ComplementarityMemory, n: int, least: float) -> None:
    """L Lᵀ of the first ``n`` rows of ``p.loop_A``, the largest pivots first, down to ``least`` of
    the largest.

    L takes the place of A: row and column ``p.loop_order[k]`` are its k-th.
    """
    for i in range(n):
        p.loop_order[i] = i
    p.loop_rank[0] = n
    largest = 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if (
                p.loop_A[p.loop_order[i], p.loop_order[i]]
                > p.loop_A[p.loop_order[best], p.loop_order[best]]
            ):
                best = i
        r = p.loop_order[best]
        p.loop_order[best] = p.loop_order[k]
        p.loop_order[k] = r
        value = p.loop_A[r, r]
        largest = max(largest, value)
        if not value > least * largest:
            p.loop_rank[0] = k
            break
        root = sqrt(value)
        p.loop_A[r, r] = root
        for i in range(k + 1, n):
            p.loop_A[p.loop_order[i], r] /= root
        for i in range(k + 1, n):
            s = p.loop_order[i]
            for j in range(k + 1, n):
                p.loop_A[s, p.loop_order[j]] -= p.loop_A[s, r] * p.loop_A[p.loop_order[j], r]


def solve_loops(p: ComplementarityMemory, n: int) -> None:
    """A⁺ ``p.loop_x`` in its place: of rows that depend on others, zero."""
    for k in range(p.loop_rank[0], n):
        p.loop_x[p.loop_order[k]] = 0.0
    for k in range(p.loop_rank[0]):
        r = p.loop_order[k]
        rest = p.loop_x[r]
        for j in range(k):
            rest -= p.loop_A[r, p.loop_order[j]] * p.loop_x[p.loop_order[j]]
        p.loop_x[r] = rest / p.loop_A[r, r]
    for k in range(p.loop_rank[0] - 1, -1, -1):
        r = p.loop_order[k]
        rest = p.loop_x[r]
        for j in range(k + 1, p.loop_rank[0]):
            rest -= p.loop_A[p.loop_order[j], r] * p.loop_x[p.loop_order[j]]
        p.loop_x[r] = rest / p.loop_A[r, r]


def speed_of(p: ComplementarityMemory, i: int, v: Vector) -> float:
    """Speed of row ``i`` for joint speeds ``v``: that of a joint, or of a motor that turns with
    two.
    """
    if i < p.nv or p.couples == 0:
        return v[i]
    speed = 0.0
    for j in range(p.nv):
        speed += p.couple[i - p.nv, j] * v[j]
    return speed


def _at_bound(p: ComplementarityMemory, i: int) -> float:
    """Impulse of row ``i`` if it is pushed, else zero."""
    if p.side[i] == LOW:
        return p.lo[i]
    return p.hi[i] if p.side[i] == HIGH else 0.0


def _mobility(p: ComplementarityMemory) -> None:
    """Rows of P M⁻¹ in ``p.loop_W``: the velocities per impulse of each row."""
    p.loop_ready[0] = 1
    for i in range(p.nv + p.couples):
        for j in range(p.nv):
            p.loop_row[j] = 0.0
            if i >= p.nv:
                p.loop_row[j] = p.couple[i - p.nv, j]
        if i < p.nv:
            p.loop_row[i] = 1.0
        solve_mass(p, p.nv, p.loop_row)
        for r in range(p.rows):
            p.loop_x[r] = speed_of(p, i, row(p.loop_Y, r))
        solve_loops(p, p.rows)
        for j in range(p.nv):
            total = p.loop_row[j]
            for r in range(p.rows):
                total -= p.loop_Y[r, j] * p.loop_x[r]
            p.loop_W[i, j] = total


def _velocities_by_impulse(p: ComplementarityMemory) -> int:
    """The same as :func:`_velocities` for a robot with loops or coupled motors, which moves by
    ``p.loop_free`` if no row acts.

    Rows that hold each other share what they bear: a small ridge picks that one of all solutions.
    """
    n = 0
    acting = 0
    for i in range(p.nv):
        p.u[i] = p.loop_free[i]
    for i in range(p.nv + p.couples):
        p.x[i] = _at_bound(p, i)
        if p.side[i] == HELD:
            p.part[n] = i
            n += 1
        if p.side[i] != FREE:
            acting += 1
    if acting == 0:
        return 1
    if p.loop_ready[0] == 0:
        _mobility(p)
    for i in range(p.nv + p.couples):
        if p.side[i] == LOW or p.side[i] == HIGH:
            for j in range(p.nv):
                p.u[j] += p.loop_W[i, j] * p.x[i]
    if n > 0:
        trace = 0.0
        for k in range(n):
            trace += speed_of(p, p.part[k], row(p.loop_W, p.part[k]))
        ridge = 1e-10 * max(trace / float(n), 1e-300)
        for k in range(n):
            i = p.part[k]
            for m in range(n):
                p.loop_A[k, m] = speed_of(p, p.part[m], row(p.loop_W, i))
            p.loop_A[k, k] += ridge
            p.loop_x[k] = p.target[i] - speed_of(p, i, p.v) - speed_of(p, i, p.u)
        factor_loops(p, n, 0.0)
        solve_loops(p, n)
        for k in range(n):
            i = p.part[k]
            p.x[i] = p.loop_x[k]
            for j in range(p.nv):
                p.u[j] += p.loop_W[i, j] * p.x[i]
    return 1


def _velocities(p: ComplementarityMemory) -> int:
    """``p.u`` for the present sides, and ``p.x`` where it is given by them."""
    if p.by_impulse:
        return _velocities_by_impulse(p)
    n = 0
    for i in range(p.nv):
        p.x[i] = _at_bound(p, i)
        if p.side[i] == HELD:
            p.u[i] = p.target[i] - p.v[i]
        else:
            p.part[n] = i
            n += 1
    if n == p.nv:
        for i in range(p.nv):
            p.u[i] = p.f[i] + p.x[i]
        if p.whole[0] == 0 and factor_mass(p) == 0:
            return 0
        solve_mass(p, p.nv, p.u)
        return 1
    for k in range(n):
        i = p.part[k]
        rest = p.f[i] + p.x[i]
        for j in range(p.nv):
            if p.side[j] == HELD:
                rest -= p.M[i, j] * p.u[j]
        p.work[k] = rest
    if factor_part(p, n) == 0:
        return 0
    solve_mass(p, n, p.work)
    for k in range(n):
        p.u[p.part[k]] = p.work[k]
    return 1


def _wrong_rows(p: ComplementarityMemory) -> int:
    """Impulses of held rows, and in ``p.wrong`` what each row that contradicts its side should be;
    how many do.
    """
    scale = 1.0
    # the ridge's, or rounding
    slack = 1e-10 if p.by_impulse else 1e-13
    for i in range(p.nv):
        scale = max(scale, abs(p.v[i] + p.u[i] - p.target[i]))
    count = 0
    for i in range(p.nv + p.couples):
        p.wrong[i] = FREE
        if p.side[i] == HELD:
            impulse = p.x[i]
            if not p.by_impulse:
                impulse = -p.f[i]
                for j in range(p.nv):
                    impulse += p.M[i, j] * p.u[j]
                p.x[i] = impulse
            if impulse < p.lo[i]:
                p.wrong[i] = LOW
            elif impulse > p.hi[i]:
                p.wrong[i] = HIGH
        elif p.side[i] != FREE:
            away = (speed_of(p, i, p.v) + speed_of(p, i, p.u) - p.target[i]) * float(p.side[i])
            if away > slack * scale:
                p.wrong[i] = HELD
        if p.wrong[i] != FREE:
            count += 1
    return count


def solve_complementarity(p: ComplementarityMemory) -> int:
    """Solve it; 0 if that is not possible, because M is not positive definite.

    Reads ``p.M``, ``p.f``, ``p.v``, ``p.target``, ``p.lo``, ``p.hi``; takes ``p.side`` (LOW, HELD,
    HIGH, or FREE in rows that nothing acts on) as the guess and leaves the solution's there, with
    ``p.u`` and ``p.x``.
    """
    for i in range(p.nv + p.couples):
        if p.side[i] == LOW and p.lo[i] == -inf:
            p.side[i] = HELD
        if p.side[i] == HIGH and p.hi[i] == inf:
            p.side[i] = HELD
    fewest = p.nv + p.couples + 1
    patience = ROUNDS_WITHOUT_GAIN
    for _ in range(50 + 20 * (p.nv + p.couples)):
        if _velocities(p) == 0:
            return 0
        count = _wrong_rows(p)
        if count == 0:
            return 1
        single = False
        if count < fewest:
            fewest = count
            patience = ROUNDS_WITHOUT_GAIN
        elif patience > 0:
            patience -= 1
        else:
            single = True
        for i in range(p.nv + p.couples - 1, -1, -1):
            if p.wrong[i] != FREE:
                p.side[i] = p.wrong[i]
                if single:
                    break
    return 0


class LoopMemory(ComplementarityMemory):
    """The problem and the terms of closed loops, which are empty without constraints."""

    closing: Matrix = numbers("rows", "nv", meaning="K, rows of the constraints")
    loop_gap: Vector = numbers("rows", unit="m or rad", meaning="φ, what the loops are open")
    loop_rate: Vector = numbers("rows", meaning="rate of K times the velocity")
    resting: Vector = numbers(
        "nv", unit="N m or N", meaning="mean effort of friction and stops in the step"
    )
    limit: Integers = integers("nv", meaning="−1 or 1 where the lower or upper stop acts")
    q_of_v: Integers = integers(
        "nv", meaning="number of the joint's position in q; −1 for a floating joint"
    )
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
        if with_stops and p.limit[i] != 0 and p.side[i] == HELD:
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
    return p.lower[i] if p.limit[i] < 0 else p.upper[i]


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


def solve_apart(
    memory: Memory[M],
    solve: Callable[[Memory[M]], int],
    **problem: Array | float,
) -> tuple[Array, Array, np.ndarray]:
    """u, x and sides, (nv,) each, of a problem on its own, in the memory of a robot, whose velocity
    stays as it is.

    ``solve`` runs :func:`solve_complementarity`; ``problem`` is what that reads, by name.
    """
    kept = memory["v"].copy()
    for name, value in problem.items():
        memory[name][...] = value
    memory["whole"][0] = 0
    solved = solve(memory)
    memory["v"][:] = kept
    if not solved:
        raise not_definite()
    return memory["u"].copy(), memory["x"].copy(), memory["side"].copy()


def not_definite() -> SimulationError:
    """The error where no motion follows from the efforts."""
    remedy = "Check masses, inertias and armatures for negative or missing values."
    return SimulationError("is not positive definite", where="mass matrix", remedy=remedy)
