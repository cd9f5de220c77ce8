"""A stand-in arm with mistakes: any plant, and what its driver does to readings and commands.

>>> arm = make_arm("six_axis", [Mistake("effort_sign", 1)], seed=3)          # doctest: +SKIP
>>> arm.send(np.zeros(6))                                                     # doctest: +SKIP
>>> state = arm.read()                                                        # doctest: +SKIP
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.arms import BENCH_ARMS, home, load_arm
from benchmarks.differing_robots.differences import changed, claiming, rotor_size
from robot_dynamics_ros.commissioning import ArmState
from robot_dynamics_ros.control.reference.planning import rest_to_rest
from robot_dynamics_ros.dynamics.payload import Payload, carrying
from robot_dynamics_ros.model.description import Inertia, Pose
from robot_dynamics_ros.simulation.mujoco_engine.plant import MujocoPlant

__all__ = ["ROBOTS", "Mistake", "MistakenArm", "make_arm", "robot"]

ROBOTS = (
    "six_axis",
    "seven_axis",
    "panda",
    "ur5",
    "ur10",
    "j2s6s200",
    "xarm7",
    "z1",
    "tiago",
    "tiago_pro",
    "baxter",
    "talos",
)
OWN = {
    "six_axis": (0.0, -1.3, 1.5, -0.4, 0.8, 0.3),
    "seven_axis": (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8),
}
"""Configurations amid the workspace of the robots that ship with the package."""
# s, of the driver
PERIOD = 2e-3
# periods without a command after which brakes hold
BRAKES = 50


@dataclass(frozen=True)
class Mistake:
    """One seeded mistake.

    Attributes:
        kind: out of ``rd.commissioning.KINDS``.
        joint: number of the joint, or of the body of ``link_mass``; -1: the whole arm.
        number: its size in SI units: rad of ``zero_offset`` and ``play``, kg of ``payload``, s of
            ``delay``, Hz of ``rate`` and ``velocity_filter``, a factor of ``effort_unit``,
            ``link_mass`` and ``friction``, s of ``clock``, rad of ``mounting`` (about the base's x
            axis).
        other: the joint that it is exchanged with.
        what: of signs and exchanges: ``"effort"`` (read and commanded), ``"position"`` (and
            velocity) or ``"both"``.
    """

    kind: str
    joint: int = -1
    number: float = 1.0
    other: int = -1
    what: str = ""


@cache
def robot(name: str) -> tuple[rd.RobotModel, np.ndarray]:
    """The robot by its description, and a configuration amid its workspace."""
    if name in BENCH_ARMS:
        model = load_arm(BENCH_ARMS[name])
        return model, home(BENCH_ARMS[name], model)
    return rd.load_robot(name), np.array(OWN[name])


@cache
def described(name: str) -> tuple[rd.RobotModel, np.ndarray]:
    """The same with friction of 2 to 6 % of the effort limits, damping and rotors."""
    model, q0 = robot(name)
    rng = np.random.default_rng(ROBOTS.index(name))
    limit = np.where(np.isfinite(model.effort_limit), model.effort_limit, 50.0)
    return claiming(
        model,
        limit * rng.uniform(0.02, 0.06, model.nv),
        0.02 * limit,
        0.5 * rotor_size(model) + 0.01,
    ), q0


@cache
def asked_poses(name: str, count: int) -> np.ndarray:
    """(count, n) poses in which the robot is weighed."""
    return rd.commissioning.weighing_poses(described(name)[0], count)


def _flange(model: rd.RobotModel) -> str:
    """The last link of the last body."""
    return [
        name
        for name in model.link_names
        if model.link_body[model.link_index(name)] == len(model.parent) - 1
    ][-1]


def _other_robot(model: rd.RobotModel, rng: np.random.Generator) -> rd.RobotModel:
    """A robot of the same family: other lengths and masses."""
    d = model.description
    size = float(rng.choice([0.75, 1.35]))
    joints = tuple(
        dataclasses.replace(
            j,
            origin=Pose(j.origin.rotation, size * rng.uniform(0.9, 1.1) * j.origin.position),
            limits=j.limits
            and dataclasses.replace(j.limits, effort=max(1.0, size**2.5) * j.limits.effort),
        )
        for j in d.joints
    )
    links = tuple(
        dataclasses.replace(
            link,
            inertia=Inertia(
                (m := size**1.5 * rng.uniform(0.8, 1.25)) * link.inertia.mass,
                size * link.inertia.com,
                m * size**2 * link.inertia.rotational,
            ),
        )
        for link in d.links
    )
    return model.replace(description=dataclasses.replace(d, joints=joints, links=links, source=""))


def _truth(
    claim: rd.RobotModel,
    mistakes: Sequence[Mistake],
    rng: np.random.Generator,
    *,
    usual: bool = True,
) -> rd.RobotModel:
    """The robot as it is: with its mistakes, and the errors that descriptions usually have."""
    n = claim.nv
    links = len(claim.description.links)
    errors = rng.uniform(0.95, 1.05, links), rng.normal(0.0, 0.003, (links, 3))
    truth = changed(claim, *errors, np.zeros(n)) if usual else claim
    dry = claim.friction * rng.uniform(0.7, 1.3, n)
    for m in mistakes:
        if m.kind == "wrong_robot":
            truth = _other_robot(truth, rng)
        elif m.kind == "payload":
            truth = carrying(truth, Payload(_flange(truth), m.number, np.array([0.0, 0.0, 0.05])))
        elif m.kind == "link_mass":
            link = claim.joint(claim.moving_joint_names[m.joint]).child
            truth = rd.robot_model_error(truth, mass={link: m.number})
        elif m.kind == "friction":
            dry = dry * np.where((m.joint < 0) | (np.arange(n) == m.joint), m.number, 1.0)
        elif m.kind == "mounting":
            c = np.cos(m.number)
            s = np.sin(m.number)
            truth = truth.replace(
                gravity=tuple(np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) @ claim.gravity)
            )
    return claiming(truth, dry, truth.damping, truth.armature)


class MistakenArm:
    """A plant and its driver.

    The driver reads and commands at ``PERIOD``; a reading stays the newest one until the next is
    published.  ``servo`` is the arm's own controller, which knows the truth: it leads the arm to
    poses as a vendor's planner does.

    Args:
        claim: the robot as described.
        truth: the robot as it is.
        mistakes: see :class:`Mistake`.
        q0: (n,) true configuration at the start.
        engine: ``"own"`` or ``"mujoco"``.
        seed: of noise, scales and stamps.

    Attributes:
        claim, truth, mistakes: as given.
        name: of :data:`ROBOTS`.
        nominal: the robot with its mistakes, and without the usual errors of descriptions.
        known: the robot as its driver knows it: without a tool that was forgotten.
        sign, order, unit: (n,) how readings differ from the truth, by ``"position"`` and
            ``"effort"``.
        t: s.
        declared_rate: Hz, that the driver is said to publish at.
        fastest, farthest: largest share of a velocity limit, and (n,) rad or m from where it was
            placed.
        floated: whether it was commanded to float.
    """

    def __init__(
        self,
        claim: rd.RobotModel,
        truth: rd.RobotModel,
        mistakes: Sequence[Mistake],
        q0: np.ndarray,
        engine: str = "own",
        seed: int = 0,
    ) -> None:
        n = claim.nv
        self.claim = claim
        self.truth = truth
        self.mistakes = tuple(mistakes)
        self.nominal = truth
        self.name = ""
        self.known = truth
        self._rng = rng = np.random.default_rng(seed)
        self.limit = np.where(np.isfinite(claim.effort_limit), claim.effort_limit, 50.0)
        loose = [claim.joint_names[m.joint] for m in mistakes if m.kind == "brake"]
        options = {
            "q0": q0,
            "brake_effort": {x: np.inf for x in claim.joint_names if x not in loose},
            "stops": "rigid",
        }
        if engine == "mujoco":
            self.plant = MujocoPlant(truth, PERIOD, geometry="none", substeps=4, **options)
        else:
            self.plant = rd.Plant(truth, PERIOD, integrator="moreau", substeps=2, **options)
        self.declared_rate = 1.0 / PERIOD
        self._every = max(1, round(self.declared_rate / self._number("rate", self.declared_rate)))
        self._corner = self._number("velocity_filter", 50.0)
        self._late: deque[np.ndarray | None] = deque(
            [None] * round(self._number("delay", 0.0) / PERIOD)
        )
        self._command = np.zeros(n)
        self._silent = BRAKES
        self._compensates = any(m.kind == "gravity_compensated_by_driver" for m in mistakes)
        self.sign = {"position": np.ones(n), "effort": np.ones(n)}
        self.order = {"position": np.arange(n), "effort": np.arange(n)}
        self.unit = np.ones(n)
        self._zero = np.zeros(n)
        self._play = np.zeros(n)
        for m in mistakes:
            self._configure(m)
        self._scale, self._bias = (
            rng.uniform(0.95, 1.05, n),
            0.004 * self.limit * rng.uniform(-1.0, 1.0, n),
        )
        self._goal = self.plant.q
        self._v = np.zeros(n)
        self._loose_q = self.plant.q
        self._tick = 0
        self._frozen = None
        self._reading = self._publish()
        self.floated = False
        self._count()

    def _number(self, kind: str, otherwise: float) -> float:
        return next((m.number for m in self.mistakes if m.kind == kind), otherwise)

    def _configure(self, m: Mistake) -> None:
        fields = (
            ("position", "effort") if m.what == "both" else (m.what or m.kind.partition("_")[0],)
        )
        if m.kind in ("effort_sign", "position_sign"):
            for field in fields:
                self.sign[field][m.joint] *= -1.0
        elif m.kind == "joints_exchanged":
            for field in ("position", "effort") if m.what in ("", "both") else (m.what,):
                self.order[field][[m.joint, m.other]] = self.order[field][[m.other, m.joint]]
        elif m.kind == "effort_unit":
            self.unit[slice(None) if m.joint < 0 else m.joint] *= m.number
        elif m.kind == "zero_offset":
            self._zero[m.joint] += m.number
        elif m.kind == "play":
            self._play[m.joint] = m.number

    @property
    def t(self) -> float:
        return float(self.plant.t)

    def begin(self) -> None:
        """Nothing waits here."""

    def _count(self) -> None:
        """How far and how fast the arm truly goes counts from here."""
        self.start = self.plant.q
        self.fastest = 0.0
        self.farthest = np.zeros(self.claim.nv)

    def send(self, effort: np.ndarray) -> None:
        """Command efforts (n,) as a controller does, in the conventions of the driver."""
        true = np.asarray(effort, dtype=float) / self.unit
        self._command = np.empty_like(true)
        self._silent = 0
        # the inverse of what readings go through
        self._command[self.order["effort"]] = self.sign["effort"] * true

    def hold(self) -> None:
        """Commands end: brakes hold the arm, where it has any."""
        self._silent = BRAKES

    def read(self) -> ArmState | None:
        """The next state that is published, under the last command; brakes hold the arm after a
        silence.
        """
        before = self._reading
        for _ in range(2 * self._every):
            self._silent += 1
            self._late.append(None if self._silent > BRAKES else self._command)
            command = self._late.popleft()
            self.plant.brakes = command is None
            tau = np.zeros(self.claim.nv) if command is None else command
            if command is not None and self._compensates:
                tau = tau + rd.gravity_forces(self.known, self.plant.q)
            self._advance(tau)
            speeds = np.abs(self.plant.v) / self.claim.velocity_limit
            self.fastest = max(
                self.fastest, float(np.max(speeds[np.isfinite(speeds)], initial=0.0))
            )
            self.farthest = np.maximum(self.farthest, np.abs(self.plant.q - self.start))
            if self._reading is not before:
                return self._reading
        return None

    def servo(self, q: np.ndarray, v: np.ndarray | None = None) -> ArmState:
        """One period under the arm's own controller, towards a true state (n,)."""
        kp = 10.0 * self.limit
        inertia = np.diagonal(rd.mass_matrix(self.truth, self.plant.q))
        kd = 1.4 * np.sqrt(kp * inertia)
        e = np.asarray(q) - self.plant.q
        tau = rd.bias_forces(self.truth, self.plant.q, self.plant.v) + kp * e
        return self._advance(tau + kd * ((0.0 if v is None else v) - self.plant.v))

    def release(self) -> ArmState:
        """One period in which nobody commands: the brakes hold, where there are any."""
        self.plant.brakes = True
        reading = self._advance(np.zeros(self.claim.nv))
        self.plant.brakes = False
        return reading

    def move(self, goal: np.ndarray, duration: float, steps: list[ArmState] | None = None) -> None:
        """Lead the arm to a true configuration (n,), smoothly, and append what was published to
        ``steps``.
        """
        start = self._goal
        self._goal = np.asarray(goal)
        count = max(1, round(duration / PERIOD))
        for k in range(1, count + 1):
            way, rate, _ = rest_to_rest(np.array(k / count))
            before = self._reading
            self.servo(start + way * (goal - start), rate / duration * (goal - start))
            if steps is not None and self._reading is not before:
                steps.append(self._reading)

    def pass_through(self, goal: np.ndarray, speed: float, readings: list[ArmState]) -> None:
        """Lead the fastest joint to a true configuration (n,) at constant speed, and append what is
        published.
        """
        start = self._goal
        self._goal = np.asarray(goal)
        count = max(1, round(float(np.max(np.abs(goal - start))) / speed / PERIOD))
        for k in range(1, count + 1):
            before = self._reading
            self.servo(start + k / count * (goal - start), (goal - start) / (count * PERIOD))
            if self._reading is not before:
                readings.append(self._reading)

    def place(self, q: np.ndarray) -> None:
        """Be at rest at a true configuration (n,): how the arm got there, nobody saw."""
        self.plant.reset(q, t=self.t)
        self._goal = self.plant.q
        self._v = np.zeros(len(q))
        self._loose_q = self.plant.q
        self._count()

    def rest(self, duration: float, readings: list[ArmState]) -> None:
        """Stay under the arm's own controller, and append what is published."""
        goal = self._goal
        for _ in range(round(duration / PERIOD)):
            before = self._reading
            self.servo(goal)
            if self._reading is not before:
                readings.append(self._reading)

    def seen(self, q: np.ndarray) -> np.ndarray:
        """(n,) positions that the driver publishes at a true configuration, without noise."""
        position: np.ndarray = self.sign["position"] * q[self.order["position"]] + self._zero
        return position

    def unseen(self, position: np.ndarray) -> np.ndarray:
        """(n,) true configuration at which the driver publishes positions: the inverse of
        :meth:`seen`.
        """
        q = np.empty_like(position)
        q[self.order["position"]] = self.sign["position"] * (position - self._zero)
        return q

    def read_exactly(self, q: np.ndarray) -> np.ndarray:
        """(k, n) efforts that the driver publishes at rest at true configurations (k, n), without
        noise and friction.
        """
        tau = self._scale * rd.gravity_forces(self.truth, q) + self._bias
        effort: np.ndarray = self.unit * self.sign["effort"] * tau[:, self.order["effort"]]
        return effort

    def _advance(self, tau: np.ndarray) -> ArmState:
        self.plant.step(tau)
        self._tick += 1
        share = -np.expm1(-2.0 * np.pi * self._corner * PERIOD)
        noise = 1e-3 * self._rng.standard_normal(len(tau))
        self._v = self._v + share * (self.plant.v + noise - self._v)
        half = 0.5 * self._play
        self._loose_q = np.clip(self._loose_q, self.plant.q - half, self.plant.q + half)
        if self._tick % self._every == 0:
            self._reading = self._publish()
        return self._reading

    def _publish(self) -> ArmState:
        rng = self._rng
        n = self.claim.nv
        q = self._loose_q + 2e-5 * rng.standard_normal(n)
        q = 1e-5 * np.round(q / 1e-5)
        tau = np.array(self.plant.tau)
        if self._compensates:
            tau = tau - rd.gravity_forces(self.known, self.plant.q)
        tau = self._scale * tau + self._bias + 0.002 * self.limit * rng.standard_normal(n)
        effort = self.unit * self.sign["effort"] * tau[self.order["effort"]]
        position = self.seen(q)
        velocity = self.sign["position"] * self._v[self.order["position"]]
        for m in self.mistakes:
            if m.kind == "frozen_joint":
                self._frozen = position[m.joint] if self._frozen is None else self._frozen
                position[m.joint] = self._frozen
                velocity[m.joint] = 0.0
        arrival = self.t + 2e-4 + 2e-4 * rng.random()
        return ArmState(self.t + self._number("clock", 0.0), position, velocity, effort, arrival)


def make_arm(
    name: str, mistakes: Sequence[Mistake] = (), *, engine: str = "own", seed: int = 0
) -> MistakenArm:
    """A stand-in for a robot of :data:`ROBOTS`: it differs from its description as arms do, and has
    these mistakes.
    """
    claim, q0 = described(name)
    rng = np.random.default_rng(seed)
    state = rng.bit_generator.state
    arm = MistakenArm(claim, _truth(claim, mistakes, rng), mistakes, q0, engine, seed + 1)
    rng.bit_generator.state = state
    arm.known = _truth(claim, [m for m in mistakes if m.kind != "payload"], rng)
    rng.bit_generator.state = state
    arm.nominal = _truth(claim, mistakes, rng, usual=False)
    arm.name = name
    return arm
