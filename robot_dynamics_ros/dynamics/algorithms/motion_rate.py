"""The robot as an ordinary differential equation, with friction, effort limits and joint stops that
are smooth enough for a fixed step.

For what a stand-in robot needs beyond this (true sticking, impacts, events within a step) see
:mod:`robot_dynamics_ros.simulation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from robot_dynamics_ros.dynamics.algorithms.forward_dynamics import forward_dynamics
from robot_dynamics_ros.dynamics.algorithms.function import function
from robot_dynamics_ros.dynamics.algorithms.tree import ElementaryKind, S, Tree, Vector
from robot_dynamics_ros.friction.law import secant_slope
from robot_dynamics_ros.spatial import Scalar, free_joint_rate, maximum, minimum


def configuration_rate(tree: Tree[S], q: Vector[S], v: Vector[S]) -> list[S]:
    """q̇: the velocity itself, but for free joints."""
    rate: list[Any] = [0.0] * len(q)
    for kind, i, j in tree.position_indices():
        if kind is ElementaryKind.FREE:
            rate[i : i + 7] = free_joint_rate(q[i : i + 7], v[j : j + 6])
        else:
            rate[i] = v[j] * 1.0
    return rate


def applied_efforts(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    friction: Sequence[S],
    stops: Sequence[S],
    step: Scalar,
) -> tuple[list[S], list[S]]:
    """(nv,) efforts that reach the mechanism, and (nv,) inertia that makes a step of length
    ``step`` implicit in them.

    Commands saturate at the effort limits; friction takes d v + f v / √(v² + s²) off them; a stop
    pushes back with k x (1 + c ẋ), x the depth beyond the limit, never pulling (Hunt and Crossley
    1975).

    With e(q, v) the efforts, (M − h ∂e/∂v − h² ∂e/∂q) v̇ = e(q + h v, v) − bias is the linearly
    implicit Euler step.  All of it acts on one joint at a time, so it adds to the rotor inertias: h
    (d + f/√(v² + s²) + k x c) + h² k.
    """
    model = tree.model
    viscous, coulomb, smooth = friction
    stiffness, dissipation = stops
    efforts: list[Any] = []
    inertia: list[Any] = []
    for d in range(model.nv):
        effort = tau[d]
        limit = float(model.effort_limit[d])
        if np.isfinite(limit):
            effort = minimum(maximum(effort, -limit), limit)
        slope = secant_slope(
            v[d], viscous * float(model.damping[d]), coulomb * float(model.friction[d]), smooth
        )
        efforts.append(effort - slope * v[d] if model.damping[d] or model.friction[d] else effort)
        inertia.append(step * slope)
    for name in model.joint_names:
        if model.joint(name).type.nq != 1:
            continue
        i = model.q_slice(name).start
        d = model.v_slice(name).start
        for bound, sign in ((float(model.upper[i]), 1.0), (float(model.lower[i]), -1.0)):
            if np.isfinite(bound):
                ahead = q[i] + step * v[d]
                depth = maximum((ahead - bound) * sign, 0.0)
                push = stiffness * depth * maximum(1.0 + dissipation * v[d] * sign, 0.0)
                efforts[d] = efforts[d] - push * sign
                inertia[d] = inertia[d] + step * (
                    stiffness * depth * dissipation + step * stiffness * _beyond(depth)
                )
    return efforts, inertia


@function(
    "motion_rate",
    "q v tau friction stops step",
    {"q_rate": ("nq",), "v_rate": ("nv",)},
    joint_space=True,
)
def _motion_rate(
    tree: Tree[S],
    q: Vector[S],
    v: Vector[S],
    tau: Vector[S],
    friction: Sequence[S],
    stops: Sequence[S],
    step: Sequence[S],
) -> tuple[list[S], list[S]]:
    efforts, inertia = applied_efforts(tree, q, v, tau, friction, stops, step[0])
    tree.add_armature(inertia)
    return configuration_rate(tree, q, v), forward_dynamics(tree, q, v, efforts)


def _beyond(depth: Scalar) -> Scalar:
    """1 inside a stop, 0 outside, changing over a micrometre or microradian."""
    return minimum(depth * 1e6, 1.0)
