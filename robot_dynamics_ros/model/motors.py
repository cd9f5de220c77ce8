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

from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["DCMotor", "add_rotors", "check_motor_names"]


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
    check_motor_names(model, motors)
    joints = tuple(
        dataclasses.replace(j, armature=j.armature + motors[j.name].gear_ratio ** 2 * motors[j.name].rotor_inertia)
        if j.name in motors
        else j
        for j in model.description.joints
    )
    return model.replace(description=dataclasses.replace(model.description, joints=joints))


def check_motor_names(model: RobotModel, motors: Mapping[str, DCMotor]) -> None:
    for name in motors:
        if name not in model.joint_names:
            raise UnknownNameError("joint", name, model.joint_names, where="motors")
        if model.joint(name).type.nv != 1:
            raise ArgumentError("a motor drives a joint of one degree of freedom", where=f"motor of joint {name!r}")
