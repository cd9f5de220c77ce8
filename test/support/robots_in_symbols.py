"""An independent derivation to hold equations to: plain SymPy, rotation matrices, derivatives,
nothing of ours.
"""

from __future__ import annotations

import sympy as S


def lagrange(bodies, gravity, q, v):
    """M, D, G by Lagrange from bodies given as (mass, position of the centre, rotation, inertia in
    body axes).

    Args:
        bodies: expressions in ``q``; positions and rotations in the inertial frame.
        gravity: gravitational acceleration, (3, 1).
        q, v: lists of symbols.
    """
    t = S.Symbol("t")
    of_time = [S.Function(f"f{k}")(t) for k in range(len(q))]

    def rate(x):
        moving = x.subs(dict(zip(q, of_time, strict=True))).diff(t)
        back = {f.diff(t): w for f, w in zip(of_time, v, strict=True)}
        return moving.subs(back).subs(dict(zip(of_time, q, strict=True)))

    K = U = S.Integer(0)
    for mass, center, R, inertia in bodies:
        velocity = rate(center)
        spin = R.T * rate(R)
        omega = S.Matrix([spin[2, 1], spin[0, 2], spin[1, 0]])
        K += (mass * velocity.dot(velocity) + omega.dot(inertia * omega)) / 2
        U -= mass * gravity.dot(center)
    M = S.hessian(K, v)
    momentum = S.Matrix([K.diff(x) for x in v])
    D = momentum.jacobian(q) * S.Matrix(v) - S.Matrix([K.diff(x) for x in q])
    return M, D, S.Matrix([U.diff(x) for x in q])


def rot(axis, angle):
    """Rotation about x, y or z."""
    c = S.cos(angle)
    s = S.sin(angle)
    return {
        "x": S.Matrix([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": S.Matrix([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": S.Matrix([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]
