"""An experiment for batches: how well a law that knows the drawn robot leads another one along a motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.control.friction import Friction
from robot_dynamics_ros.control.laws.base import Law
from robot_dynamics_ros.control.laws.functions import bind
from robot_dynamics_ros.control.laws.joint_space import ComputedTorque, FeedforwardPD, PDGravity
from robot_dynamics_ros.dynamics import mass_matrix
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.plant import Plant

__all__ = ["LAWS", "TrackingExperiment"]

LAWS = ("computed_torque", "feed_forward", "pd_gravity")


@dataclass(frozen=True, eq=False)
class TrackingExperiment:
    """Follow a sampled motion; call it with a robot and a run's number.

    Attributes:
        drawn: the robot that the law knows.
        position, velocity, acceleration: (N, nv) the motion, one row a control period.
        dt: control period, s.
        law: ``computed_torque``, :class:`~robot_dynamics_ros.control.laws.joint_space.ComputedTorque` with Kp = ω², Kd = 2 ω;
            ``feed_forward``, :class:`~robot_dynamics_ros.control.laws.joint_space.FeedforwardPD` with those gains times the
            inertia at the start; ``pd_gravity``, :class:`~robot_dynamics_ros.control.laws.joint_space.PDGravity` with the
            latter.  All compensate the drawn robot's friction at the desired speed.
        frequency: ω, rad/s.
        integrator: of the plant.
    """

    drawn: RobotModel
    position: Array
    velocity: Array
    acceleration: Array
    dt: float
    law: str = "computed_torque"
    frequency: float = 15.0
    integrator: str = "moreau"

    @classmethod
    def of_motion(
        cls,
        drawn: RobotModel,
        at: Callable[[Array, int], Array],
        duration: float,
        *,
        dt: float,
        law: str,
        frequency: float,
        integrator: str,
    ) -> TrackingExperiment:
        """Of a function of time ``at(t, derivative) -> (N, nv)``.

        Raises:
            ArgumentError: a robot with a floating base; an unknown law.
        """
        if drawn.nq != drawn.nv:
            raise ArgumentError(
                "tracking needs a fixed base",
                where=f"robot {drawn.name!r}",
                remedy="Load the robot without floating_base, or lock the joint.",
            )
        if law not in LAWS:
            raise ArgumentError(f"expected one of {', '.join(LAWS)}", where="law", got=law)
        t = np.arange(round(duration / dt) + 1, dtype=np.float64) * dt
        return cls(drawn, at(t, 0), at(t, 1), at(t, 2), dt, law, frequency, integrator)

    def __call__(self, robot: RobotModel, number: int) -> Mapping[str, float]:
        """Figures of one run: rms and largest position error, error at the end, largest effort as a share of the limit."""
        plant = Plant(robot, self.dt, integrator=self.integrator, q0=self.position[0], v0=self.velocity[0])
        n = len(self.position) - 1
        error, share = np.empty((n, robot.nv)), 0.0
        control = self._control()
        for k in range(n):
            q, v = plant.q, plant.v
            error[k] = self.position[k] - q
            tau = control(q, v, self.position[k], self.velocity[k], self.acceleration[k])
            plant.step(tau)
            share = max(share, float(np.max(np.abs(tau) / self.drawn.effort_limit)))
        end = np.abs(self.position[-1] - plant.q).max()
        return {
            "rms error [mrad, mm]": 1e3 * float(np.sqrt((error**2).mean())),
            "largest error [mrad, mm]": 1e3 * float(np.abs(error).max()),
            "error at the end [mrad, mm]": 1e3 * float(end),
            "largest effort / limit": share,
        }

    def _control(self) -> Callable[..., Array]:
        model, w = self.drawn, self.frequency
        friction = Friction.of(model)
        inertia = np.diag(mass_matrix(model, self.position[0]))
        law: Law
        if self.law == "computed_torque":
            law = ComputedTorque(kp=w * w, kd=2.0 * w, friction=friction)
        else:
            kind = FeedforwardPD if self.law == "feed_forward" else PDGravity
            law = kind(kp=w * w * inertia, kd=2.0 * w * inertia, friction=friction)
        return bind(model, law)
