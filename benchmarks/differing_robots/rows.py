"""Single robots that stand for what is commonly left out of a description: rotors, dry friction, or
both claimed in vain.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import robot_dynamics_ros as rd
from benchmarks.differing_robots.arms import VendorArm, load_arm
from benchmarks.differing_robots.differences import Difference, Move, changed, claiming, exact

__all__ = ["KNOWN", "known_rows", "rows"]

HOMES = {
    "fr3": (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8),
    "ur10e": (0.0, -1.3, 1.5, -0.4, 0.8, 0.3),
    "iiwa7": (0.0, 0.5, 0.0, -1.2, 0.0, 0.8, 0.0),
}
FLANGES = {"fr3": "fr3_link8", "ur10e": "tool0", "iiwa7": "lbr_link_ee"}
ROWS_RATE = 500
KNOWN = 0.3
"""Largest relative error of rotors and friction where they are known."""

# MuJoCo Menagerie's FR3
_FR3 = {
    "rotors": np.array([0.195] * 4 + [0.074] * 3),
    "dry": np.array([1.137] * 4 + [0.763, 0.44, 0.248]),
    "viscous": np.full(7, 0.21),
}


def _robot(
    claim: rd.RobotModel,
    rotors: float | np.ndarray,
    dry: float | np.ndarray,
    viscous: float | np.ndarray,
) -> rd.RobotModel:
    n = claim.nv
    links = len(claim.description.links)
    truth = changed(claim, np.ones(links), np.zeros((links, 3)), np.zeros(n) + rotors)
    return claiming(truth, np.zeros(n) + dry, np.zeros(n) + viscous)


def _move(name: str, model: rd.RobotModel) -> Move:
    step = np.linspace(0.4, 0.8, model.nv) * np.where(np.arange(model.nv) % 2, -1.0, 1.0)
    start = np.array(HOMES[name]) - 0.5 * step
    return Move(start, start + step, 2.0)


def rows(folder: Path) -> Iterator[tuple[str, Difference, Move, str]]:
    """Title, robot, move and flange of each, of the descriptions fr3.urdf, ur10e.urdf, iiwa7.urdf
    in ``folder``.
    """
    for name, title, numbers in (
        ("fr3", "rotors and friction of MuJoCo Menagerie", _FR3),
        ("fr3", "no friction, 0.2 N m claimed", {"rotors": 0.0, "dry": 0.0, "viscous": 0.0}),
        (
            "ur10e",
            "rotors 0.1 kg m², friction 0.5 N m, damping 0.2",
            {"rotors": 0.1, "dry": 0.5, "viscous": 0.2},
        ),
        (
            "iiwa7",
            "rotors 0.1 kg m², friction 0.5 N m, damping 0.2",
            {"rotors": 0.1, "dry": 0.5, "viscous": 0.2},
        ),
        (
            "iiwa7",
            "no friction, no damping, both claimed",
            {"rotors": 0.0, "dry": 0.0, "viscous": 0.0},
        ),
    ):
        path = folder / f"{name}.urdf"
        if path.is_file():
            claim = load_arm(VendorArm(str(path), FLANGES[name], 0.0))
            yield (
                f"{name}: {title}",
                exact(claim, _robot(claim, **numbers), rate=ROWS_RATE),
                _move(name, claim),
                FLANGES[name],
            )


def known_rows(folder: Path) -> Iterator[tuple[str, Difference, Move, str]]:
    """The same robots, their rotors and friction known within :data:`KNOWN`."""
    rng = np.random.default_rng(1)
    for title, difference, move, flange in rows(folder):
        truth = difference.truth
        claim = difference.claim
        factors = 1.0 + KNOWN * rng.uniform(-1.0, 1.0, (3, claim.nv))
        known = claiming(
            claim,
            factors[0] * truth.friction,
            factors[1] * truth.damping,
            factors[2] * truth.armature,
        )
        yield title, exact(known, truth, rate=ROWS_RATE), move, flange
