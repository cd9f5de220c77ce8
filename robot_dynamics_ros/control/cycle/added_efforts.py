"""Fifth step: what is added to the law's effort, and how a change of it is faded in."""

from __future__ import annotations

from math import cos

from robot_dynamics_ros.control.cycle.memory import CycleMemory

__all__ = ["add_efforts", "blend"]

PI = 3.141592653589793
NANOSECONDS = 1e9


def add_efforts(p: CycleMemory) -> None:
    """Add the trajectory's own efforts, resist known external wrenches; joints that are not commanded get none."""
    if p.adds_feedforward[0] == 1:
        t = max(0.0, (p.time[0] - p.knot[0]) / NANOSECONDS)
        for i in range(p.nv):
            p.effort[i] = p.effort[i] + (p.piece_effort[0, i] + t * p.piece_effort[1, i])
    if p.pushed[0] == 1:
        p.efforts_of_wrenches(p.q, p.external, p.external_efforts)
        for i in range(p.nv):
            p.effort[i] = p.effort[i] - p.external_efforts[i]
    silence_idle_joints(p)


def silence_idle_joints(p: CycleMemory) -> None:
    """No effort for joints that are not commanded."""
    for i in range(p.nv):
        if p.commanded[i] == 0:
            p.effort[i] = 0.0


def blend(p: CycleMemory) -> None:
    """Fade the difference between the effort before and after a change out along a cosine, which has no kink.

    At the first cycle the effort is the one of the cycle before; after ``blend_duration`` it is the new one.
    """
    if p.blending[0] == 0:
        return
    if p.blending[0] == 1:
        for i in range(p.nv):
            p.offset[i] = p.previous[i] - p.effort[i]
        p.blend_start[0] = p.time[0]
        p.blending[0] = 2
    passed = p.time[0] - p.blend_start[0]
    if passed >= p.blend_duration[0] or passed < 0:
        p.blending[0] = 0
        return
    share = 0.5 + 0.5 * cos(PI * (passed / p.blend_duration[0]))
    for i in range(p.nv):
        p.effort[i] = p.effort[i] + p.offset[i] * share
