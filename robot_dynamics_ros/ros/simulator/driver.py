"""The simulator's parameters about the driver whose habits it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from robot_dynamics_ros.ros.transport.measured_effort import MEASURED_EFFORT, MEASURED_EFFORT_FACTOR, measured_effort
from robot_dynamics_ros.ros.transport.parameters import Param, ParameterValues, of_joints
from robot_dynamics_ros.simulation.driver import COMPENSATIONS, Driver
from robot_dynamics_ros.simulation.simulated_robot import SimulatedRobot

DRIVER_PARAMETERS = (
    Param(
        "driver.compensates",
        "nothing",
        "What the robot adds to commands: nothing, the effort against gravity, or that and Coriolis and centrifugal effects.",
        choices=COMPENSATIONS,
        read_only=True,
    ),
    MEASURED_EFFORT,
)


EFFORT_RATE = Param(
    "limits.<joint>.effort_rate",
    0.0,
    "Largest change of commands in time; 0: not limited.",
    unit="N m/s or N/s",
    lower=0.0,
    read_only=True,
)


def driver_parameters(joints: Sequence[str]) -> list[Param]:
    """The parameters that every joint has."""
    return of_joints(joints, EFFORT_RATE, MEASURED_EFFORT_FACTOR)


def make_driver(values: ParameterValues, plant: SimulatedRobot) -> Driver:
    """The driver that the parameters describe.

    Raises:
        ArgumentError: a meaning of efforts without what it needs.
    """
    model = plant.model
    rates = np.array([values.get(f"limits.{name}.effort_rate", 0.0) or math.inf for name in model.joint_names])
    return Driver(
        plant,
        compensates=values["driver.compensates"],
        measured=measured_effort(values, model),
        effort_rate=rates if model.nv == len(rates) else math.inf,
    )
