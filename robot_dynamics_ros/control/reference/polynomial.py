"""Polynomials between two points of a trajectory: (6, …, n) coefficients of 1, τ, … τ⁵, τ in s since the first point.

Points are (n,), or (m, n) for m segments at once, with durations (m, 1).

The coefficients are the unique Hermite interpolants; see e.g. Biagiotti and Melchiorri, Trajectory Planning for
Automatic Machines and Robots (2008), chapter 2.
"""

from __future__ import annotations

import numpy as np

from robot_dynamics_ros.model.description import Array

__all__ = ["constant", "cubic", "extrapolation", "linear", "quintic", "shifted"]


def constant(q: Array) -> Array:
    """Stay at ``q`` (n,)."""
    c = np.zeros((6, *q.shape))
    c[0] = q
    return c


def extrapolation(q: Array, v: Array, a: Array) -> Array:
    """Go on from ``q`` with velocity ``v`` and constant acceleration ``a``, (n,) each."""
    c = constant(q)
    c[1] = v
    c[2] = 0.5 * a
    return c


def linear(q0: Array, q1: Array, duration: float | Array) -> Array:
    """From ``q0`` to ``q1`` (n,) at constant velocity in ``duration`` s."""
    c = constant(q0)
    c[1] = (q1 - q0) / duration
    return c


def cubic(q0: Array, v0: Array, q1: Array, v1: Array, duration: float | Array) -> Array:
    """Meet position and velocity at both ends, (n,) each."""
    T = duration
    d = (q1 - q0) / T
    c = constant(q0)
    c[1] = v0
    c[2] = (3.0 * d - 2.0 * v0 - v1) / T
    c[3] = (v0 + v1 - 2.0 * d) / (T * T)
    return c


def quintic(q0: Array, v0: Array, a0: Array, q1: Array, v1: Array, a1: Array, duration: float | Array) -> Array:
    """Meet position, velocity and acceleration at both ends, (n,) each."""
    T = duration
    d = (q1 - q0) / T
    c = constant(q0)
    c[1] = v0
    c[2] = 0.5 * a0
    c[3] = (20.0 * d - 12.0 * v0 - 8.0 * v1 + T * (a1 - 3.0 * a0)) / (2.0 * T**2)
    c[4] = (-30.0 * d + 16.0 * v0 + 14.0 * v1 + T * (3.0 * a0 - 2.0 * a1)) / (2.0 * T**3)
    c[5] = (12.0 * d - 6.0 * (v0 + v1) + T * (a1 - a0)) / (2.0 * T**4)
    return c


def shifted(c: Array, dt: float | Array) -> Array:
    """The same polynomials with τ counted from ``dt`` s later (synthetic division, exact for ``dt`` = 0)."""
    c = c.copy()
    if np.any(dt):
        order = len(c) - 1
        for i in range(order):
            for j in range(order - 1, i - 1, -1):
                c[j] += dt * c[j + 1]
    return c
