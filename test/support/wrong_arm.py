"""Stand-in arms moved by MuJoCo, with mistakes in what they are told and in what they tell."""

from __future__ import annotations

from collections import deque

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.commissioning import ArmState
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant

PERIOD = 2e-3
# its weight acts little there
HOME = np.array([0.3, -1.5606, 0.0])
LOADED = np.array([0.3, -0.6, 0.9])
# periods of silence, after which brakes hold
BRAKES = 25
NOISE = 2e-5


def described(friction=(0.8, 0.8, 0.4), armature=(0.1, 0.1, 0.05)) -> rd.RobotModel:
    """The three-joint arm with friction and rotors in its description."""
    model = rd.load_robot("three_link")
    by_name = [dict(zip(model.joint_names, values, strict=True)) for values in (armature, friction)]
    return model.replace(description=model.description.with_joints(*by_name))


class WrongArm:
    """An arm in MuJoCo.

    Args:
        truth: as it is.
        signs: of the commands, or factors.
        order: of the joints that they go to.
        delay: periods from a command to its effort.
        play: rad, of each joint between its gear and its encoder.
        frozen: number of a joint whose encoder does not move; -1: none.
        loose: number of a joint without brake.
        lifts: the driver adds gravity to commands.
        silent_after, nan_after, hung_after, clock_after: number of readings after which none comes,
            NaN, the same one again and again, or those of a clock that was set back.
        seed: of the noise.
        home: (3,) rad, where it stands.
    """

    def __init__(
        self,
        truth,
        *,
        signs=1.0,
        order=slice(None),
        delay=0,
        play=0.0,
        frozen=-1,
        loose=-1,
        lifts=False,
        silent_after=10**9,
        nan_after=10**9,
        hung_after=10**9,
        clock_after=10**9,
        noise=NOISE,
        seed=0,
        home=HOME,
    ):
        self.model = truth
        self.signs = signs * np.ones(truth.nv)
        self.play = play
        self.frozen = frozen
        self.lifts = lifts
        self.order = order
        brakes = {name: 0.0 if i == loose else np.inf for i, name in enumerate(truth.joint_names)}
        self.plant = MujocoPlant(
            truth, PERIOD, geometry="none", q0=home, substeps=2, brake_effort=brakes
        )
        self.rng = np.random.default_rng(seed)
        self.noise = noise
        self.under_way = deque([None] * delay)
        self.command = None
        self.silence = 10**9
        self.readings = 0
        self.silent_after = silent_after
        self.nan_after = nan_after
        self.hung_after = hung_after
        self.clock_after = clock_after
        self.last = None
        self.shown, self.start = home.copy(), home.copy()
        self.way = []
        self.speed = []

    def begin(self):
        pass

    def hold(self):
        self.silence = BRAKES

    def send(self, effort):
        assert np.isfinite(effort).all()
        self.command = np.array(effort)
        self.silence = 0

    def read(self):
        plant = self.plant
        model = self.model
        self.silence += 1
        self.under_way.append(self.command if self.silence <= BRAKES else None)
        command = self.under_way.popleft()
        plant.brakes = command is None
        effort = np.zeros(model.nv) if command is None else self.signs * command[self.order]
        if self.lifts and command is not None:
            effort = effort + rd.gravity_forces(model, plant.q)
        plant.step(effort)
        self.way.append(plant.q)
        self.speed.append(plant.v)
        self.shown = np.clip(self.shown, plant.q - 0.5 * self.play, plant.q + 0.5 * self.play)
        self.readings += 1
        if self.readings > self.silent_after:
            return None
        q = self.shown + self.noise * self.rng.standard_normal(model.nv)
        if self.frozen >= 0:
            q[self.frozen] = self.start[self.frozen]
        v = plant.v + 1e-3 * self.rng.standard_normal(model.nv)
        if self.frozen >= 0:
            v[self.frozen] = 0.0
        if self.readings > self.nan_after:
            q[0] = np.nan
        if self.readings <= self.hung_after:
            self.last = ArmState(
                self.readings * PERIOD - 3600.0 * (self.readings > self.clock_after), q, v, effort
            )
        return self.last

    def farthest(self):
        """rad, from where it stood."""
        return np.abs(np.array(self.way) - self.start).max()

    def fastest(self):
        """Largest share of the velocity limits."""
        return (np.abs(np.array(self.speed)) / self.model.velocity_limit).max()

    def moves_after(self, periods=300):
        """rad/s, fastest after some time in which nobody does anything."""
        for _ in range(periods):
            self.read()
        return np.abs(self.plant.v).max()
