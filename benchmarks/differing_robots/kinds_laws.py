"""The laws that the suite of kinds compares: this package's default, and what it has to beat.

All are told the description and the period, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

import robot_dynamics_ros as rd
from robot_dynamics_ros.dynamics import kernel

__all__ = ["KINDS_LAWS", "Contender", "FunctionLaw", "LawFunction", "Ours"]

Vector = np.ndarray

KINDS_BEGIN_NS = 1_000_000_000
"""ns, the stamp at time zero: stamps are positive."""
USUAL_ROTOR = 0.1
"""kg m², of a joint of 100 N m: amid what arms of that size have."""
ROTOR_LIMIT = 100.0
"""N m, beyond which rotors are not assumed to grow."""


class LawFunction(Protocol):
    """A law of one robot, as an author writes it."""

    def __call__(
        self, dt: float, q_d: Vector, v_d: Vector, a_d: Vector, q: Vector, v: Vector
    ) -> Vector:
        """(n,) N m for the desired motion and the measured state, ``dt`` s after the last call."""
        ...


class Contender:
    """What leads a robot in a run: it gets states with stamps, and gives efforts.

    Attributes:
        fault: why it has given up, or "".
    """

    fault = ""

    def start(self, t: float, q: Vector, v: Vector) -> None:
        """The first state, at ``t`` s."""

    def follow(self, trajectory: rd.Trajectory, t: float) -> None:
        """A motion to follow from ``t`` s on."""

    def update(self, t: float, q: Vector, v: Vector, desired: tuple[Vector, ...]) -> Vector:
        """Effort for a state of ``t`` s; ``desired``: position, velocity and acceleration."""
        raise NotImplementedError

    def watch(self, t: float) -> Vector | None:
        """Called each period without a state; an effort to send, or None."""
        return None

    def says(self) -> list[str]:
        """What it says of the robot at the end."""
        return []


class Ours(Contender):
    """The controller of this package with its defaults, called as the node calls it."""

    def __init__(self, model: rd.RobotModel, period: float, *, robot_holds: float = 0.0) -> None:
        by = "robot" if robot_holds else "controller"
        options = rd.ControllerOptions(gravity_compensated_by=by, safe_command="gravity")
        self.controller = rd.JointController(model, options=options)
        self.controller.want_wrenches = False
        self.controller.want_efforts = False

    @staticmethod
    def _stamp(t: float) -> int:
        return KINDS_BEGIN_NS + round(t * 1e9)

    def start(self, t: float, q: Vector, v: Vector) -> None:
        self.controller.activate(self._stamp(t) - 1, q, v)

    def follow(self, trajectory: rd.Trajectory, t: float) -> None:
        if not self.controller.fault:
            try:
                self.controller.accept_trajectory(trajectory, self._stamp(t))
            except rd.TrajectoryRejected:
                self.controller.counts["kinds_rejected"] += 1

    def update(self, t: float, q: Vector, v: Vector, desired: tuple[Vector, ...]) -> Vector:
        out = self.controller.update(self._stamp(t), q, v).copy()
        self.fault = self.controller.fault
        return out

    def watch(self, t: float) -> Vector | None:
        answer = self.controller.watch(self._stamp(t))
        return None if answer is None else answer.copy()

    def says(self) -> list[str]:
        counts = [f"{name} {number}" for name, number in sorted(self.controller.counts.items())]
        return [*self.controller.description_gaps(), *counts]


class FunctionLaw(Contender):
    """A law that is a function of the desired motion and the state."""

    def __init__(
        self,
        make: Callable[[rd.RobotModel, float], LawFunction],
        model: rd.RobotModel,
        period: float,
        *,
        robot_holds: float = 0.0,
    ) -> None:
        self.law = make(model, period)
        self.model = model
        self.period = period
        self.robot_holds = bool(robot_holds)
        self.before = -np.inf
        self.last = np.zeros(model.nv)

    def start(self, t: float, q: Vector, v: Vector) -> None:
        if hasattr(self.law, "start"):
            self.law.start(q, v)

    def update(self, t: float, q: Vector, v: Vector, desired: tuple[Vector, ...]) -> Vector:
        dt = min(t - self.before, 0.1)
        # the same state once more, or one that was overtaken
        if dt < 1e-9:
            return self.last
        self.before = t
        effort = self.law(dt, *desired, q, v)
        self.fault = getattr(self.law, "fault", "")
        effort = clipped(effort, -self.model.effort_limit, self.model.effort_limit)
        self.last = effort - rd.gravity_forces(self.model, q) if self.robot_holds else effort
        return self.last


def clipped(x: Vector, low: Vector | float, high: Vector | float) -> Vector:
    """``x`` between two bounds; numpy's own clip takes five times as long for seven numbers."""
    return np.minimum(np.maximum(x, low), high)


class ModelLaw:
    """Functions of the model that the laws below need.  Arrays are (n,)."""

    def __init__(self, model: rd.RobotModel, period: float) -> None:
        self.model = model
        self.period = period
        self.limit = np.minimum(model.effort_limit, 1e3)
        self.usual = USUAL_ROTOR * np.sqrt(np.minimum(self.limit, ROTOR_LIMIT) / ROTOR_LIMIT)
        self._inverse_dynamics = kernel(model, "inverse_dynamics")
        self._mass_matrix = kernel(model, "mass_matrix")

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        out = np.empty(len(q))
        self._inverse_dynamics(q, v, np.ascontiguousarray(a), out)
        return out

    def gravity(self, q: Vector) -> Vector:
        zero = np.zeros(len(q))
        return self.inverse_dynamics(q, zero, zero)

    def mass_matrix(self, q: Vector) -> Vector:
        out = np.empty((len(q), len(q)))
        self._mass_matrix(q, out)
        return out


class BookComputedTorque(ModelLaw):
    """Computed torque of the book: 100/s² and 20/s, trusting the description."""

    def __call__(self, dt, q_d, v_d, a_d, q, v):
        return self.inverse_dynamics(q, v, a_d + 100.0 * (q_d - q) + 20.0 * (v_d - v))


class PlainPD(ModelLaw):
    """PD with gravity as robots are sold: 7 N m/rad for each N m of limit, damped for the usual
    rotor.
    """

    def start(self, q, v):
        self.K = 7.0 * self.limit
        self.D = 1.4 * np.sqrt(self.K * (np.diag(self.mass_matrix(q)) + self.usual))
        self.z = np.zeros(len(q))

    def __call__(self, dt, q_d, v_d, a_d, q, v):
        return self.gravity(q) + self.K * (q_d - q) + self.D * (v_d - v)


class PlainPID(PlainPD):
    """The same with an integral of 2/s, clamped at half the limit."""

    def __call__(self, dt, q_d, v_d, a_d, q, v):
        bound = 0.5 * self.limit
        self.z = clipped(self.z + 2.0 * self.K * (q_d - q) * dt, -bound, bound)
        return super().__call__(dt, q_d, v_d, a_d, q, v) + self.z


class LightJoints:
    """Which joints are as light and free as described, asked with a short pulse each.

    The effort of each joint goes + − − + over 4 × 20 ms.  It would move the described inertia by
    1 mrad and leave it at rest.  Friction and rotors hold it.
    """

    BEAT = 0.02
    FAR = 1e-3
    LATEST = 8

    def __init__(self, mass: Vector) -> None:
        self.mass = mass
        self.effort = self.FAR / self.BEAT**2 / np.diag(np.linalg.inv(mass))
        self.time = 0.0
        self.impulse = [np.zeros(len(mass))]
        self.speeds: list[Vector] = []

    def __call__(self, dt: float, v: Vector) -> Vector | None:
        """Effort to add now, or None once the answer is complete."""
        self.speeds.append(v.copy())
        self.time += dt
        beat = int(self.time / self.BEAT)
        if beat >= 6:
            return None
        added = (1.0, -1.0, -1.0, 1.0, 0.0, 0.0)[beat] * self.effort
        self.impulse.append(self.impulse[-1] + added * dt)
        return added

    def rotors(self, usual: Vector) -> Vector:
        """(n,) kg m² at each joint: the usual ones where the joint did not move."""
        v = np.array(self.speeds)
        given = np.array(self.impulse)
        best = (np.inf, usual)
        for late in range(self.LATEST):
            acted = np.zeros_like(v)
            acted[late:] = given[: len(v)][: len(v) - late]
            missing = acted - v @ self.mass
            rotor = (v * missing).sum(0) / np.maximum((v * v).sum(0), 1e-12)
            misfit = float(np.square(missing - v * rotor).sum())
            moved = np.abs(v).max(0) > 0.25 * np.abs(acted).max(0) / np.diag(self.mass)
            if misfit < best[0]:
                best = misfit, np.where(moved, clipped(rotor, 0.0, usual), usual)
        return best[1]


class Plain(ModelLaw):
    """The plain law: the model at the reference, friction with a memory, PD that inertia and
    lateness bear, a bounded integral.
    """

    gain = 7.0
    # s, of lateness that every robot is taken to have beside its period
    UNTOLD = 2e-3

    def start(self, q, v):
        n = len(q)
        self.wish = self.gain * self.limit
        self.rotor = self.usual.copy()
        self.pulse: LightJoints | None = LightJoints(self.mass_matrix(q))
        self.wait = 0.1
        self.side = np.zeros(n)
        self.friction = np.zeros(n)
        self.spread = np.full(n, 0.05) ** 2
        self.offset = np.zeros(n)
        self.integral = np.zeros(n)
        self.bounded_at = np.full(n, np.inf)

    def bear(self, q: Vector) -> None:
        """Stiffness and damping that the joints bear at ``q``, moving together."""
        if np.abs(q - self.bounded_at).max() < 0.01:
            return
        self.bounded_at = q.copy()
        mass = self.mass_matrix(q)
        answer = np.linalg.inv(mass + np.diag(self.rotor))
        seen = 1.0 / np.diag(answer)
        scale = np.sqrt(seen)
        together = float(np.linalg.eigvalsh(scale[:, None] * answer * scale)[-1])
        most = seen / (together * (self.period + self.UNTOLD))
        wanted = 1.4 * np.sqrt(self.wish * (np.diag(mass) + self.usual))
        self.D = np.minimum(wanted, most)
        self.K = np.minimum(self.wish, 0.5 * self.D**2 / seen)

    def __call__(self, dt, q_d, v_d, a_d, q, v):
        pulsed = np.zeros(len(q))
        self.wait -= dt
        if self.pulse is not None and self.wait < 0.0:
            added = self.pulse(dt, v)
            if added is None:
                self.rotor = self.pulse.rotors(self.usual)
                self.pulse = None
                self.bounded_at[:] = np.inf
            else:
                pulsed = added
        self.bear(q_d)
        half = 0.5 * self.limit
        moving = v_d != 0.0
        # friction turns its side over 2 mrad of way, and keeps it at rest
        keeps = np.exp(-np.abs(v_d) * dt / 2e-3)
        sense = np.sign(v_d)
        self.side = np.where(moving, sense + (self.side - sense) * keeps, self.side)
        model = self.inverse_dynamics(q_d, v_d, a_d) + self.rotor * a_d
        bounded = clipped(self.K * (q_d - q), -half, half)
        loop = bounded + self.D * (v_d - v)
        effort = model + self.friction * self.side + loop + self.integral
        winds = (np.abs(effort) >= self.limit) & (np.sign(effort) == np.sign(bounded))
        self.integral = clipped(
            self.integral + np.where(winds, 0.0, 2.0 * dt * bounded), -half, half
        )
        self.learn(dt, v_d, loop + self.integral)
        effort = model + self.friction * self.side + loop + self.integral + pulsed
        return clipped(effort, -self.limit, self.limit)

    def learn(self, dt, v_d, added):
        """Friction by least squares of what the feedback adds while the joints move."""
        used = (np.abs(v_d) > 0.02) & (np.abs(self.side) > 0.9)
        noise = 0.02**2 * 0.1 / dt
        gain = np.where(used, self.spread / (self.spread + noise), 0.0)
        surprise = added - self.offset
        learned = clipped(self.friction + gain * surprise * self.side, 0.0, 0.12 * self.limit)
        # what friction takes over, the integral gives
        self.integral = self.integral - (learned - self.friction) * self.side
        self.friction = learned
        self.spread = (1.0 - gain) * self.spread + np.where(used, 1e-4 * dt, 0.0)
        self.offset = self.offset + np.where(used, dt / 0.4 * surprise, 0.0)


class Plain14(Plain):
    """The same with twice the stiffness."""

    gain = 14.0


KINDS_LAWS: dict[str, Callable[..., object]] = {
    "ours": Ours,
    "pd": PlainPD,
    "pid": PlainPID,
    "plain7": Plain,
    "plain14": Plain14,
    "computed": BookComputedTorque,
}
"""Name → what makes the law of a model and a period: a :class:`Contender`, or a law function."""
