"""Springs and dampers at the joints, which are also proportional and derivative control with
offsets.
"""

from __future__ import annotations

from dataclasses import dataclass

from robot_dynamics_ros.dynamics.engine.routines import Declared, Vector, numbers
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.coordinates import Coordinates, Values, per_joint


class SpringMemory(Declared):
    """Springs and dampers at the joints."""

    nv: int
    spring_p: Vector = numbers("nv", unit="N m/rad or N/m", meaning="stiffness")
    spring_d: Vector = numbers("nv", unit="N m s/rad or N s/m", meaning="damping")
    spring_rest: Vector = numbers(
        "nv", unit="rad or m", meaning="position where the spring is relaxed"
    )
    spring_rate: Vector = numbers("nv", unit="rad/s or m/s", meaning="velocity without damping")
    spring_constant: Vector = numbers("nv", unit="N m or N", meaning="constant effort")


def spring_effort(p: SpringMemory, i: int, position: float, speed: float) -> float:
    """P (u_o − q) + D (v_o − q̇) + u_f of joint ``i``.  A routine."""
    pull = p.spring_p[i] * (p.spring_rest[i] - position) + p.spring_d[i] * (
        p.spring_rate[i] - speed
    )
    return pull + p.spring_constant[i]


@dataclass(frozen=True, slots=True, eq=False)
class JointPD:
    """u = P (u_o − q) + D (v_o − q̇) + u_f at every joint (Exudyn's ObjectKinematicTree); a spring
    where v_o = 0.

    Each field is a number, (nv,) numbers, or a mapping of joint names (others zero).

    Attributes:
        p: P, stiffness, N m/rad or N/m.
        d: D, damping, N m s/rad or N s/m.
        position: u_o, where the spring is relaxed, rad or m.
        velocity: v_o, rad/s or m/s.
        effort: u_f, constant effort, N m or N.
    """

    p: Values = 0.0
    d: Values = 0.0
    position: Values = 0.0
    velocity: Values = 0.0
    effort: Values = 0.0

    def parameters(self, model: RobotModel, coordinates: Coordinates) -> dict[str, Array]:
        """The numbers for one model, by their names in :class:`SpringMemory`.

        Raises:
            ArgumentError: a negative stiffness or damping, a wrong length, or a spring on a
                floating joint.
        """
        p = per_joint(self.p, model, "spring p")
        d = per_joint(self.d, model, "spring d")
        if (p[~coordinates.has_position] > 0.0).any():
            problem = "a floating joint has no position coordinate for a spring to act on"
            remedy = "Name the joints that have springs in a mapping."
            raise ArgumentError(problem, where="spring p", got=self.p, remedy=remedy)
        words = {"position": "spring_rest", "velocity": "spring_rate", "effort": "spring_constant"}
        others = {
            n: per_joint(getattr(self, w), model, f"spring {w}", signed=True)
            for w, n in words.items()
        }
        return {"spring_p": p, "spring_d": d, **others}
