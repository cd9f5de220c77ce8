"""Direct-current motors: voltage in, torque out, the current in between.

    L di/dt = V − R i − k_e N q̇          τ = k_t N i

(N: gear ratio, motor turns per joint turn.)  A rotor's inertia, seen at the joint as N² J, belongs
to the mass matrix. Every function that takes ``motors=`` puts it there, once: :func:`add_rotors`
replaces what an earlier call put on the same joint, and leaves the joint's own ``armature`` as it
is.  So give a rotor's inertia in one place: in the motor, or in the robot's description.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.errors import ArgumentError, check_name
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.spatial import S, Scalar, maximum, minimum


def current_rate(
    voltage: S,
    current: Scalar,
    speed: Scalar,
    R: float,
    L: float,
    ke: float,
    limit: float,
) -> S:
    """di/dt, A/s, of a motor with inductance, ``ke`` at the joint; zero where the drive holds the
    current at its limit.
    """
    rate = (voltage - R * current - ke * speed) / L
    if limit == math.inf:
        return rate
    rate = minimum(rate, maximum(limit - current, 0.0) * 1e30)
    return maximum(rate, -1e30 * maximum(limit + current, 0.0))


@dataclass(frozen=True, slots=True)
class DCMotor:
    """One motor and its gear.

    Attributes:
        resistance: R, Ω.
        torque_constant: k_t, N m/A.
        back_emf_constant: k_e, V s/rad; ``None``: equal to k_t, as energy conservation has it in SI
            units.
        inductance: L, H; 0: the current follows at once.
        gear_ratio: N.
        rotor_inertia: J, kg m²; counts as N² J at the joint.
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
                raise ArgumentError(
                    "must be positive", where=f"DC motor {name}", got=getattr(self, name)
                )
        for name in ("inductance", "rotor_inertia"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ArgumentError(
                    "must be finite and not negative",
                    where=f"DC motor {name}",
                    got=getattr(self, name),
                )
        if self.gear_ratio == 0.0 or not math.isfinite(self.gear_ratio):
            raise ArgumentError(
                "must be finite and not zero", where="DC motor gear_ratio", got=self.gear_ratio
            )

    @property
    def emf(self) -> float:
        """k_e, V s/rad."""
        if self.back_emf_constant is None:
            return self.torque_constant
        return self.back_emf_constant


class MotorTable:
    """All motors of a robot, in joint order.

    Attributes:
        index: (nm,) entry of ``v`` each motor drives.
    """

    def __init__(self, model: RobotModel, motors: Mapping[str, DCMotor]) -> None:
        names = check_motors(model, motors)
        values = [motors[name] for name in names]
        self.index = np.array([model.v_slice(name).start for name in names], dtype=np.intp)
        self.R = np.array([m.resistance for m in values])
        self.L = np.array([m.inductance for m in values])
        self.kt = np.array([m.torque_constant * m.gear_ratio for m in values])
        self.ke = np.array([m.emf * m.gear_ratio for m in values])
        self.max_voltage = np.array([m.max_voltage for m in values])
        self.max_current = np.array([m.max_current for m in values])
        self.instant = self.L == 0.0

    def __len__(self) -> int:
        return len(self.index)


def add_rotors(model: RobotModel, motors: Mapping[str, DCMotor]) -> RobotModel:
    """The robot with the rotors of its motors: N² J at their joints.  It replaces rotors that were
    added before.

    Args:
        motors: joint → motor.

    Raises:
        UnknownNameError: a motor at a joint that is not there.
        ArgumentError: a motor at a joint of more than one degree of freedom, or at a mimic joint.
    """
    check_motors(model, motors)
    return _with_rotors(
        model, {name: m.gear_ratio * m.gear_ratio * m.rotor_inertia for name, m in motors.items()}
    )


def without_rotors(model: RobotModel, joints: Iterable[str]) -> RobotModel:
    """The robot without the rotors that :func:`add_rotors` put on some joints."""
    return _with_rotors(model, dict.fromkeys(joints, 0.0))


def _with_rotors(model: RobotModel, inertia: Mapping[str, float]) -> RobotModel:
    changed = {name: x for name, x in inertia.items() if model.joint(name).rotor_inertia != x}
    if not changed:
        return model
    joints = tuple(
        dataclasses.replace(j, rotor_inertia=changed[j.name]) if j.name in changed else j
        for j in model.description.joints
    )
    return model.replace(description=dataclasses.replace(model.description, joints=joints))


def check_motors(model: RobotModel, motors: Mapping[str, DCMotor]) -> list[str]:
    """The driven joints in joint order."""
    for name in motors:
        if name in model.moving_joint_names and name not in model.joint_names:
            problem = "a mimic joint follows its master and has no motor of its own"
            remedy = "Give the motor to the joint that it mimics."
            raise ArgumentError(problem, where=f"motor of joint {name!r}", got=name, remedy=remedy)
        check_name("joint", name, model.joint_names, where="motors")
        if model.joint(name).type.nv != 1:
            problem = "a motor drives a joint of one degree of freedom"
            remedy = "Name a revolute, continuous or prismatic joint."
            raise ArgumentError(problem, where=f"motor of joint {name!r}", got=name, remedy=remedy)
        motor = motors[name]
        if not isinstance(motor, DCMotor):
            problem = f"expected a DCMotor, got {motor!r}"
            raise ArgumentError(
                problem,
                where=f"motor of joint {name!r}",
                got=motor,
                remedy="Make it with rd.DCMotor(…).",
            )
    return [name for name in model.joint_names if name in motors]
