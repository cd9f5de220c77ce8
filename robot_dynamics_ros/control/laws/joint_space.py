"""Laws that close the loop on joint positions and velocities.

e = q_d − q (the short way round for continuous joints), ė = v_d − v, z = ∫e dt; M, C, g as in the equations of motion
τ = M(q) q̈ + C(q, q̇) q̇ + g(q) + F(q̇), F the friction where a law is given one to compensate.
"""

from __future__ import annotations

# ruff: noqa: RUF009  gain() is a dataclass field
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.laws.base import Gain, Law, add_friction, add_pd, gain
from robot_dynamics_ros.control.workspace import Workspace
from robot_dynamics_ros.model.description import Array

__all__ = ["ComputedTorque", "FeedforwardPD", "GravityCompensation", "JointImpedance", "PDGravity"]


@dataclass(frozen=True, eq=False)
class ComputedTorque(Law):
    """τ = M(q) (q̈_d + Kd ė + Kp e + Ki z) + C q̇ + g + F.

    With an exact model every joint's error obeys ë + Kd ė + Kp e + Ki z = 0, whatever the others do.

    Attributes:
        kp: 1/s², the square of the natural frequency.
        kd: 1/s, twice the damping ratio times the natural frequency.
        ki: 1/s³; stable for ki < kp·kd.
        i_clamp: rad/s² or m/s², largest |ki·z|.
        friction: compensated if given.
        friction_at: the speed it is compensated for; "reference" does not feed measurement noise through the steep part
            around zero, "measured" makes the error dynamics exact.

    Source: Siciliano, Sciavicco, Villani, Oriolo, Robotics (2009), section 8.5.2 (inverse dynamics control).
    """

    kp: Gain = gain(100.0)
    kd: Gain = gain(20.0)
    ki: Gain = gain(0.0)
    i_clamp: Gain = gain(float("inf"))
    friction: Friction | None = None
    friction_at: str = "reference"

    def __call__(self, work: Workspace, out: Array) -> Array:
        """See :class:`ComputedTorque`."""
        np.copyto(work.a, work.a_d)
        add_pd(work, self, work.a)
        work.inverse_dynamics(out)
        add_friction(work, self.friction, self.friction_at, out)
        return out


@dataclass(frozen=True, eq=False)
class PDGravity(Law):
    """τ = Kp e + Kd ė + Ki z + g(q) + F.

    Needs no inertia to be known; comes to rest at the reference from anywhere.

    Attributes:
        kp: N m/rad or N/m.
        kd: N m s/rad or N s/m.
        ki: N m/(rad s) or N/(m s).
        i_clamp: N m or N, largest |ki·z|.
        friction, friction_at: as in :class:`ComputedTorque`.

    Source: Takegaki and Arimoto, J. Dyn. Syst. Meas. Control 103 (1981).
    """

    kp: Gain = gain()
    kd: Gain = gain()
    ki: Gain = gain(0.0)
    i_clamp: Gain = gain(float("inf"))
    friction: Friction | None = None
    friction_at: str = "reference"

    def __call__(self, work: Workspace, out: Array) -> Array:
        """See :class:`PDGravity`."""
        work.kernels.gravity_forces(work.q, out)
        add_pd(work, self, out)
        add_friction(work, self.friction, self.friction_at, out)
        return out


@dataclass(frozen=True, eq=False)
class GravityCompensation(Law):
    """τ = g(q) − D q̇ + F(q̇): the arm floats and can be led by hand.

    The reference plays no part.  The friction given should be less than the true one, say 0.7 of it
    (``Friction.scaled``), or the arm creeps.

    Attributes:
        damping: N m s/rad or N s/m.
        friction: help against friction, at the measured speed.
    """

    tracks: ClassVar[bool] = False

    damping: Gain = gain(0.0)
    friction: Friction | None = None

    def __call__(self, work: Workspace, out: Array) -> Array:
        """See :class:`GravityCompensation`."""
        work.kernels.gravity_forces(work.q, out)
        np.multiply(self.damping, work.v, out=work.s0)
        out -= work.s0
        add_friction(work, self.friction, "measured", out)
        return out


@dataclass(frozen=True, eq=False)
class FeedforwardPD(Law):
    """τ = M(q_d) q̈_d + C(q_d, q̇_d) q̇_d + g(q_d) + F(q̇_d) + Kp e + Kd ė + Ki z.

    Inverse dynamics at the reference, which may be known ahead and is free of noise; the feedback is a plain PD.

    Attributes:
        kp, kd, ki, i_clamp: as in :class:`PDGravity`.
        friction: compensated at the reference speed if given.
    """

    kp: Gain = gain()
    kd: Gain = gain()
    ki: Gain = gain(0.0)
    i_clamp: Gain = gain(float("inf"))
    friction: Friction | None = None

    def __call__(self, work: Workspace, out: Array) -> Array:
        """See :class:`FeedforwardPD`."""
        work.kernels.inverse_dynamics(work.q_d, work.v_d, work.a_d, out)
        np.copyto(work.a, work.a_d)
        add_pd(work, self, out)
        add_friction(work, self.friction, "reference", out)
        return out


@dataclass(frozen=True, eq=False)
class JointImpedance(Law):
    """τ = K e + D ė + M(q) q̈_d + C q̇ + g + F: springs and dampers between arm and reference.

    The arm keeps its own inertia: under external efforts τ_e its error obeys M ë + D ė + K e = −τ_e.

    Attributes:
        stiffness: N m/rad or N/m.
        damping: N m s/rad or N s/m; ``None``: 2 ζ √(Kᵢ Mᵢᵢ(q)) for each joint.
        damping_ratio: ζ.
        friction, friction_at: as in :class:`ComputedTorque`.

    Source: Hogan, J. Dyn. Syst. Meas. Control 107 (1985).
    """

    stiffness: Gain = gain()
    damping: Gain = gain(None, optional=True)
    damping_ratio: Gain = gain(0.7)
    friction: Friction | None = None
    friction_at: str = "reference"

    def __call__(self, work: Workspace, out: Array) -> Array:
        """See :class:`JointImpedance`."""
        np.copyto(work.a, work.a_d)
        work.inverse_dynamics(out)
        np.multiply(self.stiffness, work.e, out=work.s0)
        out += work.s0
        if self.damping is not None:
            np.multiply(self.damping, work.ed, out=work.s0)
        else:
            work.kernels.mass_matrix(work.q, work.m)
            np.multiply(self.stiffness, work.m.diagonal(), out=work.s0)
            np.sqrt(work.s0, out=work.s0)
            np.multiply(work.s0, self.damping_ratio, out=work.s0)
            work.s0 *= 2.0
            work.s0 *= work.ed
        out += work.s0
        add_friction(work, self.friction, self.friction_at, out)
        return out
