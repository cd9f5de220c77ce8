"""Constraints between links or joints as rows: K(q) v = 0, their residual φ(q), and their rate K̇
v.

A constraint is given as a tuple ``(kind, a, b, numbers)``: kind of constraint, numbers of the two
links (−1: the world) or first velocity indices of two joints, and geometry in the links' frames.
Every row is the velocity of something that must not move, so the reaction that goes with it acts
along the same vectors: λ times the row on b, −λ times it on a.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from robot_dynamics_ros.dynamics.algorithms.kinematics import (
    LinkMotions,
    Placement,
    jacobian_and_rate,
)
from robot_dynamics_ros.dynamics.algorithms.linear_solve import dot
from robot_dynamics_ros.dynamics.algorithms.pfaffian_rows import Dual, formula
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Scalar, Vec3, sqrt

ROWS = {
    "point": 3,
    "hinge": 5,
    "weld": 6,
    "distance": 1,
    "gear": 1,
    "rolling": 3,
    "pfaffian": 1,
}
"""How many rows each kind of constraint has."""

OF_JOINTS = ("gear", "pfaffian")
"""Kinds that bind joints: no wrench acts on links."""

Spec = tuple[str, int, int, tuple[Any, ...]]
"""Kind, two links (or degrees of freedom), numbers: what functions are compiled for."""


@dataclass(frozen=True, eq=False)
class ConstraintRow:
    """One scalar constraint."""

    residual: (
        # φ, zero where the constraint holds; always zero for rows that bind velocities alone
        Any
    )
    # (nv) K, with φ̇ = K v
    jacobian: list[Any]
    # K̇ v
    rate: Any
    # that a reaction λ = 1 exerts on b at its contact point, world axes; zero where joints are
    # bound
    force: Vec3
    moment: Vec3

    def speed(self, v: Sequence[Scalar]) -> Scalar:
        """K v."""
        return dot(self.jacobian, v)


class _End(NamedTuple):
    """A point P fixed to a link."""

    # of the link's axes at P, with accelerations without q̈
    frame: Placement
    # rows of the Jacobian [ω; ṗ], world axes
    J: list[list[Any]]

    def moved(self, d: Vec3) -> _End:
        """The point of the same link that lies ``d`` (world axes) away now."""
        J = self.J
        rows = [
            [c + x * d2 - y * d1 for x, y, c in zip(J[i], J[j], J[3 + k], strict=True)]
            for k, (i, j, d1, d2) in enumerate(
                ((1, 2, d.y, d.z), (2, 0, d.z, d.x), (0, 1, d.x, d.y))
            )
        ]
        return _End(self.frame.moved(d), [*J[:3], *rows])


def _end(links: LinkMotions[S], link: int, point: Vec3) -> _End:
    J: list[list[Any]] = [[0.0] * links.tree.nv for _ in range(6)]
    if link >= 0:
        J, _ = jacobian_and_rate(links.tree, links.q, None, link, point, "world")
    return _End(links.link(link).at(point.parts()), J)


def _vectors(numbers: tuple[float, ...]) -> list[Vec3]:
    return [
        Vec3.of([float(x) for x in numbers[k : k + 3]])
        for k in range(0, len(numbers) - len(numbers) % 3, 3)
    ]


def _combined(direction: Vec3, rows: list[list[Scalar]]) -> list[Scalar]:
    x, y, z = direction.parts()
    return [x * a + y * b + z * c for a, b, c in zip(*rows, strict=True)]


def _difference(a: list[list[Scalar]], b: list[list[Scalar]]) -> list[list[Scalar]]:
    return [[y - x for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]


_UNIT = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def _points(a: _End, b: _End) -> list[ConstraintRow]:
    """p_b − p_a = 0, in world axes."""
    J = _difference(a.J[3:], b.J[3:])
    gap = b.frame.p - a.frame.p
    rate = b.frame.a - a.frame.a
    zero = Vec3.zero()
    return [
        ConstraintRow(x, J[k], r, _UNIT[k], zero)
        for k, (x, r) in enumerate(zip(gap.parts(), rate.parts(), strict=True))
    ]


def _perpendicular(a: _End, u_a: Vec3, b: _End, n_b: Vec3) -> ConstraintRow:
    """u · n = 0 for directions u fixed in a and n fixed in b: d/dt (u · n) = (ω_b − ω_a) · (n ×
    u).
    """
    u = a.frame.R.mul(u_a)
    n = b.frame.R.mul(n_b)
    wa = a.frame.omega
    wb = b.frame.omega
    across = n.cross(u)
    turning = wb.cross(n).cross(u) + n.cross(wa.cross(u))
    rate = turning.dot(wb - wa) + across.dot(b.frame.alpha - a.frame.alpha)
    return ConstraintRow(
        u.dot(n), _combined(across, _difference(a.J[:3], b.J[:3])), rate, Vec3.zero(), across
    )


def _distance(a: _End, b: _End, length: float) -> ConstraintRow:
    """(d · d − L²)/(2 L) = 0 with d = p_b − p_a: of the dimension of a length, and its reaction a
    force.
    """
    d = b.frame.p - a.frame.p
    moving = b.frame.v - a.frame.v
    u = d * (1.0 / length)
    rate = moving.dot(moving) * (1.0 / length) + u.dot(b.frame.a - a.frame.a)
    return ConstraintRow(
        (d.dot(d) - length * length) * (0.5 / length),
        _combined(u, _difference(a.J[3:], b.J[3:])),
        rate,
        u,
        Vec3.zero(),
    )


def _rolling(
    plane: _End,
    wheel: _End,
    numbers: tuple[float, ...],
) -> tuple[list[ConstraintRow], Vec3]:
    """A disc or a ball that rolls on a plane: the material points in contact do not move against
    each other.

    ``numbers``: of the plane, in its link's frame: normal and two tangents; radius; axis of a disc
    in the wheel's frame (zero for a ball). Returns rows along the two tangents (velocity alone) and
    the normal (position too), and the point of contact.
    """
    normal, first, second = _vectors(numbers[:9])
    radius = float(numbers[9])
    axis = Vec3.of([float(x) for x in numbers[10:13]])
    P = plane.frame
    W = wheel.frame
    n = P.R.mul(normal)
    tangents = [P.R.mul(first), P.R.mul(second)]
    n_rate = P.omega.cross(n)
    # the lowest point of a disc: away from its centre along n, made perpendicular to its axis
    if any(numbers[10:13]):
        a = W.R.mul(axis)
        a_rate = W.omega.cross(a)
        s = n.dot(a)
        s_rate = n_rate.dot(a) + n.dot(a_rate)
        down = n - a * s
        size = 1.0 / sqrt(down.dot(down))
        rho = down * (-size)
        down_rate = n_rate - a * s_rate - a_rate * s
        rho_rate = (down_rate + rho * rho.dot(down_rate) * -1.0) * (-size)
    else:
        rho = -n
        rho_rate = -n_rate
    arm = rho * radius
    own = wheel.moved(arm)
    contact = own.frame.p
    under = plane.moved(contact - P.p)
    moving = own.frame.v - under.frame.v
    # the points that touch change: their acceleration is not that of one material point
    c_rate = W.v + rho_rate * radius
    own_rate = W.a + W.alpha.cross(arm) + W.omega.cross(rho_rate * radius)
    under_rate = P.a + P.alpha.cross(contact - P.p) + P.omega.cross(c_rate - P.v)
    rate = own_rate - under_rate
    J = _difference(under.J[3:], own.J[3:])
    rows = []
    for k, t in enumerate((*tangents, n)):
        residual = (contact - P.p).dot(n) if k == 2 else 0.0
        rows.append(
            ConstraintRow(
                residual,
                _combined(t, J),
                t.dot(rate) + P.omega.cross(t).dot(moving),
                t,
                Vec3.zero(),
            )
        )
    return rows, contact


def _pfaffian(links: LinkMotions[S], numbers: tuple[Any, ...]) -> ConstraintRow:
    """A(q) q̇ = 0, one row.

    ``numbers``: for each joint its name, index of position, velocity, and what it is of them:
        multiplier and offset; then for each term velocity index, multiplier, and the formula.
    """
    joints, terms = numbers

    def value_of(name: str) -> Dual:
        i, k, multiplier, offset = places[name]
        return Dual(links.q[i] * multiplier + offset, links.v[k] * multiplier)

    places = {name: place for name, *place in joints}
    K: list[Any] = [0.0] * links.tree.nv
    rate: Any = 0.0
    for k, multiplier, text in terms:
        coefficient = formula(text, value_of)
        K[k] = K[k] + coefficient.x * multiplier
        rate = rate + coefficient.rate * multiplier * links.v[k]
    zero = Vec3.zero()
    return ConstraintRow(0.0, K, rate, zero, zero)


def _rows_of(links: LinkMotions[S], spec: Spec) -> tuple[list[ConstraintRow], Vec3, Vec3]:
    """Rows of one constraint, and where its reaction acts on a and on b."""
    kind, a, b, numbers = spec
    if kind == "gear":
        ratio, offset, q_a, k_a, d_a, q_b, k_b, d_b = numbers
        K = [0.0] * links.tree.nv
        q = links.q
        K[b] = K[b] + k_b
        K[a] = K[a] - ratio * k_a
        gap = q[int(q_b)] * k_b + d_b - (q[int(q_a)] * k_a + d_a) * ratio - offset
        zero = Vec3.zero()
        return [ConstraintRow(gap, K, 0.0, zero, zero)], zero, zero
    if kind == "pfaffian":
        zero = Vec3.zero()
        return [_pfaffian(links, numbers)], zero, zero
    at_a, at_b = _vectors(numbers[:6])
    A = _end(links, a, at_a)
    B = _end(links, b, at_b)
    rest = numbers[6:]
    if kind == "rolling":
        rows, contact = _rolling(A, B, rest)
        return rows, contact, contact
    if kind == "distance":
        return [_distance(A, B, float(rest[0]))], A.frame.p, B.frame.p
    rows = _points(A, B)
    if kind == "hinge":
        u1, u2, axis = _vectors(rest)
        rows += [_perpendicular(A, u1, B, axis), _perpendicular(A, u2, B, axis)]
    elif kind == "weld":
        x_a, y_a, z_a, x_b, y_b, z_b = _vectors(rest)
        rows += [_perpendicular(A, u, B, n) for u, n in ((z_a, y_b), (x_a, z_b), (y_a, x_b))]
    return rows, A.frame.p, B.frame.p


def constraint_rows(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    specs: tuple[Spec, ...],
) -> list[ConstraintRow]:
    """All rows of all constraints, in order."""
    links = LinkMotions(tree, q, v, tree.zeros())
    return list(itertools.chain.from_iterable(_rows_of(links, spec)[0] for spec in specs))


def end_wrenches(
    tree: Tree[S],
    q: Vector[S],
    reactions: Sequence[S],
    specs: tuple[Spec, ...],
) -> list[Scalar]:
    """Wrenches of each constraint on its links a and b: [moment; force] about the link's origin in
    its axes, flat.

    Zero for constraints of joints, which exert efforts and no wrenches; in world axes about the
    origin for the world.
    """
    out: list[Any] = []
    links = LinkMotions(tree, q, tree.zeros(), tree.zeros())
    first = 0
    for spec in specs:
        kind, a, b, _ = spec
        rows, p_a, p_b = _rows_of(links, spec)
        force = Vec3.zero()
        moment = Vec3.zero()
        for row in rows:
            force = force + row.force * reactions[first]
            moment = moment + row.moment * reactions[first]
            first += 1
        for link, p, sign in ((a, p_a, -1.0), (b, p_b, 1.0)):
            if kind in OF_JOINTS:
                out += [0.0] * 6
                continue
            F = force * sign
            M = moment * sign
            own = links.link(link)
            about = M + (p - own.p).cross(F)
            out += [*own.R.tmul(about).parts(), *own.R.tmul(F).parts()]
    return out
