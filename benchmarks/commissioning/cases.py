"""Mistakes to seed, and whether they can show at all in efforts at rest."""

from __future__ import annotations

import math

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.commissioning.arm import Mistake, MistakenArm
from robot_dynamics_ros.commissioning.evidence import Explanation, Readings, Weighing

__all__ = ["KINDS", "distance", "draw", "expected", "shows"]

KINDS = (
    "effort_sign",
    "position_sign",
    "axis",
    "joints_exchanged",
    "effort_unit",
    "effort_unit of one joint",
    "gravity_compensated_by_driver",
    "upside down",
    "mounting",
    "zero_offset",
    "payload",
    "link_mass",
    "friction",
    "wrong_robot",
    "velocity_filter",
    "frozen_joint",
    "clock",
    "rate",
    "brake",
    "delay",
    "play",
)
DISTANCE = 30.0
"""Squared distance of readings from those of healthy arms, in terms of usual errors, from which a
mistake can show.
"""


def draw(kind: str, n: int, rng: np.random.Generator) -> Mistake:
    """One mistake of an arm with ``n`` joints."""
    j = int(rng.integers(n))
    if kind == "axis":
        return Mistake("position_sign", j, what="both")
    if kind in ("effort_sign", "position_sign"):
        return Mistake(kind, j)
    if kind == "joints_exchanged":
        i, k = (int(x) for x in rng.choice(n, 2, replace=False))
        return Mistake(
            kind, min(i, k), other=max(i, k), what=str(rng.choice(["effort", "position", "both"]))
        )
    if kind == "effort_unit":
        return Mistake(kind, -1, float(rng.choice([1e3, 100.0, 10.0, 0.1, 0.01])))
    if kind == "effort_unit of one joint":
        return Mistake("effort_unit", j, float(rng.choice([2.0, 5.0, 30.0, 0.5, 0.1])))
    if kind == "upside down":
        return Mistake("mounting", -1, math.pi)
    numbers = {
        "mounting": rng.choice([0.2, 0.5, math.pi / 2]) * rng.choice([-1.0, 1.0]),
        "zero_offset": 0.05 * rng.choice([-1.0, 1.0]),
        "payload": 1.0,
        "link_mass": rng.choice([0.7, 1.3]),
        "friction": 3.0,
        "velocity_filter": 5.0,
        "clock": rng.choice([-0.5, 0.5, 1.7e9]),
        "rate": 100.0,
        "delay": 0.02,
        "play": 0.01,
    }
    whole = kind in (
        "payload",
        "friction",
        "velocity_filter",
        "clock",
        "rate",
        "delay",
        "play",
        "mounting",
        "wrong_robot",
        "gravity_compensated_by_driver",
    )
    return Mistake(kind, -1 if whole else j, float(numbers.get(kind, 1.0)))


def expected(arm: MistakenArm, mistake: Mistake) -> tuple[str, frozenset[str]]:
    """Kind and joints that the finding should name; no joints: any."""
    names = arm.claim.joint_names
    if mistake.kind == "joints_exchanged":
        return mistake.kind, frozenset((names[mistake.joint], names[mistake.other]))
    if mistake.kind == "link_mass":
        return mistake.kind, frozenset((arm.claim.moving_joint_names[mistake.joint],))
    return mistake.kind, frozenset() if mistake.joint < 0 else frozenset((names[mistake.joint],))


def shows(arm: MistakenArm, poses: np.ndarray) -> bool:
    """Whether noise-free readings differ from those of every arm that is within usual errors of its
    description.

    ``arm`` has one mistake.
    """
    (mistake,) = arm.mistakes
    if mistake.kind == "brake":
        weight = np.abs(rd.gravity_forces(arm.truth, arm.plant.q))
        return bool(weight[mistake.joint] > 1.3 * arm.truth.friction[mistake.joint])
    if mistake.kind in (
        "velocity_filter",
        "frozen_joint",
        "clock",
        "rate",
        "friction",
        "delay",
        "play",
    ):
        return True
    return distance(arm, poses) >= DISTANCE


def distance(arm: MistakenArm, poses: np.ndarray) -> float:
    """Squared distance of noise-free readings from those of arms within usual errors of the
    description, in terms of these.
    """
    claim = arm.claim
    compensated = any(m.kind == "gravity_compensated_by_driver" for m in arm.mistakes)
    tau = rd.gravity_forces(arm.nominal, np.array([arm.unseen(p) for p in poses])) * (
        not compensated
    )
    effort = arm.unit * arm.sign["effort"] * tau[:, arm.order["effort"]]
    weighing = Weighing(claim, Readings(poses, effort, None, np.zeros(claim.nv)))
    return float(weighing.fit(Explanation.as_described(claim)).misfit * effort.size)
