"""The acceleration that the joint wrenches of a cycle belong to."""

from __future__ import annotations

from math import pi

from robot_dynamics_ros.control.cycle.memory import CycleMemory

COMMANDED, REFERENCE, MEASURED, DIFFERENTIATED = range(4)
"""Where it comes from: ``ControllerOptions.wrench_acceleration``."""
UNKNOWN, FOUND, WITH_LAW = range(3)
"""Forward dynamics must tell; it is known; the law's own inverse dynamics gave the wrenches, too."""


def find_acceleration(p: CycleMemory) -> int:
    """Fill ``wrench_acceleration`` as far as the cycle knows it; see :data:`UNKNOWN`."""
    if p.wrench_source[0] == DIFFERENTIATED:
        differentiate(p)
        return FOUND
    if p.wrench_source[0] == REFERENCE:
        for i in range(p.nv):
            p.wrench_acceleration[i] = p.reference[2, i]
        return FOUND
    altered = p.adds_feedforward[0] == 1 or p.blending[0] > 0 or p.cut[0] == 1
    for i in range(p.nv):
        altered = altered or p.commanded[i] == 0
    if altered or p.wrenches_with_law[0] == 0:
        return UNKNOWN
    for i in range(p.nv):
        p.wrench_acceleration[i] = p.a[i]
    return WITH_LAW


def differentiate(p: CycleMemory) -> None:
    """Derivative of the velocity through a first-order low-pass; its delay is 1 / (2π cutoff)."""
    dt = p.dt[0]
    share = dt / (dt + 1.0 / (2.0 * pi * p.wrench_cutoff[0]))
    for i in range(p.nv):
        if p.differentiates[0] == 0:
            p.wrench_acceleration[i] = 0.0
        elif dt > 0.0:
            change = (p.v[i] - p.velocity_before[i]) / dt
            p.wrench_acceleration[i] = p.wrench_acceleration[i] + share * (change - p.wrench_acceleration[i])
        p.velocity_before[i] = p.v[i]
    p.differentiates[0] = 1
