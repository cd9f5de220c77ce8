"""The habits of drivers: between commands and motors, and between motors and the efforts that are
published.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics import gravity_forces, inverse_dynamics
from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.measured_effort import MeasuredEffort, as_measured
from robot_dynamics_ros.per_joint import per_joint
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot

COMPENSATIONS = ("nothing", "gravity", "gravity_and_coriolis")


class Driver:
    """The habits of one driver.

    Args:
        plant: the robot that it drives.
        compensates: what the robot adds to commands: ``"nothing"``, ``"gravity"`` or
            ``"gravity_and_coriolis"``.
        measured: what it publishes as measured efforts.
        effort_rate: (nv,) largest change of commands, N m/s or N/s; infinite: not limited.

    Attributes:
        command: (nv,) the last command after the limit of its rate.
    """

    def __init__(
        self,
        plant: SimulatedRobot,
        *,
        compensates: str = "nothing",
        measured: MeasuredEffort | None = None,
        effort_rate: ArrayLike = np.inf,
    ) -> None:
        if compensates not in COMPENSATIONS:
            remedy = f"One of {', '.join(COMPENSATIONS)}."
            raise ArgumentError(
                f"is {compensates!r}", where="compensates", got=compensates, remedy=remedy
            )
        nv = plant.model.nv
        self._plant = plant
        self._compensates = compensates
        if measured is None:
            self._measured = MeasuredEffort()
        else:
            self._measured = measured
        self._step = (
            per_joint(effort_rate, nv, "effort_rate", positive=True, infinite=True) * plant.dt
        )
        self._still = np.zeros(nv)
        self._before = plant.v
        self.command = np.zeros(nv)

    @property
    def plain(self) -> bool:
        """Whether commands and measured efforts pass as they are."""
        return (
            self._compensates == "nothing"
            and self._measured.plain
            and bool(np.isinf(self._step).all())
        )

    def reset(self) -> None:
        """Nothing has been commanded."""
        self.command[:] = 0.0
        self._before = self._plant.v

    def motor_effort(self, command: Array) -> Array:
        """(nv,) effort of the motors in the next control period, from (nv,) the command that is in
        force.
        """
        np.clip(command, self.command - self._step, self.command + self._step, out=self.command)
        plant = self._plant
        self._before = plant.v
        if self._compensates == "gravity":
            return self.command + gravity_forces(plant.model, plant.q)
        if self._compensates == "gravity_and_coriolis":
            return self.command + inverse_dynamics(plant.model, plant.q, plant.v, self._still)
        return self.command

    def reading(self) -> Array:
        """(nv,) the efforts that the driver publishes now; NaN where it publishes none."""
        plant = self._plant
        kind = self._measured
        losses: Array | float = 0.0
        gravity = self._still
        # friction and rotor, stiction included
        if kind.meaning == "link_torque":
            losses = plant.tau - self._link_effort()
        elif kind.meaning == "torque_without_gravity":
            gravity = gravity_forces(plant.model, plant.q)
        return as_measured(kind, plant.tau, command=self.command, gravity=gravity, friction=losses)

    def _link_effort(self) -> Array:
        """(nv,) effort between gears and links."""
        plant = self._plant
        # the mean acceleration of the last period costs a tenth of the present one
        if type(plant) is Plant:
            a = (plant.v - self._before) / plant.dt
            return plant.system.inverse_dynamics(plant.q, plant.v, a)[0] - plant.model.rotor_effort(
                a
            )
        return plant.joint_effort() - plant.model.rotor_effort(plant.acceleration())
