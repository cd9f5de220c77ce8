"""The laws that are compared, each led by one period at a time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import kernel


@dataclass(frozen=True)
class Knowledge:
    """What a controller can know of the robot besides its description.

    Attributes:
        period: s.
        delay: s from a command to its effort, the sampling excluded.
        velocity_lag: s, of the filter of the velocities.
    """

    period: float
    delay: float
    velocity_lag: float


START = 1_000_000_000
"""ns, stamp of the first state."""


class BenchLaw:
    """One law on one robot, with what they all need of its model."""

    def __init__(self, model: rd.RobotModel, knows: Knowledge) -> None:
        self.model, self.knows, self.n = model, knows, model.nv
        self.limit = model.effort_limit
        self._id, self._m = kernel(model, "inverse_dynamics"), kernel(model, "mass_matrix")
        self._g = kernel(model, "gravity_forces")
        self._tau, self._M = np.zeros(self.n), np.zeros((self.n, self.n))
        self._grav = np.zeros(self.n)
        self.friction = rd.Friction.of(model)

    def start(self, q, v) -> None:
        """The first state."""

    def id(self, q, v, a):
        self._id(np.ascontiguousarray(q), np.ascontiguousarray(v), np.ascontiguousarray(a), self._tau)
        return self._tau.copy()

    def mass(self, q):
        self._m(np.ascontiguousarray(q), self._M)
        return self._M

    def gravity(self, q):
        self._g(np.ascontiguousarray(q), self._grav)
        return self._grav.copy()

    def step(self, q, v, qd, vd, ad):
        raise NotImplementedError


class Today(BenchLaw):
    """Computed torque, 100/s² and 20/s, friction of the description at the reference's speed."""

    kp, kd = 100.0, 20.0

    def step(self, q, v, qd, vd, ad):
        return self.id(q, v, ad + self.kp * (qd - q) + self.kd * (vd - v)) + self.friction.effort(vd)


class SoldPD(BenchLaw):
    """PD with gravity at the stiffness robots are sold with."""

    def start(self, q, v):
        self.K = 7.0 * self.limit  # 600 N m/rad at 87 N m, 84 at 12 N m
        m = np.diag(self.mass(q)) + 0.5 * 0.2 * np.sqrt(np.minimum(self.limit, 100.0) / 100.0)
        self.D = 2.0 * 0.7 * np.sqrt(self.K * m)

    def step(self, q, v, qd, vd, ad):
        return self.gravity(q) + self.K * (qd - q) + self.D * (vd - v)


class Floor(BenchLaw):
    """Computed torque with rotors of 0.1 kg m² assumed, 20 rad/s, an integral of 0.3 ω³ that stops at the limits."""

    omega = 20.0

    def start(self, q, v):
        self.z = np.zeros(self.n)
        self.rotor = 0.1

    def step(self, q, v, qd, vd, ad):
        w, dt = self.omega, self.knows.period
        e = qd - q
        a = ad + w * w * e + 2.0 * w * (vd - v) + 0.3 * w**3 * self.z
        tau = self.id(q, v, a) + self.rotor * a + self.friction.effort(vd)
        self.z += np.where(np.abs(tau) < self.limit, e * dt, 0.0)
        return tau


class Product(BenchLaw):
    """The controller as it is shipped, with its defaults."""

    robustness = Robustness()

    def __init__(self, model, knows):
        self.model, self.knows = model, knows
        options = rd.ControllerOptions(robustness=dataclasses.replace(self.robustness, delay=knows.delay))
        law = rd.ComputedTorque(friction=rd.Friction.of(model))
        self.controller = rd.JointController(model, law, options=options)
        self.controller.want_wrenches = self.controller.want_efforts = False
        self.cycle, self.sent = 0, False

    def start(self, q, v):
        self.controller.activate(START - 1, q, v)

    def step(self, q, v, qd, vd, ad):
        stamp = START + round(self.cycle * self.knows.period * 1e9)
        self.cycle += 1
        if not self.sent and stamp >= START + 1_000_000_000:
            self.controller.accept_trajectory(self.trajectory(), stamp)
            self.sent = True
        return self.controller.update(stamp, q, v).copy()

    def trajectory(self):
        m, n = self.move, np.zeros(self.model.nv)
        return rd.Trajectory.from_waypoints(self.model.joint_names, [m.duration], [m.goal], [n], [n])


LAWS = {"product": Product, "computed_torque": Today, "pd_gravity": SoldPD, "inertia_floor": Floor}
