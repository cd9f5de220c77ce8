"""A link's sphere on flat ground: a compliant model, so that a tip force can be felt.

Normal force (Hunt and Crossley, J. Applied Mechanics 42, 1975), for a penetration δ > 0:

    f_n = k δ^e (1 + 3/2 c δ̇),  never pulling

Tangential force: f_t = −μ f_n v_t / √(|v_t|² + v_r²), Coulomb friction smoothed below the speed
v_r. A link standing on a slope therefore creeps, at a speed below v_r as long as it is within the
friction cone; joint friction does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pow as power
from math import sqrt

import numpy as np

from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    KernelTable,
    Matrix,
    Vector,
    constant,
    kernels,
    numbers,
)
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array, frozen_array
from robot_dynamics_ros.per_joint import vector


class ContactMemory(Declared):
    """Spheres on planes."""

    nv: int
    contacts: int = constant(int, "number of contacts")
    contact_offset: Matrix = numbers(
        "contacts", 3, unit="m", meaning="centre of the sphere in the link's frame"
    )
    contact_plane: Matrix = numbers("contacts", 3, unit="m", meaning="a point of the ground")
    contact_normal: Matrix = numbers("contacts", 3, meaning="direction out of the ground")
    contact_radius: Vector = numbers("contacts", unit="m", meaning="radius of the sphere")
    contact_stiffness: Vector = numbers("contacts", unit="N/m^e", meaning="stiffness")
    contact_exponent: Vector = numbers("contacts", meaning="exponent e of the penetration")
    contact_dissipation: Vector = numbers("contacts", unit="s/m", meaning="dissipation")
    contact_friction: Vector = numbers("contacts", meaning="coefficient of friction")
    contact_slip_velocity: Vector = numbers(
        "contacts", unit="m/s", meaning="speed below which friction is smoothed"
    )
    contact_depth: Vector = numbers("contacts", unit="m", meaning="penetration")
    contact_sliding: Vector = numbers("contacts", unit="N s/m", meaning="tangential force per slip")
    contact_arm: Matrix = numbers(
        "contacts", 3, unit="m", meaning="from the link's origin to the contact point"
    )
    contact_force: Matrix = numbers(
        "contacts", 3, unit="N", meaning="force of the ground on the link"
    )
    contact_jacobian: Matrix = numbers(
        "3 * contacts", "nv", meaning="Jacobian of the contact points"
    )
    contact_along: Vector = numbers("nv", unit="m", meaning="row of the Jacobian along the normal")
    contact_slip: Vector = numbers(
        3, unit="m/s", meaning="velocity of a contact point along the ground"
    )
    K: Matrix = numbers(
        "nv if contacts else 0", "nv", meaning="stiffness of the contacts at the joints"
    )
    D: Matrix = numbers(
        "nv if contacts else 0", "nv", meaning="damping of the contacts at the joints"
    )
    jacobian: Matrix = numbers(6, "nv", meaning="of a link")
    pose: Matrix = numbers(4, 4, meaning="of a link")
    link_origin: Vector = numbers(
        3, unit="m", meaning="origin of the link frame, where its Jacobian is taken"
    )
    link_pose: KernelTable = kernels("q", "out pose", meaning="pose of the link of a contact")
    link_jacobian: KernelTable = kernels(
        "q", "point", "out jacobian", meaning="its Jacobian in world axes"
    )


def place_contacts(p: ContactMemory, q: Vector) -> None:
    """Penetration, arm from the link's origin, and (3, nv) Jacobian of every contact point, in
    world axes.  A routine.
    """
    for k in range(p.contacts):
        p.link_pose(k, q, p.pose)
        p.link_jacobian(k, q, p.link_origin, p.jacobian)
        depth = 0.0
        for a in range(3):
            arm = -p.contact_radius[k] * p.contact_normal[k, a]
            for b in range(3):
                arm += p.pose[a, b] * p.contact_offset[k, b]
            p.contact_arm[k, a] = arm
            depth -= p.contact_normal[k, a] * (p.pose[a, 3] + arm - p.contact_plane[k, a])
        p.contact_depth[k] = depth
        # v_P = v_O + ω × r
        for a in range(3):
            b = (a + 1) - 3 * (a // 2)
            c = (b + 1) - 3 * (b // 2)
            for i in range(p.nv):
                across = (
                    p.jacobian[b, i] * p.contact_arm[k, c] - p.jacobian[c, i] * p.contact_arm[k, b]
                )
                p.contact_jacobian[3 * k + a, i] = p.jacobian[3 + a, i] + across


def contact_force(p: ContactMemory, k: int, v: Vector) -> float:
    """Normal force of contact ``k`` that is in the ground, N; its force in world axes goes to
    ``p.contact_force``.  A routine.

    μ f_n / √(|v_t|² + v_r²), by which the tangential force follows the slip, goes to
    ``p.contact_sliding``.
    """
    closing = 0.0
    for a in range(3):
        speed = 0.0
        for i in range(p.nv):
            speed += p.contact_jacobian[3 * k + a, i] * v[i]
        p.contact_slip[a] = speed
        closing -= p.contact_normal[k, a] * speed
    depth = power(p.contact_depth[k], p.contact_exponent[k])
    normal = max(
        0.0, p.contact_stiffness[k] * depth * (1.0 + 1.5 * p.contact_dissipation[k] * closing)
    )
    smooth = p.contact_slip_velocity[k] * p.contact_slip_velocity[k]
    for a in range(3):
        p.contact_slip[a] += closing * p.contact_normal[k, a]
        smooth += p.contact_slip[a] * p.contact_slip[a]
    sliding = p.contact_friction[k] * normal / sqrt(smooth)
    p.contact_sliding[k] = sliding
    for a in range(3):
        p.contact_force[k, a] = normal * p.contact_normal[k, a] - sliding * p.contact_slip[a]
    return normal


def add_contact_efforts(p: ContactMemory, v: Vector, tau: Vector) -> None:
    """Add Jᵀ f of all contacts, where :func:`place_contacts` found them, to ``tau``.  A routine."""
    for k in range(p.contacts):
        if p.contact_depth[k] > 0.0 and contact_force(p, k, v) > 0.0:
            for a in range(3):
                for i in range(p.nv):
                    tau[i] += p.contact_jacobian[3 * k + a, i] * p.contact_force[k, a]


def linearize_contacts(p: ContactMemory, v: Vector) -> None:
    """−∂τ/∂q and −∂τ/∂v of all contacts, their stiff parts, in ``p.K`` and ``p.D``.  A routine."""
    for i in range(p.nv):
        for j in range(p.nv):
            p.K[i, j] = 0.0
            p.D[i, j] = 0.0
    for k in range(p.contacts):
        depth = p.contact_depth[k]
        if depth > 0.0:
            normal = contact_force(p, k, v)
            if normal > 0.0:
                sliding = p.contact_sliding[k]
                stiffness = p.contact_exponent[k] * normal / depth
                raised = power(depth, p.contact_exponent[k])
                damping = 1.5 * p.contact_dissipation[k] * p.contact_stiffness[k] * raised - sliding
                for i in range(p.nv):
                    p.contact_along[i] = 0.0
                    for a in range(3):
                        p.contact_along[i] += (
                            p.contact_normal[k, a] * p.contact_jacobian[3 * k + a, i]
                        )
                for i in range(p.nv):
                    for j in range(p.nv):
                        both = p.contact_along[i] * p.contact_along[j]
                        across = 0.0
                        for a in range(3):
                            across += (
                                p.contact_jacobian[3 * k + a, i] * p.contact_jacobian[3 * k + a, j]
                            )
                        p.K[i, j] += stiffness * both
                        p.D[i, j] += damping * both + sliding * across


@dataclass(frozen=True, slots=True, eq=False)
class GroundContact:
    """One sphere of a link against one plane.

    Attributes:
        link: name of the link.
        offset: (3,) centre of the sphere in the link frame, m.
        radius: m; 0 is a point.
        plane_point, plane_normal: (3,), (3,) the plane in the world frame; the normal points out of
            the ground.
        stiffness: k, N/m^e.
        exponent: e; 1 is a linear spring, 3/2 is Hertz's.
        dissipation: c, s/m; about (1 − restitution)/impact speed.
        friction: μ.
        slip_velocity: v_r, m/s.
    """

    link: str
    offset: Array | Sequence[float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    plane_point: Array | Sequence[float] = (0.0, 0.0, 0.0)
    plane_normal: Array | Sequence[float] = (0.0, 0.0, 1.0)
    stiffness: float = 1e5
    exponent: float = 1.0
    dissipation: float = 0.5
    friction: float = 0.5
    slip_velocity: float = 1e-3

    def __post_init__(self) -> None:
        where = f"ground contact of link {self.link!r}"
        for name in ("offset", "plane_point", "plane_normal"):
            value = vector(getattr(self, name), 3, f"{where}, {name}", remedy="Give x, y and z.")
            object.__setattr__(self, name, frozen_array(value, (3,)))
        length = float(np.linalg.norm(self.plane_normal))
        if length < 1e-9:
            remedy = "Give a vector that is not zero."
            raise ArgumentError(
                "the normal has no direction", where=where, got=self.plane_normal, remedy=remedy
            )
        object.__setattr__(
            self, "plane_normal", frozen_array(np.asarray(self.plane_normal) / length, (3,))
        )
        got = self.stiffness, self.exponent, self.slip_velocity
        if not (self.stiffness > 0.0 and self.exponent >= 1.0 and self.slip_velocity > 0.0):
            raise ArgumentError(
                "stiffness and slip_velocity must be positive and the exponent at least 1",
                where=where,
                got=got,
            )
        if min(got := (self.radius, self.dissipation, self.friction)) < 0.0:
            raise ArgumentError(
                "radius, dissipation and friction must not be negative", where=where, got=got
            )

    def energy(self, depth: float) -> float:
        """Elastic energy k δ^(e+1) / (e+1) at a penetration, J."""
        return self.stiffness * max(0.0, depth) ** (self.exponent + 1.0) / (self.exponent + 1.0)
