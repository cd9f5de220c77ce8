"""A stand-in arm for rehearsals: our simulator, as a driver shows it."""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.commissioning.arm import ArmState
from robot_dynamics_ros.commissioning.release import effort_limit
from robot_dynamics_ros.control.reference.planning import rest_to_rest
from robot_dynamics_ros.dynamics import bias_forces, mass_matrix
from robot_dynamics_ros.model.arm_profile import ArmProfile
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.driver import Driver
from robot_dynamics_ros.simulation.plant import Plant
from robot_dynamics_ros.simulation.sensors import Sensors, SensorSettings

# Hz: joint states and commands of the stand-in.
STAND_IN_RATE_HZ = 500.0
# rad or m, standard deviation: about that of an encoder of 17 bits on the joint.
POSITION_NOISE = 2e-5
# rad/s or m/s, standard deviation: such positions, differentiated over a dozen periods.
VELOCITY_NOISE = 1e-3
# Share of the effort limit, standard deviation.
EFFORT_NOISE = 2e-3
# rad or m, least distance from stops at the start
FROM_STOPS = 0.01
# s of silence after which brakes hold
BRAKES = 0.1


class StandIn:
    """An :class:`~robot_dynamics_ros.commissioning.arm.Arm` that is simulated; brakes hold it while
    nobody commands.

    Args:
        model: the robot as it is.
        profile: habits of the driver; ``None``: a driver that passes efforts on.
        q0: (n,) where it stands, rad or m.
    """

    def __init__(
        self,
        model: RobotModel,
        profile: ArmProfile | None = None,
        q0: Array | None = None,
    ) -> None:
        rate = STAND_IN_RATE_HZ
        compensates = "nothing"
        delay = 0.0
        filtered = 0.0
        if profile is not None:
            rate = profile.driver.rate
            delay = profile.driver.delay
            filtered = profile.driver.velocity_time_constant
            compensates = profile.efforts.robot_compensates
        settings = SensorSettings(
            position_noise=POSITION_NOISE,
            velocity_noise=VELOCITY_NOISE,
            effort_noise=EFFORT_NOISE * effort_limit(model),
            velocity_time_constant=filtered,
            delay=delay,
        )
        self.model = model
        # at a stop it would rattle
        aside = np.minimum(FROM_STOPS, 0.25 * (model.upper - model.lower))
        if q0 is None:
            start = model.initial_configuration()
        else:
            start = q0
        self.plant = Plant(
            model, 1.0 / rate, q0=np.clip(start, model.lower + aside, model.upper - aside)
        )
        self._driver, self._sensors = (
            Driver(self.plant, compensates=compensates),
            Sensors(model, settings),
        )
        self._command = np.zeros(model.nv)
        self._silent = math.inf
        self.plant.brakes = True

    def send(self, effort: Array) -> None:
        self._command = np.array(effort, dtype=np.float64)
        self._silent = 0.0

    def begin(self) -> None:
        """Nothing waits here."""

    def hold(self) -> None:
        self._silent = math.inf

    def read(self) -> ArmState | None:
        """One period later."""
        self._silent += self.plant.dt
        self.plant.brakes = self._silent > BRAKES
        return self._advance(self._driver.motor_effort(self._command))

    def lead(self, goal: Array, seconds: float, rest: float = 0.0) -> list[ArmState]:
        """States while the arm's own controller leads it to (n,), and while it stands there."""
        self.plant.brakes = False
        start = self.plant.q
        states = []
        for k in range(round((seconds + rest) / self.plant.dt)):
            share, _, _ = rest_to_rest(np.array(min(k * self.plant.dt / seconds, 1.0)))
            q = self.plant.q
            v = self.plant.v
            stiffness = 10.0 * effort_limit(self.model)
            damping = 1.4 * np.sqrt(stiffness * np.diagonal(mass_matrix(self.model, q)))
            pull = stiffness * (start + share * (goal - start) - q) - damping * v
            state = self._advance(bias_forces(self.model, q, v) + pull)
            states += [state] if state is not None else []
        self.plant.brakes = True
        self._silent = math.inf
        return states

    def _advance(self, effort: Array) -> ArmState | None:
        plant = self.plant
        for _ in range(100):
            plant.step(effort)
            self._sensors.sample(plant.t, plant.q, plant.v, self._driver.reading())
            if arrived := self._sensors.deliver(plant.t):
                reading = arrived[-1]
                return ArmState(reading.t, reading.q, reading.v, reading.tau, plant.t)
        return None
