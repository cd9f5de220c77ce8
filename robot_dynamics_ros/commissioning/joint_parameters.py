"""Rotors and friction of the joints, from a motion and the commands that made it.

    u = τ(q, q̇, q̈) + J q̈ + d q̇ + F tanh(q̇/w) + δ dτ/dt + Z z + ε

q is the motion some delay after the commands u, τ the efforts without rotors and friction.  δ is
the error of the delay, which looks like viscous friction where motion is quick, Z z what no
description knows exactly (:mod:`~robot_dynamics_ros.commissioning.evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from robot_dynamics_ros.commissioning.evidence import Explanation, Fit, Readings, Weighing, regress
from robot_dynamics_ros.commissioning.release import effort_limit, speed_limit
from robot_dynamics_ros.commissioning.twitch import LEAST_ROTOR
from robot_dynamics_ros.control.cycle.disturbance import MOST_FRICTION
from robot_dynamics_ros.control.cycle.loading import joint_sizes
from robot_dynamics_ros.dynamics import bias_forces, gravity_forces, inverse_dynamics
from robot_dynamics_ros.identification.effort_parameters import EffortParameters, FrictionTerms
from robot_dynamics_ros.identification.samples import MotionSamples
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# s, over which efforts are averaged
AVERAGING_S = 0.02
# Times the speed over which dry friction is smoothed: a joint that is slower may stick.
SLIDES = 2.0
# Averages in which a joint slides, below which nothing is learned of it
FEWEST_SLIDING_AVERAGES = 10
# Share of the effort limit, first guess
EFFORT_NOISE_SHARE = 0.01
# Share of the effort limit that viscous friction may take at the speed limit
VISCOUS_LIMIT_SHARE = 0.2
# s, usual error of the delay
DELAY_ERROR_S = 1e-3
# Standard error over the likely size of a parameter, from which on it is not seen
SEEN = 0.25
# Standard errors by which friction is taken to be less than it seems
FRICTION_STANDARD_ERRORS = 2.0


@dataclass(frozen=True, eq=False)
class JointParameters:
    """Rotors and friction by a motion; NaN where it does not show them.

    Attributes:
        armature: (n,) kg m² or kg.
        damping: (n,) N m s/rad or N s/m; no more than is sure.
        friction: (n,) dry friction, N m or N; no more than is sure.
        unexplained: root mean square over the joints of the efforts that the model does not
            explain, as a share of the effort limits: before, and with these parameters.
    """

    armature: Array
    damping: Array
    friction: Array
    unexplained: tuple[float, float]


def _rigid_efforts(
    model: RobotModel,
    motion: MotionSamples,
    gravity_compensated_by: str,
) -> Array:
    """(k, n) what the bodies of the motion need, without what the robot compensates itself."""
    rigid = inverse_dynamics(model, motion.q, motion.v, motion.a)
    if gravity_compensated_by == "robot":
        return rigid - gravity_forces(model, motion.q)
    if gravity_compensated_by == "robot_with_coriolis":
        return rigid - bias_forces(model, motion.q, motion.v)
    return rigid


def _fit(rest: Array, A: Array, tolerances: Array, noise: float) -> Fit:
    """The parameters of one joint; the second time with the noise that the first one leaves."""
    fit = regress(rest[:, None], A, tolerances, np.array([noise]), 3)
    # a motion that fits exactly has some noise all the same
    noise *= max(fit.noise, 1e-3)
    return regress(rest[:, None], A, tolerances, np.array([noise]), 3)


def joint_parameters(
    model: RobotModel,
    t: Array,
    q: Array,
    command: Array,
    delay: float,
    *,
    window: float | None = None,
    gravity_compensated_by: str = "controller",
) -> JointParameters:
    """Rotors and friction, from a motion and its commands.

    Args:
        model: the robot as far as it is known.
        t: (k,) s.
        q, command: (k, n) positions, rad or m, and the commands that answer them, N m or N.
        delay: s, from a state until the middle of the time in which its command acts.
        window: s, of the polynomials that smooth positions; ``None``: chosen by the data.
        gravity_compensated_by: as the controller's parameter.

    Raises:
        ArgumentError: too few states, or times with gaps.
    """
    weighing = Weighing(model, Readings(q, command, None, np.zeros(model.nv)))
    n = model.nv
    model = weighing.model
    parameters = EffortParameters(model, FrictionTerms(offset=False, armature=True))
    # stamps are large
    new = np.r_[True, np.diff(t) > 0.0]
    since = t - t[0]
    motion = MotionSamples.of(model, since[new], q[new], command[new], window=window).earlier(
        -delay
    )
    rigid = _rigid_efforts(model, motion, gravity_compensated_by)
    columns = motion.mean(parameters.joint_columns(motion.q, motion.v, motion.a), AVERAGING_S)
    slow = (np.abs(motion.v) < SLIDES * parameters.smoothing).astype(np.float64)
    slides = motion.mean(slow, AVERAGING_S) == 0.0
    present = parameters.values()[parameters.bodies.stop :].reshape(3, n)
    residual = motion.mean(motion.effort - rigid, AVERAGING_S) - columns @ np.concatenate(
        [np.zeros(n), *present[1:]]
    )
    described = Explanation.as_described(model)
    places = motion.mean(motion.q, AVERAGING_S)
    unknown, usual = weighing.tolerances(
        described, *weighing.columns(places, described.gravity), np.zeros(n)
    )
    rate = motion.mean(motion.smoothed(rigid)[1], AVERAGING_S)
    largest = joint_sizes(model)["largest_rotor"]
    limit = effort_limit(model)
    # one that seems larger than any is wrong by as much
    rotor = np.maximum(largest, present[0])
    likely = np.stack(
        [rotor, VISCOUS_LIMIT_SHARE * limit / speed_limit(model), MOST_FRICTION * limit]
    )
    values = np.full((3, n), np.nan)
    squares = np.zeros(2)
    count = 0
    for j in range(n):
        rows = slides[:, j]
        if rows.sum() < FEWEST_SLIDING_AVERAGES:
            continue
        own = columns[rows, j, j::n]
        rest = residual[rows, j]
        A = np.concatenate([own, rate[rows, j, None], unknown[rows, j]], axis=1)[:, None]
        tolerances = np.concatenate([likely[:, j], [DELAY_ERROR_S], usual])
        fit = _fit(rest, A, tolerances, EFFORT_NOISE_SHARE * limit[j])
        sure = (
            present[:, j]
            + fit.extra
            - FRICTION_STANDARD_ERRORS * fit.error * np.array([0.0, 1.0, 1.0])
        )
        # a rotor of 0 would be taken for one that is not described
        least = [LEAST_ROTOR * largest[j], 0.0, 0.0]
        values[:, j] = np.where(fit.error < SEEN * likely[:, j], np.maximum(sure, least), np.nan)
        change = np.nan_to_num(values[:, j] - present[:, j])
        squares += np.sum((np.stack([rest, rest - own @ change]) / limit[j]) ** 2, axis=1)
        count += int(rows.sum())
    before, after = np.sqrt(squares / max(count, 1)).tolist()
    return JointParameters(values[0], values[1], values[2], (before, after))
