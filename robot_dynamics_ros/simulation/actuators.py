"""Direct-current motors: voltage in, torque out, the current in between.

    L di/dt = V − R i − k_e N q̇          τ = k_t N i

(N: gear ratio, motor turns per joint turn.)  The rotor's inertia, seen at the joint as N² J, belongs to the mass
matrix, that is to the model's armature; :func:`add_rotors` puts it there.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["DCMotor", "MotorTable", "add_rotors"]


@dataclass(frozen=True, slots=True)
class DCMotor:
    """One motor and its gear.

    Attributes:
        resistance: R, Ω.
        torque_constant: k_t, N m/A.
        back_emf_constant: k_e, V s/rad; ``None``: equal to k_t, as energy conservation has it in SI units.
        inductance: L, H; 0: the current follows at once.
        gear_ratio: N.
        rotor_inertia: J, kg m², used by :func:`add_rotors`.
        max_voltage: V; commands are clamped to it.
        max_current: A; the drive holds the current within it.
    """

    resistance: float
    torque_constant: float
    back_emf_constant: float | None = None
    inductance: float = 0.0
    gear_ratio: float = 1.0
    rotor_inertia: float = 0.0
    max_voltage: float = math.inf
    max_current: float = math.inf

    def __post_init__(self) -> None:
        for name in ("resistance", "torque_constant", "max_voltage", "max_current"):
            if not getattr(self, name) > 0.0:
                raise ArgumentError("must be positive", where=f"DC motor {name}", got=getattr(self, name))
        for name in ("inductance", "rotor_inertia"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ArgumentError(
                    "must be finite and not negative", where=f"DC motor {name}", got=getattr(self, name)
                )
        if self.gear_ratio == 0.0 or not math.isfinite(self.gear_ratio):
            raise ArgumentError("must be finite and not zero", where="DC motor gear_ratio", got=self.gear_ratio)

    @property
    def emf(self) -> float:
        """k_e, V s/rad."""
        return self.torque_constant if self.back_emf_constant is None else self.back_emf_constant


def add_rotors(model: RobotModel, motors: Mapping[str, DCMotor]) -> RobotModel:
    """The robot with N² J of every motor added to its joint's armature."""
    _check_names(model, motors)
    joints = tuple(
        dataclasses.replace(j, armature=j.armature + motors[j.name].gear_ratio ** 2 * motors[j.name].rotor_inertia)
        if j.name in motors
        else j
        for j in model.description.joints
    )
    return model.replace(description=dataclasses.replace(model.description, joints=joints))


def _check_names(model: RobotModel, motors: Mapping[str, DCMotor]) -> None:
    for name in motors:
        if name not in model.joint_names:
            raise UnknownNameError("joint", name, model.joint_names, where="motors")
        if model.joint(name).type.nv != 1:
            raise ArgumentError("a motor drives a joint of one degree of freedom", where=f"motor of joint {name!r}")


class MotorTable:
    """All motors of a robot.

    Attributes:
        index: (nm,) entry of ``v`` each motor drives.
    """

    def __init__(self, model: RobotModel, motors: Mapping[str, DCMotor]) -> None:
        _check_names(model, motors)
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
