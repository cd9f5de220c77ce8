"""The electric side of the joints' direct-current motors, see
:mod:`~robot_dynamics_ros.model.motors`.  They are routines.
"""

from __future__ import annotations

from math import exp, expm1

from robot_dynamics_ros.dynamics.engine.routines import (
    Declared,
    Integers,
    Vector,
    constant,
    integers,
    numbers,
)
from robot_dynamics_ros.model.motors import current_rate


class MotorMemory(Declared):
    """Direct-current motors."""

    motors: int = constant(int, "number of motors")
    motor_index: Integers = integers("motors", meaning="the motor's joint")
    motor_R: Vector = numbers("motors", unit="Ω", meaning="resistance")
    motor_L: Vector = numbers("motors", unit="H", meaning="inductance")
    motor_kt: Vector = numbers(
        "motors", unit="N m/A or N/A", meaning="effort at the joint per current"
    )
    motor_ke: Vector = numbers(
        "motors", unit="V s/rad or V s/m", meaning="back-EMF per joint velocity"
    )
    max_voltage: Vector = numbers("motors", unit="V", meaning="largest voltage of the drive")
    max_current: Vector = numbers("motors", unit="A", meaning="largest current of the drive")
    new_current: Vector = numbers(
        "motors", unit="A", meaning="current after the step, or its rate in A/s"
    )
    mean_current: Vector = numbers("motors", unit="A", meaning="mean current in the step")
    motor_damping: Vector = numbers(
        "motors", unit="N m s/rad or N s/m", meaning="damping by the back-EMF"
    )


def motor_current(
    p: MotorMemory,
    m: int,
    voltage: float,
    speed: float,
    current: float,
) -> float:
    """Current of motor ``m`` now, A: its state, or (V − k_e N q̇)/R without inductance; within the
    drive's limit.
    """
    now = current
    if p.motor_L[m] == 0.0:
        now = (voltage - p.motor_ke[m] * speed) / p.motor_R[m]
    return min(max(now, -p.max_current[m]), p.max_current[m])


def motor_rate(
    p: MotorMemory,
    m: int,
    voltage: float,
    speed: float,
    current: float,
) -> float:
    """di/dt, A/s; zero where the drive holds the current at its limit, and without inductance."""
    if p.motor_L[m] == 0.0:
        return 0.0
    return current_rate(
        voltage, current, speed, p.motor_R[m], p.motor_L[m], p.motor_ke[m], p.max_current[m]
    )


def motor_step(
    p: MotorMemory,
    m: int,
    voltage: float,
    speed: float,
    current: float,
    h: float,
) -> None:
    """Exact step of the electrical equation at constant speed.

    Leaves the new current, the mean current over the step, and −d(mean torque)/d(speed), the
    damping by the back-EMF, in ``p.new_current``, ``p.mean_current`` and ``p.motor_damping``.
    """
    limit = p.max_current[m]
    steady = (voltage - p.motor_ke[m] * speed) / p.motor_R[m]
    new = steady
    mean = steady
    # mean of exp(−R t / L) over the step: the part of the present current that is left in it
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
