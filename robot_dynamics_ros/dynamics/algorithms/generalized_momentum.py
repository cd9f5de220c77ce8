"""Generalized momentum and how it changes, without any matrix: what a momentum observer needs.

| symbol | is | frame |
|---|---|---|
| p = M(q) v (nv) | generalized momentum | |
| v_i (6) | spatial velocity of body i | body i |
| h_i (6) | momentum of body i and everything beyond | body i |
| w_i (6) | force that holds body i and everything beyond against gravity | body i |

Outward, h_i = I_i v_i and w_i = I_i (−g); inward, h_λ += ⁱX_λᵀ h_i, w_λ += ⁱX_λᵀ w_i and p_i = S_iᵀ
h_i.  Without accelerations the subtree's momentum changes by f_i as seen from outside, so by f_i −
v_i ×* h_i in the axes of body i, while S_iᵀ f_i is the joint's share of C v.  With Ṁ = C + Cᵀ this
leaves (Cᵀ v)_i = −S_iᵀ (v_i ×* h_i).
"""

from __future__ import annotations

from robot_dynamics_ros.dynamics.algorithms.function import LARGE, Export, function
from robot_dynamics_ros.dynamics.algorithms.passes import (
    ForwardKinematics,
    add_rotors,
    project,
    transmit,
)
from robot_dynamics_ros.dynamics.algorithms.tree import S, Tree, Vector
from robot_dynamics_ros.spatial import Force, Motion


@function(
    "generalized_momentum",
    "q v",
    {"momentum": ("nv",), "rate": ("nv",)},
    joint_space=True,
    loops=LARGE,
    exports=(
        Export(
            "Generalized momentum M(q) v, and its rate but for the efforts that act: C' v - g(q).",
            {"momentum": "momentum", "rate": "its rate, efforts left out"},
        ),
    ),
)
def generalized_momentum(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
) -> tuple[list[S], list[S]]:
    """p = M(q) v, and Cᵀ v − g: its rate but for the efforts that act, ṗ = Cᵀ v − g + τ."""
    motion = ForwardKinematics(tree, q, v)
    up = tree.field(Motion)
    h = tree.field(Force)
    w = tree.field(Force)
    up[tree.root] = tree.gravity_motion()
    h[tree.root] = Force.zero()
    w[tree.root] = Force.zero()
    for i in motion.outward():
        up[i] = motion.X[i].motion(up[i.parent])
        h[i] = i.inertia.mul(motion.v[i])
        w[i] = i.inertia.mul(up[i])
    p = tree.vector()
    rate = tree.vector()
    for i in transmit(tree, motion.X, h, w):
        project(i, h[i], p)
        project(i, (motion.v[i].cross_force(h[i]) + w[i]) * -1.0, rate)
    add_rotors(tree, v, p)
    return p, rate
