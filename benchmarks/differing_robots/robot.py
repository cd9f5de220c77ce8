"""A robot in MuJoCo with the friction, sensors, delay and effort scale of a :class:`Difference`."""

from __future__ import annotations

from collections import deque

import mujoco
import numpy as np

from benchmarks.differing_robots.differences import Difference
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.simulation.mujoco_engine.convert import robot_spec
from robot_dynamics_ros.simulation.mujoco_engine.world import MujocoOptions

__all__ = ["ROBOT_STEP", "BenchRobot"]

ROBOT_STEP = 5e-4
"""s, of the simulation: half the shortest control period."""


def compiled(model: RobotModel, h: float) -> mujoco.MjModel:
    """The robot alone: stops, no contacts."""
    spec = robot_spec(model, h, MujocoOptions())
    spec.option.timestep = h
    spec.option.gravity = model.gravity.tolist()
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    m = spec.compile()
    # as published, also where the triangle inequality is broken
    for i in range(model.nb):
        moments = np.maximum(np.linalg.eigvalsh(model.body_inertia[i]), 1e-12)
        if moments[2] > moments[0] + moments[1]:
            m.body_inertia[m.body(model.joint(model.moving_joint_names[i]).child).id] = moments
    mujoco.mj_setConst(m, mujoco.MjData(m))
    return m


class BenchRobot:
    """What a controller leads: it takes an effort each period and gives back a measured state.

    Dry friction is MuJoCo's constraint, its level set anew each step from speed and load; viscous
    friction and springs are MuJoCo's, and implicit.

    Attributes:
        q, v: (n,) the true state.
        tau: (n,) effort on the joints before friction.
        period: s.
    """

    def __init__(self, difference: Difference, q: np.ndarray, flange: str) -> None:
        d = self.difference = difference
        self.period = 1.0 / d.rate
        self.substeps = max(1, round(self.period / ROBOT_STEP))
        m = self._m = compiled(d.truth, self.period / self.substeps)
        self._data = mujoco.MjData(m)
        names = d.truth.joint_names
        self._q_at = np.array([m.joint(name).qposadr[0] for name in names])
        self._v_at = np.array([m.joint(name).dofadr[0] for name in names])
        self._body = m.body(d.truth.joint(names[-1]).child).id
        self._site = m.site(flange).id if flange else -1
        m.dof_damping[self._v_at] = d.viscous
        m.jnt_stiffness[[m.joint(name).id for name in names]] = d.spring
        m.qpos_spring[self._q_at] = d.neutral
        m.dof_frictionloss[self._v_at] = d.breakaway
        self._rng = np.random.default_rng(d.seed + 1)
        self._data.qpos[self._q_at] = q
        mujoco.mj_forward(m, self._data)
        self._limit = d.claim.effort_limit
        self.tau = np.zeros(len(names))
        self._rubs = bool(d.breakaway.any())
        self._waiting: deque[np.ndarray] = deque()
        self._share = 1.0 - np.exp(-2.0 * np.pi * d.velocity_filter * self.period)
        self._v_filtered = np.zeros(len(names))
        self.force = np.zeros(3)

    @property
    def q(self) -> np.ndarray:
        return self._data.qpos[self._q_at]

    @property
    def v(self) -> np.ndarray:
        return self._data.qvel[self._v_at]

    @property
    def flange(self) -> np.ndarray:
        """(3,) position of the flange in the world, m."""
        return self._data.site_xpos[self._site].copy()

    def sensed(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) position and velocity where the sensors are, before noise and filters."""
        return self.q, self.v

    def measured(self) -> tuple[np.ndarray, np.ndarray]:
        """(n,) position and velocity as the robot reports them now; to be called once a period."""
        d = self.difference
        n = len(self.tau)
        q, v = self.sensed()
        q = q + d.position_noise * self._rng.standard_normal(n)
        if d.quantum:
            q = d.quantum * np.round(q / d.quantum)
        self._v_filtered += self._share * (
            v + d.velocity_noise * self._rng.standard_normal(n) - self._v_filtered
        )
        return q, self._v_filtered.copy()

    def step(self, command: np.ndarray) -> None:
        """One period under the effort that was commanded ``delay`` periods ago."""
        d = self.difference
        m = self._m
        data = self._data
        # before the first command the arm was held as that asks
        if not self._waiting:
            self._waiting.extend([command.copy()] * d.delay)
        self._waiting.append(command.copy())
        limit = self._limit
        self.tau = d.effort_scale * np.minimum(np.maximum(self._waiting.popleft(), -limit), limit)
        load = (1.0 - d.load_share) + d.load_share * np.minimum(
            np.abs(self.tau) / (0.3 * limit), 2.0
        )
        applied = data.qfrc_applied
        for _ in range(self.substeps):
            if self.force.any():
                applied[:] = 0.0
                mujoco.mj_applyFT(
                    m,
                    data,
                    self.force,
                    np.zeros(3),
                    data.site_xpos[self._site],
                    self._m.site_bodyid[self._site],
                    applied,
                )
                applied[self._v_at] += self.tau
            else:
                applied[self._v_at] = self.tau
            self.move(load)

    def move(self, load: np.ndarray) -> None:
        """One step of the simulation, the efforts applied; ``load``: factor on the dry friction by
        the load on the joint.
        """
        if self._rubs:
            self._m.dof_frictionloss[self._v_at] = self.dry_friction(load, self.v)
        mujoco.mj_step(self._m, self._data)

    def dry_friction(self, load: np.ndarray, v: np.ndarray) -> np.ndarray:
        """(n,) its size at velocities ``v``."""
        d = self.difference
        return load * (d.dry + (d.breakaway - d.dry) * np.exp(-((v / d.stribeck_speed) ** 2)))
