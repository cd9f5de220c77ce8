"""Fourth step: the integral of the error, and the control law.

A law that is a straight line is compiled (:mod:`~robot_dynamics_ros.control.cycle.law_code`).  It may ask the robot for
g(q), M(q) and inverse dynamics; the robot's functions are called between the law's two halves.
"""

from __future__ import annotations

from robot_dynamics_ros.control.cycle.memory import CycleMemory

__all__ = ["evaluate_law", "integrate"]


def integrate(p: CycleMemory) -> None:
    """z ← z + e dt, |z| at most its bound; a joint whose effort was cut does not wind further the same way.

    Source: conditional integration; Åström and Hägglund, Advanced PID Control (2006), section 3.5.
    """
    if p.integrates[0] == 1:
        for i in range(p.nv):
            z = p.z[i]
            if not p.saturated[i] * p.error[0, i] > 0.0:
                z = z + p.error[0, i] * p.dt[0]
            p.z[i] = max(min(z, p.integral_bound[i]), -p.integral_bound[i])


def evaluate_law(p: CycleMemory) -> None:
    """``effort``: what the law asks for; ``wrenches`` with it if its own inverse dynamics are to give them."""
    if p.uses_gravity[0] == 1:
        p.gravity_forces(p.q, p.gravity)
    if p.uses_inertia[0] == 1:
        p.mass_matrix(p.q, p.inertia)
    if p.uses_motion_of_reference[0] == 1:
        for i in range(p.nv):
            p.q_reference[i] = p.reference[0, i]
            p.v_reference[i] = p.reference[1, i]
            p.a_reference[i] = p.reference[2, i]
        p.inverse_dynamics(p.q_reference, p.v_reference, p.a_reference, p.motion_of_reference)
    if p.uses_motion[0] == 1:
        p.law_before(
            p.q, p.v, p.reference, p.error, p.z, p.gains, p.gravity, p.inertia, p.motion, p.motion_of_reference, p.a
        )
        if p.wrenches_with_law[0] == 1:
            p.inverse_dynamics_wrenches(p.q, p.v, p.a, p.motion, p.wrenches)
        else:
            p.inverse_dynamics(p.q, p.v, p.a, p.motion)
    p.law_after(
        p.q, p.v, p.reference, p.error, p.z, p.gains, p.gravity, p.inertia, p.motion, p.motion_of_reference, p.effort
    )
