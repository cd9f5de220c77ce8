"""Inverse dynamics: the recursive Newton-Euler algorithm, with the force through every joint on the
way.

| symbol | is | frame |
|---|---|---|
| q, v, a (nv) | configuration, velocities, accelerations | |
| τ (nv) | joint efforts | |
| v_i, a_i (6) | spatial velocity and acceleration of body i, −g included | body i |
| f_i (6) | force that the joint transmits to body i: it moves i and everything beyond | body i |
| f_i^x (6) | external force on body i | body i |

Outward, f_i = I_i a_i + v_i ×* I_i v_i − f_i^x; inward, τ_i = S_iᵀ f_i and f_λ += ⁱX_λᵀ f_i
(Featherstone 2008, table 5.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.passes import (
    ForwardKinematics,
    add_rotors,
    net_force,
    project,
    transmit,
)
from robot_dynamics_ros.dynamics.algorithms.tree import Field, S, Tree, Vector
from robot_dynamics_ros.spatial import Force

Forces = Field[Force] | None


@dataclass(frozen=True)
class NewtonEuler(Generic[S]):
    """Result of the algorithm: efforts, forces through the joints, motions of the bodies."""

    tau: list[S]
    f: Field[Force]
    motion: ForwardKinematics[S]


def newton_euler(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    external: Forces = None,
) -> NewtonEuler[S]:
    """The algorithm of the table above; ``external``: forces on bodies in body frames."""
    f = tree.field(Force)
    f[tree.root] = Force.zero()
    motion = ForwardKinematics(tree, q, v, a)
    for i in motion.outward():
        f[i] = net_force(i.inertia, motion.v[i], motion.a[i])
        if external is not None:
            f[i] = f[i] - external[i]
    tau = tree.vector()
    for i in transmit(tree, motion.X, f):
        project(i, f[i], tau)
    add_rotors(tree, a, tau)
    return NewtonEuler(tau, f, motion)


@function(
    "inverse_dynamics",
    "q v a external base",
    {"tau": ("nv",)},
    joint_space=True,
    loops=LARGE,
    common=True,
    exports=(
        Export(
            "Efforts that make the robot move so: M(q) a + C(q, v) v + g(q) - J' external.",
            {"tau": "efforts"},
            default=True,
        ),
    ),
)
def inverse_dynamics(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    external: Forces = None,
) -> list[S]:
    """τ = M(q) a + C(q, v) v + g(q) − Σ Jᵀ f_ext."""
    return newton_euler(tree, q, v, a, external).tau


@function(
    "inverse_dynamics_wrenches",
    "q v a external base",
    {"tau": ("nv",), "wrenches": ("nj", 6)},
    loops=LARGE,
    common=True,
    exports=(
        Export(
            "What every joint carries: the wrench [moment; force] that the parent side exerts on "
            "the child link, about "
            "the joint's origin, in the child link's axes.",
            {"wrenches": "one row a joint"},
            name="joint_wrenches",
            default=True,
        ),
    ),
)
def _inverse_dynamics_wrenches(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    external: Forces = None,
) -> tuple[list[S], list[S]]:
    motion_and_forces = newton_euler(tree, q, v, a, external)
    return motion_and_forces.tau, tree.per_joint(motion_and_forces.f)


@function("own_joint_wrenches", "q v a external base", {"wrenches": ("nj", 6)}, loops=LARGE)
def _own_joint_wrenches(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    a: Vector[S],
    external: Forces = None,
) -> list[S]:
    """The wrenches alone, each in the joint's own frame."""
    return tree.per_joint(newton_euler(tree, q, v, a, external).f)


@function(
    "bias_forces",
    "q v external base",
    {"tau": ("nv",)},
    joint_space=True,
    loops=LARGE,
    common=True,
    exports=(
        Export(
            "Efforts without acceleration: C(q, v) v + g(q) - J' external.",
            {"tau": "efforts"},
            default=True,
        ),
    ),
)
def bias_forces(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    external: Forces = None,
) -> list[S]:
    """C(q, v) v + g(q) − Σ Jᵀ f_ext: the efforts without acceleration."""
    return newton_euler(tree, q, v, tree.zeros(), external).tau


@function(
    "coriolis_forces",
    "q v",
    {"tau": ("nv",)},
    joint_space=True,
    exports=(
        Export(
            "Coriolis and centrifugal efforts: C(q, v) v, the D of M a + D + G.", {"tau": "efforts"}
        ),
    ),
)
def coriolis_forces(tree: Tree[S], q: Vector[S], v: Vector[S]) -> list[S]:
    """C(q, v) v: the efforts without acceleration and without weight."""
    return [b - g for b, g in zip(bias_forces(tree, q, v), gravity_forces(tree, q), strict=True)]


@function(
    "gravity_forces",
    "q",
    {"tau": ("nv",)},
    joint_space=True,
    loops=LARGE,
    common=True,
    exports=(
        Export(
            "Efforts that hold the robot at rest against gravity.", {"tau": "efforts"}, default=True
        ),
    ),
)
def gravity_forces(tree: Tree[S], q: Vector[S]) -> list[S]:
    """g(q): the efforts at rest."""
    return newton_euler(tree, q, tree.zeros(), tree.zeros()).tau


@function("external_efforts", "q external", {"tau": ("nv",)}, loops=LARGE)
def external_efforts(tree: Tree[S], q: Vector[S], external: Forces = None) -> list[S]:
    """Σ Jᵀ f_ext: external forces carried inward, and their share in each joint's effort."""
    tau = tree.vector()
    if external is None:
        return tau
    f = tree.field(Force)
    f[tree.root] = Force.zero()
    placed = ForwardKinematics(tree, q)
    for i in placed.outward():
        f[i] = external[i]
    for i in transmit(tree, placed.X, f):
        project(i, f[i], tau)
    return tau
