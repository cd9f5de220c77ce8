"""All direct-current motors of a robot at once, for the simulation."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.motors import DCMotor, check_motor_names
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["MotorTable"]


class MotorTable:
    """All motors of a robot.

    Attributes:
        index: (nm,) entry of ``v`` each motor drives.
    """

    def __init__(self, model: RobotModel, motors: Mapping[str, DCMotor]) -> None:
        check_motor_names(model, motors)
        ordered = sorted(motors.items(), key=lambda item: model.v_slice(item[0]).start)
        values = [motor for _, motor in ordered]
        self.index = np.array([model.v_slice(name).start for name, _ in ordered], dtype=np.intp)
        self.R = np.array([m.resistance for m in values])
        self.L = np.array([m.inductance for m in values])
        self.kt = np.array([m.torque_constant * m.gear_ratio for m in values])
        self.ke = np.array([m.emf * m.gear_ratio for m in values])
        self.max_voltage = np.array([m.max_voltage for m in values])
        self.max_current = np.array([m.max_current for m in values])
        self.instant = self.L == 0.0
        self._L = np.where(self.instant, 1.0, self.L)

    def __len__(self) -> int:
        return len(self.index)

    def current(self, voltage: Array, v: Array, z: Array) -> Array:
        """(nm,) current now: the state, or (V − k_e N q̇)/R for motors without inductance."""
        steady = (voltage - self.ke * v[self.index]) / self.R
        i = np.where(self.instant, steady, z)
        return np.minimum(np.maximum(i, -self.max_current), self.max_current)

    def rate(self, voltage: Array, v: Array, z: Array) -> Array:
        """(nm,) di/dt; zero where the drive holds the current at its limit, and for motors without inductance."""
        rate = (voltage - self.R * z - self.ke * v[self.index]) / self._L
        held = (np.abs(z) >= self.max_current) & (rate * z > 0.0)
        return np.where(self.instant | held, 0.0, rate)

    def advance(self, voltage: Array, v: Array, z: Array, h: float) -> tuple[Array, Array, Array]:
        """Exact step of the electrical equation at constant speed.

        Returns:
            New current, mean current over the step, and −d(mean torque)/d(speed): the back-EMF's damping.
        """
        a = np.where(self.instant, math.inf, self.R * h / self._L)
        decay, share = np.exp(-a), np.where(self.instant, 0.0, -np.expm1(-a) / np.where(self.instant, 1.0, a))
        steady = (voltage - self.ke * v[self.index]) / self.R
        limit = self.max_current
        new = np.clip(steady + (np.where(self.instant, steady, z) - steady) * decay, -limit, limit)
        mean = np.clip(steady + (np.where(self.instant, steady, z) - steady) * share, -limit, limit)
        damping = np.where(np.abs(mean) < limit, self.kt * self.ke / self.R * (1.0 - share), 0.0)
        return new, mean, damping
