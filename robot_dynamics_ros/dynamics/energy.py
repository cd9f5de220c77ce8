"""Kinetic and potential energy."""

from __future__ import annotations

from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["kinetic_energy", "potential_energy"]

_kinetic_energy = Public("kinetic_energy")
_potential_energy = Public("potential_energy")


def kinetic_energy(model: RobotModel, q: ArrayLike, v: ArrayLike) -> Array | float:
    """½ vᵀ M(q) v in joules, rotors included.

    Returns:
        a float, or (...) for a batch.
    """
    run = _kinetic_energy.run
    return run(model, q, v)


def potential_energy(model: RobotModel, q: ArrayLike) -> Array | float:
    """−Σ m gᵀ c in joules, zero for masses at the world origin; the root link counts.

    Returns:
        a float, or (...) for a batch.
    """
    run = _potential_energy.run
    return run(model, q)
