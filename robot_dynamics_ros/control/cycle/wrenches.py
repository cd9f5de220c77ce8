"""Last step: joint wrenches, and the acceleration that they belong to."""

from __future__ import annotations

from math import pi

from robot_dynamics_ros.control.cycle.law import without_friction
from robot_dynamics_ros.control.cycle.memory import CycleMemory
from robot_dynamics_ros.dynamics.engine.routines import Vector

# in the order of ``ControllerOptions.wrench_acceleration``
COMMANDED, REFERENCE, MEASURED, DIFFERENTIATED = range(4)


def compute_wrenches(p: CycleMemory, measured: Vector, is_measured: bool) -> None:
    """``wrenches``, and ``wrench_acceleration`` from where ``wrench_source`` says; ``measured``:
    (nv) efforts of the motors until this state, anything if they are not measured.
    """
    if p.want_wrenches[0] == 0:
        p.differentiates[0] = 0
        return
    if p.wrench_source[0] == DIFFERENTIATED:
        differentiate(p)
    elif p.wrench_source[0] == REFERENCE:
        for i in range(p.nv):
            p.wrench_acceleration[i] = p.reference[2, i]
    elif p.wrench_source[0] == COMMANDED and gets_what_the_law_asked(p):
        for i in range(p.nv):
            p.wrench_acceleration[i] = p.a[i]
    else:
        for i in range(p.nv):
            p.net[i] = (
                measured[i] if is_measured and p.wrench_source[0] == MEASURED else p.effort[i]
            )
        # what the motors spend in the joints before it reaches the links
        if p.rubs[0] == 1:
            without_friction(p, p.net)
        if p.pushed[0] == 1:
            for i in range(p.nv):
                p.net[i] = p.net[i] + p.external_efforts[i]
        p.forward_dynamics(p.q, p.v, p.net, p.wrench_acceleration)
    p.wrenches_under_load(p.q, p.v, p.wrench_acceleration, p.external, p.net, p.wrenches)


def gets_what_the_law_asked(p: CycleMemory) -> bool:
    """Whether the arm gets the acceleration ``a``: the law inverts the dynamics, and its effort was
    not altered.
    """
    altered = (
        p.robust[0] == 1
        or p.pushed[0] == 1
        or p.adds_feedforward[0] == 1
        or p.blending[0] > 0
        or p.cut[0] == 1
    )
    for i in range(p.nv):
        altered = altered or p.commanded[i] == 0
    return p.inverts[0] == 1 and not altered


def differentiate(p: CycleMemory) -> None:
    """Derivative of the velocity through a first-order low-pass; its delay is 1 / (2π cutoff)."""
    dt = p.dt[0]
    share = dt / (dt + 1.0 / (2.0 * pi * p.wrench_cutoff[0]))
    for i in range(p.nv):
        if p.differentiates[0] == 0:
            p.wrench_acceleration[i] = 0.0
        elif dt > 0.0:
            change = (p.v[i] - p.velocity_before[i]) / dt
            p.wrench_acceleration[i] = p.wrench_acceleration[i] + share * (
                change - p.wrench_acceleration[i]
            )
        p.velocity_before[i] = p.v[i]
    p.differentiates[0] = 1
