"""Fourth and fifth step: the integral of the error, the control law, what is added to its effort,
and blending.
"""

from __future__ import annotations

from math import cos, pi

from robot_dynamics_ros.control.cycle.memory import NANOSECONDS, CycleMemory, FrictionMemory
from robot_dynamics_ros.dynamics.engine.routines import Vector, row
from robot_dynamics_ros.friction.law import coupled_friction, joint_friction


def integrate(p: CycleMemory) -> None:
    """z ← z + e dt, |z| at most its bound; a joint whose effort was cut does not wind further the
    same way.

    Source: conditional integration; Åström and Hägglund, Advanced PID Control (2006), section 3.5.
    """
    if p.integrates[0] == 1:
        for i in range(p.nv):
            z = p.z[i]
            if not p.saturated[i] * p.error[0, i] > 0.0:
                z = z + p.error[0, i] * p.dt[0]
            p.z[i] = max(min(z, p.integral_bound[i]), -p.integral_bound[i])


def take_integral_gain(p: CycleMemory, gain: Vector) -> None:
    """Take over Ki, so that the effort Ki z is what it was: z takes up the change."""
    p.integrates[0] = 0
    for i in range(p.nv):
        share = 0.0
        bound = 0.0
        if gain[i] > 0.0:
            p.integrates[0] = 1
            share = p.integral_gain[i] / gain[i]
            bound = p.integral_clamp[i] / gain[i]
        p.z[i] = share * p.z[i]
        p.integral_gain[i] = gain[i]
        p.integral_bound[i] = bound


def evaluate_law(p: CycleMemory) -> None:
    """``effort``: what the law asks for."""
    if p.uses_gravity[0] == 1:
        p.gravity_forces(p.q, p.gravity)
    if p.uses_inertia[0] == 1:
        p.mass_matrix(p.q, p.inertia)
    if p.uses_motion_of_reference[0] == 1:
        p.inverse_dynamics(
            row(p.reference, 0), row(p.reference, 1), row(p.reference, 2), p.motion_of_reference
        )
    if p.uses_motion[0] == 1:
        p.law_before(
            p.q,
            p.v,
            p.reference,
            p.error,
            p.z,
            p.gains,
            p.gravity,
            p.inertia,
            p.motion,
            p.motion_of_reference,
            p.a,
        )
        p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    p.law_after(
        p.q,
        p.v,
        p.reference,
        p.error,
        p.z,
        p.gains,
        p.gravity,
        p.inertia,
        p.motion,
        p.motion_of_reference,
        p.effort,
    )


def friction_of(p: FrictionMemory, i: int) -> float:
    """Friction of joint ``i`` at the speeds ``p.v``."""
    own = joint_friction(p.v[i], row(p.friction, i))
    if p.coupled[0] == 0:
        return own
    before = p.v[i - 1] if i > 0 else 0.0
    after = p.v[i + 1] if i + 1 < p.nv else 0.0
    return own + coupled_friction(p.v[i], before, after, row(p.friction, i))


def without_friction(p: FrictionMemory, efforts: Vector) -> None:
    """Take friction at the speeds ``p.v`` off the motor efforts."""
    for i in range(p.nv):
        efforts[i] -= friction_of(p, i)


def add_efforts(p: CycleMemory) -> None:
    """Add the trajectory's own efforts, resist known external wrenches; joints that are not
    commanded get none.
    """
    if p.adds_feedforward[0] == 1:
        t = max(0.0, (p.time[0] - p.knot[0]) / NANOSECONDS)
        for i in range(p.nv):
            p.effort[i] = p.effort[i] + (p.piece[6, i] + t * p.piece[7, i])
    if p.pushed[0] == 1:
        p.efforts_of_wrenches(p.q, p.external, p.external_efforts)
        for i in range(p.nv):
            p.effort[i] = p.effort[i] - p.external_efforts[i]
    silence_idle_joints(p)


def effort_is_finite(p: CycleMemory) -> bool:
    """Whether ``effort`` is of numbers, whose squares are, too."""
    size = 0.0
    for i in range(p.nv):
        size = size + p.effort[i] * p.effort[i]
    # an infinity less itself, and whatever is done with a NaN, is a NaN, which equals nothing
    return size - size == 0.0


def silence_idle_joints(p: CycleMemory) -> None:
    """No effort for joints that are not commanded."""
    for i in range(p.nv):
        if p.commanded[i] == 0:
            p.effort[i] = 0.0


def blend(p: CycleMemory) -> None:
    """Fade the effort of before a change, kept at the first cycle, out along a cosine, which has no
    kink.
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
    share = 0.5 + 0.5 * cos(pi * (passed / p.blend_duration[0]))
    for i in range(p.nv):
        p.effort[i] = p.effort[i] + p.offset[i] * share
