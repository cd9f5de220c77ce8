"""Centre of mass and momentum of the whole robot."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = [
    "center_of_mass",
    "center_of_mass_jacobian",
    "center_of_mass_motion",
    "centroidal_momentum",
    "centroidal_momentum_matrix",
]

_center_of_mass = Public("center_of_mass")
_center_of_mass_motion = Public("center_of_mass_motion")
_centroidal_momentum_matrix = Public("centroidal_momentum_matrix")


def center_of_mass(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """Centre of mass of the whole robot, the root link included, in the world frame.

    Returns:
        (..., 3) metres.
    """
    run = _center_of_mass.run
    return run(model, q)


def center_of_mass_motion(
    model: RobotModel, q: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration of the centre of mass in the world frame.

    Returns:
        three (..., 3) arrays.
    """
    run = _center_of_mass_motion.run
    return run(model, q, v, a)


def center_of_mass_jacobian(model: RobotModel, q: ArrayLike) -> np.ndarray:
    """J with J v = velocity of the centre of mass in the world frame.

    Returns:
        (..., 3, nv).
    """
    return centroidal_momentum_matrix(model, q)[..., 3:, :] / model.total_mass


def centroidal_momentum_matrix(model: RobotModel, q: ArrayLike, *, out: np.ndarray | None = None) -> np.ndarray:
    """A(q) with A v = [angular momentum about the centre of mass; linear momentum] in world axes.

    Returns:
        (..., 6, nv).

    Source: Orin, Goswami and Lee (2013).
    """
    run = _centroidal_momentum_matrix.run
    return run(model, q, out)


def centroidal_momentum(model: RobotModel, q: ArrayLike, v: ArrayLike) -> np.ndarray:
    """[angular momentum about the centre of mass; linear momentum] in world axes, N m s and N s.

    Returns:
        (..., 6).
    """
    return np.einsum("...ij,...j->...i", centroidal_momentum_matrix(model, q), as_input(v, (model.nv,), "v"))
