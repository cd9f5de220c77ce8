"""Steps of a rollout, as routines.  :func:`advance` is for one state after the other; :func:`step` is for many at once, too."""

from __future__ import annotations

from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Kernel,
    Vector,
    constant,
    integers,
    kernel,
    numbers,
)
from robot_dynamics_ros.spatial import sqrt


class RolloutMemory(Declared):
    """One state, or in each number an array of many states, and what a step needs."""

    nq: int
    nv: int
    quaternions: int = constant(int, "number of quaternions in q")
    rk4: bool = constant(bool, "the method of Runge and Kutta; else semi-implicit Euler")
    plain: bool = constant(bool, "whether rates of positions are the velocities")
    quaternion: Integers = integers("quaternions", meaning="where a quaternion begins in q")
    q: Vector = numbers("nq", unit="rad or m", meaning="position")
    v: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity")
    tau: Vector = numbers("nv", unit="N m or N", meaning="efforts")
    friction: Vector = numbers(3, meaning="shares of damping and dry friction, smoothing speed")
    stops: Vector = numbers(2, meaning="stiffness and dissipation of the stops")
    implicit: Vector = numbers(1, unit="s", meaning="the step where friction and stops are implicit in it, else 0")
    q_rate: Vector = numbers("nq", meaning="rate of the position")
    v_rate: Vector = numbers("nv", meaning="acceleration")
    q_sum: Vector = numbers("nq", meaning="weighted sum of rates")
    v_sum: Vector = numbers("nv", meaning="weighted sum of accelerations")
    q_ahead: Vector = numbers("nq", meaning="position within the step")
    v_ahead: Vector = numbers("nv", meaning="velocity within the step")
    h: Vector = numbers(1, unit="s", meaning="a step")
    stride: Integers = integers(1, meaning="from the efforts of a step to those of the next")
    recorded: Integers = integers(1, meaning="1 if the path is asked for")
    rates: Kernel = kernel("q", "v", "tau", "friction", "stops", "implicit", "out q_rate", "out v_rate")


def step(p: RolloutMemory, h: float) -> None:
    """Move ``p.q`` and ``p.v`` on by ``h``.  No branches on numbers: each may be an array."""
    p.rates(p.q, p.v, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate)
    if p.rk4:
        for k in range(3):
            reach = h if k == 2 else 0.5 * h
            for i in range(p.nq):
                p.q_sum[i] = p.q_rate[i] if k == 0 else p.q_sum[i] + 2.0 * p.q_rate[i]
                p.q_ahead[i] = p.q[i] + reach * p.q_rate[i]
            for i in range(p.nv):
                p.v_sum[i] = p.v_rate[i] if k == 0 else p.v_sum[i] + 2.0 * p.v_rate[i]
                p.v_ahead[i] = p.v[i] + reach * p.v_rate[i]
            p.rates(p.q_ahead, p.v_ahead, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate)
        for i in range(p.nq):
            p.q[i] = p.q[i] + h / 6.0 * (p.q_sum[i] + p.q_rate[i])
        for i in range(p.nv):
            p.v[i] = p.v[i] + h / 6.0 * (p.v_sum[i] + p.v_rate[i])
    else:
        for i in range(p.nv):
            p.v[i] = p.v[i] + h * p.v_rate[i]
        if p.plain:
            for i in range(p.nv):
                p.q[i] = p.q[i] + h * p.v[i]
        else:  # rates of the position again, by the new velocity
            p.rates(p.q, p.v, p.tau, p.friction, p.stops, p.implicit, p.q_rate, p.v_rate)
            for i in range(p.nq):
                p.q[i] = p.q[i] + h * p.q_rate[i]
    for k in range(p.quaternions):
        x = p.quaternion[k]
        square = p.q[x] * p.q[x] + p.q[x + 1] * p.q[x + 1] + p.q[x + 2] * p.q[x + 2] + p.q[x + 3] * p.q[x + 3]
        length = sqrt(square)
        for i in range(4):
            p.q[x + i] = p.q[x + i] / length


def advance(
    p: RolloutMemory,
    begin: int,
    end: int,
    steps: int,
    q: Vector,
    v: Vector,
    tau: Vector,
    path_q: Vector,
    path_v: Vector,
) -> None:
    """States begin to end of (N, nq) and (N, nv) arrays, in place, under (N, steps, nv) efforts, or (N, 1, nv) with ``p.stride`` 0;
    paths (N, steps + 1, nq) and (N, steps + 1, nv) are written to if ``p.recorded`` is 1."""
    for s in range(begin, end):
        for i in range(p.nq):
            p.q[i] = q[p.nq * s + i]
        for i in range(p.nv):
            p.v[i] = v[p.nv * s + i]
        first = p.nv * s if p.stride[0] == 0 else p.nv * steps * s
        for k in range(steps + 1):
            if p.recorded[0] != 0:
                row = (steps + 1) * s + k
                for i in range(p.nq):
                    path_q[p.nq * row + i] = p.q[i]
                for i in range(p.nv):
                    path_v[p.nv * row + i] = p.v[i]
            if k < steps:
                for i in range(p.nv):
                    p.tau[i] = tau[first + p.stride[0] * k + i]
                step(p, p.h[0])
        for i in range(p.nq):
            q[p.nq * s + i] = p.q[i]
        for i in range(p.nv):
            v[p.nv * s + i] = p.v[i]
