"""Laws that close the loop on joint positions and velocities.

e = q_d − q (the short way round for continuous joints), ė = v_d − v, z = ∫e dt; M, C, g as in the
equations of motion τ = M(q) q̈ + C(q, q̇) q̇ + g(q) + F(q̇), F the friction where a law is given
one to compensate.
"""

from __future__ import annotations

# ruff: noqa: RUF009  gain() is a dataclass field
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robot_dynamics_ros.control.laws.base import Gain, Law, Workspace, gain
from robot_dynamics_ros.friction.compensation import Friction
from robot_dynamics_ros.model.description import Array


@dataclass(frozen=True, eq=False)
class _PID(Law):
    """Gains on e, ė and z, and friction that is compensated if given."""

    kp: Gain = gain(parameter="p")
    kd: Gain = gain(parameter="d")
    ki: Gain = gain(0.0, parameter="i")
    i_clamp: Gain = gain(float("inf"))
    friction: Friction | None = None


@dataclass(frozen=True, eq=False)
class ComputedTorque(_PID):
    """τ = M(q) (q̈_d + Kd ė + Kp e + Ki z) + C q̇ + g + F.

    With an exact model every joint's error obeys ë + Kd ė + Kp e + Ki z = 0, independently of the
    other joints.

    Attributes:
        kp: 1/s², the square of the natural frequency.
        kd: 1/s, twice the damping ratio times the natural frequency.
        ki: 1/s³; stable for ki < kp·kd.
        i_clamp: rad/s² or m/s², largest |ki·z|.
        friction: compensated if given.
        friction_at: the speed it is compensated for; "reference" does not feed measurement noise
            through the steep part around zero, "measured" makes the error dynamics exact.

    Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics (2009), section 8.5.2 (inverse dynamics
    control).
    """

    name: ClassVar[str] = "computed_torque"
    inverts_dynamics: ClassVar[bool] = True
    straight_line: ClassVar[bool] = True

    kp: Gain = gain(100.0, parameter="p")
    kd: Gain = gain(20.0, parameter="d")
    friction_at: str = "reference"

    def effort(self, x: Workspace) -> Array:
        a = x.a_d + self.kd * x.ed + self.kp * x.e + self.ki * x.z
        return x.inverse_dynamics(a) + self.F(x)


@dataclass(frozen=True, eq=False)
class PDGravity(_PID):
    """τ = Kp e + Kd ė + Ki z + g(q) + F.

    Needs only gravity, not the inertia; converges to the reference from every state.

    Attributes:
        kp, kd, ki: N m/rad or N/m; N m s/rad or N s/m; N m/(rad s) or N/(m s).
        i_clamp: N m or N, largest |ki·z|.
        friction, friction_at: as in :class:`ComputedTorque`.

    Source: Takegaki and Arimoto, J. Dyn. Syst. Meas. Control 103 (1981).
    """

    name: ClassVar[str] = "pd_gravity"
    straight_line: ClassVar[bool] = True

    friction_at: str = "reference"

    def effort(self, x: Workspace) -> Array:
        return self.kp * x.e + self.kd * x.ed + self.ki * x.z + x.gravity_forces() + self.F(x)


@dataclass(frozen=True, eq=False)
class GravityCompensation(Law):
    """τ = g(q) − D q̇ + F(q̇): the arm floats and can be led by hand.

    The reference is not used.  The friction given should be less than the true one, for example 0.7
    of it (``Friction.scaled``), or the arm creeps.

    Attributes:
        damping: N m s/rad or N s/m.
        friction: compensated at the measured speed.
    """

    name: ClassVar[str] = "gravity_compensation"
    straight_line: ClassVar[bool] = True
    tracks: ClassVar[bool] = False

    friction_at: ClassVar[str] = "measured"

    damping: Gain = gain(0.0, parameter="d")
    friction: Friction | None = None

    def effort(self, x: Workspace) -> Array:
        return x.gravity_forces() - self.damping * x.v + self.F(x)


@dataclass(frozen=True, eq=False)
class FeedforwardPD(_PID):
    """τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d) + F(q̇_d) + Kp e + Kd ė + Ki z.

    Inverse dynamics is evaluated at the reference, which has no noise; the feedback is a PD law.

    Attributes:
        kp, kd, ki, i_clamp: as in :class:`PDGravity`.
        friction: compensated at the reference speed if given.
    """

    name: ClassVar[str] = "feedforward_pd"
    straight_line: ClassVar[bool] = True

    def effort(self, x: Workspace) -> Array:
        pid = self.kp * x.e + self.kd * x.ed + self.ki * x.z
        return x.inverse_dynamics_of_reference() + self.F(x) + pid


@dataclass(frozen=True, eq=False)
class JointImpedance(Law):
    """τ = K e + D ė + M(q) q̈_d + C q̇ + g + F: springs and dampers between arm and reference.

    The arm keeps its own inertia: under external efforts τ_e its error obeys M ë + D ė + K e =
    −τ_e.

    Attributes:
        stiffness: N m/rad or N/m.
        damping: N m s/rad or N s/m; ``None``: 2 ζ √(Kᵢ Mᵢᵢ(q)) for each joint.
        damping_ratio: ζ.
        friction, friction_at: as in :class:`ComputedTorque`.

    Source: Hogan, J. Dyn. Syst. Meas. Control 107 (1985).
    """

    name: ClassVar[str] = "joint_impedance"
    straight_line: ClassVar[bool] = True

    stiffness: Gain = gain(parameter="p")
    damping: Gain = gain(None, optional=True, parameter="d")
    damping_ratio: Gain = gain(0.7)
    friction: Friction | None = None
    friction_at: str = "reference"

    def effort(self, x: Workspace) -> Array:
        K = self.stiffness
        D = self.damping
        if D is None:
            D = 2.0 * self.damping_ratio * np.sqrt(K * x.mass_matrix().diagonal())
        return K * x.e + D * x.ed + x.inverse_dynamics(x.a_d) + self.F(x)
