"""Robots that differ from their description at random: what they are made of, and how they measure
and act.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.arms import VendorArm, home
from robot_dynamics_ros.model.description import Inertia

__all__ = ["Difference", "Move", "draw", "exact", "rotor_size"]


@dataclass
class Difference:
    """What the description of a robot does not say, or says wrongly.  Arrays (n,) by joint, in SI
    units.

    Attributes:
        truth: the robot as it is: masses, centres, rotor inertias, payload.
        claim: the robot as its description has it; its ``<dynamics>`` claims friction.
        breakaway, dry, stribeck_speed: friction at rest and in motion, and the speed over which it
            falls.
        load_share: share of the dry friction that grows with the load on the joint.
        viscous: N m s/rad.
        spring, neutral: stiffness of a spring across the joint, and where it is at rest.
        effort_scale: effort that arrives, over effort commanded.
        rate: Hz; delay: periods from a command to its effort; velocity_filter: Hz, of the first
            order.
        quantum: rad; position_noise: rad; velocity_noise: rad/s, before the filter.
        payload: kg that nobody mentioned.
    """

    truth: rd.RobotModel
    claim: rd.RobotModel
    breakaway: np.ndarray
    dry: np.ndarray
    stribeck_speed: np.ndarray
    load_share: np.ndarray
    viscous: np.ndarray
    spring: np.ndarray
    neutral: np.ndarray
    effort_scale: np.ndarray
    rate: int = 500
    delay: int = 0
    velocity_filter: float = np.inf
    quantum: float = 0.0
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    payload: float = 0.0
    seed: int = 0


@dataclass
class Move:
    """One move of all joints: rest, a polynomial of fifth degree, rest."""

    start: np.ndarray
    goal: np.ndarray
    duration: float = field(default=2.0)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(n,) position, velocity, acceleration ``t`` s after the start."""
        s = min(max(t / self.duration, 0.0), 1.0)
        step = self.goal - self.start
        T = self.duration
        return (
            self.start + step * s**3 * (10.0 + s * (6.0 * s - 15.0)),
            step * (30.0 * s**2 * (1.0 - s) ** 2 / T),
            step * (60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / T**2),
        )


def rotor_size(model: rd.RobotModel) -> np.ndarray:
    """(n,) kg m², the largest reflected rotor inertia of a joint of that effort limit: 0.2 from 100
    N m on.

    Published arms lie below it: 0.195 at 87 N m, 0.074 at 12 N m (FR3), 0.1 at 54 N m (UR).
    """
    return 0.2 * np.sqrt(np.minimum(model.effort_limit, 100.0) / 100.0)


def exact(
    claim: rd.RobotModel, truth: rd.RobotModel | None = None, **numbers: object
) -> Difference:
    """A robot with ideal sensors and actuators, the friction of ``truth`` (``claim`` if not given),
    and what else is given.
    """
    truth = claim if truth is None else truth
    zero = np.zeros(claim.nv)
    values: dict[str, object] = {
        "truth": truth,
        "claim": claim,
        "breakaway": truth.friction,
        "dry": truth.friction,
        "stribeck_speed": zero + 0.1,
        "load_share": zero,
        "viscous": truth.damping,
        "spring": zero,
        "neutral": zero,
        "effort_scale": zero + 1.0,
    }
    return Difference(**{**values, **numbers})  # type: ignore[arg-type]


def changed(
    model: rd.RobotModel, masses: np.ndarray, shifts: np.ndarray, rotors: np.ndarray
) -> rd.RobotModel:
    """The robot with link masses times ``masses``, centres moved by ``shifts`` (links, 3), and
    rotors (n,) added.
    """
    links = tuple(
        dataclasses.replace(
            link,
            inertia=Inertia(
                m * link.inertia.mass, link.inertia.com + shift, m * link.inertia.rotational
            )
            if link.inertia.mass > 0.05
            else link.inertia,
        )
        for link, m, shift in zip(model.description.links, masses, shifts, strict=True)
    )
    by_name = dict(zip(model.joint_names, rotors, strict=True))
    joints = tuple(
        dataclasses.replace(joint, armature=joint.armature + by_name.get(joint.name, 0.0))
        for joint in model.description.joints
    )
    return model.replace(
        description=dataclasses.replace(model.description, links=links, joints=joints, source="")
    )


def claiming(
    model: rd.RobotModel, dry: np.ndarray, viscous: np.ndarray, rotors: np.ndarray | None = None
) -> rd.RobotModel:
    """The description with this friction (n,), and rotors (n,), in it."""
    armature = model.armature if rotors is None else rotors
    by_name = [
        dict(zip(model.joint_names, map(float, x), strict=True)) for x in (armature, dry, viscous)
    ]
    return model.replace(description=model.description.with_joints(*by_name))


def draw(arm: VendorArm, model: rd.RobotModel, seed: int) -> tuple[Difference, Move]:
    """A robot that differs from its description, and a move for it; the same for the same seed."""
    rng = np.random.default_rng(seed)
    n = model.nv
    limit = np.minimum(model.effort_limit, 1e3)
    size = rotor_size(model)
    links = model.description.links
    masses = rng.uniform(0.8, 1.2, len(links))
    shifts = rng.uniform(-0.01, 0.01, (len(links), 3))
    rotors = rng.uniform(0.0, 1.0, n) * size
    payload = 0.5 * arm.payload * rng.uniform()
    offset = rng.uniform(-0.05, 0.05, 3)
    breakaway = rng.uniform(0.0, 0.08, n) * limit
    dry = breakaway / rng.uniform(1.0, 1.5, n)
    viscous = rng.uniform(0.0, 0.03, n) * limit
    factor = 0.0 if rng.uniform() < 0.2 else rng.uniform(0.0, 3.0)
    spring = np.zeros(n)
    neutral = np.zeros(n)
    middle = home(arm, model)
    if rng.uniform() < 0.2:
        i = rng.integers(n)
        spring[i] = rng.uniform(0.02, 0.1) * limit[i]
        neutral[i] = middle[i] + rng.uniform(-0.5, 0.5)
    truth = changed(model, masses, shifts, rotors)
    loaded = with_payload(truth, arm, payload, offset)
    numbers = {
        "stribeck_speed": rng.uniform(0.02, 0.1, n),
        "load_share": rng.uniform(0.0, 0.5, n),
        "effort_scale": rng.uniform(0.9, 1.1, n),
        "rate": int(rng.choice([250, 500, 1000])),
        "delay": int(rng.integers(0, 4)),
        "velocity_filter": float(np.exp(rng.uniform(np.log(20.0), np.log(100.0)))),
        "quantum": float(2.0 * np.pi / 2.0 ** rng.integers(17, 21)),
        "position_noise": float(rng.uniform(0.0, 2e-5)),
        "velocity_noise": float(rng.uniform(0.0, 1e-2)),
        "seed": seed,
    }
    low = np.maximum(model.lower, -3.0) + 0.9
    high = np.minimum(model.upper, 3.0) - 0.9
    # ranges below 1.8 rad
    low, high = np.minimum(low, high), np.maximum(low, high)
    move = None
    while move is None:
        for _ in range(200):
            candidate = _move(rng, model, middle)
            if _bearable(loaded, candidate, breakaway, spring, neutral, numbers["effort_scale"]):
                move = candidate
                break
        else:
            payload *= 0.7
            loaded = with_payload(truth, arm, payload, offset)
            middle = (
                0.5 * middle + 0.5 * rng.uniform(low, high)
                if np.isfinite(middle).all() and payload < 0.1 * arm.payload
                else middle
            )
    claim = claiming(model, factor * dry, factor * viscous)
    return Difference(
        truth=loaded,
        claim=claim,
        breakaway=breakaway,
        dry=dry,
        viscous=viscous,
        spring=spring,
        neutral=neutral,
        payload=payload,
        **numbers,
    ), move


def with_payload(
    model: rd.RobotModel, arm: VendorArm, mass: float, offset: np.ndarray
) -> rd.RobotModel:
    if mass <= 0.0:
        return model
    # of a ball of that mass
    radius = 0.06
    body = Inertia(mass, offset + np.array([0.0, 0.0, 0.06]), 0.4 * mass * radius**2 * np.eye(3))
    return model.attach(arm.flange, body, name="unmentioned_payload")


def _move(rng: np.random.Generator, model: rd.RobotModel, middle: np.ndarray) -> Move:
    """0.4 to 0.8 rad either way in 2 s, or as much longer as 70 % of the velocity limits need."""
    step = rng.uniform(0.4, 0.8, model.nv) * rng.choice([-1.0, 1.0], model.nv)
    start = middle - 0.5 * step + rng.uniform(-0.3, 0.3, model.nv)
    low = model.lower + 0.1
    high = model.upper - 0.1
    start = np.clip(start, low, high)
    goal = np.clip(start + step, low, high)
    duration = max(2.0, float(np.max(1.875 * np.abs(goal - start) / (0.7 * model.velocity_limit))))
    return Move(start, goal, duration)


def _bearable(model, move, friction, spring, neutral, scale) -> bool:
    """Whether weight, friction and spring leave a fifth of every effort limit all the way."""
    for s in np.linspace(0.0, 1.0, 7):
        q = move.start + s * (move.goal - move.start)
        need = np.abs(rd.gravity_forces(model, q) + spring * (q - neutral)) + friction
        if (need > 0.8 * np.minimum(scale, 1.0) * model.effort_limit).any():
            return False
    return True
