"""The laws that are compared, each led by one period at a time.

None is tuned to the benchmark: stiffness and frequency are the ones that robots are sold with or
    that the law's
literature uses, with the delay of the middle of the robots in mind.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.differences import Move, rotor_size
from robot_dynamics_ros.control.robustness import Robustness
from robot_dynamics_ros.dynamics import kernel

__all__ = ["BENCH_LAWS", "FIRST_STAMP_NS", "BenchLaw", "Knowledge"]

FIRST_STAMP_NS = 1_000_000_000
"""ns, stamp of the first state."""


@dataclass(frozen=True)
class Knowledge:
    """What a controller can know of the robot besides its description.

    Attributes:
        period: s.
        delay: s from a command to its effort, the sampling excluded.
        hold: s that it holds before it moves.
    """

    period: float
    delay: float
    hold: float


class BenchLaw:
    """One law on one robot, with the functions of its model that all need.  Arrays are (n,)."""

    def __init__(self, model: rd.RobotModel, knows: Knowledge, move: Move) -> None:
        n = model.nv
        self.model = model
        self.knows = knows
        self.move = move
        self.n = n
        self.limit = model.effort_limit
        self.friction = rd.Friction.of(model)
        self._tau = np.zeros(n)
        self._inertia = np.zeros((n, n))
        self._g = np.zeros(n)
        self._kernels = [
            kernel(model, name) for name in ("inverse_dynamics", "mass_matrix", "gravity_forces")
        ]

    def start(self, q: np.ndarray, v: np.ndarray) -> None:
        """Take the first state."""
        self.z = np.zeros(self.n)

    def step(self, q: np.ndarray, v: np.ndarray, reference: tuple[np.ndarray, ...]) -> np.ndarray:
        """Effort for a measured state; ``reference``: desired position, velocity, acceleration."""
        raise NotImplementedError

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        """M a + C v + g."""
        self._kernels[0](q, v, np.ascontiguousarray(a), self._tau)
        return self._tau.copy()

    def inertia(self, q: np.ndarray) -> np.ndarray:
        """M(q)."""
        self._kernels[1](q, self._inertia)
        return self._inertia

    def gravity(self, q: np.ndarray) -> np.ndarray:
        """g(q)."""
        self._kernels[2](q, self._g)
        return self._g


class Default(BenchLaw):
    """The controller as it is shipped: its default law with its defaults."""

    def start(self, q, v):
        robustness = Robustness(delay=self.knows.delay)
        self.controller = rd.JointController(
            self.model, options=rd.ControllerOptions(robustness=robustness)
        )
        self.controller.want_wrenches = self.controller.want_efforts = False
        self.controller.activate(FIRST_STAMP_NS - 1, q, v)
        self.cycle = 0
        self.sent = False

    def step(self, q, v, reference):
        stamp = FIRST_STAMP_NS + round(self.cycle * self.knows.period * 1e9)
        self.cycle += 1
        if (
            not self.sent
            and not self.controller.fault
            and stamp >= FIRST_STAMP_NS + round(self.knows.hold * 1e9)
        ):
            move = self.move
            rest = np.zeros(self.n)
            way = rd.Trajectory.from_waypoints(
                self.model.joint_names, [move.duration], [move.goal], [rest], [rest]
            )
            self.controller.accept_trajectory(way, stamp)
            self.sent = True
        return self.controller.update(stamp, q, v).copy()


class BookLaw(BenchLaw):
    """Computed torque with 100/s² and 20/s, the description's friction at the desired speed."""

    def step(self, q, v, reference):
        qd, vd, ad = reference
        return self.inverse_dynamics(
            q, v, ad + 100.0 * (qd - q) + 20.0 * (vd - v)
        ) + self.friction.effort(vd)


class SoldPD(BenchLaw):
    """PD with gravity at the stiffness that robots are sold with: 600 N m/rad at 87 N m, 84 at 12 N
    m.
    """

    def start(self, q, v):
        super().start(q, v)
        self.K = 7.0 * self.limit
        self.D = 1.4 * np.sqrt(self.K * (np.diag(self.inertia(q)) + 0.5 * rotor_size(self.model)))

    def step(self, q, v, reference):
        qd, vd, _ = reference
        return self.gravity(q) + self.K * (qd - q) + self.D * (vd - v)


class TrajectoryPID(SoldPD):
    """PID without a model, as joint_trajectory_controller closes it on an effort interface; 2/s,
    clamped at half the limit.
    """

    def start(self, q, v):
        super().start(q, v)
        # as if it had held there for long
        self.z = self.gravity(q).copy()

    def step(self, q, v, reference):
        qd, vd, _ = reference
        self.z = np.clip(
            self.z + 2.0 * self.K * (qd - q) * self.knows.period,
            -0.5 * self.limit,
            0.5 * self.limit,
        )
        return self.z + self.K * (qd - q) + self.D * (vd - v)


class InertiaFloor(BenchLaw):
    """Computed torque with rotors of 0.1 kg m² at every joint, 20 rad/s, an integral of 0.3 ω³ that
    does not wind up.
    """

    omega = 20.0
    integral = 0.3

    def feedback(self, q, v, reference):
        """Acceleration asked for."""
        qd, vd, ad = reference
        return ad + self.omega**2 * (qd - q) + 2.0 * self.omega * (vd - v)

    def step(self, q, v, reference):
        a = self.feedback(q, v, reference) + self.integral * self.omega**3 * self.z
        tau = self.inverse_dynamics(q, v, a) + 0.1 * a + self.friction.effort(reference[1])
        self.z = self.z + np.where(
            np.abs(tau) < self.limit, (reference[0] - q) * self.knows.period, 0.0
        )
        return tau


class DisturbanceObserver(InertiaFloor):
    """The same without integral; the momentum observer's estimate, 10/s, is fed back up to 40 % of
    the limit.
    """

    def start(self, q, v):
        super().start(q, v)
        rotors = {name: 0.1 for name in self.model.joint_names}
        self.loaded = self.model.replace(
            description=dataclasses.replace(
                self.model.description,
                joints=tuple(
                    dataclasses.replace(joint, armature=rotors.get(joint.name, joint.armature))
                    for joint in self.model.description.joints
                ),
                source="",
            )
        )
        self.kernels = rd.control.kernels.Kernels(self.loaded)
        self.observer = rd.MomentumObserver(self.loaded, 10.0)
        self.applied = self.gravity(q).copy()

    def step(self, q, v, reference):
        seen = self.observer.update(self.kernels, q, v, self.applied, self.knows.period)
        a = self.feedback(q, v, reference)
        tau = (
            self.inverse_dynamics(q, v, a)
            + 0.1 * a
            - np.clip(seen, -0.4 * self.limit, 0.4 * self.limit)
        )
        self.applied = np.clip(tau, -self.limit, self.limit)
        return tau


class SlotineAdaptive(InertiaFloor):
    """Slotine and Li's adaptive law: rotor inertia, viscous and dry friction and an offset of each
    joint are adapted.
    """

    def start(self, q, v):
        super().start(q, v)
        self.theta = np.zeros((4, self.n))
        self.theta[0] = 0.1
        size = np.minimum(self.limit, 100.0)
        self.gains = np.array([[0.05], [0.5], [2.0], [10.0]]) * size

    def step(self, q, v, reference):
        qd, vd, ad = reference
        lead = 10.0
        s = vd - v + lead * (qd - q)
        vr = vd + lead * (qd - q)
        ar = ad + lead * (vd - v)
        regressor = np.array([ar, vr, np.tanh(vd / 0.02), np.ones(self.n)])
        self.theta = self.theta + self.gains * regressor * s * self.knows.period
        self.theta[0] = np.clip(self.theta[0], 0.0, 0.2)
        damping = 2.0 * self.omega * (np.diag(self.inertia(q)) + 0.1)
        return self.inverse_dynamics(q, v, ar) + (regressor * self.theta).sum(0) + damping * s


class TimeDelay(InertiaFloor):
    """Time-delay estimation: what the last effort did not explain is repeated; inertia as above, 20
    Hz filtered.
    """

    def start(self, q, v):
        super().start(q, v)
        self.applied, self.before, self.unknown = self.gravity(q).copy(), v.copy(), np.zeros(self.n)

    def step(self, q, v, reference):
        T = self.knows.period
        share = 1.0 - np.exp(-2.0 * np.pi * 20.0 * T)
        M = self.inertia(q) + 0.1 * np.eye(self.n)
        rest = (
            self.applied
            - self.inverse_dynamics(q, v, np.zeros(self.n))
            - M @ ((v - self.before) / T)
        )
        self.unknown = self.unknown + share * (rest - self.unknown)
        a = self.feedback(q, v, reference)
        self.before = v.copy()
        tau = self.inverse_dynamics(q, v, np.zeros(self.n)) + M @ a + self.unknown
        self.applied = np.clip(tau, -self.limit, self.limit)
        return tau


BENCH_LAWS: dict[str, type[BenchLaw]] = {
    "default": Default,
    "computed_torque": BookLaw,
    "pd_gravity": SoldPD,
    "trajectory_pid": TrajectoryPID,
    "inertia_floor": InertiaFloor,
    "disturbance_observer": DisturbanceObserver,
    "adaptive": SlotineAdaptive,
    "time_delay": TimeDelay,
}
