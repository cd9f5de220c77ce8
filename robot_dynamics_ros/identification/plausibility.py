"""Checks for impossible recordings and results: positions in other units, efforts that no bodies
explain.

Before the estimate positions are compared with the limits of the robot as it is known; after it,
the bodies found with the base parameters, which need not belong to any body.
"""

from __future__ import annotations

import math

import numpy as np

from robot_dynamics_ros.errors import ArgumentError
from robot_dynamics_ros.model.description import Array
from robot_dynamics_ros.model.robot_model import RobotModel

# of the range: how far outside its limits a position may be
_OUTSIDE = 0.1
# of the rows
_SHARE = 0.05
# rows over which speed is taken
_OVER = 10
# Times the noise of the base parameters that a result may leave of a joint's efforts, and
_WORSE = 4.0
# the share of these efforts: what leaves more than both describes no robot.
_UNEXPLAINED = 0.15
# times the error of the URDF, or of no model
_USELESS = 1.2
# share by which recorded speeds of all joints may differ from those of the positions with a right
# clock: drivers that filter velocities stay within 3 %
_WRONG_CLOCK_SHARE = 0.1
# share by which the joints may differ in this: one clock is wrong for all of them alike
_ONE_CLOCK_SHARE = 0.03
# share of a joint's motion that its recorded velocities may leave
_LEFT_OF_MOTION = 0.05


class Implausible(ArgumentError):
    """A recording that does not fit the robot, or a result that is physically impossible."""


def check_positions(model: RobotModel, t: Array, q: Array) -> None:
    """Compare the positions (n, nv) of a recording with the limits of the robot as it is known.

    Raises:
        Implausible: positions far outside the limits (degrees?), or much too fast.
    """
    width = model.upper - model.lower
    all_q = q
    for j, name in enumerate(model.joint_names):
        q = all_q[:, j]
        if np.isfinite(width[j]):
            slack = _OUTSIDE * width[j]
            outside = (q < model.lower[j] - slack) | (q > model.upper[j] + slack)
        else:
            outside = np.abs(q) > 50.0
        if outside.mean() <= _SHARE:
            continue
        fits = [
            min(_within(model, k, q), _within(model, j, all_q[:, k])) > 1.0 - _SHARE
            for k in range(model.nv)
        ]
        others = [other for k, other in enumerate(model.joint_names) if k != j and fits[k]]
        cause = ""
        radians = np.deg2rad(q)
        if others:
            cause = f"They fit the limits of {' and '.join(others)}: are the columns exchanged?"
            cause += " Check also units and zeros."
        elif np.ptp(q) > 2.0 * math.pi and (
            not np.isfinite(width[j])
            or ((radians >= model.lower[j] - 0.1) & (radians <= model.upper[j] + 0.1)).all()
        ):
            cause = "They look like degrees: convert them to radians."
        elif np.isfinite(width[j]) and 5.0 * np.ptp(q) > 500.0 * width[j]:
            cause = "They look like mm: convert them to m."
        text = (
            f"{outside.mean():.0%} of the positions of joint {name!r} lie outside its limits, "
            f"{q.min():.4g} to {q.max():.4g}"
        )
        remedy = (
            cause or "Check units, signs and zero positions, and whether this is the robot's URDF."
        )
        raise Implausible(text, where="q", remedy=remedy)
    limit = model.velocity_limit
    over = min(_OVER, len(t) - 1)
    speed = np.abs(all_q[over:] - all_q[:-over]) / np.maximum(t[over:] - t[:-over], 1e-300)[:, None]
    fast = np.quantile(speed, 0.9, axis=0) > 5.0 * np.where(limit > 0.0, limit, np.inf)
    if fast.any():
        j = int(np.argmax(fast))
        problem = f"joint {model.joint_names[j]!r} moves at more than five times its velocity limit"
        raise Implausible(
            problem, where="t, q", remedy="Check the units of positions (rad, m) and times (s)."
        )


def check_clock(names: tuple[str, ...], t: Array, q: Array, v: Array) -> None:
    """Compare the recorded velocities (n, nv) with how the positions (n, nv) change.

    Raises:
        Implausible: every joint moves as many times as fast by its velocities as by its positions.
    """
    steps = 0.5 * np.diff(t)[:, None] * (v[1:] + v[:-1])
    travelled = np.concatenate([np.zeros((1, v.shape[1])), np.cumsum(steps, axis=0)])
    line = np.column_stack([np.ones(len(t)), t - t[0]])
    # a velocity with an offset drifts
    by_velocity, moved = (
        x - line @ np.linalg.lstsq(line, x, rcond=None)[0] for x in (travelled, q)
    )
    size = np.sqrt((moved**2).sum(axis=0))
    moves = size > _LEFT_OF_MOTION * size.max(initial=0.0)
    if moves.sum() < min(2, len(names)) or not moves.any():
        return
    by_velocity = by_velocity[:, moves]
    moved = moved[:, moves]
    ratio = (by_velocity * moved).sum(axis=0) / (moved**2).sum(axis=0)
    left = by_velocity - ratio * moved
    share = np.sqrt((left**2).sum(axis=0) / np.maximum((by_velocity**2).sum(axis=0), 1e-300))
    times = float(np.median(ratio))
    other_unit = abs(times / math.degrees(1.0) - 1.0) < _ONE_CLOCK_SHARE
    if (
        (share > _LEFT_OF_MOTION).any()
        or times <= 0.0
        or (np.abs(ratio / times - 1.0) > _ONE_CLOCK_SHARE).any()
        or abs(times - 1.0) < _WRONG_CLOCK_SHARE
        or other_unit
    ):
        return
    text = (
        f"the clock is wrong: every joint moves {times:.3g} times as fast by its recorded "
        "velocities as by its positions and times"
    )
    remedy = (
        f"Check the rate and the unit of the stamps: divide the times by {times:.3g}. If the "
        "times are right, leave the velocities out."
    )
    raise Implausible(text, where="t", remedy=remedy)


def _within(model: RobotModel, j: int, q: Array) -> float:
    """Share of positions (n,) that joint ``j`` can have."""
    return float(((q >= model.lower[j]) & (q <= model.upper[j])).mean())


def check_result(
    names: tuple[str, ...],
    effort: Array,
    speed: Array,
    noise: Array,
    residual: Array,
    friction_power: Array,
) -> None:
    """Compare bodies that can exist with base parameters, which explain the efforts as well as is
    possible at all.

    Args:
        effort, speed, noise, residual: (nv,) root mean squares, the last two of what base
            parameters and the bodies found leave.
        friction_power: (nv,) mean power that friction takes by the base parameters, W.

    Raises:
        Implausible: no bodies explain the efforts, or friction drives a joint.
    """
    driven = friction_power < -np.maximum(0.05 * effort, 2.0 * noise) * speed
    worse = (residual > _WORSE * noise) & (residual > _UNEXPLAINED * effort)
    for what, joints in (
        ("friction would drive", driven),
        ("no bodies explain the efforts of", worse),
    ):
        if joints.any():
            own = [name for name, bad in zip(names, joints, strict=True) if bad]
            remedy = (
                "Check signs and units of efforts and positions, the order of the joints, the "
                "kinematics of the URDF and "
            )
            remedy += "gravity's direction."
            text = f"{what} joint{'s' if len(own) > 1 else ''} {', '.join(own)}"
            raise Implausible(text, where="recording", remedy=remedy)


def check_prediction(
    names: tuple[str, ...], error: Array, prior: Array, effort: Array, source: str = "recording"
) -> None:
    """Compare errors of prediction with those of the robot as it was known, and with no model at
    all.

    Args:
        error, prior, effort: (nv,) root mean squares of what the identified robot leaves of efforts
            that it was not identified from, of what the robot as it was known leaves, and of the
            efforts; N m or N.

    Raises:
        Implausible: the identified robot is worse than either, for some joint.
    """
    worse = [
        f"{name} ({e:.3g} against {min(p, y):.3g})"
        for name, e, p, y in zip(names, error, prior, effort, strict=True)
        if e > _USELESS * min(p, y)
    ]
    if worse:
        text = (
            "the identified robot predicts efforts worse than the URDF, or than none at all, N "
            f"m or N: {', '.join(worse)}"
        )
        remedy = (
            "Record a longer or faster motion of these joints, or check whether they are "
            "coupled, touch something, or carry "
        )
        remedy += "a load that the model lacks. --plausibility accept writes it all the same."
        raise Implausible(text, where=source, remedy=remedy)
