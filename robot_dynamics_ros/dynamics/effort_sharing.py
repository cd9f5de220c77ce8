"""Efforts and reactions that make up what a motion of a closed loop needs, as a routine.

The rows of K are rotated against each other until they are orthogonal (one-sided Jacobi), first over the joints without a motor,
then, where they have nothing left there, over those with one.  What remains of each row is a singular value to full relative
precision, so near dead centres no more is taken for dependent than is.  Source: Hestenes, *Inversion of matrices by
biorthogonalization and related results*, J. SIAM 6 (1958); Demmel and Veselić, *Jacobi's method is more accurate than QR* (1992).
"""

from __future__ import annotations

import math

from robot_dynamics_ros.dynamics.engine.codegen.declared import Declared, Integers, Matrix, Vector, integers, numbers

RANK_TOLERANCE = 1e-8
"""Rows of K count as dependent where a singular value is smaller than this part of the largest."""
SWEEPS = 60
ORTHOGONAL = 1e-14  # cosine between rows


class SharingMemory(Declared):
    """One state of a robot with constraints."""

    nv: int
    nc: int
    K: Matrix = numbers("nc", "nv", meaning="constraint Jacobian, its rows rotated")
    W: Matrix = numbers("nc", "nc", meaning="the rotations")
    w: Vector = numbers("nv", unit="N m or N", meaning="efforts that no constraint takes yet")
    driven: Vector = numbers("nv", meaning="1 for joints with a motor, 0 for others")
    size: Vector = numbers("nc", meaning="squared length of the rows")
    done: Integers = integers("nc", meaning="rows whose reaction is known")


def product(p: SharingMemory, i: int, j: int, motor: float) -> float:
    """Rows i and j over the joints with or without a motor."""
    total = 0.0
    for k in range(p.nv):
        if p.driven[k] == motor:
            total += p.K[i, k] * p.K[j, k]
    return total


def make_orthogonal(p: SharingMemory, motor: float) -> float:
    """Rotate the rows that are not done; returns the largest squared length."""
    least = 0.0  # squared length of rows that are nothing but rounding
    for i in range(p.nc):
        least = max(least, product(p, i, i, motor) * 1e-4 * RANK_TOLERANCE * RANK_TOLERANCE)
    for _ in range(SWEEPS):
        turned = False
        for i in range(p.nc):
            for j in range(i + 1, p.nc):
                if p.done[i] == 0 and p.done[j] == 0:
                    a = product(p, i, i, motor)
                    b = product(p, j, j, motor)
                    c = product(p, i, j, motor)
                    if min(a, b) > least and abs(c) > ORTHOGONAL * math.sqrt(a) * math.sqrt(b):
                        turned = True
                        zeta = (b - a) / (2.0 * c)
                        tangent = math.copysign(1.0, zeta) / (abs(zeta) + math.sqrt(1.0 + zeta * zeta))
                        cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                        sine = cosine * tangent
                        for k in range(p.nv):
                            x = p.K[i, k]
                            p.K[i, k] = cosine * x - sine * p.K[j, k]
                            p.K[j, k] = sine * x + cosine * p.K[j, k]
                        for k in range(p.nc):
                            x = p.W[i, k]
                            p.W[i, k] = cosine * x - sine * p.W[j, k]
                            p.W[j, k] = sine * x + cosine * p.W[j, k]
        if not turned:
            break
    largest = 0.0
    for i in range(p.nc):
        p.size[i] = product(p, i, i, motor)
        if p.done[i] == 0:
            largest = max(largest, p.size[i])
    return largest


def take(p: SharingMemory, motor: float, limit: float, reactions: Vector, first: int) -> None:
    """Have each row that is longer than ``limit`` (squared) take what it can of the efforts."""
    for i in range(p.nc):
        if p.done[i] == 0 and p.size[i] > limit:
            p.done[i] = 1
            work = 0.0
            for k in range(p.nv):
                if p.driven[k] == motor:
                    work += p.K[i, k] * p.w[k]
            share = work / p.size[i]
            for k in range(p.nv):
                p.w[k] = p.w[k] - share * p.K[i, k]
            for k in range(p.nc):
                reactions[first + k] = reactions[first + k] + share * p.W[i, k]


def share_efforts(p: SharingMemory, count: int, whole: Vector, K: Vector, reactions: Vector, missing: Vector) -> None:
    """τ in place of ``whole`` and λ with τ + Kᵀ λ = ``whole``, τ zero where there is no motor, else of least norm, and λ of least norm.

    Args:
        whole, K: (count, nv) efforts and (count, nc, nv) Jacobians.
        reactions: (count, nc) zeros at first.
        missing: (count,) the largest effort that no motor and no constraint takes.
    """
    for s in range(count):
        for k in range(p.nv):
            p.w[k] = whole[p.nv * s + k]
        for i in range(p.nc):
            p.done[i] = 0
            for k in range(p.nv):
                p.K[i, k] = K[p.nv * (p.nc * s + i) + k]
            for k in range(p.nc):
                p.W[i, k] = 1.0 if i == k else 0.0
        largest = make_orthogonal(p, 0.0)
        take(p, 0.0, RANK_TOLERANCE * RANK_TOLERANCE * largest, reactions, p.nc * s)
        missing[s] = 0.0
        for k in range(p.nv):
            if p.driven[k] == 0.0:
                missing[s] = max(missing[s], abs(p.w[k]))
        largest = max(largest, make_orthogonal(p, 1.0))
        take(p, 1.0, RANK_TOLERANCE * RANK_TOLERANCE * largest, reactions, p.nc * s)
        for k in range(p.nv):
            whole[p.nv * s + k] = p.w[k] * p.driven[k]
