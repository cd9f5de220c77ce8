"""Which inertial parameters the efforts depend on, and in which combinations."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from robot_dynamics_ros.dynamics.algorithms.regressor import PARAMETERS
from robot_dynamics_ros.dynamics.configuration import random_configuration
from robot_dynamics_ros.dynamics.engine.arguments import as_input
from robot_dynamics_ros.dynamics.engine.public import Public
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel
from robot_dynamics_ros.per_joint import expect, generator

__all__ = [
    "joint_torque_regressor",
    "inertial_parameters",
    "parameter_names",
    "base_parameters",
    "BaseParameters",
    "independent_columns",
]

_joint_torque_regressor = Public("joint_torque_regressor")


def inertial_parameters(model: RobotModel) -> Array:
    """(10 nb,) π: [m, hx, hy, hz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz] of every body in order, about the
    body frame's origin.

    Bodies are merged links; their frame is the frame of the moving joint's child link.
    """
    m = model.body_mass
    c = model.body_com
    square = np.einsum("bi,bi->b", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    I = model.body_inertia + m[:, None, None] * square  # noqa: E741 - the book's name
    upper = I[:, [0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]
    return np.concatenate([m[:, None], m[:, None] * c, upper], axis=1).reshape(-1)


def parameter_names(model: RobotModel) -> list[str]:
    """Names of :func:`inertial_parameters`, e.g. ``"forearm_link.hx"`` after the body's first
    link.
    """
    return [
        f"{model.joint(joint).child}.{p}"
        for joint, p in itertools.product(model.moving_joint_names, PARAMETERS)
    ]


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """The smallest set of parameters that the efforts depend on.

    Attributes:
        independent: indices into π of a set of parameters that stand for the combinations.
        combination: (nbase, 10 nb) matrix K with base parameters K π, the identity on
            ``independent``.
    """

    independent: np.ndarray
    combination: Array

    def regressor(self, Y: np.ndarray) -> np.ndarray:
        """(..., nv, nbase) the columns of a full regressor that are needed: τ = Y_b (K π)."""
        return Y[..., self.independent]

    def values(self, parameters: np.ndarray) -> np.ndarray:
        """(..., nbase) base parameters of full ones."""
        return parameters @ self.combination.T


def base_parameters(
    model: RobotModel,
    *,
    samples: int | None = None,
    seed: int = 0,
    tolerance: float = 1e-9,
) -> BaseParameters:
    """Find the base parameters from the regressor at random states.

    Args:
        seed: of the random states.
        samples: number of states; enough for every parameter several times over if not given.
        tolerance: columns with a pivot below this times the largest are dependent.

    Source: Gautier, *Numerical calculation of the base inertial parameters of robots* (1991).
    """
    rng = generator(seed)
    expect(samples is None or samples >= 0, "a number of states", samples, "samples")
    count = samples or max(20, 40 * model.nb // max(model.nv, 1) + 20)
    q = random_configuration(model, rng, size=count)
    v, a = rng.normal(size=(2, count, model.nv))
    Y = _joint_torque_regressor.run(model, q, v * 2.0, a * 5.0).reshape(count * model.nv, -1)
    return independent_columns(Y, tolerance)


def independent_columns(
    W: np.ndarray,
    tolerance: float,
    *,
    equilibrate: bool = False,
) -> BaseParameters:
    """Split the columns of a regressor into independent ones and those that depend on them, by
    pivoted QR.

    Args:
        W: (rows, p) a regressor.
        tolerance: columns with a pivot below this times the largest are dependent.
        equilibrate: compare columns scaled to unit length, so that the parameters of light bodies
            are not mistaken for rounding errors; combinations below 1e-9 of their row's largest are
            then set to zero.
    """
    from scipy.linalg import qr, solve_triangular

    W = as_input(W, (), "W")
    expect(W.ndim == 2, "an array (rows, p)", W.shape, "W", "Stack the rows.")
    norm = np.linalg.norm(W, axis=0)
    if equilibrate:
        length = np.where(norm > 0.0, norm, 1.0)
    else:
        length = np.ones(W.shape[1])
    _, R, order = qr(W / length, mode="economic", pivoting=True)
    pivots = np.abs(np.diag(R))
    if pivots.size and pivots[0] > 0:
        rank = int(np.sum(pivots > tolerance * pivots[0]))
    else:
        rank = 0
    keep = np.sort(order[:rank])
    independent = order[:rank]
    dependent = order[rank:]
    combination = np.zeros((rank, W.shape[1]))
    rows = np.searchsorted(keep, independent)
    combination[rows, independent] = 1.0
    if dependent.size and rank:
        share = solve_triangular(R[:rank, :rank], R[:rank, rank:])
        combination[np.ix_(rows, dependent)] = share * length[dependent] / length[independent, None]
        if equilibrate:
            combination[
                np.abs(combination) < 1e-9 * np.abs(combination).max(axis=1, keepdims=True)
            ] = 0.0
    return BaseParameters(keep, combination)


def joint_torque_regressor(
    model: RobotModel,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
) -> np.ndarray:
    """(..., nv, 10 nb) Y: τ = Y π + rotor inertia · a, π of :func:`inertial_parameters` (Atkeson
    and others 1986).
    """
    run = _joint_torque_regressor.run
    return run(model, q, v, a)
