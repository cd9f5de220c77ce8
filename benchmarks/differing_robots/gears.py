"""Robots whose gears are elastic: each motor drives its link through a spring."""

from __future__ import annotations

import dataclasses

import mujoco
import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.differences import Difference, claiming, rotor_size
from benchmarks.differing_robots.robot import BenchRobot

__all__ = ["GEARS"]

GEARS_STEP = 1e-4
"""s, of the simulation: the quickest springs swing 700 times a second."""


class Elastic(BenchRobot):
    """Links in MuJoCo, motors beside it: rotor, friction and effort act before the spring.  Errors
    are those of the links.

    The springs wind up by 0.005 to 0.0125 rad at the effort limit, damped by 3 %.  ``geared``: the
    rotors have 0.3 to 1 times the inertia of what they move, as with gears of 1:100, and not what
    the difference says.
    """

    geared = True

    def __init__(self, difference: Difference, q: np.ndarray, flange: str) -> None:
        d = difference
        rng = np.random.default_rng(difference.seed + 7)
        zero = np.zeros(d.truth.nv)
        links = claiming(d.truth, zero, zero, zero)
        super().__init__(dataclasses.replace(d, truth=links), q, flange)
        self.substeps = round(self.period / GEARS_STEP)
        m = self._m
        limit = np.minimum(self._limit, 1e3)
        own = np.diag(rd.mass_matrix(links, q))
        m.opt.timestep = self.step_time = self.period / self.substeps
        m.dof_damping[self._v_at] = m.dof_frictionloss[self._v_at] = 0.0
        m.jnt_stiffness[:] = 0.0
        self.rotor = np.maximum(d.truth.armature, 0.05 * rotor_size(d.claim))
        if self.geared:
            self.rotor = np.maximum(
                self.rotor, rng.uniform(0.3, 1.0, len(limit)) * np.diag(rd.mass_matrix(d.claim, q))
            )
        self.stiffness = limit * rng.uniform(80.0, 200.0, len(limit))
        self.damping = 0.06 * np.sqrt(self.stiffness * self.rotor * own / (self.rotor + own))
        mujoco.mj_forward(m, self._data)
        holding = self._data.qfrc_bias[self._v_at] + d.spring * (q - d.neutral)
        self.angle = q + holding / self.stiffness
        self.speed = np.zeros(len(limit))

    def move(self, load: np.ndarray) -> None:
        d = self.difference
        h = self.step_time
        through = self.stiffness * (self.angle - self.q) + self.damping * (self.speed - self.v)
        self._data.qfrc_applied[self._v_at] += through - self.tau - d.spring * (self.q - d.neutral)
        friction = self.dry_friction(load, self.speed)
        free = self.speed + h * (self.tau - through - d.viscous * self.speed) / self.rotor
        self.speed = np.sign(free) * np.maximum(np.abs(free) - h * friction / self.rotor, 0.0)
        self.angle = self.angle + h * self.speed
        mujoco.mj_step(self._m, self._data)


class AtMotor(Elastic):
    """Measured at the motor."""

    def sensed(self) -> tuple[np.ndarray, np.ndarray]:
        return self.angle, self.speed


class LightRotors(Elastic):
    """Rotors as the difference says: a twentieth of what they move, or less."""

    geared = False


GEARS = {
    "stiff gears": BenchRobot,
    "elastic, measured at the link": Elastic,
    "elastic, measured at the motor": AtMotor,
    "elastic, light rotors, measured at the link": LightRotors,
}
