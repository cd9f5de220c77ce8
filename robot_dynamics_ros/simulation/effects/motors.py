"""The electric side of the joints' direct-current motors, see :mod:`~robot_dynamics_ros.model.motors`.

The functions here are routines, see :mod:`~robot_dynamics_ros.dynamics.engine.codegen.routine_source`.
"""

from __future__ import annotations

from math import exp, expm1
from typing import Any

__all__ = ["motor_current", "motor_rate", "motor_step"]


def motor_current(p: Any, m: int, voltage: float, speed: float, current: float) -> float:
    """Current of motor ``m`` now, A: its state, or (V − k_e N q̇)/R without inductance; within the drive's limit."""
    now = current
    if p.motor_L[m] == 0.0:
        now = (voltage - p.motor_ke[m] * speed) / p.motor_R[m]
    return min(max(now, -p.max_current[m]), p.max_current[m])


def motor_rate(p: Any, m: int, voltage: float, speed: float, current: float) -> float:
    """di/dt, A/s; zero where the drive holds the current at its limit, and without inductance."""
    if p.motor_L[m] == 0.0:
        return 0.0
    rate = (voltage - p.motor_R[m] * current - p.motor_ke[m] * speed) / p.motor_L[m]
    if abs(current) >= p.max_current[m] and rate * current > 0.0:
        return 0.0
    return rate


def motor_step(p: Any, m: int, voltage: float, speed: float, current: float, h: float) -> None:
    """Exact step of the electrical equation at constant speed.

    Leaves the new current, the mean current over the step, and −d(mean torque)/d(speed), the damping by the back-EMF,
    in ``p.new_current``, ``p.mean_current`` and ``p.motor_damping``.
    """
    limit = p.max_current[m]
    steady = (voltage - p.motor_ke[m] * speed) / p.motor_R[m]
    new = steady
    mean = steady
    share = 0.0
    if p.motor_L[m] > 0.0:
        a = p.motor_R[m] * h / p.motor_L[m]
        share = -expm1(-a) / a
        new = steady + (current - steady) * exp(-a)
        mean = steady + (current - steady) * share
    p.new_current[m] = min(max(new, -limit), limit)
    p.mean_current[m] = min(max(mean, -limit), limit)
    p.motor_damping[m] = 0.0
    if abs(p.mean_current[m]) < limit:
        p.motor_damping[m] = p.motor_kt[m] * p.motor_ke[m] / p.motor_R[m] * (1.0 - share)
