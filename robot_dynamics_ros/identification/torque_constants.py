"""Motor currents in place of efforts: each joint's torque constant, with its sign, from the weight of what it moves.

The model of a joint's current is i = c·(τ + friction), with the torque constant k = 1/c at the joint, gear included.
The constants of all joints and the bodies are estimated together.  Joints that move the same bodies show the ratios of
the constants.  Only the masses of the prior show their absolute size.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.arrays import real_number
from robot_dynamics_ros.dynamics.parameters import inertial_parameters
from robot_dynamics_ros.errors import ArgumentError, UnknownNameError
from robot_dynamics_ros.identification.plausibility import Implausible
from robot_dynamics_ros.identification.pseudo_inertia import BodyShape
from robot_dynamics_ros.identification.samples import Motion
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

__all__ = ["TorqueConstants", "find_torque_constants"]

_SPREAD = 0.25  # Riemannian distance that a body may well be from the prior: masses within a quarter
_STEPS = 30
_SETTLED = 1e-8
_MOST = 0.5  # relative standard error above which a constant is not known
_SURE = 0.02  # relative standard error of the best known one, below which the masses are known as well
_CORRELATED = 4.0  # by which residuals alike in successive blocks make variances larger


@dataclass(frozen=True, eq=False)
class TorqueConstants:
    """Torque constants of a robot's joints.

    Attributes:
        values: (nv,) N m or N at the joint for one unit of the recorded currents; negative where these have the other sign.
        error: (nv,) relative standard errors, 0 where given; most of it is that of the prior's masses, which all joints share.
        given: (nv,) bool: the constant was given, not estimated.
    """

    values: Array
    error: Array
    given: np.ndarray

    def applied(self, motion: Motion) -> Motion:
        """The motion with efforts, N m or N, in place of currents."""
        return dataclasses.replace(motion, effort=motion.effort * self.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """For the reader of the result, in sentences."""
        found = self.error[~self.given]
        if not len(found) or found.min() < _SURE:
            return ()
        return (
            f"torque constants were found from the masses of the URDF: all masses and efforts may be off together, by "
            f"{found.min():.0%} (standard error); one torque constant or mass that is known removes this error",
        )


def find_torque_constants(
    model: RobotModel, motion: Motion, given: Mapping[str, float] | None = None, *, block: float = 0.05
) -> TorqueConstants:
    """Find torque constants.

    Args:
        model: the robot; each of its masses must be right within a quarter.
        motion: a motion with currents as efforts, in any unit.
        given: joint → constant, where it is known.
        block: s, over which rows are averaged.

    Raises:
        UnknownNameError: no such joint.
        ArgumentError: a given constant that is zero or not finite.
        Implausible: joints whose constants cannot be identified, because this motion does not load them.
    """
    nv, names, given = model.nv, model.joint_names, given or {}
    fixed = np.zeros(nv)
    for name, value in given.items():
        if name not in names:
            raise UnknownNameError("joint", name, names, where="currents")
        try:
            constant = real_number(value)
        except TypeError:
            constant = 0.0
        if not np.isfinite(constant) or constant == 0.0:
            raise ArgumentError(
                f"{value!r} is no torque constant",
                where=f"currents, joint {name!r}",
                got=value,
                remedy="Give a finite number other than 0, N m or N at the joint for one unit of current.",
            )
        fixed[names.index(name)] = 1.0 / constant
    prior = inertial_parameters(model)
    shapes = [BodyShape(prior[10 * b : 10 * b + 10], 1e-6) for b in range(model.nb)]
    start = np.concatenate([shape.start for shape in shapes])
    Y = motion.mean_regressor(model, block)
    v, a, current = (motion.mean(x, block) for x in (motion.v, motion.a, motion.effort))
    width = 0.02 * np.maximum(np.abs(v).max(axis=0), 1e-9)
    by_shape = np.concatenate(
        [Y[..., 10 * b : 10 * b + 10] @ shapes[b].derivative(np.zeros(10)) for b in range(model.nb)], axis=-1
    )
    scale = np.tile(_SPREAD / np.r_[np.full(4, 2.0), np.full(6, np.sqrt(2.0))], model.nb)
    efforts = Y @ start + model.armature * a

    # what friction and offsets explain of each joint does not show its constant
    rigid: list[Array] = []
    columns: list[Array] = []
    target: list[Array] = []
    for j in range(nv):
        Q, _ = np.linalg.qr(np.column_stack([v[:, j], np.tanh(v[:, j] / width[j]), np.ones(len(v))]))
        for rows, x in ((rigid, efforts[:, j]), (columns, by_shape[:, j] * scale), (target, current[:, j])):
            rows.append(x - Q @ (Q.T @ x))
    power = np.array([float(x @ x) for x in rigid])
    c = np.array([float(x @ y) for x, y in zip(rigid, target, strict=True)]) / np.maximum(power, 1e-300)
    c = np.where(fixed != 0.0, fixed, c)
    x, covariance = np.zeros(len(start)), np.zeros((nv, nv))
    free = np.flatnonzero(fixed == 0.0)
    for _ in range(_STEPS):
        moved = [rigid[j] + columns[j] @ x for j in range(nv)]
        left = [target[j] - c[j] * moved[j] for j in range(nv)]
        noise = np.array([max(float(r @ r), 1e-12 * float(y @ y), 1e-300) for r, y in zip(left, target, strict=True)])
        weight = np.maximum(len(v) - 4, 1) / noise
        N, b = np.eye(nv + len(x)), np.concatenate([np.zeros(nv), -x])
        N[range(nv), range(nv)] = 1e-12
        for j in range(nv):
            J = np.column_stack([moved[j], c[j] * columns[j]])
            own = [j, *range(nv, nv + len(x))]
            N[np.ix_(own, own)] += weight[j] * (J.T @ J)
            b[own] += weight[j] * (J.T @ left[j])
        kept = np.concatenate([free, np.arange(nv, nv + len(x))])
        inverse = np.linalg.pinv(N[np.ix_(kept, kept)], hermitian=True)
        step = inverse @ b[kept]
        before = c.copy()
        c[free] += step[: len(free)]
        x = x + step[len(free) :]
        covariance[np.ix_(free, free)] = inverse[: len(free), : len(free)]
        if np.abs(c - before).max() <= _SETTLED * np.abs(c).max():
            break
    alone = _CORRELATED / np.maximum(weight * power, 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(covariance.diagonal() + np.where(fixed != 0.0, 0.0, alone)) / np.abs(c)
    unknown = [n for n, e, g in zip(names, error, fixed, strict=True) if g == 0.0 and not e < _MOST]
    if unknown:
        raise Implausible(
            f"the torque constants of {', '.join(unknown)} cannot be identified from this motion",
            where="currents",
            got=tuple(unknown),
            remedy="Give them, N m at the joint for one unit of current, or move these joints faster and farther, under load.",
        )
    return TorqueConstants(1.0 / c, error, fixed != 0.0)
