"""The midpoint rule in momenta: what the robot's own motion adds in a step, so that energy does not
drift.

    p̂₁ − ½ h ĝ₁ = p̂₀ + ½ h ĝ₀ + impulses,
    p̂ = M(q) v,    ĝ = ∂L/∂q at (q, v),    L = ½ vᵀ M v − U

This is Hamilton's principle for the action h Σ L(q_k, v_k), taken between the points q_k ⊕ ½ h v_k
at which the impulses act:
the trapezoidal rule in (q, p).  Left and right are the momentum at those points.  Without impulses
the map is conjugate to a symplectic one, and it keeps the momentum of every symmetry (Hairer,
Lubich and Wanner, *Geometric Numerical Integration*, 2006, sections VI.6, VI.8; Marsden and West,
*Acta Numerica* 10, 2001, secs. 1.5 and 3.2).

Floating joints move by twists: with x = ad(h v),

    p(q ⊕ −½ h v) = (x / (eˣ − 1))ᵀ p̂ − ½ h (1 − tanh ¼x)ᵀ ĝ,      p(q ⊕ ½ h v) = (x / (1 − e⁻ˣ))ᵀ
    p̂ + ½ h (1 + tanh ¼x)ᵀ ĝ

and the transport from the one point to the other is (eˣ)ᵀ  (Bou-Rabee and Marsden, *Found. Comput.
Math.* 9, 2009).
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.complementarity import ComplementarityMemory
from robot_dynamics_ros.dynamics.engine.routines import (
    Integers,
    Kernel,
    Matrix,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
)

COTH = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
)
"""½x coth ½x − 1 in powers x², x⁴, …"""
CARRIED = ("past_steps", "carried_q", "carried_v", "carried_h", "carried", "past", "contraction")
"""What one step leaves to the next."""
TANH = (
    1 / 4,
    -1 / 192,
    1 / 7680,
    -17 / 5160960,
    31 / 371589120,
    -691 / 326998425600,
    5461 / 102023508787200,
)
"""tanh ¼x in powers x, x³, …"""


class MomentumMemory(ComplementarityMemory):
    """A step in momenta, and what the steps before it have left."""

    nq: int
    floating: int = constant(int, "number of floating joints")
    q: Vector = numbers("nq", unit="rad or m", meaning="position")
    q1: Vector = numbers("nq", unit="rad or m", meaning="position after the step")
    v1: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity after the step")
    floating_v: Integers = integers(
        "floating", meaning="where a floating joint's velocity begins in v"
    )
    momentum: Vector = numbers(
        "nv", unit="N m s or N s", meaning="momentum where impulses act, before them"
    )
    total: Vector = numbers("nv", unit="N m s or N s", meaning="the same after them")
    bias_impulse: Vector = numbers(
        "nv", unit="N m s or N s", meaning="what own motion adds to the impulses"
    )
    ahead: Vector = numbers(
        "nv", unit="N m s or N s", meaning="M(q) v, brought to where impulses act"
    )
    before: Vector = numbers(
        "nv", unit="N m s or N s", meaning="half of the impulse of forces of position, before"
    )
    after: Vector = numbers("nv", unit="N m s or N s", meaning="the other half")
    carried: Vector = numbers("nv", unit="N m s or N s", meaning="momentum for the next step")
    past: Matrix = numbers(
        4, "nv", unit="N m s or N s", meaning="bias impulse of the last step, and its differences"
    )
    past_steps: Integers = integers(1, meaning="number of steps that led to the present state")
    carried_q: Vector = numbers(
        "nq", unit="rad or m", meaning="position that the carried momentum belongs to"
    )
    carried_v: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity that it belongs to")
    carried_h: Vector = numbers(1, unit="s", meaning="length of the step that it belongs to")
    contraction: Vector = numbers(1, meaning="by what factor an iteration reduces the error")
    turn: Vector = numbers(
        "6 if floating else 0", meaning="displacement of a floating joint, a twist times time"
    )
    power: Vector = numbers(
        "6 if floating else 0", meaning="a power of its coadjoint operator times a momentum"
    )
    coth: Vector = numbers("7 if floating else 0", meaning="coefficients of a series")
    tanh: Vector = numbers("7 if floating else 0", meaning="coefficients of a series")
    generalized_momentum: Kernel = kernel("q", "v", "out momentum", "out rate")


def recall_momentum(p: MomentumMemory, h: float) -> None:
    """``p.momentum`` at the beginning of a step, and a first guess of ``p.bias_impulse``, what the
    robot itself adds to f.

    Both follow from the last steps, if the state is the one that they ended with.
    """
    same = p.past_steps[0] > 0 and p.carried_h[0] == h
    for i in range(p.nq):
        if p.q[i] != p.carried_q[i]:
            same = False
    for i in range(p.nv):
        if p.v[i] != p.carried_v[i]:
            same = False
    if not same:
        p.past_steps[0] = 0
        p.contraction[0] = 1.0
        _evaluate(p, p.q, p.v, h)
        _transport(p, h, p.ahead, p.v, p.carried)
    for i in range(p.nv):
        p.momentum[i] = p.carried[i]
        p.bias_impulse[i] = 0.0
        for k in range(min(4, p.past_steps[0])):
            p.bias_impulse[i] += p.past[k, i]


def bias_impulse(p: MomentumMemory, h: float, v: Vector) -> None:
    """``p.bias_impulse`` such that ``p.q1`` and ``v`` are the end of the step, if the impulses
    ``p.total`` act.

    ``p.total`` is the momentum with which a step begins, its impulses included.
    """
    _evaluate(p, p.q1, v, h)
    for i in range(p.nv):
        p.bias_impulse[i] += p.total[i] - p.ahead[i] + p.before[i]


def carry_momentum(p: MomentumMemory, h: float) -> None:
    """Keep the momentum at the end of a step for the next one, and the bias impulse for its first
    guess.
    """
    for i in range(p.nv):
        p.ahead[i] = p.total[i] + p.before[i]
        change = p.bias_impulse[i]
        for k in range(min(4, p.past_steps[0] + 1)):
            before = p.past[k, i]
            p.past[k, i] = change
            change -= before
        p.carried_v[i] = p.v1[i]
    for i in range(p.nq):
        p.carried_q[i] = p.q1[i]
    _transport(p, h, p.ahead, p.v1, p.carried)
    p.past_steps[0] += 1
    p.carried_h[0] = h


def _evaluate(p: MomentumMemory, q: Vector, v: Vector, h: float) -> None:
    """``p.ahead``, p̂ brought to the beginning of the step; ``p.before`` and ``p.after``, the
    shares of h ĝ on both sides.
    """
    p.generalized_momentum(q, v, p.ahead, p.before)
    for i in range(p.nv):
        p.before[i] *= 0.5 * h
        p.after[i] = p.before[i]
    for f in range(p.floating):
        i = p.floating_v[f]
        for k in range(6):
            p.turn[k] = h * v[i + k]
            p.power[k] = p.ahead[i + k]
        for m in range(7):
            _coadjoint(p)
            if m == 0:
                for k in range(6):
                    p.ahead[i + k] -= 0.5 * p.power[k]
                    p.before[i + k] -= 0.5 * p.power[k]
            _coadjoint(p)
            for k in range(6):
                p.ahead[i + k] += p.coth[m] * p.power[k]
        for k in range(6):
            p.power[k] = p.before[i + k]
            p.after[i + k] = p.before[i + k]
        for m in range(7):
            _coadjoint(p)
            for k in range(6):
                p.before[i + k] -= p.tanh[m] * p.power[k]
                p.after[i + k] += p.tanh[m] * p.power[k]
            _coadjoint(p)


def _transport(
    p: MomentumMemory,
    h: float,
    momentum: Vector,
    v: Vector,
    out: Vector,
) -> None:
    """``out``: ``momentum`` brought from the beginning to the end of the step in which the robot
    moves by ``v``, and ``p.after``.
    """
    for i in range(p.nv):
        out[i] = momentum[i] + p.after[i]
    for f in range(p.floating):
        i = p.floating_v[f]
        for k in range(6):
            p.turn[k] = h * v[i + k]
            p.power[k] = momentum[i + k]
        for m in range(25):
            _coadjoint(p)
            for k in range(6):
                p.power[k] /= float(m + 1)
                out[i + k] += p.power[k]


def _coadjoint(p: MomentumMemory) -> None:
    """adᵀ of ``p.turn`` applied to ``p.power``, in its place."""
    wx = p.turn[0]
    wy = p.turn[1]
    wz = p.turn[2]
    vx = p.turn[3]
    vy = p.turn[4]
    vz = p.turn[5]
    nx = p.power[0]
    ny = p.power[1]
    nz = p.power[2]
    fx = p.power[3]
    fy = p.power[4]
    fz = p.power[5]
    p.power[0] = ny * wz - nz * wy + fy * vz - fz * vy
    p.power[1] = nz * wx - nx * wz + fz * vx - fx * vz
    p.power[2] = nx * wy - ny * wx + fx * vy - fy * vx
    p.power[3] = fy * wz - fz * wy
    p.power[4] = fz * wx - fx * wz
    p.power[5] = fx * wy - fy * wx
