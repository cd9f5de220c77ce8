"""Equations of motion by Euler and Lagrange, straight from the robot's geometry.

Independent of the recursive algorithms: positions and rotations of all bodies in the inertial
frame, as the URDF places them; velocities by differentiating these; K and U; and from them

    H = ∂²K/∂q̇²,    D = (∂²K/∂q̇∂q) q̇ − ∂K/∂q,    G = ∂U/∂q,    τ = H q̈ + D + G.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from robot_dynamics_ros.dynamics.engine.elementary_tree import BodyConstants
from robot_dynamics_ros.equations.numbers import fraction_of
from robot_dynamics_ros.equations.trig_ring import Poly, TrigRing
from robot_dynamics_ros.model.description import JointType

_HALF = Fraction(1, 2)


Pose: TypeAlias = tuple[list[list[Poly]], list[Poly]]


@dataclass(frozen=True, eq=False)
class LagrangeTerms:
    """Elements of a :class:`TrigRing`: kinetic and potential energy, mass matrix, Coriolis and
    gravity vectors.
    """

    K: Poly
    U: Poly
    M: list[list[Poly]]
    D: list[Poly]
    G: list[Poly]


def euler_lagrange(ring: TrigRing) -> LagrangeTerms:
    """Derive everything from the energies."""
    geometry = ring.geometry
    lift = ring.lift
    n = geometry.model.nv
    gravity = [lift(g) for g in geometry.gravity]
    base_R = [[lift(x) for x in row] for row in geometry.base_rotation]
    base_r = [lift(x) for x in geometry.base_position]
    poses: list[Pose] = []
    twice_K = ring.zero
    U = ring.zero
    half = ring.number(_HALF)

    def at(pose: Pose, point: list[Poly]) -> list[Poly]:
        R, r = pose
        return [r[k] + ring.dot(R[k], point) for k in range(3)]

    for number, body in enumerate(geometry.bodies):
        if body.parent >= 0:
            before = poses[body.parent]
        else:
            before = (base_R, base_r)
        joint_R = ring.matmul(before[0], [[lift(x) for x in row] for row in body.rotation])
        joint_r = at(before, [lift(x) for x in body.position])
        rotation, shift = _joint_motion(ring, number, body)
        pose = (ring.matmul(joint_R, rotation), at((joint_R, joint_r), shift))
        poses.append(pose)
        center = at(pose, [lift(x) for x in body.com])
        rate = [ring.by_time(x) for x in center]
        mass = lift(body.mass)
        twice_K = twice_K + ring.mul(mass, ring.dot(rate, rate))
        omega = _angular_velocity(ring, pose[0])
        momentum = [ring.dot([lift(x) for x in row], omega) for row in body.inertia]
        twice_K = twice_K + ring.dot(omega, momentum)
        U = U - ring.mul(mass, ring.dot(gravity, center))
    for dof in range(n):
        twice_K = twice_K + ring.mul(lift(geometry.armature[dof]), ring.v[dof] * ring.v[dof])
    for i, j, inertia in geometry.model.coupled_rotors:
        twice_K = twice_K + ring.mul(lift(fraction_of(2.0 * inertia)), ring.v[i] * ring.v[j])
    root_center = at((base_R, base_r), [lift(x) for x in geometry.root_com])
    U = U - ring.mul(lift(geometry.root_mass), ring.dot(gravity, root_center))
    K = ring.mul(half, twice_K)

    momenta = [K.diff(v) for v in ring.v]
    M = [[p.diff(v) for v in ring.v] for p in momenta]
    D = [ring.by_time(p) - ring.by_q(K, i) for i, p in enumerate(momenta)]
    return LagrangeTerms(K, U, M, D, [ring.by_q(U, i) for i in range(n)])


def christoffel(ring: TrigRing, M: list[list[Poly]]) -> list[list[list[Poly]]]:
    """Γ[i][j][k] = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i)."""
    n = len(M)
    dM = [[[ring.by_q(M[i][j], k) for k in range(n)] for j in range(n)] for i in range(n)]
    half = ring.number(_HALF)
    return [
        [[half * (dM[i][j][k] + dM[i][k][j] - dM[j][k][i]) for k in range(n)] for j in range(n)]
        for i in range(n)
    ]


def coriolis_matrix(ring: TrigRing, gamma: list[list[list[Poly]]]) -> list[list[Poly]]:
    """N_ij = Σ_k Γ_ijk v_k."""
    return [
        [
            sum((ring.mul(x, v) for x, v in zip(of_j, ring.v, strict=True)), ring.zero)
            for of_j in of_i
        ]
        for of_i in gamma
    ]


def _joint_motion(
    ring: TrigRing,
    number: int,
    body: BodyConstants,
) -> tuple[list[list[Poly]], list[Poly]]:
    """Rotation and displacement that the joint's coordinates make, in the joint frame."""
    along_x, along_y, axis = ([ring.lift(x) for x in row] for row in body.normal)
    identity = [[ring.one if i == j else ring.zero for j in range(3)] for i in range(3)]
    if body.type is JointType.PRISMATIC:
        slide = ring.q[body.q_index] * ring.fraction(body.multiplier) + ring.number(body.offset)
        return identity, [ring.mul(x, slide) for x in axis]
    angle = ring.angle_of[number]
    assert angle is not None
    # Rodrigues: 1 + sin θ [a]× + (1 − cos θ) (a aᵀ − 1)
    x, y, z = axis
    cross = [[ring.zero, -z, y], [z, ring.zero, -x], [-y, x, ring.zero]]
    rotation = [
        [
            identity[i][j]
            + ring.mul(angle.s, cross[i][j])
            + ring.mul(ring.one - angle.c, ring.mul(axis[i], axis[j]) - identity[i][j])
            for j in range(3)
        ]
        for i in range(3)
    ]
    if body.type is not JointType.PLANAR:
        return rotation, [ring.zero] * 3
    x, y = ring.q[body.q_index : body.q_index + 2]
    return rotation, [
        ring.mul(a, x) + ring.mul(b, y) for a, b in zip(along_x, along_y, strict=True)
    ]


def _angular_velocity(ring: TrigRing, R: list[list[Poly]]) -> list[Poly]:
    """ω in the body's axes, from [ω]× = Rᵀ Ṙ."""
    columns = list(zip(*R, strict=True))
    rates = [[ring.by_time(x) for x in column] for column in columns]
    return [
        ring.dot(columns[2], rates[1]),
        ring.dot(columns[0], rates[2]),
        ring.dot(columns[1], rates[0]),
    ]
