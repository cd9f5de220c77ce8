"""An experiment for batches: how well a law that knows the drawn robot leads another one along a motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.dynamics import kernel
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
        law: ``computed_torque``, ID(q, q̇, q̈_d + ω² e + 2 ω ė); ``feed_forward``, the dynamics of the motion as it should be and
            the same gains weighed with the inertia at the start; ``pd_gravity``, gravity and those gains.  All
            compensate the drawn robot's friction at the desired speed.
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
            raise ArgumentError("tracking needs a fixed base", where=f"robot {drawn.name!r}")
        if law not in LAWS:
            raise ArgumentError(f"expected one of {', '.join(LAWS)}", where="law", got=law)
        t = np.arange(round(duration / dt) + 1, dtype=np.float64) * dt
        return cls(drawn, at(t, 0), at(t, 1), at(t, 2), dt, law, frequency, integrator)

    def __call__(self, robot: RobotModel, number: int) -> Mapping[str, float]:
        """Figures of one run: rms and largest position error, error at the end, largest effort as a share of the limit."""
        plant = Plant(robot, self.dt, integrator=self.integrator, q0=self.position[0], v0=self.velocity[0])
        n, w = len(self.position) - 1, self.frequency
        error, share = np.empty((n, robot.nv)), 0.0
        control = self._control()
        for k in range(n):
            q, v = plant.q, plant.v
            error[k] = self.position[k] - q
            tau = control(k, q, v, w * w * error[k] + 2.0 * w * (self.velocity[k] - v))
            plant.step(tau)
            share = max(share, float(np.max(np.abs(tau) / self.drawn.effort_limit)))
        end = np.abs(self.position[-1] - plant.q).max()
        return {
            "rms error [mrad, mm]": 1e3 * float(np.sqrt((error**2).mean())),
            "largest error [mrad, mm]": 1e3 * float(np.abs(error).max()),
            "error at the end [mrad, mm]": 1e3 * float(end),
            "largest effort / limit": share,
        }

    def _control(self) -> Callable[[int, Array, Array, Array], Array]:
        model = self.drawn
        inverse, gravity = kernel(model, "inverse_dynamics"), kernel(model, "gravity_forces")
        inertia = np.diag(kernel(model, "mass_matrix")(self.position[0], np.empty((model.nv, model.nv))))
        tau = np.empty(model.nv)
        friction = model.damping * self.velocity + model.friction * np.tanh(self.velocity / 0.01)

        def control(k: int, q: Array, v: Array, wanted: Array) -> Array:
            if self.law == "computed_torque":
                inverse(q, v, self.acceleration[k] + wanted, tau)
                return tau + friction[k]
            if self.law == "feed_forward":
                inverse(self.position[k], self.velocity[k], self.acceleration[k], tau)
            else:
                gravity(q, tau)
            return tau + inertia * wanted + friction[k]

        return control
